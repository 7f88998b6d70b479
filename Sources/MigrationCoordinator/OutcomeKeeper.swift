import Logging
import MigrationStatus
import Planning
import Synchronization
import SystemCalls
import SystemPackage

/// Puts outcomes into words and exit statuses, which the library above defines.
package struct OutcomeWords: Sendable {
  /// The exit status of the tool, and the sentences that it prints.
  package typealias Failure = (exitStatus: Int32, sentences: [String])

  /// Describes an error.
  package var failure: @Sendable (any Error) -> Failure
  /// Describes the losses of a report, one sentence each.
  package var losses: @Sendable (MigrationReport) -> [String]

  /// Takes the words of the library above.
  package init(
    failure: @escaping @Sendable (any Error) -> Failure,
    losses: @escaping @Sendable (MigrationReport) -> [String]
  ) {
    self.failure = failure
    self.losses = losses
  }

  /// The first sentence on an error, without its full stop.
  func phrase(_ error: any Error) -> String {
    let sentence = failure(error).sentences.first ?? ""
    return String(sentence.hasSuffix(".") ? sentence.dropLast() : sentence[...])
  }

  /// Descriptions of errors as they are, for callers without words of their own.
  package static let plain = OutcomeWords(
    failure: { (MigrationState.unknownFailureStatus, ["\($0)"]) }, losses: { _ in [] })
}

// (1) Nothing that happens to a record reaches the migration.
// (2) A run replaces the record of another one only once the work folder of that one belongs to it,
// or if it is not running.
// (3) Next to a store that is only read there is none, nor after a run that was refused.

/// Records the outcome of a run next to the store that it makes.
final class OutcomeKeeper: Sendable {
  let run = Identifier.random()
  let words: OutcomeWords
  private let request: MigrationRequest
  private let logger: Logger
  private let state = Mutex<Kept?>(nil)

  private struct Kept {
    var record: OutcomeRecord
    let file: OutcomeFile
    /// What the file contained before.
    let before: OutcomeRecord?
  }

  init(request: MigrationRequest, words: OutcomeWords, logger: Logger) {
    self.request = request
    self.words = words
    self.logger = logger
  }

  /// Starts the record, once the work folder belongs to this run.
  ///
  /// - Parameter writes: false leaves it to the end, for a short run.
  func begin(_ paths: MigrationPaths, writes: Bool = true) {
    guard request.keepsRecord else { return }
    let source = resolved(request.store)
    let destination = request.output.map(resolved) ?? source
    let record = OutcomeRecord(
      run: run, source: source, destination: destination, work: resolved(paths.work))
    let file = OutcomeFile(beside: destination)
    let before = try? file.read()
    guard !isOfOther(before, work: record.work) else { return }
    state.withLock { $0 = Kept(record: record, file: file, before: before) }
    if writes { write(record, to: file) }
  }

  /// Whether a record is that of another run at work, which makes the same store.
  private func isOfOther(_ record: OutcomeRecord?, work: String) -> Bool {
    guard let record, record.run != run, record.work != work else { return false }
    return record.isOfLivingProcess
  }

  /// Records how the output is identified, before it has its name: a run that is killed after the
  /// rename has finished.
  func note(made: MadeOutput) throws {
    guard request.keepsRecord else { return }
    let made = try made.text()
    let kept = state.withLock { kept in
      kept?.record.made = made
      return kept
    }
    if let kept { write(kept.record, to: kept.file) }
  }

  /// Records what the result has, before it takes its place: a run that is killed after that has
  /// finished.
  ///
  /// - Parameter writes: false leaves it to what is recorded next.
  func note(result report: MigrationReport, writes: Bool) {
    guard request.keepsRecord else { return }
    let losses = words.losses(report)
    let kept = state.withLock { kept in
      kept?.record.note(rows: report.rows, losses: losses)
      kept?.record.way?.now = report.now
      return kept
    }
    if writes, let kept { write(kept.record, to: kept.file) }
  }

  /// Records by which way the result is made.
  func note(way: @autoclosure () -> RecordedWay?) {
    guard request.keepsRecord else { return }
    let way = way()
    state.withLock { $0?.record.way = way }
  }

  /// How a run that put its output there identified it, nil if none did.
  static func made(at output: FilePath) -> MadeOutput? {
    guard let record = try? OutcomeFile(beside: output).read(), !record.isOfLivingProcess,
      record.destination == output.string
    else { return nil }
    return record.made.flatMap { MadeOutput(text: $0) }
  }

