import ArgumentParser
import Godwit
import SystemPackage

struct GenerateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "generate",
    abstract: "Makes a store with made-up objects of any model.",
    discussion: "The same model, rows and seed give the same bytes.")

  @Argument(help: "A model bundle, a single version, or a folder or app with a model.")
  var model: FilePath

  @Option(help: "The version of the bundle, if not its current one.")
  var version: String?

  @Option(help: "How many objects, in equal shares over the entities that can have any.")
  var rows: Int64

  @Option(help: "Decides all values.")
  var seed: UInt64 = 1

  @Option(help: "The file to write.")
  var output: FilePath

  @Option(help: "The journal mode of the store: delete or wal.")
  var journalMode = Journal.delete

  /// The journal modes, in the order of the help text.
  enum Journal: String, ExpressibleByArgument, CaseIterable { case delete, wal }

  func run() throws {
    var sample = SampleStore(of: model, objects: rows)
    sample.version = version
    sample.seed = seed
    sample.journalMode = journalMode == .wal ? .wal : .delete
    let report = try sample.write(to: output)
    for note in report.notes { Terminal.standardError.line(text: "godwit: note: \(note)") }
    Terminal.standardOutput.line(text: "\(output): \(rows) objects of version \(report.version).")
  }
}
