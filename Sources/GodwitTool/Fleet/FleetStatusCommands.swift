import ArgumentParser
import Foundation
import Godwit
import Synchronization
import SystemPackage

struct FleetStatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Shows the progress of a fleet on all machines.",
    examples: [
      "godwit fleet status Autumn",
      "godwit fleet status Autumn --watch",
    ],
    statuses: [
      0: "the fleet is running, or all stores are done",
      75: "stores have no result, or were rolled back",
      78: "a store cannot be migrated; other statuses are those with which a store failed",
    ],
    page: "docs/how-to/fleets.md")

  @Argument(help: "The folder of the fleet.")
  var fleet: FilePath

  @Flag(help: "Show the progress every second until no process on this machine runs the fleet.")
  var watch = false

  @Flag(help: "Print JSON; with --watch, one object per line.")
  var json = false

  @OptionGroup var metrics: MetricsOptions

  func validate() throws { try metrics.check(watch: watch, json: json ? "--json" : nil) }

  func run() async throws {
    let opened = try StoreFleet(fleet)
    let file = try metrics.output.map { try FleetMetricsFile($0, of: opened) }
    let screen = FleetScreen()
    defer { screen.close() }
    while true {
      let status = try opened.status()
      let isLast = !watch || status.state != .running
      try show(status, file: file, screen: isLast ? nil : screen)
      if isLast {
        if status.exitStatus != 0 { throw ExitCode(status.exitStatus) }
        return
      }
      guard Terminal.standardOutput.isOpen else { return }
      try await Task.sleep(for: .seconds(1))
    }
  }

  private func show(
    _ status: StoreFleet.Status, file: FleetMetricsFile?, screen: FleetScreen?
  ) throws {
    if let file { return try file.write(status) }
    if metrics.prometheus { return Terminal.standardOutput.lines(text: FleetMetrics(status).text) }
    if json && watch {
      return Terminal.standardOutput.line(json: try JSONOutput.line(value: status))
    }
    if let screen, !json { return screen.show(status) }
    screen?.close()
    try FleetDisplay(json: json).show(status)
  }
}

/// The status of a fleet in its place on a terminal; elsewhere a line from time to time.
private final class FleetScreen {
  private let bar = ProgressBar()

  func show(_ status: StoreFleet.Status) {
    let share = Double(status.stores - status.waiting) / Double(max(1, status.stores))
    let words = FleetText(status).lines.prefix(2).joined(separator: " ")
    bar.show(fraction: share, words)
  }

  func close() { bar.clear() }
}

struct FleetListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists the stores of a fleet that have a result, each with its outcome.",
    examples: [
      "godwit fleet list Autumn --failed",
      "godwit fleet list Autumn --failed --json",
      "godwit fleet list Autumn --array --elements 20",
    ],
    statuses: [:],
    page: "docs/how-to/fleets.md")

  @Argument(help: "The folder of the fleet.")
  var fleet: FilePath

  @Flag(help: "List only the stores that failed.")
  var failed = false

  @Flag(
    help: """
      Print the elements with stores that are left or failed, such as 3,7-9, for `sbatch --array`.
      """)
  var array = false

  @Option(
    parsing: .unconditional,
    help: "The number of elements; by default that of the last run.")
  var elements: Int?

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    if array && json { throw ValidationError("--array prints no JSON: leave one of them out.") }
    if elements != nil && !array { throw ValidationError("--elements is for --array: add it.") }
    if let elements, StoreFleet.Element(number: 0, count: elements) == nil {
      throw ValidationError("--elements takes a number from 1 to 100000.")
    }
  }

  func run() throws {
    let opened = try StoreFleet(fleet)
    let out = Terminal.standardOutput
    if array { return out.line(text: try opened.openElements(of: elements)) }
    if json { return try printJSON(opened) }
    try opened.forEachOutcome { outcome in
      guard !failed || outcome.kind == .failed else { return }
      let reason = outcome.reason.map { ": \($0)" } ?? ""
      out.line(text: "\(outcome.store): \(outcome.kind.rawValue)\(reason)")
      for sentence in outcome.sentences { out.line(text: "  \(sentence)") }
      for sentence in outcome.losses { out.line(text: "  lost: \(sentence)") }
      if let note = FleetText.missingLogs(outcome.lacksLog ? 1 : 0) { out.line(text: "  \(note)") }
    }
  }

  private func printJSON(_ opened: StoreFleet) throws {
    struct Head: Encodable {
      var version = 1
      var fleet: String
    }
    struct End: Encodable { var count: Int }
    let out = Terminal.standardOutput
    var list = JSONList("stores")
    out.line(json: try list.opening(Head(fleet: fleet.string)))
    var count = 0
    try opened.forEachOutcome { outcome in
      guard !failed || outcome.kind == .failed else { return }
      count += 1
      out.line(json: try list.member(outcome))
    }
    out.line(json: try list.closing(End(count: count)))
  }
}

