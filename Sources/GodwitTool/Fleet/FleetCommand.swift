import ArgumentParser
import Foundation
import Godwit
import Logging
import SystemPackage

struct FleetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fleet",
    abstract: "Migrates many stores as one fleet, on this machine or as an array of jobs.",
    examples: [
      "godwit fleet create Winter Old.sqlite Shop.sqlite --to Shop.xcdatamodeld",
      "godwit fleet run Autumn --canary 100 --max-failures 1%",
      "godwit fleet status Autumn",
    ],
    statuses: [:],
    page: "docs/how-to/fleets.md",
    subcommands: [
      FleetCreateCommand.self, FleetPlanCommand.self, FleetRunCommand.self,
      FleetSubmitCommand.self, FleetStatusCommand.self, FleetListCommand.self,
      FleetRetryCommand.self, FleetRollbackCommand.self,
    ])

  func run() throws { throw MissingSubcommand(of: Self.self) }
}

struct FleetCreateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Creates a fleet: a folder with the list of stores and the options.",
    discussion: """
      Writes only that folder. A place is a store, a folder (all stores below it), a pattern such \
      as 'users/*/Shop.sqlite', or - for JSON lines on standard input: \
      {"store":"7.sqlite","output":"New/7.sqlite"}.
      """,
    examples: [
      "godwit fleet create Autumn Old.sqlite Shop.sqlite --to Shop.xcdatamodeld",
      "godwit fleet create Winter '*.sqlite' --to Shop.xcdatamodeld --output New",
    ],
    statuses: [
      0: "all stores that were named are in the fleet",
      66: "there are no stores",
      73:
        "a fleet of that name already exists; other statuses are those of the first place left out",
    ],
    page: "docs/how-to/fleets.md")

  @Argument(help: "The folder of the fleet, which is created.")
  var fleet: FilePath

  @Argument(help: ArgumentHelp("Stores, folders, patterns, or -.", valueName: "place"))
  var places: [FilePath]

  @OptionGroup(title: "Model")
  var model: ModelOptions
  @OptionGroup(title: "Route")
  var route: RouteOptions
  @OptionGroup(title: "Losses and defects")
  var loss: LossOptions

  @Option(
    help: ArgumentHelp(
      """
      Write the new stores to this folder, in the subfolders of the old ones, and do not change \
      the old ones.
      """, valueName: "folder"))
  var output: FilePath?

  @Flag(help: "Copy a store to the output if it already has the model.")
  var copyIfCurrent = false

  @Option(
    help: "The journal mode of the new stores: wal or delete. The default is that of the old ones.")
  var journalMode: JournalMode?

  @Option(help: "How to verify results: quick, or full, which also reads every index.")
  var verify = StoreMigration.Verification.quick

  @Flag(help: "Remove an old store once the new one has replaced it.")
  var discardOld = false

  @Flag(help: "Write no records of outcomes next to the stores.")
  var noRecord = false

  @Option(help: "The engine that makes the new stores; auto chooses the fastest.")
  var engine = StoreMigration.Engine.automatic

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    if places.isEmpty { throw ValidationError("Name the stores: files, folders, patterns, or -.") }
    if copyIfCurrent && output == nil {
      throw ValidationError("--copy-if-current needs --output: name the file or folder to copy to.")
    }
    if discardOld && output != nil {
      throw ValidationError(
        "--output keeps the old store, and --discard-old removes it: leave one "
          + "of them out.")
    }
    if discardOld && loss.salvage {
      throw ValidationError(
        "--salvage keeps the damaged store, since more of it may be readable: leave --discard-old "
          + "out.")
    }
  }

  func run() throws {
    let members = try StoreFleet.Members(outputFolder: output)
    for place in places {
      if place == "-" {
        try members.addLinesOfStandardInput()
      } else {
        try members.add(place)
      }
    }
    for sentence in members.failures.flatMap(\.sentences) {
      Terminal.standardError.line(text: "godwit: note: \(sentence)")
    }
    if let kept = members.keptStore {
      Terminal.standardError.line(
        text: "godwit: note: passed over: "
          + "\(StoreSearch.PassedOver.Reason.keptStore.text(count: members.keptStores))"
          + ", such as \(kept).")
    }
    let repeated = try members.repeated()
    if repeated > 0 {
      Terminal.standardError.line(
        text: "godwit: note: \(CountText(repeated, "path")) named a store again.")
    }
    var migration = StoreMigration(store: "", model: model, route: route, loss: loss)
    migration.handover.journalMode = journalMode
    migration.checks.result = verify
    migration.handover.discardsOld = discardOld
    migration.handover.copiesIfCurrent = copyIfCurrent
    migration.handover.keepsRecord = !noRecord
    migration.engine = engine
    let made = try StoreFleet.create(at: fleet, of: members, by: migration)
    if json {
      Terminal.standardOutput.line(json: try JSONOutput.text(value: made.status()))
    } else {
      Terminal.standardOutput.line(
        text: "\(fleet): \(CountText(made.storeCount, "store")), \(ByteText(made.bytes)).")
    }
    if let failure = members.failures.first { throw ExitCode(failure.exitStatus.rawValue) }
  }
}

