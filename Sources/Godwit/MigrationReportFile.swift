public import Foundation
import MigrationCoordinator
import MigrationStatus
import SystemCalls
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
  private let path: FilePath
  private let request: MigrationRequest
  /// Open from the beginning on: who reads a pipe takes a writer that goes for the end.
  private let stream: StreamFile?

  /// Checks, before anything else is written, that the report can be written and replaces nothing
  /// but an earlier report.
  ///
  /// - Throws: `MigrationFailure`, if it cannot.
  public init(_ path: FilePath, of migration: StoreMigration) throws {
    self.path = path
    let request = migration.request
    self.request = request
    stream = try MigrationFailure.catching {
      try Self.requireWritable(path, for: request)
    }
  }

  /// Checks, before anything else is written, that the report can be written and replaces nothing
  /// but an earlier report.
  ///
  /// - Throws: `MigrationFailure`, if it cannot.
  public init(_ file: URL, of migration: StoreMigration) throws {
    try self.init(FilePath(file), of: migration)
  }

  /// The stream that a report goes to; nil where it goes to a file.
  private static func requireWritable(
    _ path: FilePath, for request: MigrationRequest
  ) throws -> StreamFile? {
    try requireFree(path, for: request)
    if isStream(path) {
      do {
        return try StreamFile(path)
      } catch {
        throw MigrationFailure(
          .cannotCreate,
          "\(path) takes no report (\(reason(error))): name a file, or a pipe that somebody reads.")
      }
    }
    let probe = FilePath("\(try resolved(path)).\(UUID().uuidString).tmp")
    do {
      try FileDescriptor.open(
        probe, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec],
        permissions: .ownerReadWrite
      ).close()
    } catch {
      throw MigrationFailure(
        .cannotCreate,
        "\(path) cannot be written (\(error)): name another file for the report, in a folder that "
          + "is there and can be written.")
    }
    try Files.remove(probe)
    return nil
  }

  /// Whether the path is that of a pipe, a terminal or the like.
  private static func isStream(_ path: FilePath) -> Bool {
    let kind = (try? Files.fileStatusIfPresent(path))?.kind
    return kind == .other
  }

  /// Checks that the path is free, or that of an earlier report.
  private static func requireFree(_ path: FilePath, for request: MigrationRequest) throws {
    let taken = MigrationFailure(
      .cannotCreate,
      "\(path) is not an earlier report, and a report would take its place: name another file.")
    if try Files.fileStatusIfPresent(path, followLinks: false)?.kind == .symbolicLink,
      try Files.fileStatusIfPresent(path) == nil
    {
      throw MigrationFailure(
        .cannotCreate, "\(path) is a link that leads nowhere: remove it, or name another file.")
    }
    if let status = try Files.fileStatusIfPresent(path) {
      if status.isDirectory { throw taken }
      if status.kind == .file, try !isReport(path, size: status.size) { throw taken }
      return
    }
    let own = try resolved(path)
    for store in [request.store, request.output].compactMap(\.self) {
      guard let store = try? Files.resolvedFolder(of: store) else { continue }
      let suffixes = ["", "-wal", "-shm", "-journal", ".godwit", OutcomeFile.suffix]
      if suffixes.contains(where: { own.string == store.string + $0 }) { throw taken }
    }
  }

  /// Whether the file is empty, or JSON with the keys of a report.
  private static func isReport(_ path: FilePath, size: Int64) throws -> Bool {
    if size == 0 { return true }
    guard size < 64 << 20, let bytes = try? Files.readFile(path, limit: 64 << 20),
      let object = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
    else { return false }
    return ["outcome", "store", "destination"].allSatisfy { object[$0] is String }
  }

  /// The path of the file itself, to which a link may lead.
  private static func resolved(_ path: FilePath) throws -> FilePath {
    if try Files.fileStatusIfPresent(path) != nil { return try Files.resolved(path) }
    do {
      return try Files.resolvedFolder(of: path)
    } catch {
      throw MigrationFailure(
        .cannotCreate,
        "the folder of \(path) is not there: make it, or name another file.")
    }
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
      if let stream {
        return try stream.write(Array((try JSONOutput.text(value: report).text + "\n").utf8))
      }
      // Something else may have taken the name since the migration began.
      try Self.requireFree(path, for: request)
      guard !Self.isStream(path) else {
        throw SystemCallError(operation: .open, path: path, errno: .fileExists)
      }
      try JSONOutput.write(report, to: try Self.resolved(path))
    } catch {
      let what =
        report.failure == nil
        ? "the migration is done, but its report" : "the report of what failed"
      throw MigrationFailure(
        .cannotWrite, "\(what) cannot be written to \(path): \(Self.reason(error)).")
    }
  }

  /// What keeps a report from being written, without the sentence around it.
  private static func reason(_ error: any Error) -> String {
    switch error {
    case let error as SystemCallError where error.errno == .noSuchAddressOrDevice:
      "nobody reads the pipe"
    case let error as SystemCallError where error.errno == .invalidArgument:
      "it is no file, pipe or terminal"
    case let error as SystemCallError: "\(error.errno)"
    case let error as MigrationFailure: error.sentences.joined(separator: " ")
    default: "\(error)"
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