struct FleetRollbackCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rollback",
    abstract: "Rolls back the stores that a fleet has migrated in place.",
    discussion: """
      Works like `godwit rollback` for each store: the new store is kept as STORE.after-TIME. \
      Stores at outputs stay. `fleet retry --rolled-back` migrates the stores again.
      """,
    examples: ["godwit fleet rollback Autumn", "godwit fleet rollback Autumn Shop.sqlite"],
    statuses: [
      66: "a store is not one that the fleet has migrated, or no old store is kept",
      69: "another process uses a store, or runs the fleet",
      73: "an old store was changed since it was kept",
    ],
    page: "docs/how-to/fleets.md")

  @Argument(help: "The folder of the fleet.")
  var fleet: FilePath

  @Argument(help: ArgumentHelp("The stores to roll back; all by default.", valueName: "store"))
  var stores: [FilePath] = []

  @Flag(help: "Print JSON: the status of the fleet at the end.")
  var json = false

  func run() async throws {
    let opened = try StoreFleet(fleet)
    let ended = Mutex(StoreFleet.Status.Rollback())
    try await ToolProcess.cancellable { [stores] in
      for try await outcome in opened.rollBack(stores.isEmpty ? nil : stores) {
        ended.withLock { $0.add(outcome) }
        for sentence in outcome.sentences {
          Terminal.standardError.line(text: "godwit: \(sentence)")
        }
      }
    }
    let rollback = ended.withLock { $0 }
    if json {
      var status = try opened.status()
      status.rollback = rollback
      Terminal.standardOutput.line(json: try JSONOutput.text(value: status))
    } else {
      let left = rollback.failed == 0 ? "" : ", \(GroupedText(rollback.failed)) could not be"
      Terminal.standardOutput.line(
        text: "\(fleet): \(CountText(rollback.restored, "old store")) put back\(left).")
    }
    if rollback.exitStatus != 0 { throw ExitCode(rollback.exitStatus) }
  }
}

struct FleetSubmitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "submit",
    abstract: "Submits a fleet to a scheduler, as an array of jobs.",
    discussion: """
      `slurm` writes two scripts to the folder of the fleet and submits them. The first is an \
      array whose elements divide the stores by size. The second is a final job that merges the \
      results and ends with the status of the fleet. All nodes must share the file system of the \
      folder.
      """,
    examples: [
      "godwit fleet submit slurm Autumn --elements 20 --print -- --partition=main --cpus-per-task=4"
    ],
    statuses: [66: "sbatch is not installed", 74: "sbatch refuses a job"],
    page: "docs/how-to/fleets.md")

  /// The schedulers that take jobs.
  enum Scheduler: String, WordArgument {
    case slurm
  }

  @Argument(help: "The scheduler: slurm.")
  var scheduler: Scheduler

  @Argument(help: "The folder of the fleet.")
  var fleet: FilePath

  @Option(parsing: .unconditional, help: "The number of elements that divide the fleet.")
  var elements: Int

  @Option(
    help: ArgumentHelp(
      "Submit only these elements, such as 3,7-9 from `fleet list --array`.",
      valueName: "numbers"))
  var only: String?

  @Flag(help: "Retry the stores that failed, instead of those without a result.")
  var retry = false

  @Flag(help: "Print the commands instead of running them.")
  var print = false

  @Argument(
    parsing: .postTerminator,
    help: ArgumentHelp("Options of sbatch for the array, after --.", valueName: "sbatch-option"))
  var options: [String] = []

  func validate() throws {
    guard StoreFleet.Element(number: 0, count: elements) != nil else {
      throw ValidationError("--elements takes a number from 1 to 100000.")
    }
    if let only, only.isEmpty || !only.allSatisfy({ "0123456789,-".contains($0) }) {
      throw ValidationError("--only takes numbers and ranges, such as 3,7-9.")
    }
  }

  func run() async throws {
    let opened = try StoreFleet(fleet)
    let submission = try opened.slurmSubmission(
      elements: elements, only: only, executable: ToolProcess.path,
      command: retry ? "retry" : "run",
      options: options)
    guard !print else {
      for command in submission.commands { Terminal.standardOutput.line(text: command) }
      return
    }
    let jobs = try await submission.submit()
    Terminal.standardOutput.line(
      text: "\(fleet): array \(jobs.array) of \(CountText(elements, "element")), last job "
        + "\(jobs.last).")
  }
}
