public import Foundation
import MigrationCoordinator
import Pages
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
  private let file: OutputFile

  /// Checks, before anything else is written, that the report can be written and replaces nothing
  /// but an earlier report.
  ///
  /// - Throws: `MigrationFailure`, if it cannot.
  public init(_ path: FilePath, of migration: StoreMigration) throws {
    let request = migration.request
    self.request = request
    file = try OutputFile(
      path, besides: [request.store, request.output].compactMap(\.self), isEarlier: Self.isReport)
  }

  /// Checks, before anything else is written, that the report can be written and replaces nothing
  /// but an earlier report.
  ///
  /// - Throws: `MigrationFailure`, if it cannot.
  public init(_ file: URL, of migration: StoreMigration) throws {
    try self.init(FilePath(file), of: migration)
  }

  /// Whether bytes are a page of Godwit's, or JSON with the keys of a report.
  static func isReport(_ bytes: [UInt8]) -> Bool {
    if String(decoding: bytes.prefix(1024), as: UTF8.self).contains(Page.mark) { return true }
    guard let object = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
    else { return false }
    return ["outcome", "store", "destination"].allSatisfy { object[$0] is String }
  }

  /// Writes the report of a migration that succeeded.
  ///
  /// - Throws: `MigrationFailure`, if it cannot be written.
  public func write(_ result: StoreMigration.Result) throws { try write(result.core) }

  /// Writes the report of a migration that has no result.
  ///
  /// - Throws: `MigrationFailure`, if it cannot be written.
  public func write(_ failure: MigrationFailure) throws {
    try write(.of(failure, request: request))
  }

  /// Whether a file of this name is a page for people.
  static func isPage(_ path: FilePath) -> Bool {
    ["html", "htm"].contains(path.extension?.lowercased() ?? "")
  }

  private func write(_ report: MigrationReport) throws {
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
        sentences: failure.sentences))
  }
}
