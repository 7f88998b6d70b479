public import Foundation
import MigrationCoordinator
public import SystemPackage

/// The file for a migration's report, in JSON.
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

  /// Whether bytes are JSON with the keys of a report.
  private static func isReport(_ bytes: [UInt8]) -> Bool {
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

  private func write(_ report: MigrationReport) throws {
    do {
      try file.write(Array((try JSONOutput.text(value: report).text + "\n").utf8))
    } catch {
      let what =
        report.failure == nil
        ? "the migration is done, but its report" : "the report of what failed"
      throw MigrationFailure(
        .cannotWrite, "\(what) cannot be written to \(file.path): \(OutputFile.reason(error)).")
    }
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
