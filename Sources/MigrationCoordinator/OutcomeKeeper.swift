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

/// Records the outcome of a run beside the store that it reads and the one that it makes.
final class OutcomeKeeper: Sendable {
  let run = Identifier.random()
  let words: OutcomeWords
  private let request: MigrationRequest
  private let logger: Logger
  private let state = Mutex<Kept?>(nil)

  private struct Kept {
    var record: OutcomeRecord
    /// The files of the record, and what they contained before.
    var files: [(file: OutcomeFile, before: OutcomeRecord?)]
    /// The file beside an output, where the record stands in it.
    var output: OutcomeFile?
  }

  private var isBegun: Bool { state.withLock { $0 != nil } }

  init(request: MigrationRequest, words: OutcomeWords, logger: Logger) {
    self.request = request
    self.words = words
    self.logger = logger
  }

  /// Starts the record, once the work folder belongs to this run.
  func begin(_ paths: MigrationPaths) {
    guard request.keepsRecord else { return }
    let source = resolved(request.store)
    let destination = request.output.map(resolved) ?? source
    let record = OutcomeRecord(
      run: run, source: source, destination: destination, work: resolved(paths.work))
    let output = source == destination ? nil : OutcomeFile(beside: destination)
    let files = [OutcomeFile(beside: source), output].compactMap(\.self)
      .map { (file: $0, before: try? $0.read()) }
      .filter { !isOfOther($0.before, work: record.work) }
    let kept = Kept(
      record: record, files: files, output: files.map(\.file).first { $0 == output })
    state.withLock { $0 = kept }
    for file in files { write(record, to: file.file) }
  }

  /// Whether a record is that of another run at work, which reads the same store.
  private func isOfOther(_ record: OutcomeRecord?, work: String) -> Bool {
    guard let record, record.run != run, record.work != work else { return false }
    return record.isOfLivingProcess
  }

  /// Records how the output is identified, see `MadeOutput`, before it has its name: a run that is
  /// killed once it has it has finished.
  func note(_ made: @autoclosure () throws -> String) rethrows {
    guard request.keepsRecord else { return }
    let made = try made()
    let kept = state.withLock { kept in
      kept?.record.made = made
      return kept
    }
    if let kept, let file = kept.output ?? kept.files.first?.file { write(kept.record, to: file) }
  }

  /// Records by which way the result is made.
  func note(way: @autoclosure () -> RecordedWay?) {
    guard request.keepsRecord else { return }
    let way = way()
    state.withLock { $0?.record.way = way }
  }

  /// How a run that put its output there identified it, nil if none did.
  static func made(at output: FilePath) -> String? {
    guard let record = try? OutcomeFile(beside: output).read(), !record.isOfLivingProcess,
      record.destination == output.string
    else { return nil }
    return record.made
  }

  /// Records that the run made its result, or had none to make.
  func end(_ report: MigrationReport) {
    guard request.keepsRecord else { return }
    let said: [String] =
      switch report.outcome {
      case .copied: ["The store had the model already and was copied."]
      case .migrated: []
      default: ["There was nothing left to do."]
      }
    let losses = words.losses(report)
    let rows = report.outcome == .migrated ? report.rows : nil
    end(isNew: [.migrated, .copied].contains(report.outcome)) { record in
      record.end(exitStatus: 0, sentences: said, losses: losses)
      record.rows = rows
      record.oldStore = report.oldStore
    }
    if report.outcome == .alreadyCurrent { forgetMissingOutput() }
    removeAbandoned()
  }

  /// Records that the run failed or was interrupted.
  func end(_ error: any Error) {
    guard request.keepsRecord else { return }
    if case MigrationError.alreadyRunning? = error as? MigrationError { return }
    let failure = words.failure(error)
    // Whoever made the output in the meantime tells of it.
    var isLate = false
    if case MigrationError.outputExists? = error as? MigrationError { isLate = isBegun }
    end(isNew: !isLate) { $0.end(exitStatus: failure.exitStatus, sentences: failure.sentences) }
  }

  /// Writes the final record.
  ///
  /// - Parameter isNew: false keeps the record of an earlier run that did more.
  private func end(isNew: Bool, change: (inout OutcomeRecord) -> Void) {
    guard var kept = state.withLock({ $0 }) ?? unbegun() else { return }
    let isBegun = isBegun
    change(&kept.record)
    for (file, before) in kept.files {
      // Another run may have begun beside this one, with another output. Of one output only whoever
      // made it tells.
      if let now = try? file.read(), now.run != run {
        let isOfSame = isBegun && now.work == kept.record.work
        if isOfSame ? !isNew : now.isOfLivingProcess { continue }
      }
      let isOlderBetter = !isNew && before?.state == .done
      var record = isOlderBetter ? before ?? kept.record : kept.record
      // A run that found its result there says how that was made.
      if !isNew, record.way == nil { record.way = before?.way }
      write(record, to: file)
    }
  }

  /// Removes the record beside an output that was not to be made and is not there.
  private func forgetMissingOutput() {
    guard let kept = state.withLock({ $0 }), let output = kept.output,
      kept.files.contains(where: { $0.file == output && $0.before == nil })
    else { return }
    do {
      let made = try Files.fileStatusIfPresent(FilePath(kept.record.destination))
      guard made == nil, try output.read()?.run == run else { return }
      try Files.removeRegularFile(output.path)
    } catch {
      logger.notice(
        "a record of nothing stays", metadata: ["file": "\(output.path)", "error": "\(error)"])
    }
  }

  /// The record of a run that failed before it had a work folder, nil if there is no store.
  private func unbegun() -> Kept? {
    let source = resolved(request.store)
    guard let status = try? Files.fileStatusIfPresent(source), status.kind == .file else {
      return nil
    }
    let destination = request.output.map(resolved) ?? source
    let file = OutcomeFile(beside: source)
    return Kept(
      record: OutcomeRecord(
        run: run, source: source, destination: destination,
        work: request.paths.work),
      files: [(file, try? file.read())])
  }

  /// Removes what runs left that were killed while they wrote their records.
  private func removeAbandoned() {
    for store in Set([request.store, request.destination].map(resolved)) {
      let file = OutcomeFile(beside: store)
      do {
        try file.removeAbandoned()
      } catch {
        logger.notice(
          "an unfinished record stays", metadata: ["file": "\(file.path)", "error": "\(error)"])
      }
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
