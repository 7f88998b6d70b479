import ArgumentParser
import Foundation
import Godwit
import MigrationStatus
import Planning
import SystemCalls
import SystemPackage

struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Shows how far a running migration is.")

  @Argument(help: "The store being migrated, its output, or the work folder.")
  var path: FilePath

  @Flag(help: "Show it again and again until the migration ends.")
  var watch = false

  @Flag(help: "Print JSON.")
  var json = false

  func run() async throws {
    guard let file = try statusFile() else {
      throw MigrationFailure(
        .notFound, "no migration of \(path) is running: nothing is there to show.")
    }
    let reader = try StatusReader.open(file)
    while true {
      let snapshot = try reader.snapshot()
      Terminal.standardOutput.line(try json ? JSONOutput.text(snapshot) : Self.text(snapshot))
      guard watch, snapshot.phase.isWorking, !snapshot.isStale, !reader.isReplaced else { return }
      try await Task.sleep(for: .seconds(1))
    }
  }

  /// The status file that belongs to the path, if there is one.
  private func statusFile() throws -> FilePath? {
    let candidates = [
      path.appending("status.mdb"), MigrationPaths(destination: path).status, path,
    ]
    for candidate in candidates where candidate.lastComponent?.string == "status.mdb" {
      if let status = try? Files.fileStatusIfPresent(candidate), !status.isDirectory {
        return candidate
      }
    }
    return nil
  }

  private static func text(_ snapshot: StatusSnapshot) -> String {
    var lines = [ProgressBar.line(snapshot, width: 78)]
    if snapshot.isStale { lines.append("The coordinator is gone: start the migration again.") }
    if let error = snapshot.error { lines.append("failed: \(error)") }
    for part in snapshot.parts where part.state == .running || part.state == .failed {
      let share = part.bytesTotal == 0 ? 0 : part.bytesDone * 100 / part.bytesTotal
      lines.append(
        "  work order \(part.workOrder), partition \(part.partition): \(part.state.rawValue), "
          + "\(part.table), \(share) %, attempt \(part.attempt), process \(part.process)")
    }
    return lines.joined(separator: "\n")
  }
}
