import ArgumentParser
import Godwit
import SystemPackage

struct DiffCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff",
    abstract: "Shows how two models or two stores differ.",
    discussion: """
      Of two models: entities, attributes, relationships, indexes and constraints that are new, lost, \
      renamed or changed, and whether a mapping can be inferred, with all reasons against it. Of two \
      stores of one model: objects, values, references and orders, by key. Of two stores of different \
      models: how the models differ. A store and a model: their models. Nothing is changed. `verify` \
      compares a store with what a migration made of it.
      """,
    examples: [
      "godwit diff 'Shop.xcdatamodeld/Shop 2.xcdatamodel' Shop.xcdatamodeld",
      "godwit diff Shop.sqlite Old.sqlite --limit 10",
    ],
    statuses: [
      0: "the two are alike",
      1: "they differ",
      65: "a part could not be compared and nothing else differs, or one is damaged",
      66: "one of them is not there",
    ],
    page: "docs/how-to/inspecting.md")

  /// The exit status for two that differ.
  static let differentStatus: Int32 = 1

  @Argument(help: "A store, a bundle (its current version), a version, a folder or app.")
  var first: FilePath

  @Argument(help: "The model or the store with which it is compared.")
  var second: FilePath

  @Option(
    help: ArgumentHelp(
      "Where the models of stores may be found. May be repeated.", valueName: "path"))
  var models: [FilePath] = []

  @Option(
    parsing: .unconditional, help: "How many differences of stores to print; all are counted.")
  var limit = 100

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    guard limit >= 0 else { throw ValidationError("--limit takes 0 or more.") }
  }

  func run() throws {
    if ModelInspection.isModel(first) || ModelInspection.isModel(second) {
      let diff = try ModelDiff(from: first, to: second, models: models)
      try show(diff, lines: diff.lines)
      if !diff.isAlike { throw ExitCode(Self.differentStatus) }
      return
    }
    var diff = StoreDiff(of: first, and: second)
    diff.models = models
    diff.limit = limit
    let bar = ProgressBar()
    defer { bar.clear() }
    let report = try diff.run { bar.show(fraction: nil, "comparing \($0)") }
    bar.clear()
    try show(report, lines: report.lines)
    if !report.isAlike { throw ExitCode(Self.differentStatus) }
    if !report.notCompared.isEmpty { throw ExitCode(ExitStatus.damaged.rawValue) }
  }

  private func show(_ value: some Encodable, lines: [String]) throws {
    let out = Terminal.standardOutput
    guard !json else {
      out.line(json: try JSONOutput.text(value: value))
      return
    }
    for line in lines {
      guard out.line(fitting: line) else { return }
    }
  }
}
