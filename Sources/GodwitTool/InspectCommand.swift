import ArgumentParser
import Godwit
import SystemPackage

struct InspectCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect", abstract: "Shows what a store, a model bundle or a model contains.")

  @Argument(help: "A store, a model bundle, a single version, or a folder or app with a model.")
  var path: FilePath

  @Option(
    help: ArgumentHelp(
      "Where the store's own model may be found. May be repeated.", valueName: "path"))
  var models: [FilePath] = []

  @Flag(help: "Print JSON.")
  var json = false

  func run() throws {
    if ModelInspection.isModel(path) {
      let model = try ModelInspection(of: path)
      try show(model, summary: model.summary)
    } else {
      let store = try StoreInspection(of: path, models: models)
      try show(store, summary: store.summary)
    }
  }

  private func show(_ inspection: some Encodable, summary: String) throws {
    if json {
      Terminal.standardOutput.line(json: try JSONOutput.text(value: inspection))
    } else {
      Terminal.standardOutput.lines(text: summary)
    }
  }
}
