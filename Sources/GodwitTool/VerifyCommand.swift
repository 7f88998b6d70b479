import ArgumentParser
import Godwit
import SystemPackage

struct VerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Compares a migrated store with the old one, object by object.",
    discussion: """
      Computes the expected result from the old store, by inference or the mapping models of the \
      migration. Compares it with the new store to the last byte: rows, relationships, orders, \
      keys, metadata, indexes, pages, external files. Changes neither store. The record next to \
      the new store has the options of the migration; without a record, give the same options as \
      to `migrate`. With --receipt, each store is compared with the receipt of the migration; one \
      store is enough.
      """,
    examples: [
      "godwit verify Old.sqlite New.sqlite",
      "godwit verify --receipt receipt.json New.sqlite",
    ],
    statuses: [
      0: "the new store is as expected",
      64:
        "the stores are in the wrong order, or no record has the options of the migration and "
        + "inference gives another result",
      65: "the stores differ from each other or from the receipt, or a part could not be compared",
      66: "one of them does not exist",
      78: "the new store cannot come from the old one in this way",
    ],
    page: "docs/reference/verification.md")

  @Argument(help: "The store before the migration.")
  var old: FilePath

  @Argument(help: "The store after the migration; optional with --receipt.")
  var new: FilePath?

  @Option(
    name: .customLong("receipt"),
    help: ArgumentHelp(
      "Compare each store with this receipt (JSON).", valueName: "file"))
  var receipts: [FilePath] = []

  @Option(
    name: .customLong("to"),
    help: ArgumentHelp(
      "The model that the new store should have; by default the model that its metadata names.",
      valueName: "model"))
  var target: [FilePath] = []

  @Option(help: "The configuration of the model that the new store should have.")
  var configuration: String?

  @Option(
    help: ArgumentHelp(
      "A place to search for the models of both stores, and for mapping models next to them. May "
        + "be repeated.",
      valueName: "path"))
  var models: [FilePath] = []

  @OptionGroup(title: "Route")
  var route: RouteOptions
  @OptionGroup(title: "Losses and defects")
  var loss: LossOptions

  @Option(
    help: "The journal mode of the new store: wal or delete. The default is that of the old one.")
  var journalMode: JournalMode?

  @Flag(
    name: .customLong("new-uuid"),
    help: "The new store has a new identifier, from migrate --new-uuid.")
  var newUUID = false

  @Option(help: "The maximum number of differences to print.")
  var limit = 100

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    guard limit >= 0 else { throw ValidationError("--limit takes 0 or more.") }
    if receipts.count > 1 {
      throw ValidationError("--receipt takes one receipt: check the others one by one.")
    }
    if new == nil, receipts.isEmpty {
      throw ValidationError("Name the new store as well, or the receipt of its migration.")
    }
  }

  func run() async throws {
    if let receipt = receipts.first { return try await check(receipt) }
    guard let new else { return }
    let bar = ProgressBar()
    defer { bar.clear() }
    let report = try await verification(of: new).run { bar.show(fraction: $0.fraction, $0.phase) }
    bar.clear()
    let out = Terminal.standardOutput
    if json {
      out.line(json: try JSONOutput.text(value: report))
    } else {
      for line in report.lines { out.line(text: line) }
      for note in report.notes { Terminal.standardError.line(text: "godwit: note: \(note)") }
    }
    guard report.isAlike else { throw report.failure }
    if !json { out.line(text: report.verdict) }
  }

  private func check(_ receipt: FilePath) async throws {
    var check = try ReceiptCheck(receipt)
    check.models = target + models
    let (asked, stores) = (check, [old, new].compactMap(\.self))
    let report = try await ToolProcess.cancellable { try asked.run(stores) }
    let out = Terminal.standardOutput
    if json {
      out.line(json: try JSONOutput.text(value: report))
    } else {
      for line in report.lines { out.line(text: line) }
    }
    guard report.isAlike else { throw report.failure }
  }

  private func verification(of new: FilePath) -> StoreVerification {
    var migration = StoreMigration(store: old, toMerged: target)
    migration.configuration = configuration
    migration.models = models
    migration.take(route, loss)
    migration.handover.journalMode = journalMode
    migration.handover.givesNewUUID = newUUID
    var verification = StoreVerification(of: new, madeBy: migration)
    verification.limit = limit
    return verification
  }
}
