import Foundation
import Godwit
import MigrationCoordinator
import SystemCalls
import SystemPackage

/// The file that a migration's report goes to.
struct ReportFile {
  private let path: FilePath
  /// Whether something other than a file has the name, such as a pipe or a terminal.
  private let isStream: Bool

  /// Makes sure that the report can be written, before anything else is.
  init(_ path: FilePath) throws {
    self.path = path
    if let status = try Files.fileStatusIfPresent(path) {
      guard !status.isDirectory else {
        throw MigrationFailure(.cannotCreate, "\(path) is a folder: name a file for the report.")
      }
      isStream = status.kind != .file
    } else {
      isStream = false
    }
    guard !isStream else { return }
    let probe = FilePath("\(try resolved()).\(UUID().uuidString).tmp")
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
  }

  /// The file itself, also where a link leads to it.
  private func resolved() throws -> FilePath {
    if try Files.fileStatusIfPresent(path) != nil { return try Files.resolved(path) }
    do {
      return try Files.resolvedFolder(of: path)
    } catch {
      throw MigrationFailure(
        .cannotCreate, "the folder of \(path) is not there: make it, or name another file.")
    }
  }

  func write(_ report: MigrationReport) throws {
    do {
      guard isStream else { return try JSONOutput.write(report, to: try resolved()) }
      let stream = try FileDescriptor.open(path, .writeOnly, options: .closeOnExec)
      _ = try stream.closeAfter {
        try stream.writeAll(Array((try JSONOutput.text(report).text + "\n").utf8))
      }
    } catch {
      let what =
        report.failure == nil
        ? "the migration is done, but its report" : "the report of what failed"
      throw MigrationFailure(.cannotWrite, "\(what) cannot be written to \(path): \(error).")
    }
  }
}

extension MigrationReport {
  /// The report of a migration that has no result.
  static func of(_ failure: MigrationFailure, _ request: MigrationRequest) -> MigrationReport {
    let outcome: Outcome =
      switch failure.exitStatus {
      case .impossible: .refused
      case .interrupted: .interrupted
      default: .failed
      }
    return .without(
      result: outcome, store: request.store, destination: request.destination,
      Failure(
        exitStatus: failure.exitStatus.rawValue, coreDataCode: failure.coreDataCode,
        sentences: failure.sentences))
  }
}
