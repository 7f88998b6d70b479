import ArgumentParser
import Godwit
import MigrationCoordinator
import ModelFiles
import ObjectModel
import StoreGenerator
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
  var journalMode = StoreGenerator.JournalMode.delete

  func run() throws {
    let bundle = try ModelBundle(model)
    let found = try version.map { try bundle.version(named: $0) } ?? bundle.current()
    let model = try found.model()
    let generator = try StoreGenerator(model: model, rows: rows, seed: seed)
    let report = try generator.generate(
      to: output, journalMode: journalMode, modelCache: archive(of: model))
    for note in report.notes { Terminal.standardError.line("godwit: note: \(note.sentence)") }
    Terminal.standardOutput.line("\(output): \(rows) objects of version \(found.name).")
  }

  private func archive(of model: ManagedObjectModel) -> [UInt8]? {
    do {
      let encoded = try ModelArchive.encode(model)
      for part in encoded.leftOut {
        Terminal.standardError.line("godwit: note: \(MigrationReport.CachePart(part).sentence)")
      }
      return encoded.bytes
    } catch {
      Terminal.standardError.line(
        "godwit: note: the store carries no model of its own: \(error.problem).")
      return nil
    }
  }
}

extension StoreGenerator.JournalMode: ExpressibleByArgument {}