/// The options of commands that migrate stores of a fleet.
struct FleetRunOptions: ParsableArguments {
  @Argument(help: "The folder of the fleet.")
  var fleet: FilePath

  @Option(
    parsing: .unconditional,
    help: "The number of worker processes at a time: 1 to 256; one per processor by default.")
  var jobs: Int?

  @Option(
    help: """
      Memory for all processes together: a whole number with K, M or G; at least 64M. \
      (default: 512M)
      """)
  var memory: ByteSize?

  @Option(
    parsing: .unconditional,
    help: "How often to retry a store whose failure may be temporary, such as a lock.")
  var retries = 2

  @Option(
    help: ArgumentHelp(
      "Stop when more stores than this have failed: a number, or a share of all, such as 1%.",
      valueName: "limit"))
  var maxFailures: FailureLimit?

  @Option(
    help: ArgumentHelp(
      """
      Run one element of an array, such as 3/20: number 3 (from 0) of 20. Each element writes its \
      own file of results.
      """, valueName: "number/count"))
  var element: String?

  @Flag(help: "Print JSON: the status of the fleet at the end.")
  var json = false

  func validate() throws {
    if let jobs, !(1...256).contains(jobs) {
      throw ValidationError("--jobs takes a number from 1 to 256.")
    }
    if let memory, memory.bytes < 64 << 20 {
      throw ValidationError("--memory takes at least 64M.")
    }
    guard (0...100).contains(retries) else {
      throw ValidationError("--retries takes a number from 0 to 100.")
    }
    if let element, StoreFleet.Element(element) == nil {
      throw ValidationError("--element takes a number from 0 and a count, such as 3/20.")
    }
    if element != nil && json {
      throw ValidationError(
        "--element prints no JSON: `fleet status --json` covers all elements.")
    }
  }

  /// The fleet with these options.
  var opened: StoreFleet {
    get throws {
      var opened = try StoreFleet(fleet)
      opened.jobs = jobs ?? opened.jobs
      opened.memory = memory?.bytes ?? opened.memory
      opened.retries = retries
      opened.failureLimit = maxFailures?.limit ?? .none
      opened.element = element.flatMap { StoreFleet.Element($0) }
      opened.policies = GodwitTool.policies
      opened.logger = Logger(label: "godwit") { StandardErrorLog(label: $0) }
      return opened
    }
  }
}

/// A number of failed stores such as `20`, or a share such as `1%`.
struct FailureLimit: ExpressibleByArgument {
  let limit: StoreFleet.FailureLimit

  init?(argument: String) {
    if argument.hasSuffix("%") {
      guard let percent = Double(argument.dropLast()), (0...100).contains(percent) else {
        return nil
      }
      limit = .share(percent / 100)
    } else {
      guard let count = Int(argument), count >= 0 else { return nil }
      limit = .stores(count)
    }
  }
}

struct FleetRunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Migrates the stores of a fleet that have no result yet.",
    discussion: """
      Migrates each store as `godwit migrate` does, several at a time per worker process, the \
      largest first. A failure does not stop the other stores. To resume a run that was stopped in \
      any way, start the same command again.
      """,
    examples: [
      "godwit fleet run Autumn",
      "godwit fleet run Autumn --jobs 8 --canary 100 --max-failures 1%",
      "godwit fleet run Autumn --element 0/1",
    ],
    statuses: [
      0: "all stores are done",
      69: "another process runs the fleet",
      75: "stores are left: interrupted, or stopped by --canary or --max-failures",
      78: "a store cannot be migrated; other statuses are those with which a store failed",
    ],
    page: "docs/how-to/fleets.md")

  @OptionGroup var options: FleetRunOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      Migrate this many stores first, of all versions and sizes, with full verification. Continue \
      only if none fails.
      """, valueName: "stores"))
  var canary = 0

  func validate() throws {
    if canary < 0 { throw ValidationError("--canary takes a number of stores.") }
  }

  func run() async throws {
    var fleet = try options.opened
    fleet.canary = canary
    try await FleetDisplay(json: options.json).migrate(fleet, .waiting)
  }
}

struct FleetRetryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry",
    abstract: "Migrates the stores of a fleet that failed.",
    examples: ["godwit fleet retry Autumn"],
    statuses: [
      0: "all stores are done",
      75: "stores are left",
      78: "a store cannot be migrated; other statuses are those with which a store failed",
    ],
    page: "docs/how-to/fleets.md")

  @OptionGroup var options: FleetRunOptions

  @Flag(help: "Migrate the stores that were rolled back, instead of those that failed.")
  var rolledBack = false

  func run() async throws {
    try await FleetDisplay(json: options.json)
      .migrate(options.opened, rolledBack ? .rolledBack : .failed)
  }
}
