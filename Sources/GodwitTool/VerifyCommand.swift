import ArgumentParser
import Godwit
import SystemPackage

struct VerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Compares a migrated store with the old one, object by object.",
    discussion: """
      Works out what the old store should have become, by inference or by the mapping models that \
      the migration used, and compares it with the new store to the last byte: rows, relationships, \
      orders, keys, metadata, indexes, pages, external files. Both stores are left as they are. The \
      record beside the new store says by which way and with which choices it was made; without it, \
      give the same options as to `migrate`. With --receipt one store or both are compared with what \
      the receipt of their migration says, without each other.
      """,
    examples: [
      "godwit verify Old.sqlite New.sqlite",
      "godwit verify --receipt receipt.json New.sqlite",
    ],
    statuses: [
      0: "the new store is what the old one should have become",
      64: "nothing says how the new store was made, and it is not what inference makes",
      65: "they differ from each other or the receipt, or something could not be judged",
      66: "one of them is not there",
    ],
    page: "docs/reference/verification.md")

  @Argument(help: "The store before the migration.")
  var old: FilePath

  @Argument(help: "The store after it; with --receipt it may be left out.")
  var new: FilePath?

  @Option(
    name: .customLong("receipt"),
    help: ArgumentHelp(
      "Compare each store with what this receipt in JSON says of it.", valueName: "file"))
  var receipts: [FilePath] = []

  @Option(
    name: .customLong("to"),
    help: ArgumentHelp(
      "The model that the new store should have; without it, the new store is taken at its word.",
      valueName: "model"))
  var target: [FilePath] = []

  @Option(help: "The configuration of the model that the new store should have.")
  var configuration: String?

  @Option(
    help: ArgumentHelp(
      "Where the models of both stores, and mapping models beside them, may be found. May be "
        + "repeated.",
      valueName: "path"))
  var models: [FilePath] = []

  @OptionGroup(title: "Route")
  var route: RouteOptions
  @OptionGroup(title: "Losses and defects")
  var loss: LossOptions

  @Option(
    help: "The journal mode of the new store: wal or delete; that of the old one if not given.")
  var journalMode: JournalMode?

  @Flag(
    name: .customLong("new-uuid"),
    help: "The new store has an identifier of its own, by migrate --new-uuid.")
  var newUUID = false

  @Option(help: "How many differences to print.")
  var limit = 100

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    guard limit >= 0 else { throw ValidationError("--limit takes 0 or more.") }
    if receipts.count > 1 {
      throw ValidationError("--receipt names one receipt: check the others each by itself.")
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
