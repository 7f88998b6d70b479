import ArgumentParser
import Godwit
import SystemPackage

struct DiffCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff",
    abstract: "Shows how two models or two stores differ.",
    discussion: """
      Of two models, it shows entities, attributes, relationships, indexes and constraints that \
      are new, lost, renamed or changed. It shows whether a mapping can be inferred, with every \
      reason against it. Of two stores with the same model, it compares objects, values, \
      references and orders, by key. Otherwise it compares the models. Nothing is changed. \
      `verify` compares a store with the result of its migration.
      """,
    examples: [
      "godwit diff 'Shop.xcdatamodeld/Shop 2.xcdatamodel' Shop.xcdatamodeld",
      "godwit diff Shop.sqlite Old.sqlite --limit 10",
    ],
    statuses: [
      0: "the two are equal",
      1: "they differ",
      65: "a part could not be compared and nothing else differs, or one is damaged",
      66: "one of them does not exist",
    ],
    page: "docs/how-to/inspecting.md")

  /// The exit status for two that differ.
  static let differentStatus: Int32 = 1

  @Argument(help: "A store, a bundle (its current version), a version, a folder or app.")
  var first: FilePath

  @Argument(help: "The model or store to compare it with.")
  var second: FilePath

  @Option(
    help: ArgumentHelp(
      "A place to search for the models of the stores. May be repeated.", valueName: "path"))
  var models: [FilePath] = []

  @Option(
    parsing: .unconditional,
    help: """
      The maximum number of differences of stores to print; all are counted.
      """)
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
