import ArgumentParser
import Godwit
import SystemPackage

struct GenerateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "generate",
    abstract: "Generates a store with objects of any model.",
    discussion: "The same arguments give the same bytes.",
    examples: [
      "godwit generate Shop.xcdatamodeld --version 'Shop 3' --rows 9000 --output Test.sqlite"
    ],
    statuses: [73: "a file of that name already exists"],
    page: "docs/how-to/swiftdata.md")

  @Argument(help: "A model bundle, a single version, or a folder or app with a model.")
  var model: FilePath

  @Option(
    help: "The version of the bundle; the current one by default.",
    completion: NameCompletions.versions)
  var version: String?

  @Option(
    parsing: .unconditional,
    help: "The number of objects, divided equally among the entities that can have objects.")
  var rows: Int64

  @Option(
    help: """
      The number of transactions in the persistent history. Without this and --changes, the store \
      has no history.
      """)
  var transactions: Int64?

  @Option(
    help: """
      The number of inserts, updates and deletes in all transactions; by default eight per \
      transaction.
      """)
  var changes: Int64?

  @Option(help: "The seed of all values.")
  var seed: UInt64 = 1

  @Flag(
    name: .customLong("cloudkit"),
    help: "Add the documented tables of CloudKit mirroring, with a record for each object.")
  var isMirrored = false

  @Option(help: "The file to write.")
  var output: FilePath

  @Option(help: "The journal mode of the store.")
  var journalMode = JournalMode.delete

  func run() throws {
    var sample = SampleStore(of: model, objects: rows)
    sample.version = version
    (sample.transactions, sample.changes) = (transactions, changes)
    sample.seed = seed
    sample.isMirrored = isMirrored
    sample.journalMode = journalMode
    let bar = ProgressBar()
    defer { bar.clear() }
    let report = try sample.write(to: output) { done, total in
      let isRest = done >= total
      bar.show(
        fraction: total > 0 ? Double(done) / Double(total) : 0,
        isRest
          ? "relationships, history and indexes"
          : "\(GroupedText(done)) of \(CountText(total, "object"))",
        kind: isRest ? "rest" : "objects")
    }
    bar.clear()
    for note in report.notes { Terminal.standardError.line(text: "godwit: note: \(note)") }
    Terminal.standardOutput.line(
      text: "\(output): \(CountText(rows, "object")) of version \(report.version).")
  }
}
