import ArgumentParser
import Godwit
import SystemCalls

@main
struct GodwitTool: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "godwit",
    abstract: "Migrates Core Data SQLite stores without Core Data.",
    version: "0.1.0",
    subcommands: [
      MigrateCommand.self, PlanCommand.self, StatusCommand.self, InspectCommand.self,
      CheckCommand.self, MapCommand.self, VerifyCommand.self, GenerateCommand.self,
    ])

  static func main() async {
    GodwitWorker.runIfRequested()
    do {
      try Processes.ignoreBrokenPipes()
      _ = try Processes.raiseDescriptorLimit()
      var command = try parseAsRoot()
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
    } catch {
      end(error)
    }
  }

  /// Ends the process: usage errors in the parser's words, everything else in ours.
  private static func end(_ error: any Error) -> Never {
    if error is ExitCode || error is ValidationError || error is CleanExit
      || exitCode(for: error) != .failure
    {
      exit(withError: error)
    }
    let failure = error as? MigrationFailure ?? MigrationFailure(error)
    for sentence in failure.sentences { Terminal.standardError.line("godwit: \(sentence)") }
    exit(withError: ExitCode(failure.exitStatus.rawValue))
  }
}
