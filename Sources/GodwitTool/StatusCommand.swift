import ArgumentParser
import Godwit
import MigrationStatus
import SystemPackage

struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Shows how far a migration is, or what became of the last one.",
    discussion: """
      Ends with 0 while it runs and when it is done, with 69 while it is paused, with 75 where it \
      was interrupted or killed and the same command goes on, with 78 where it was refused, with \
      the status of its failure where it failed, and with 66 where nothing is known.
      """)

  @Argument(help: "The store being migrated, its output, or the work folder.")
  var path: FilePath

  @Flag(help: "Show it again and again until the migration ends.")
  var watch = false

  @Option(
    help: ArgumentHelp(
      "How long --watch waits for a migration to begin where none is known.",
      valueName: "seconds"))
  var wait = 3.0

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    guard (0...31_536_000).contains(wait) else {
      throw ValidationError("--wait takes a number of seconds, a year at most.")
    }
  }

  func run() async throws {
    let watcher = StatusWatch(path)
    var report = try await begin(watcher)
    while true {
      report = try await certain(report, watcher)
      try show(report)
      guard watch, report.decision.state.isOpen else { break }
      try await Task.sleep(for: .seconds(1))
      guard let next = try await look(watcher) else { break }
      report = next
    }
    let status = report.decision.exitStatus
    if status != 0 { throw ExitCode(status) }
  }

  /// The first that is told of a migration; `--watch` waits for one to begin.
  private func begin(_ watcher: StatusWatch) async throws -> StatusReport {
    let end = ContinuousClock.now + .seconds(wait)
    repeat {
      if let report = try watcher.look() { return report }
      guard watch else { break }
      try await Task.sleep(for: .milliseconds(100))
    } while .now < end
    throw MigrationFailure(
      .notFound,
      "nothing is known of a migration of \(path): check the path, or whether it runs with "
        + "--no-record.")
  }

  /// Looks once more where a process is not to be seen and was not silent for long.
  private func certain(
    _ report: StatusReport, _ watcher: StatusWatch
  ) async throws -> StatusReport {
    guard report.decision.isUncertain else { return report }
    try await Task.sleep(for: .milliseconds(1_100))
    return try await look(watcher) ?? report
  }

  /// A file that is just being made or removed may fail to open, and does not for long.
  private func look(_ watcher: StatusWatch) async throws -> StatusReport? {
    for _ in 0..<5 {
      if let report = try? watcher.look() { return report }
      try await Task.sleep(for: .milliseconds(100))
    }
    return try watcher.look()
  }

  private func show(_ report: StatusReport) throws {
    if json {
      Terminal.standardOutput.line(try JSONOutput.text(report))
    } else {
      for line in StatusText(path: path, report: report).lines {
        Terminal.standardOutput.line(line)
      }
    }
  }
}
