import ArgumentParser
import Godwit
import SystemPackage

struct ModelCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "model",
    abstract: "Writes the model of a store or a bundle as a file.",
    examples: ["godwit model export Old.sqlite --output Shop1.xcdatamodel"],
    statuses: [:],
    page: "docs/reference/model-format.md",
    subcommands: [ModelExportCommand.self])

  func run() throws { throw MissingSubcommand(of: Self.self) }
}

struct ModelExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Writes a model as an .xcdatamodel whose entities have the same version hashes.",
    discussion: """
      Reads the folder again and compares it with the model. If a version hash differs, or a model \
      source cannot express a part of the model, the command names that part and leaves no folder.
      """,
    examples: [
      "godwit model export Old.sqlite --output Shop1.xcdatamodel",
      "godwit model export Shop.momd --version 'Shop 3' --output Shop3.xcdatamodel",
    ],
    statuses: [
      73: "the folder already exists",
      78: "a model source cannot express a part of the model; --leave-out omits it",
    ],
    page: "docs/reference/model-format.md")

  @Argument(help: "A store, a model bundle, a single version, or a folder or app with a model.")
  var model: FilePath

  @Option(
    help: "The version of the bundle; the current one by default.",
    completion: NameCompletions.versions)
  var version: String?

  @Flag(help: "Omit and name the parts that a model source cannot express and no hash covers.")
  var leaveOut = false

  @Option(help: ArgumentHelp("The folder to write: App.xcdatamodel.", valueName: "path"))
  var output: FilePath

  func run() throws {
    var export = ModelExport(of: model)
    export.version = version
    export.leavesOut = leaveOut
    let report = try export.write(to: output)
    for sentence in report.leftOut {
      Terminal.standardError.line(text: "godwit: note: left out: \(sentence)")
    }
    let count = report.entities == 1 ? "1 entity hashes" : "\(report.entities) entities hash"
    Terminal.standardOutput.line(text: "\(output): \(count) as in \(model).")
  }
}
