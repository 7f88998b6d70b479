package import ArgumentParser
public import Godwit
import SystemPackage

/// The command line of `godwit`, for the tool and for executables that bring policies of their own.
public enum GodwitTool {
  /// What the tool is called in its help.
  static let name = "godwit"

  /// The policies that the mapping models of a migration may name.
  @TaskLocal static var policies = MigrationPolicies()

  /// Runs the command that the process was started with and ends the process.
  ///
  /// It has to be the first call of `main`: workers are processes of the same executable.
  public static func run(policies: MigrationPolicies = MigrationPolicies()) async {
    await Advice.$words.withValue(CommandLineWords()) {
      // What workers send to the coordinator is read by the same people.
      GodwitWorker.runIfRequested(policies: policies)
      await $policies.withValue(policies) { await RootCommand.execute() }
    }
  }
}

extension GodwitTool {
  /// The words of the command that resumes what the words of a process began.
  ///
  /// An executable of another name may have policies that `godwit` lacks.
  static func resumption(of words: [String]) -> [String] {
    let given = words.dropFirst()
    // Words after `--` are names of stores.
    let options = given.prefix { $0 != "--" }
    let isOwn = (words.first.flatMap { FilePath($0).lastComponent?.string } ?? name) == name
    return [isOwn ? name : words[0]] + options.filter { $0 != "--restart" }
      + given.dropFirst(options.count)
  }
}

struct RootCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: GodwitTool.name,
    abstract: "Migrates Core Data SQLite stores without Core Data.",
    discussion: "`godwit --version` prints the version of the tool.",
    examples: [
      "godwit inspect Shop.sqlite",
      "godwit check Shop.sqlite --to Shop.xcdatamodeld",
      "godwit migrate Shop.sqlite --to Shop.xcdatamodeld",
    ],
    statuses: [
      0: "completed, or nothing to do",
      1: "`check --exit-status`: a migration is needed; `diff`: the two differ",
      64: "wrong usage; `verify`: no record has the options of the migration",
      65: "damaged input; `verify`: the two differ, or a part could not be compared",
      66: "not found",
      69: "the store is in use; a migration is paused, or did not respond in time",
      70: "an error in Godwit itself",
      71: "the system has too little memory, or too few processes or open files",
      73: "a permission is missing, or a file of that name already exists",
      74: "cannot write, such as on a full disk",
      75: "interrupted; the same command resumes it",
      78: "cannot be migrated, or would lose data without consent",
    ],
    page: "docs/commands.md",
    subcommands: commands)

  private static let commands: [any ParsableCommand.Type] = [
    MigrateCommand.self, PlanCommand.self, StatusCommand.self, PauseCommand.self,
    ResumeCommand.self, CancelCommand.self, SetCommand.self, InspectCommand.self,
    ExportCommand.self, DiffCommand.self, CheckCommand.self, VersionsCommand.self, MapCommand.self,
    ModelCommand.self, VerifyCommand.self,
    GenerateCommand.self, FleetCommand.self, ListCommand.self, RollbackCommand.self,
    FinishCommand.self,
    DiscardCommand.self, ServeCommand.self,
  ]

  func run() throws { throw MissingSubcommand(of: Self.self) }

  fileprivate static func execute() async {
    let given = Array(CommandLine.arguments.dropFirst())
    do {
      try ToolProcess.prepare()
      // As an option of the parser it would be in the help of every command, and some have an
      // option of that name.
      if given == ["--version"] {
        Terminal.standardOutput.line(text: ToolProcess.build)
        return try Terminal.requireAnswered()
      }
      if given == ["--generate-completion-script", "bash"] {
        let script = NameCompletions.bashScript(
          completionScript(for: .bash),
          commands: commands.compactMap { $0.configuration.commandName })
        Terminal.standardOutput.lines(text: script)
        return try Terminal.requireAnswered()
      }
      let arguments = LossOptions.completed(given)
      if let command = parsedAlone(arguments) { return try await perform(command) }
      try await perform(arguments)
    } catch {
      let isUsage = exitCode(for: error) == .validationFailure || given.first == "help"
      let options = given.prefix { $0 != "--" }
      // What watches prints a line for each object.
      let isStream =
        options.contains("--follow") || options.contains("--watch") && options.contains("--json")
      let form: ErrorForm = isStream ? .line : options.contains("--json") ? .document : .text
      if isUsage, let mistake = UsageMistake(given, commands: names) {
        Terminal.standardError.lines(text: mistake.text)
        end(MigrationFailure(.usage, mistake.sentence), as: form)
      }
      end(error, as: form)
    }
  }

  /// The command that the first argument names, if it accepts all others.
  ///
  /// The parser of the whole tool reads every command first, and is needed only for mistakes and
  /// for help.
  private static func parsedAlone(_ arguments: [String]) -> (any ParsableCommand)? {
    $parsesAlone.withValue(true) {
      guard let name = arguments.first,
        let command = commands.first(where: { $0.configuration.commandName == name })
      else { return nil }
      let parsed = try? command.parseAsRoot(Array(arguments.dropFirst()))
      return parsed.flatMap { type(of: $0) == command ? $0 : nil }
    }
  }

  /// Whether arguments are parsed for one command, without help.
  ///
  /// A mistake is reported by another parse with all commands.
  @TaskLocal static var parsesAlone = false

  /// The options of every command, as the parser lists them.
  static var names: UsageMistake.Commands {
    var result: UsageMistake.Commands = ["help": ["--help", "--help-hidden"]]
    func add(_ command: any ParsableCommand.Type, within path: String) {
      let name = path + (command.configuration.commandName ?? "")
      let help = command.helpMessage(includeHidden: true)
      let options = help.matches(of: /--[a-z][a-z-]*/).map { String($0.output) }
      result[name] = Set(options + ["--help-hidden"])
      for inner in command.configuration.subcommands { add(inner, within: "\(name) ") }
    }
    for command in commands { add(command, within: "") }
    return result
  }
}

