import ArgumentParser
import Godwit
import SystemPackage

struct FleetPlanCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plan",
    abstract: "Shows what a run of a fleet would do, by version; writes nothing.",
    discussion: "Reads every store, and migrates copies of a few to estimate the time.",
    examples: ["godwit fleet plan Autumn", "godwit fleet plan Autumn --json"],
    statuses: [
      0: "all stores can be migrated",
      65: "a file is damaged, or not a store",
      78: "a store cannot be migrated",
    ],
    page: "docs/how-to/fleets.md")

  @Argument(help: "The folder of the fleet.")
  var fleet: FilePath

  @Option(
    parsing: .unconditional,
    help:
      "The number of worker processes for the estimate; one per processor by default.")
  var jobs: Int?

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    if let jobs, !(1...256).contains(jobs) {
      throw ValidationError("--jobs takes a number from 1 to 256.")
    }
  }

  func run() async throws {
    var opened = try StoreFleet(fleet)
    opened.jobs = jobs ?? opened.jobs
    opened.policies = GodwitTool.policies
    let bar = ProgressBar()
    defer { bar.clear() }
    let total = opened.storeCount
    let plan = try await ToolProcess.cancellable { [opened] in
      try await opened.plan { count in
        bar.show(
          fraction: Double(count) / Double(max(1, total)),
          "\(CountText(count, "store")) read")
      }
    }
    bar.clear()
    if json {
      Terminal.standardOutput.line(json: try JSONOutput.text(value: plan))
    } else {
      for line in Self.lines(plan) { Terminal.standardOutput.line(text: line) }
    }
    if plan.exitStatus != 0 { throw ExitCode(plan.exitStatus) }
  }

  private static func lines(_ plan: StoreFleet.Plan) -> [String] {
    func name(_ names: [String]) -> String {
      names.isEmpty ? "a version without a name" : names.joined(separator: ", ")
    }
    let time = plan.seconds.map { seconds in
      "about \(DurationText(seconds: seconds)), by \(CountText(plan.trials, "trial"))"
    }
    var lines = [
      "\(plan.fleet): \(CountText(plan.stores, "store")), \(ByteText(plan.bytes)); about "
        + "\(ByteText(plan.diskNeeded)) more disk" + (time.map { "; \($0)" } ?? "") + "."
    ]
    for disk in plan.diskShortages {
      lines.append(
        "  \(disk.folder) has \(ByteText(disk.available)) free, and new stores need "
          + "\(ByteText(disk.needed)): free space there, or create the fleet with an output on "
          + "another disk.")
    }
    if let note = FleetText.missingLogs(plan.storesLackingLog) { lines.append("  \(note)") }
    for group in plan.groups {
      lines.append(
        "  \(name(group.from)) to \(name(group.to)): \(CountText(group.stores, "store")), "
          + "\(ByteText(group.bytes))")
      for (loss, stores) in group.losses.sorted(by: { $0.key < $1.key }) {
        lines.append("    loses \(loss) in \(CountText(stores, "store"))")
      }
    }
    if plan.current > 0 {
      lines.append("  current already: \(CountText(plan.current, "store"))")
    }
    for refusal in plan.refusals {
      lines.append(
        "  cannot be migrated: \(CountText(refusal.stores, "store")), such as \(refusal.store)")
      lines.append("    \(refusal.sentence)")
    }
    return lines
  }
}