  /// Records that the run made its result, or had none to make.
  func end(_ report: MigrationReport) {
    guard request.keepsRecord else { return }
    defer { removeAbandoned() }
    // A store that is as it was needs no record, unless an earlier record has another state.
    if report.outcome == .alreadyCurrent, replaced == nil { return takeBack() }
    let said: [String] =
      switch report.outcome {
      case .copied: ["The store already had the model and was copied."]
      case .migrated: []
      case .finishedEarlier: ["An earlier run completed it."]
      default: ["There was nothing to do."]
      }
    let losses = words.losses(report)
    let rows = report.outcome == .migrated ? report.rows : nil
    end(isNew: [.migrated, .copied].contains(report.outcome)) { record in
      record.end(exitStatus: 0, sentences: said, losses: losses)
      record.rows = rows
      record.way?.now = report.now
      record.oldStore = report.oldStore ?? keptBefore(report)
    }
  }

  /// Where the run that made the result kept the old store.
  private func keptBefore(_ report: MigrationReport) -> String? {
    guard report.outcome == .finishedEarlier, request.output == nil else { return nil }
    let store = KeptStores(of: request.store)
    guard let last = (try? store.entries())?.max(by: { $0.time < $1.time }),
      last.precedesDiscard != true
    else { return nil }
    return store.path(of: last).string
  }

  /// Records that the run failed or was interrupted; one that was refused leaves no record.
  func end(_ error: any Error) {
    guard request.keepsRecord else { return }
    if case PlaceError.alreadyRunning? = error as? PlaceError { return }
    let failure = words.failure(error)
    if MigrationState.rejectedStatuses.contains(failure.exitStatus) { return takeBack() }
    // The run that made the output in the meantime records it.
    var isLate = false
    if case PlaceError.outputExists? = error as? PlaceError { isLate = true }
    end(isNew: !isLate) { record in
      record.end(exitStatus: failure.exitStatus, sentences: failure.sentences)
      record.rows = nil
    }
  }

  /// Writes the final record of a run that has begun.
  ///
  /// - Parameter isNew: false keeps the record of an earlier run that did more.
  private func end(isNew: Bool, change: (inout OutcomeRecord) -> Void) {
    guard var kept = state.withLock({ $0 }) else { return }
    change(&kept.record)
    // Another run may have begun since. The run that made the output records it.
    if let now = try? kept.file.read(), now.run != run {
      let isOfSame = now.work == kept.record.work
      if isOfSame ? !isNew : now.isOfLivingProcess { return }
    }
    let isOlderBetter = !isNew && kept.before?.state == .done
    var record = isOlderBetter ? kept.before ?? kept.record : kept.record
    if !isNew, let before = kept.before {
      // A run that found its result there has the way of the run that made it.
      record.way = record.way ?? before.way
      if record.state == .done { record.complete(by: before) }
    }
    write(record, to: kept.file)
  }

  /// The record that this run replaced, nil if there was none.
  private var replaced: OutcomeRecord? { state.withLock { $0?.before } }

  /// Restores the file to what it was before the run.
  private func takeBack() {
    guard let kept = state.withLock({ $0 }) else { return }
    do {
      guard try kept.file.read()?.run == run else { return }
      if let before = kept.before { return write(before, to: kept.file) }
      try Files.removeRegularFile(kept.file.path)
    } catch {
      logger.notice(
        "a record of nothing stays", metadata: ["file": "\(kept.file.path)", "error": "\(error)"])
    }
  }

  /// Removes what runs left that were killed while they wrote their records.
  private func removeAbandoned() {
    let file = OutcomeFile(beside: resolved(request.destination))
    do {
      let names = try request.shared?.leftovers(in: Files.parent(of: file.path))
      try file.removeAbandoned(among: names)
    } catch {
      logger.notice(
        "an unfinished record stays", metadata: ["file": "\(file.path)", "error": "\(error)"])
    }
  }

  private func write(_ record: OutcomeRecord, to file: OutcomeFile) {
    do {
      // Everybody who may read the store may read the record.
      let mode = try Files.fileStatus(resolved(request.store)).mode
      try file.write(record, mode: FilePermissions(rawValue: CInterop.Mode(mode & 0o444 | 0o600)))
    } catch {
      logger.notice("no record", metadata: ["file": "\(file.path)", "error": "\(error)"])
    }
  }

  private func resolved(_ path: FilePath) -> FilePath {
    (try? Files.resolved(path)) ?? (try? Files.resolvedFolder(of: path)) ?? path
  }
}
