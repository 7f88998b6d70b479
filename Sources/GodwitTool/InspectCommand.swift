import ArgumentParser
import Godwit
import SystemPackage

struct InspectCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "Shows what a store, a model bundle or a model contains.",
    discussion: """
      Of a bundle, it shows the versions; of one version (--version), entities with attributes, \
      relationships, indexes and constraints. Of a store, it shows version, sizes, numbers of \
      objects and history; with --entity, the objects in key order, with defects in place of \
      invalid values. Nothing is changed.
      """,
    examples: [
      "godwit inspect Shop.xcdatamodeld --version 'Shop 2'",
      "godwit inspect Shop.sqlite --entity Book --limit 5",
      "godwit inspect Shop.sqlite --entity Book --where 'pageCount > 100'",
      "godwit inspect Shop.xcdatamodeld --schema",
    ],
    statuses: [
      64: "the entity does not exist, or --where is not valid",
      65: "the store or the model is damaged",
      66: "the file does not exist",
    ],
    page: "docs/how-to/inspecting.md")

  @Argument(help: "A store, a model bundle, a single version, or a folder or app with a model.")
  var path: FilePath

  @Option(
    help: "The version of the bundle to show; all by default.",
    completion: NameCompletions.versions)
  var version: String?

  @Option(
    help: ArgumentHelp(
      "A place to search for the store's own model. May be repeated.", valueName: "path"))
  var models: [FilePath] = []

  @Option(
    help: "Show objects of this entity of a store, and of its subentities.",
    completion: NameCompletions.entities)
  var entity: String?

  @Option(
    name: .customLong("where"),
    help: ArgumentHelp(
      "A condition for the objects to show, in the syntax of NSPredicate "
        + "(docs/reference/expressions.md).",
      valueName: "predicate"))
  var predicate: String?

  @Option(
    parsing: .unconditional, help: "The maximum number of objects to show; 20 by default.")
  var limit: Int64?

  @Flag(
    help: """
      With --entity, show whole values of up to 64 MiB. Otherwise texts end after 120 characters \
      and bytes after 16 (isCut in JSON).
      """)
  var whole = false

  @Flag(help: "Show the tables and indexes that the model needs, in SQL.")
  var schema = false

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    if let limit, limit < 0 { throw ValidationError("--limit takes 0 or more.") }
    if entity == nil, predicate != nil || limit != nil {
      throw ValidationError(
        "--where and --limit select objects of an entity: name it with "
          + "--entity.")
    }
    if entity == nil, whole {
      throw ValidationError("--whole shows objects: name their entity with --entity.")
    }
    if entity != nil, schema || version != nil {
      throw ValidationError("--entity shows objects of a store: leave --schema and --version out.")
    }
  }

  func run() throws {
    let isModel = ModelInspection.isModel(path)
    if !isModel, version != nil {
      throw MigrationFailure(
        .usage, "--version names a version of a bundle, and \(path) is not a bundle: leave it out.")
    }
    if isModel, entity != nil {
      throw MigrationFailure(
        .usage, "--entity shows objects of a store, and \(path) is a model: name a store.")
    }
    if schema {
      let found = try SchemaInspection(of: path, version: version, models: models)
      try show(found, summary: found.summary)
    } else if isModel {
      let model = try ModelInspection(of: path, version: version)
      try show(model, summary: model.summary)
    } else if let entity {
      try showObjects(of: entity)
    } else {
      let store = try ReadingBar("inspecting", path).shown {
        try StoreInspection(of: path, models: models)
      }
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

  // MARK: Objects

  private struct Heading: Encodable {
    var version = 1
    var kind = "objects"
    var path: String
    var entity: String
    var `where`: String?
  }

  private func showObjects(of entity: String) throws {
    var objects = StoreObjects(of: entity, in: path)
    objects.predicate = predicate
    objects.limit = limit ?? objects.limit
    objects.models = models
    objects.readsWhole = whole
    let out = Terminal.standardOutput
    let bar = ReadingBar("reading", path)
    guard json else {
      let outcome = try bar.shown {
        try objects.read { object in
          bar.makeRoom()
          return object.lines.allSatisfy { whole ? out.part(text: $0) : out.line(fitting: $0) }
        }
      }
      for line in outcome.lines { out.line(text: line) }
      return
    }
    var list = JSONList("objects")
    let heading = Heading(path: "\(path)", entity: entity, where: predicate)
    var isOpen = false
    func open() throws {
      if isOpen { return }
      isOpen = true
      out.line(json: try list.opening(heading))
    }
    // Nothing is printed before the first object is read: most failures come sooner.
    let outcome = try bar.shown {
      try objects.read { object in
        bar.makeRoom()
        try open()
        return out.part(json: try list.member(object))
      }
    }
    try open()
    out.line(json: try list.closing(outcome))
  }
}
