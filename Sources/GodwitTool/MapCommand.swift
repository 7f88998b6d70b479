import ArgumentParser
import Godwit
import SystemPackage

struct MapCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "map",
    abstract: "Writes mapping models as readable files, splits and checks them.",
    discussion: """
      With only --from and --to, writes the inferred mapping model, which you can edit. With one \
      mapping model (.xcmappingmodel, .cdm or .json), writes it in the form of \
      docs/reference/mapping-file.md. With several, checks that together they make one migration.
      """,
    examples: [
      "godwit map --from Shop.sqlite --to Shop.xcdatamodeld --output Shop2to4.json",
      "godwit map maps/Shop3to4.json --check --from Fixtures/'Shop 3.sqlite' --to Shop.xcdatamodeld",
    ],
    statuses: [78: "the mapping models do not fit the models or each other"],
    page: "docs/reference/mapping-file.md")

  @Argument(help: "Mapping models: .xcmappingmodel, .cdm or .json.")
  var files: [FilePath] = []

  @Option(
    help: ArgumentHelp(
      "The model to migrate from: a bundle, one version or a store.", valueName: "model"))
  var from: FilePath?

  @Option(help: ArgumentHelp("The model to migrate to.", valueName: "model"))
  var to: FilePath?

  @Flag(
    help: ArgumentHelp(
      "Split the mapping model into independent ones, or report what prevents it."))
  var split = false

  @Flag(help: "Check that the mapping models together make one migration; write nothing.")
  var check = false

  @Option(
    help: ArgumentHelp(
      "The file to write; standard output by default. With --split, the folder, which is created "
        + "if needed.",
      valueName: "path"))
  var output: FilePath?

  func validate() throws {
    guard !files.isEmpty || (from != nil && to != nil) else {
      throw ValidationError("Name a mapping model, or two models with --from and --to.")
    }
    if files.isEmpty && (split || check) {
      throw ValidationError("--split and --check take a mapping model.")
    }
    if split && (check || files.count > 1) {
      throw ValidationError("--split takes one mapping model and no --check.")
    }
    if output != nil && (check || files.count > 1) {
      throw ValidationError("A check writes no file: leave --output out.")
    }
  }

  func run() throws {
    if files.isEmpty, let from, let to { return try infer(from: from, to: to) }
    let read = try files.map { try MappingModelFile(contentsOf: $0) }
    for file in read { try requireFit(file) }
    if check || files.count > 1 { return try checkSet(read) }
    if split { return try write(parts(of: read[0]), of: read[0]) }
    try write(read[0])
  }

  // MARK: Writing

  private func infer(from: FilePath, to: FilePath) throws {
    let mapping = try MappingModelFile(inferredFrom: from, to: to)
    try write(mapping)
    for sentence in mapping.unreadParts {
      Terminal.standardError.line(text: "godwit: note: \(sentence)")
    }
    for name in mapping.addedMappings {
      Terminal.standardError.line(
        text: "godwit: note: \(name) makes one object per pair; inference would drop the pairs.")
    }
    for refusal in mapping.refusals {
      Terminal.standardError.line(text: "godwit: not inferred: \(refusal)")
    }
    for sentence in mapping.openValues {
      Terminal.standardError.line(text: "godwit: left open: \(sentence)")
    }
  }

  private func write(_ mapping: MappingModelFile) throws {
    if let output { return try mapping.write(to: output) }
    Terminal.standardOutput.line(json: JSONText(String(try mapping.text().dropLast())))
  }

  private func parts(of file: MappingModelFile) throws -> MappingModelFile.Parts {
    try requireModels(of: file)
    return try file.split(from: from, to: to)
  }

  private func write(_ parts: MappingModelFile.Parts, of file: MappingModelFile) throws {
    if let output { try MappingModelFile.makeFolder(output) }
    for (index, part) in parts.files.enumerated() {
      let names = part.entityMappings.map(\.name)
      var title = "piece \(index + 1)"
      if let output {
        let path = output.appending("\(file.path?.stem ?? "mapping")-\(index + 1).json")
        try part.write(to: path)
        title = "\(path)"
      }
      Terminal.standardOutput.line(text: "\(title): \(names.joined(separator: ", "))")
      for link in parts.links where names.contains(link.mapping) {
        Terminal.standardOutput.line(text: "  \(link.sentence)")
      }
    }
  }

  // MARK: Checking

  private func requireFit(_ file: MappingModelFile) throws {
    if let from { try file.requireFit(from, as: .source) }
    if let to { try file.requireFit(to, as: .destination) }
    for note in file.notes {
      Terminal.standardError.line(text: "godwit: note: \(file.path ?? ""): \(note)")
    }
    for side in MappingModelFile.Side.allCases {
      if let path = file.modelPath(side) {
        Terminal.standardError.line(
          text:
            "godwit: \(file.path ?? "") embeds no readable \(side.rawValue) model, so \(path) stands "
            + "in; that model may have changed since.")
      }
    }
  }

  private func checkSet(_ read: [MappingModelFile]) throws {
    try requireModels(of: read[0])
    let report = try MappingModelFile.check(read, from: from, to: to)
    if report.leftOut.isEmpty {
      Terminal.standardOutput.line(text: "both models are covered once.")
    }
    for problem in report.leftOut { Terminal.standardOutput.line(text: "left out: \(problem)") }
    for sentence in report.repeated { Terminal.standardOutput.line(text: "note: \(sentence)") }
    for link in report.storedKeyLinks {
      Terminal.standardOutput.line(text: "  by stored keys only: \(link)")
    }
  }

  /// Throws where a model is neither named nor embedded in the mapping document.
  private func requireModels(of file: MappingModelFile) throws {
    for (side, named, option) in [
      (MappingModelFile.Side.source, from, "from"), (.destination, to, "to"),
    ] where named == nil && !file.embedsModel(side) {
      throw MigrationFailure(
        .usage,
        "\(file.path ?? "") does not contain its \(side.rawValue) model: name it with --\(option).")
    }
  }
}
