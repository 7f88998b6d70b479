package import SystemPackage

/// The state of a migration with all that is known of it, as shown and as written as JSON.
package struct StatusReport: Sendable {
  package var decision: StateDecision
  /// What the status file tells, where there is one.
  package var snapshot: StatusSnapshot?
  package var record: OutcomeRecord?
  /// What the tool said at the end.
  package var sentences: [String]

  init?(told: (run: RunRecord, snapshot: StatusSnapshot)?, record: OutcomeRecord?) {
    self.init(told: told, record: record, surroundings: .now())
  }

  init?(
    told: (run: RunRecord, snapshot: StatusSnapshot)?, record: OutcomeRecord?,
    surroundings: Surroundings
  ) {
    guard
      let decision = StateDecision(status: told?.run, record: record, surroundings: surroundings)
    else {
      return nil
    }
    self.decision = decision
    // A status file of another run than the one that is told of is of no use.
    let isOlder = told.map { told in
      record.map { $0.run != told.run.run && $0.started > told.snapshot.startedAt } ?? false
    }
    snapshot = isOlder == true ? nil : told?.snapshot
    let isSame = record.map { record in told.map { $0.run.run == record.run } ?? true } ?? false
    self.record = isSame || isOlder == true ? record : nil
    sentences = self.record?.sentences ?? []
    if sentences.isEmpty, let error = snapshot?.error { sentences = [error] }
    if decision.state != .running { snapshot?.secondsRemaining = nil }
  }
}

extension StatusReport: Encodable {
  private enum CodingKeys: CodingKey {
    case state, exitStatus, sentences, source, destination, work, ended, rows, losses
  }

  /// The fields of the status file, and beside them those of the state and of the record.
  package func encode(to encoder: any Encoder) throws {
    try snapshot?.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(decision.state, forKey: .state)
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

/// Looks again and again at what is told of a migration.
package final class StatusWatch {
  private let path: FilePath
  private var reader: StatusReader?

  package init(_ path: FilePath) { self.path = path }

  /// What is told now; nil where nothing is known.
  ///
  /// - Throws: where there is something and it cannot be read.
  package func look() throws -> StatusReport? {
    // A run that has ended has removed its file; what is open still holds its last word.
    let last = try? reader?.read()
    if reader?.isReplaced == true { reader = nil }
    do {
      let found = try StatusPlaces(path).find(open: reader)
      reader = found.reader
      return StatusReport(told: try reader?.read() ?? last, record: found.record)
    } catch {
      guard let report = StatusReport(told: last, record: nil) else { throw error }
      return report
    }
  }
}
