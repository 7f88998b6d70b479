import ArgumentParser
import Godwit
import SystemPackage

struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Shows the progress of a migration, or the outcome of the last one.",
    examples: [
      "godwit status Shop.sqlite",
      "godwit status Shop.sqlite --watch",
    ],
    statuses: [
      0: "a migration is running or done",
      66: "no migration is known",
      69: "the migration is paused",
      75: "the migration was interrupted or killed; the same command resumes it",
      78: "the migration was refused; other statuses are those with which it failed",
    ],
    page: "docs/how-to/watching.md")

  @Argument(help: "The store being migrated, its output, or the work folder.")
  var path: FilePath

  @Flag(
    help: """
      Show progress until the migration ends. A terminal is updated in place. Elsewhere, each \
      change of state or phase prints a line, at least every ten seconds.
      """)
  var watch = false

  @Option(
    help: ArgumentHelp(
      """
      How long to wait for a migration to start, even after an earlier one. Without this option, \
      --watch and --follow wait 3 seconds if none is known.
      """, valueName: "seconds"))
  var wait: Double?

  @Flag(help: "Print JSON.")
  var json = false

  @Flag(
    help: """
      Print JSON at each change until the migration ends, one object per line. --watch --json does \
      the same.
      """)
  var follow = false

  @OptionGroup var metrics: MetricsOptions

  func validate() throws {
    if let wait { try OptionLimits.check(wait: wait) }
    try metrics.check(watch: watch, json: json || follow ? "--json and --follow" : nil)
  }

  func run() async throws {
    let file = try metrics.output.map { try MetricsFile($0, of: path) }
    let monitor = MigrationMonitor(path)
    let last: MigrationMonitor.Status?
    let updates = monitor.updates(
      waitingToBegin: .seconds(wait ?? (isWatching ? 3 : 0)), forNext: wait != nil)
    if isWatching {
      last = try await show(updates, in: view(file))
    } else {
      last = try await updates.first { _ in true }
      if let last { try show(last, file: file) }
    }
    guard let last else {
      throw MigrationMonitor.nothingKnown(of: path)
    }
    if last.exitStatus != 0 { throw ExitCode(last.exitStatus) }
  }

  /// Whether it shows more than one state.
  private var isWatching: Bool { watch || follow }

  /// Shows a state once.
  private func show(_ status: MigrationMonitor.Status, file: MetricsFile?) throws {
    let out = Terminal.standardOutput
    if json { return out.line(json: try JSONOutput.text(value: status)) }
    guard metrics.prometheus else {
      _ = out.show(status, of: path)
      return
    }
    let metrics = MigrationMetrics(status, of: path)
    if let file { return try file.write(metrics) }
    // Half of the metrics would be taken for all.
    if !out.metrics(metrics) { throw ExitCode(ExitStatus.cannotWrite.rawValue) }
  }

  private func view(_ file: MetricsFile?) -> any StatusView {
    if let file { return MetricsView(path: path, file: file) }
    // A reader would have to separate objects over several lines.
    if follow || json { return ChangesView() }
    return switch Terminal.standardOutput.display {
    case .screen(let hasColor): ScreenView(path: path, hasColor: hasColor)
    case .lines: LineView(path: path)
    }
  }

  /// Shows states until the migration ends or the reader is gone, and returns the last one.
  private func show(
    _ updates: MigrationMonitor.Updates, in view: any StatusView
  ) async throws -> MigrationMonitor.Status? {
    defer { view.close() }
    var last: MigrationMonitor.Status?
    for try await status in updates {
      last = status
      guard try view.show(status, at: .now) else { break }
    }
    return last
  }
}
