import ArgumentParser
import Godwit
import Mapping
import MappingFiles
import MigrationCoordinator
import ObjectModel
import SystemCalls
import SystemPackage

struct MapCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "map",
    abstract: "Writes mapping models as files for people, splits and checks them.",
    discussion: """
      With --from and --to alone, writes the mapping model that would be inferred: a start for one \
      of your own. With one mapping model (.xcmappingmodel, .cdm or .json), writes it in the form of \
      docs/mapping-file.md. With several, checks that they make one migration together.
      """)

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
      "Split the mapping model into independent ones, or tell what prevents it."))
  var split = false

  @Flag(help: "Check that the mapping models make one migration together; write nothing.")
  var check = false

  @Option(
    help: ArgumentHelp(
      "The file to write, or with --split the folder; without it, standard output gets the text.",
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
      throw ValidationError("A check writes nothing: leave --output out.")
    }
  }

  func run() throws {
    if files.isEmpty { return try infer() }
    let read = try files.map { try MappingFile.read($0) }
    for file in read { try requireFit(file) }
    if check || files.count > 1 { return try checkSet(read) }
    if split { return try write(pieces(of: read[0]), of: read[0]) }
    try write(try MappingText.text(read[0].mapping))
  }

  // MARK: Writing

  private func infer() throws {
    let source = try requiredModel(.source, of: nil)
    let destination = try requiredModel(.destination, of: nil)
    let inference = MappingInference(from: source, to: destination)
    let mapping = MappingModel.inferred(inference, source: source, destination: destination)
    try write(try MappingText.text(mapping))
    for obstacle in inference.obstacles {
      Terminal.standardError.line("godwit: not inferred: \(obstacle.sentence)")
    }
  }

  private func write(_ text: String) throws {
    guard let output else { return Terminal.standardOutput.line(JSONText(String(text.dropLast()))) }
    try Self.write(text, to: output)
  }

  /// Writes a mapping model where there is nothing yet, or an earlier one.
  private static func write(_ text: String, to path: FilePath) throws {
    if let status = try Files.fileStatusIfPresent(path, followLinks: false) {
      let isEarlier = status.kind == .file && MappingFile.claimsToBeMapping(path)
      guard isEarlier || (status.kind == .file && status.size == 0) || status.kind == .other else {
        throw MigrationFailure(
          .cannotCreate,
          "\(path) is not an earlier mapping model, and this one would take its place: name another "
            + "file.")
      }
      if status.kind == .other {
        let stream = try FileDescriptor.open(path, .writeOnly, options: .closeOnExec)
        _ = try stream.closeAfter { try stream.writeAll(Array(text.utf8)) }
        return
      }
    }
    try Files.writeFileAtomically(Array(text.utf8), to: path)
  }

  private func pieces(of file: MappingFile) throws -> MappingSplit {
    let result = MappingSplit(
      file.mapping, source: try requiredModel(.source, of: file),
      destination: try requiredModel(.destination, of: file))
    guard result.pieces.count > 1 else {
      throw MigrationFailure(
        .impossible,
        ["\(file.path) cannot be split, because everything in it is related:"]
          + result.links.map(\.sentence))
    }
    return result
  }

  private func write(_ split: MappingSplit, of file: MappingFile) throws {
    for (index, piece) in split.pieces.enumerated() {
      let names = piece.entityMappings.map(\.name)
      var title = "piece \(index + 1)"
      if let output {
        let path = output.appending("\(file.path.stem ?? "mapping")-\(index + 1).json")
        try Self.write(MappingText.text(piece), to: path)
        title = "\(path)"
      }
      Terminal.standardOutput.line("\(title): \(names.joined(separator: ", "))")
      for link in split.links where names.contains(link.mapping) {
        Terminal.standardOutput.line("  \(link.sentence)")
      }
    }
  }

  // MARK: Checking

  private func requireFit(_ file: MappingFile) throws {
    for (side, path) in [(MappingSide.source, from), (.destination, to)] {
      guard let path else { continue }
      let original = side == .source ? file.source : file.destination
      let mismatches = file.mapping.mismatches(
        side, model: try model(path), original: original?.model)
      guard mismatches.isEmpty else {
        throw MigrationFailure(
          .impossible, ["\(file.path) was not made for \(path):"] + mismatches.map(\.sentence))
      }
    }
    for (side, model) in [(MappingSide.source, file.source), (.destination, file.destination)] {
      if case .namedPath(let path)? = model?.origin {
        Terminal.standardError.line(
          "godwit: \(file.path) embeds no readable \(side.rawValue) model, so \(path) stands in; "
            + "that model may have changed since.")
      }
    }
  }

  private func checkSet(_ read: [MappingFile]) throws {
    let set = MappingSet(
      read.map { .init(name: "\($0.path)", mapping: $0.mapping) },
      source: try requiredModel(.source, of: read[0]),
      destination: try requiredModel(.destination, of: read[0]))
    guard set.problems.isEmpty else {
      throw MigrationFailure(
        .impossible, ["these are not one migration:"] + set.problems.map(\.sentence))
    }
    if set.leftOut.isEmpty {
      Terminal.standardOutput.line("both models are covered once.")
    }
    for problem in set.leftOut { Terminal.standardOutput.line("left out: \(problem.sentence)") }
    for link in set.storedKeyLinks {
      Terminal.standardOutput.line("  by stored keys only: \(link.sentence)")
    }
  }

  // MARK: Models

  private func model(_ path: FilePath) throws -> ManagedObjectModel {
    try TargetModel.model(at: path)
  }

  /// The model that is named, or the one that the mapping document embeds.
  private func requiredModel(
    _ side: MappingSide, of file: MappingFile?
  ) throws -> ManagedObjectModel {
    if let path = side == .source ? from : to { return try model(path) }
    let own = side == .source ? file?.source : file?.destination
    guard let own else {
      throw ValidationError(
        "\(file.map { "\($0.path)" } ?? "The mapping model") does not hold its \(side.rawValue) "
          + "model: name it with --\(side == .source ? "from" : "to").")
    }
    return own.model
  }
}
