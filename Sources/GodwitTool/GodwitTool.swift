import ArgumentParser
public import Godwit

/// The command line of `godwit`, for the tool and for executables that bring policies of their own.
public enum GodwitTool {
  /// The policies that the mapping models of a migration may name.
  @TaskLocal static var policies = MigrationPolicies()

  /// Runs the command that the process was started with and ends the process.
  ///
  /// It has to be the first call of `main`: workers are processes of the same executable.
  public static func run(policies: MigrationPolicies = MigrationPolicies()) async {
    GodwitWorker.runIfRequested(policies: policies)
    await $policies.withValue(policies) { await RootCommand.execute() }
  }
}

struct RootCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "godwit",
    abstract: "Migrates Core Data SQLite stores without Core Data.",
    version: ToolProcess.version,
    subcommands: [
      MigrateCommand.self, PlanCommand.self, StatusCommand.self, PauseCommand.self,
      ResumeCommand.self, CancelCommand.self, SetCommand.self, InspectCommand.self,
      DiffCommand.self, CheckCommand.self, MapCommand.self, ModelCommand.self, VerifyCommand.self,
      GenerateCommand.self, ListCommand.self, RollbackCommand.self, FinishCommand.self,
      DiscardCommand.self,
    ])

  fileprivate static func execute() async {
    let given = Array(CommandLine.arguments.dropFirst())
    do {
      try ToolProcess.prepare()
      let arguments = LossOptions.completed(given)
      var command = try parseAsRoot(arguments)
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
    } catch {
      let isUsage = exitCode(for: error) == .validationFailure || given.first == "help"
      if isUsage, let mistake = UsageMistake(given, commands: names) { end(mistake) }
      end(error)
    }
  }

  /// The options of every command, as the parser lists them.
  static var names: UsageMistake.Commands {
    var result: UsageMistake.Commands = ["help": ["--help", "--help-hidden"]]
    for command in configuration.subcommands {
      let help = command.helpMessage(includeHidden: true)
      let options = help.matches(of: /--[a-z][a-z-]*/).map { String($0.output) }
      result[command.configuration.commandName ?? ""] = Set(options + ["--help-hidden"])
    }
    return result
  }

  private static func end(_ mistake: UsageMistake) -> Never {
    Terminal.standardError.lines(text: mistake.text)
    exit(withError: ExitCode(ExitStatus.usage.rawValue))
  }

  /// Ends the process; the parser words usage errors, `MigrationFailure` everything else.
  private static func end(_ error: any Error) -> Never {
    if error is ExitCode || error is ValidationError || error is CleanExit
      || exitCode(for: error) != .failure
    {
      // The words of the parser repeat arguments, which may be names of files.
      let text = fullMessage(for: error)
      let status = exitCode(for: error)
      if !text.isEmpty {
        (status == .success ? Terminal.standardOutput : .standardError).lines(text: text)
      }
      exit(withError: status)
    }
    let failure = error as? MigrationFailure ?? MigrationFailure(error)
    for sentence in failure.sentences { Terminal.standardError.line(text: "godwit: \(sentence)") }
    exit(withError: ExitCode(failure.exitStatus.rawValue))
  }
}
