import ArgumentParser
import Godwit
import SystemPackage

/// The migration that is asked for something.
struct ControlOptions: ParsableArguments {
  @Argument(help: "The store being migrated, its output, or the work folder.")
  var path: FilePath

  @Option(
    help: ArgumentHelp("How long to wait for the migration.", valueName: "seconds"))
  var wait = 10.0

  @Flag(help: "Print the state of the migration as JSON, as `status` does.")
  var json = false

  func validate() throws { try OptionLimits.check(wait: wait) }

  var control: MigrationControl { MigrationControl(path) }
  var time: Duration { .seconds(wait) }

  /// Shows what came of a request, and ends with 69 where nothing has yet.
  func show(_ answer: MigrationControl.Answer, done: String) throws {
    if json {
      Terminal.standardOutput.line(json: try JSONOutput.text(value: answer.status))
    } else if answer.isDone {
      let end = done.hasSuffix(".") ? "" : "."
      Terminal.standardOutput.line(text: "\(path): \(done)\(end)")
    }
    if answer.isDone { return }
    let text = StatusText(path: path, status: answer.status)
    Terminal.standardError.line(
      text: answer.status.state.isOpen
        ? "godwit: asked, and not there yet: \(text.headline)"
        : "godwit: too late: \(text.headline)")
    throw ExitCode(69)
  }

  static let statuses: KeyValuePairs<Int32, String> = [
    0: "the migration has done so",
    66: "nothing is known of one",
    69: "it has not in time, or none is running",
    73: "another user runs it",
  ]
}

struct PauseCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pause",
    abstract: "Lets a running migration stand still until `resume`.",
    discussion: "Its processes stay, write nothing and keep the store locked.",
    examples: ["godwit pause Shop.sqlite"],
    statuses: ControlOptions.statuses, page: "docs/how-to/control.md")

  @OptionGroup var options: ControlOptions

  func run() async throws {
    let answer = try await options.control.pause(within: options.time)
    try options.show(answer, done: "paused; `godwit resume` lets it go on")
  }
}

struct ResumeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume",
    abstract: "Lets a paused migration go on.",
    discussion: "An interrupted one goes on when its command is started again.",
    examples: ["godwit resume Shop.sqlite"],
    statuses: ControlOptions.statuses, page: "docs/how-to/control.md")

  @OptionGroup var options: ControlOptions

  func run() async throws {
    let answer = try await options.control.resume(within: options.time)
    if answer.isDone, case .file(let file)? = answer.status.reason {
      // The request is obeyed, and something else holds the migration all the same.
      if options.json {
        Terminal.standardOutput.line(json: try JSONOutput.text(value: answer.status))
      }
      Terminal.standardError.line(
        text: "godwit: asked to go on, and it still waits until \(file) is removed.")
      throw ExitCode(69)
    }
    try options.show(answer, done: "goes on")
  }
}

struct CancelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel",
    abstract: "Stops a running migration, as SIGTERM does.",
    discussion: """
      The store stays as it is. What is done so far stays in the work folder: the same command goes \
      on from there, and `discard` removes it.
      """,
    examples: ["godwit cancel Shop.sqlite"],
    statuses: ControlOptions.statuses, page: "docs/how-to/control.md")

  @OptionGroup var options: ControlOptions

  func run() async throws {
    let answer = try await options.control.cancel(within: options.time)
    try options.show(answer, done: StatusText(path: options.path, status: answer.status).headline)
  }
}

struct SetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Changes the workers or the speed of a running migration.",
    discussion: """
      Workers above the number end with the work order that they have; more of them start as soon \
      as --memory has room.
      """,
    examples: ["godwit set Shop.sqlite --workers 4 --rate 50M"],
    statuses: ControlOptions.statuses, page: "docs/how-to/control.md")

  @OptionGroup var options: ControlOptions

  @Option(parsing: .unconditional, help: "How many workers run at a time: 1 to 256.")
  var workers: Int?

  @Option(
    help: ArgumentHelp(
      "What all workers together may read of the store in a second, such as 50M; 0 has no limit.",
      valueName: "bytes"))
  var rate: MigrationControl.Rate?

  func validate() throws {
    if workers == nil && rate == nil {
      throw ValidationError("Say what to change with --workers or --rate.")
    }
    if let workers { try OptionLimits.check(workers: workers) }
  }

  func run() async throws {
    let answer = try await options.control.set(
      workers: workers, rate: rate, within: options.time)
    let done = [
      workers.map { CountText($0, "worker").description },
      rate.map { $0 == .unlimited ? "no limit of speed" : "at most \($0) a second" },
    ]
    try options.show(answer, done: done.compactMap(\.self).joined(separator: ", "))
  }
}
