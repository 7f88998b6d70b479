import ArgumentParser
import Godwit
import SystemPackage

struct ExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Writes the data of a store as CSV, JSON or a plain SQLite database.",
    discussion: """
      Each entity becomes a file with property names, types and ISO 8601 dates. Each many-to-many \
      relationship becomes a file of pairs. External files are copied. JSON, property lists and \
      keyed archives in binary attributes are decoded. The file export.json lists tables and \
      columns. The store is not changed.
      """,
    examples: [
      "godwit export Shop.sqlite --output Shop-csv",
      "godwit export Shop.sqlite --format jsonl --entity Book --output Books",
      "godwit export Shop.sqlite --format sqlite --label Author.name --output Shop-plain",
    ],
    statuses: [
      64: "an entity or attribute does not exist",
      65: "the store is damaged, or an external file cannot be read",
      73: "the folder exists",
    ],
    page: "docs/how-to/exporting.md")

  @Argument(help: "The store.")
  var store: FilePath

  @Option(help: "The format: csv, jsonl or sqlite.")
  var format = ExportFormat.csv

  @Option(
    help: ArgumentHelp(
      "An entity to export, with its subentities; all by default. May be repeated.",
      valueName: "name"),
    completion: NameCompletions.entities)
  var entity: [String] = []

  @Option(
    help: ArgumentHelp(
      "An attribute to export next to each reference to the entity. May be repeated.",
      valueName: "entity.attribute"))
  var label: [String] = []

  @Flag(help: "Export binary and transformable values as Base64, without decoding them.")
  var raw = false

  @Option(
    help: ArgumentHelp(
      "A place to search for the store's own model. May be repeated.", valueName: "path"))
  var models: [FilePath] = []

  @Option(help: ArgumentHelp("The folder to create.", valueName: "folder"))
  var output: FilePath

  @Flag(help: "Print the report as JSON.")
  var json = false

  /// The formats, in the order of the help text.
  enum ExportFormat: String, WordArgument { case csv, jsonl, sqlite }

  func validate() throws {
    for name in label where Self.label(name) == nil {
      throw ValidationError("--label takes Entity.attribute, such as Author.name, not \(name).")
    }
  }

  private static func label(_ text: String) -> StoreExport.Label? {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
    return StoreExport.Label(entity: String(parts[0]), attribute: String(parts[1]))
  }

  func run() throws {
    var export = StoreExport(of: store)
    export.format = StoreExport.Format(rawValue: format.rawValue) ?? .csv
    export.entities = entity
    export.labels = label.compactMap(Self.label)
    export.decodesValues = !raw
    export.models = models
    let bar = ProgressBar()
    defer { bar.clear() }
    let report = try export.write(to: output) { done, total in
      bar.show(
        fraction: total > 0 ? min(1, Double(done) / Double(total)) : 0,
        "\(GroupedText(done)) of \(CountText(total, "row"))", kind: "rows")
    }
    bar.clear()
    for note in report.notes { Terminal.standardError.line(text: "godwit: note: \(note)") }
    if json {
      Terminal.standardOutput.line(json: try JSONOutput.text(value: report))
    } else {
      let files = report.valueFiles > 0 ? ", \(CountText(report.valueFiles, "file")) of values" : ""
      Terminal.standardOutput.line(
        text: "\(output): \(CountText(report.rows, "row")) in "
          + "\(CountText(report.tables.count, "table"))\(files).")
    }
    guard report.missingFileCount == 0 else { throw ExitCode(ExitStatus.damaged.rawValue) }
  }
}
