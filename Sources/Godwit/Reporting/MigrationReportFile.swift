public import Foundation
import MigrationCoordinator
import Pages
import Synchronization
import SystemCalls
public import SystemPackage

/// The file for a migration's report: a page for people if it ends in `.html`, JSON otherwise
/// (docs/schemas/report.schema.json).
///
/// ```swift
/// let file = try MigrationReportFile("report.json", of: migration)
/// do {
///   try file.write(try await migration.run())
/// } catch {
///   try file.write(MigrationFailure(error))
/// }
/// ```
public struct MigrationReportFile: Sendable {
  private let request: MigrationRequest
  private let lastRun: LastRun
  private let file: OutputFile

  /// Checks, before anything else is written, that the report can be written and replaces nothing
  /// but an earlier report.
  ///
  /// - Throws: `MigrationFailure`, if it cannot.
  public init(_ path: FilePath, of migration: StoreMigration) throws(MigrationFailure) {
    let request = migration.request
    self.request = request
    lastRun = migration.lastRun
    try migration.requireDistinctFiles(reports: [path])
    file = try OutputFile(
      path, besides: [request.store, request.output].compactMap(\.self), isEarlier: Self.isReport)
  }

  /// Checks, before anything else is written, that the report can be written and replaces nothing
  /// but an earlier report.
  ///
  /// - Throws: `MigrationFailure`, if it cannot.
  public init(_ file: URL, of migration: StoreMigration) throws(MigrationFailure) {
    try self.init(FilePath(file), of: migration)
  }

  /// Whether bytes are a page of Godwit's, or JSON with the keys of a report.
  static func isReport(_ bytes: [UInt8]) -> Bool {
    if String(decoding: bytes.prefix(1024), as: UTF8.self).contains(Page.mark) { return true }
    guard let object = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
    else { return false }
    return ["outcome", "store", "destination"].allSatisfy { object[$0] is String }
  }

  /// Writes the report of a migration that succeeded, unless nothing was done and the file has the
  /// report of the run that made the result.
  ///
  /// - Returns: a note that this report stays, nil otherwise.
  /// - Throws: `MigrationFailure`, if it cannot be written.
  @discardableResult
  public func write(_ result: StoreMigration.Result) throws(MigrationFailure) -> String? {
    if [.alreadyThere, .alreadyCurrent].contains(result.outcome), isAccount(of: result) {
      return "\(file.path) has the report of the run that made \(result.destination), and stays."
    }
    try write(result.core)
    return nil
  }

  /// Whether the file has the report of a run that made a result, which nothing changed since.
  private func isAccount(of result: StoreMigration.Result) -> Bool {
    let made = result.core.destination
    guard result.salvage == nil,
      let written = try? Files.fileStatusIfPresent(file.path), written.kind == .file,
      let store = try? Files.fileStatusIfPresent(FilePath(made)),
      store.modified <= written.modified,
      let bytes = try? Files.readFile(file.path, limit: OutputFile.sizeLimit)
    else { return false }
    if Self.isPage(file.path) {
      let page = String(decoding: bytes, as: UTF8.self)
      return page.prefix(1024).contains(Page.mark)
        && [MigrationReport.newStoreFact, Markup(made).renderText].allSatisfy(page.contains)
    }
    let report = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
    let outcomes: [MigrationReport.Outcome] = [.migrated, .copied]
    return report?["destination"] as? String == made
      && outcomes.contains { $0.rawValue == report?["outcome"] as? String }
  }

  /// Writes the report of a migration without a result, with its activities until it failed.
  ///
  /// - Throws: `MigrationFailure`, if it cannot be written.
  public func write(_ failure: MigrationFailure) throws(MigrationFailure) {
    var report = MigrationReport.of(failure, request: request)
    if let recording = lastRun.recorder?.recording, !recording.workOrders.isEmpty {
      report.timeline = recording
      report.seconds = recording.secondsByPhase
    }
    try write(report)
  }

  /// Whether a file of this name is a page for people.
  static func isPage(_ path: FilePath) -> Bool {
    ["html", "htm"].contains(path.extension?.lowercased() ?? "")
  }

  private func write(_ report: MigrationReport) throws(MigrationFailure) {
    try file.write(
      Self.isPage(file.path) ? report.page : try JSONOutput.text(value: report).text + "\n",
      as: report.failure == nil
        ? "the migration is done, but its report" : "the report of what failed")
  }
}

extension MigrationReport {
  /// The report of a migration that has no result.
  fileprivate static func of(_ failure: MigrationFailure, request: MigrationRequest)
    -> MigrationReport
  {
    let outcome: Outcome =
      switch failure.exitStatus {
      case .impossible: .refused
      case .interrupted: .interrupted
      default: .failed
      }
    return .without(
      result: outcome, store: request.store, destination: request.destination,
      failure: Failure(
        exitStatus: failure.exitStatus.rawValue, coreDataCode: failure.coreDataCode,
        sentences: failure.sentences, kind: failure.kind.rawValue, file: failure.file?.string,
        reasons: failure.reasons.map { Reason($0) }))
  }
}

extension MigrationReport.Reason {
  /// Takes the fields of a reason for programs.
  init(_ reason: MigrationFailure.Reason) {
    self.init(cause: reason.cause.name, sentence: reason.description)
    (entity, property, count) = (reason.entity, reason.property, reason.count)
    (keys, coreDataCode, advice) = (reason.keys, reason.coreDataCode, reason.advice)
  }
}

/// What the last run of a migration did, however it ended.
///
/// All copies of a migration share it, since a report is made for one and another one is run.
final class LastRun: Sendable {
  private let state = Mutex<RunRecorder?>(nil)

  /// The recorder of the run; nil before the first.
  var recorder: RunRecorder? { state.withLock(\.self) }

  /// Begins another run, which also reports to the observer.
  func begin(observer: any RunObserver) -> RunRecorder {
    let recorder = RunRecorder(observer: observer)
    state.withLock { $0 = recorder }
    return recorder
  }
}
