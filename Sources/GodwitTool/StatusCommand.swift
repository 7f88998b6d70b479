import ArgumentParser
import Godwit
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

  func validate() throws { try OptionLimits.check(wait: wait) }

  func run() async throws {
    let monitor = MigrationMonitor(path)
    var last: MigrationMonitor.Status?
    if watch {
      for try await status in monitor.updates(waitingToBegin: .seconds(wait)) {
        try show(status)
        last = status
      }
    } else {
      last = try await monitor.status()
      if let last { try show(last) }
    }
    guard let last else {
      throw MigrationMonitor.nothingKnown(of: path)
    }
    if last.exitStatus != 0 { throw ExitCode(last.exitStatus) }
  }

  private func show(_ status: MigrationMonitor.Status) throws {
    if json {
      Terminal.standardOutput.line(json: try JSONOutput.text(value: status))
    } else {
      for line in StatusText(path: path, status: status).lines {
        Terminal.standardOutput.line(text: line)
      }
    }
  }
}
