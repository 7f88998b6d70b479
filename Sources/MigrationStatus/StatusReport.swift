import SystemCalls
package import SystemPackage

/// The state of a migration with everything known about it, as `godwit status` shows it and writes
/// it as JSON.
package struct StatusReport: Hashable, Sendable {
  /// The version of the JSON, which rises when a field goes or changes its meaning.
  package static let version = 1

  /// The state, its exit status and its reason.
  package var decision: StateDecision
  /// The progress in the status file, nil if there is none or it is of an older run.
  package var snapshot: StatusSnapshot?
  /// The record next to the store, nil if there is none or it is of an older run.
  package var record: OutcomeRecord?
  /// What the tool printed at the end and what has become of its result since, or the error in the
  /// status file.
  package var sentences: [String]
  /// Bytes that are free where the new store goes, nil unless the migration may still write there.
  package var freeBytes: UInt64?

  init?(live: (run: RunRecord, snapshot: StatusSnapshot)?, record: OutcomeRecord?) {
    self.init(live: live, record: record, surroundings: .now())
  }

  init?(
    live: (run: RunRecord, snapshot: StatusSnapshot)?, record: OutcomeRecord?,
    surroundings: Surroundings
  ) {
    guard
      var decision = StateDecision(status: live?.run, record: record, surroundings: surroundings)
    else {
      return nil
    }
    if decision.state == .running, let worker = live?.snapshot.stoppedWorker {
      decision = StateDecision(
        state: .paused, exitStatus: MigrationState.pausedStatus, reason: .workerStopped(worker))
    }
    self.decision = decision
    // The status file is of an earlier run than the record.
    let isOlder = live.map { live in
      record.map { $0.run != live.run.run && $0.started > live.snapshot.startedAt } ?? false
    }
    snapshot = isOlder == true ? nil : live?.snapshot
    let isSame = record.map { record in live.map { $0.run.run == record.run } ?? true } ?? false
    self.record = isSame || isOlder == true ? record : nil
    sentences = self.record.map { $0.sentences + $0.sequel } ?? []
    if sentences.isEmpty, let error = snapshot?.error { sentences = [error] }
    if decision.state != .running { snapshot?.secondsRemaining = nil }
  }
}

extension StatusReport: Encodable {
  private enum CodingKeys: CodingKey {
    case version, state, reason, detail, exitStatus, sentences, freeBytes
    case source, destination, work, ended, rows, losses
  }

  /// Writes the fields of the snapshot, together with those of the decision and the record.
  package func encode(to encoder: any Encoder) throws {
    try snapshot?.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(Self.version, forKey: .version)
    try container.encode(decision.state, forKey: .state)
    try container.encodeIfPresent(decision.reason?.name, forKey: .reason)
    try container.encodeIfPresent(decision.reason?.detail, forKey: .detail)
    try container.encodeIfPresent(freeBytes, forKey: .freeBytes)
    try container.encode(decision.exitStatus, forKey: .exitStatus)
    try container.encode(sentences, forKey: .sentences)
    guard let record else { return }
    try container.encode(record.source, forKey: .source)
    try container.encode(record.destination, forKey: .destination)
    try container.encode(record.work, forKey: .work)
    try container.encodeIfPresent(record.ended, forKey: .ended)
    try container.encodeIfPresent(record.rows, forKey: .rows)
    try container.encode(record.losses, forKey: .losses)
  }
}

extension StateDecision.Reason {
  /// The reason in JSON.
  fileprivate var name: String {
    switch self {
    case .asked: "asked"
    case .file: "file"
    case .stopped: "stopped"
    case .workerStopped: "workerStopped"
    case .silent: "silent"
    case .gone: "gone"
    case .machineRestarted: "machineRestarted"
    }
  }

  /// The requesting user, the file, the process or the seconds.
  fileprivate var detail: String? {
    switch self {
    case .asked(let text), .file(let text): text
    case .workerStopped(let process): "\(process)"
    case .silent(let seconds): "\(seconds)"
    case .stopped, .gone, .machineRestarted: nil
    }
  }
}

extension StatusReport {
  /// Whether the run has ended, and the record that was read does not have how.
  package var lacksEnd: Bool { !decision.state.isOpen && record?.state == .running }

  /// Whether it differs from an earlier report in more than the time.
  package func isNews(after earlier: StatusReport) -> Bool { timeless != earlier.timeless }

  /// Without what changes while nothing happens.
  private var timeless: StatusReport {
    var report = self
    report.freeBytes = nil
    report.snapshot?.heartbeatAt = 0
    for index in snapshot?.parts.indices ?? 0..<0 { report.snapshot?.parts[index].heartbeatAt = 0 }
    if case .silent = decision.reason { report.decision.reason = .silent(seconds: 0) }
    return report
  }
}

/// Looks repeatedly at the state of one migration, keeping its status file open in between.
package final class StatusWatch {
  private let path: FilePath
  private var reader: StatusReader?
  /// The status file of the stage that was at work last, and its content.
  private var stage: StatusReader?
  private var told: (run: Identifier, number: UInt32, snapshot: StatusSnapshot)?

  /// Takes a path as a user gives it; see `StatusPlaces`.
  package init(_ path: FilePath) { self.path = path }

  /// The present state, nil if nothing is known of a migration.
  ///
  /// - Throws: if there is a status file or a record, and it cannot be read.
  package func look() throws -> StatusReport? {
    // A run that has ended has removed its file; the open one still has its last records.
    let last = try? reader?.read()
    if reader?.isReplaced == true { reader = nil }
    do {
      let found = try StatusPlaces(path).find(open: reader)
      reader = found.reader
      var live = try reader?.read() ?? last
      if let run = live?.run, run.phase == .migrating, run.stages > 1 {
        live?.snapshot.show(stage(of: run), of: run)
      }
      return located(StatusReport(live: live, record: found.record))
    } catch {
      guard let report = StatusReport(live: last, record: nil) else { throw error }
      return located(report)
    }
  }

  /// The progress of the current stage, the last one known if it has ended; nil if there is none
  /// yet.
  private func stage(of run: RunRecord) -> StatusSnapshot? {
    let file = reader.flatMap { StatusPlaces.file(ofStage: run.stage, of: $0.path) }
    if stage?.path != file || stage?.isReplaced == true {
      stage = file.flatMap { try? StatusReader.open($0) }
    }
    if let found = try? stage?.read(), found.run.coordinator == run.coordinator,
      found.run.coordinatorStart == run.coordinatorStart, found.run.startedAt >= run.startedAt
    {
      told = (run.run, run.stage, found.snapshot)
    }
    guard let told, told.run == run.run, told.number == run.stage else { return nil }
    return told.snapshot
  }

  /// The report with the room that there is where the new store goes.
  private func located(_ report: StatusReport?) -> StatusReport? {
    guard var report, report.decision.state.isOpen else { return report }
    let destination = report.record.map { FilePath($0.destination) }
    let place = destination.flatMap { $0.isAbsolute ? $0 : nil } ?? reader?.path
    report.freeBytes = place.flatMap { try? Files.freeSpace(at: Files.parent(of: $0)) }
    return report
  }
}