extension AsyncParsableCommand {
  /// Runs the command that the process was started with, and reports failures in the tool's words.
  package static func runAndExit() async {
    await Advice.$words.withValue(CommandLineWords()) {
      do {
        try ToolProcess.prepare()
        try await perform(nil)
      } catch {
        end(error, as: .text)
      }
    }
  }

  /// Runs the command that the arguments name; those of the process where there are none.
  fileprivate static func perform(_ arguments: [String]?) async throws {
    try await perform(parseAsRoot(arguments))
  }

  fileprivate static func perform(_ parsed: any ParsableCommand) async throws {
    var command = parsed
    if var asynchronous = command as? any AsyncParsableCommand {
      try await asynchronous.run()
    } else {
      try command.run()
    }
    try Terminal.requireAnswered()
  }

  /// Ends the process; the parser words usage errors, `MigrationFailure` everything else.
  fileprivate static func end(_ error: any Error, as form: ErrorForm) -> Never {
    if let missing = error as? MissingSubcommand {
      Terminal.standardError.lines(text: missing.help)
      Terminal.standardError.line(text: "godwit: \(missing.sentence)")
      end(MigrationFailure(.usage, missing.sentence), as: form)
    }
    let status = exitCode(for: error)
    if error is ExitCode || error is ValidationError || error is CleanExit || status != .failure {
      // The words of the parser repeat arguments, which may be names of files.
      let text = fullMessage(for: error)
      if !text.isEmpty {
        (status == .success ? Terminal.standardOutput : .standardError).lines(text: text)
      }
      guard status == .validationFailure else {
        do {
          if status == .success { try Terminal.requireAnswered() }
        } catch {
          end(error, as: .text)
        }
        exit(withError: status)
      }
      end(MigrationFailure(.usage, message(for: error)), as: form)
    }
    let failure = error as? MigrationFailure ?? MigrationFailure(error)
    for sentence in failure.sentences { Terminal.standardError.line(text: "godwit: \(sentence)") }
    if failure.exitStatus == .interrupted, CommandLine.arguments.dropFirst().first == "migrate" {
      let words = GodwitTool.resumption(of: CommandLine.arguments)
      Terminal.standardError.line(text: "godwit:   \(MigrationSuggestion.text(words))")
    }
    end(failure, as: form)
  }

  /// Ends the process, and prints the reason for programs instead of a result, unless one has
  /// begun.
  fileprivate static func end(_ failure: MigrationFailure, as form: ErrorForm) -> Never {
    if !Terminal.hasAnswered, let json = form.json(of: FailureDocument(failure)) {
      Terminal.standardOutput.line(json: json)
    }
    exit(withError: ExitCode(failure.exitStatus.rawValue))
  }
}

/// A command line without the name of a subcommand that does something.
struct MissingSubcommand: Error {
  /// The command and all its subcommands.
  let help: String
  let sentence: String

  init(of command: any ParsableCommand.Type) {
    help = command.helpMessage()
    let name = command == RootCommand.self ? "" : " \(command._commandName)"
    sentence = "godwit\(name) needs the name of a command."
  }
}

/// The form in which standard output has the reason of a failure; standard error always has
/// sentences.
private enum ErrorForm {
  case text, document, line

  /// The JSON for standard output, nil where there is to be none.
  func json(of failure: FailureDocument) -> JSONText? {
    switch self {
    case .text: nil
    case .document: try? JSONOutput.text(value: failure)
    case .line: try? JSONOutput.line(value: failure)
    }
  }
}
