import ArgumentParser
import Godwit
import SystemPackage

/// The migration that gets a request.
struct ControlOptions: ParsableArguments {
  @Argument(help: "The store being migrated, its output, or the work folder.")
  var path: FilePath

  @Option(
    help: ArgumentHelp("How long to wait for the migration to respond.", valueName: "seconds"))
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
        ? "godwit: requested, but not done yet: \(text.headline)"
        : "godwit: too late: \(text.headline)")
    throw ExitCode(69)
  }

  static let statuses: KeyValuePairs<Int32, String> = [
    0: "the migration has obeyed",
    66: "no migration is known",
    69: "the migration did not respond in time, or none is running",
    73: "another user runs the migration",
  ]
}

struct PauseCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pause",
    abstract: "Pauses a running migration until `resume`.",
    discussion: "Its processes stay alive, write nothing and keep the store locked.",
    examples: ["godwit pause Shop.sqlite"],
    statuses: ControlOptions.statuses, page: "docs/how-to/control.md")

  @OptionGroup var options: ControlOptions

  func run() async throws {
    let answer = try await options.control.pause(within: options.time)
    try options.show(answer, done: "paused; `godwit resume` resumes it")
  }
}

struct ResumeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume",
    abstract: "Resumes a paused migration.",
    discussion: "To resume an interrupted migration, start its command again.",
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
        text: "godwit: resume requested, but the migration still waits until \(file) is removed.")
      throw ExitCode(69)
    }
    try options.show(answer, done: "resumed")
  }
}

struct CancelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel",
    abstract: "Stops a running migration, as SIGTERM does.",
    discussion: """
      The store stays unchanged. Completed work stays in the work folder: the same command resumes \
      from it, and `discard` removes it.
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
      With a lower number, workers end after their current work order. With a higher one, more \
      workers start as soon as --memory has room.
      """,
    examples: ["godwit set Shop.sqlite --workers 4 --rate 50M"],
    statuses: ControlOptions.statuses, page: "docs/how-to/control.md")

  @OptionGroup var options: ControlOptions

  @Option(parsing: .unconditional, help: "The number of workers at a time: 1 to 256.")
  var workers: Int?

  @Option(
    help: ArgumentHelp(
      "The maximum that all workers together read per second, such as 50M; 0 for no limit.",
      valueName: "bytes"))
  var rate: MigrationControl.Rate?

  func validate() throws {
    if workers == nil && rate == nil {
      throw ValidationError("Name what to change: --workers or --rate.")
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
