import Expressions
package import ObjectModel

/// Reads the source of a model, the file `contents` in an `.xcdatamodel` folder.
package enum ModelDocument {
  /// Reads the model of a document; parts that cannot be read are listed in it.
  ///
  /// - Throws: `ModelFileError`, if the document is damaged or not of a model.
  package static func model(
    decoding bytes: [UInt8]
  ) throws(ModelFileError) -> ManagedObjectModel {
    let tree = try XMLTree(parsing: bytes)
    guard tree.root.name == "model" else { throw ModelFileError(.notAModelDocument) }
    var parts = try ModelParts(tree)
    for child in tree.children(of: tree.root) {
      var unread: [UnreadPart] = []
      let name = child.attributes["name"]
      _ = try UnreadPart.attempt(ModelParts.part(element: child.name), name: name, noting: &unread)
      {
        () throws(ModelFileError) in try parts.add(child)
      }
      parts.unread += unread
    }
    var model: ManagedObjectModel
    do {
      model = try ManagedObjectModel(entities: parts.entities.withoutLooseEnds)
    } catch {
      throw ModelFileError(.notAModel(error), entity: error.entity, property: error.property)
    }
    model.versionIdentifiers =
      tree.root.attributes["userDefinedModelVersionIdentifier"].map { [$0] } ?? []
    try model.requireMakeable(parts.entities)
    model.configurations = parts.configurations
    model.fetchRequestTemplates = parts.templates
    model.unread = parts.unread
    return model
  }
}

private struct ModelParts {
  private let tree: XMLTree
  private let composites: [String: XMLTree.Element]
  var entities: [Entity] = []
  var configurations: [String: [String]] = [:]
  var templates: [String: FetchRequest] = [:]

  /// Parts outside of entities that could not be read.
  var unread: [UnreadPart] = []

  /// The most elements that the composite attributes of a model have together.
  private static let mostElements = 500_000

  init(_ tree: XMLTree) throws(ModelFileError) {
    self.tree = tree
    composites = Dictionary(
      tree.children(of: tree.root).filter { Self.compositeNames.contains($0.name) }
        .compactMap { element in element.attributes["name"].map { ($0, element) } },
      uniquingKeysWith: { first, _ in first })
    // A composite stands in the document once, and in the model wherever an attribute names it.
    var count = 0
    for element in tree.elements {
      guard let name = element.compositeName else { continue }
      count += composites[name]?.children.count ?? 0
      guard count <= Self.mostElements else {
        throw ModelFileError(.tooLarge(limit: Self.mostElements))
      }
    }
  }

  /// The element that the model compiler reads, and the one that earlier versions of `model export`
  /// wrote.
  private static let compositeNames: Set<String> = ["composite", "compositeAttribute"]

  static func part(element: String) -> UnreadPart.Part {
    switch element {
    case "configuration": .configuration
    case "fetchRequest": .fetchRequest
    default: .element
    }
  }

  mutating func add(_ element: XMLTree.Element) throws(ModelFileError) {
    switch element.name {
    case "entity":
      entities.append(
        try EntityElement(element: element, tree: tree, composites: composites).entity())
    case "configuration":
      var members: [String] = []
      for member in tree.children(of: element, named: "memberEntity") {
        members.append(try member.required("name"))
      }
      configurations[try element.required("name")] = members.sorted()
    case "fetchRequest":
      templates[try element.required("name")] = try FetchRequest(element)
    case "elements": break  // where the editor draws each entity
    case let name where Self.compositeNames.contains(name):
      break  // attributes of type Composite refer to it
    default: throw ModelFileError(.unknownElement(element.name))
    }
  }
}

extension XMLTree.Element {
  func required(_ attribute: String) throws(ModelFileError) -> String {
    guard let value = attributes[attribute] else {
      throw ModelFileError(.attributeMissing(element: name, attribute: attribute))
    }
    return value
  }

  /// A YES or NO; absent it has the default, which is NO except for some settings of fetch
  /// requests.
  func flag(attribute: String, default standard: Bool = false) throws(ModelFileError) -> Bool {
    guard let text = attributes[attribute] else { return standard }
    guard let value = AttributeText.flag(text: text) else { throw bad(attribute, value: text) }
    return value
  }

  func integer(attribute: String) throws(ModelFileError) -> Int64? {
    guard let text = attributes[attribute] else { return nil }
    guard let value = AttributeText.integer(text: text) else { throw bad(attribute, value: text) }
    return value
  }

  func bad(_ key: String, value: String) -> ModelFileError {
    ModelFileError(.badValue(key: key, value: value))
  }

  /// The renaming identifier; an absent one is the element's own name.
  func renamingIdentifier(of name: String) -> String? {
    attributes["elementID"].flatMap { $0 == name || $0.isEmpty ? nil : $0 }
  }

  /// The name of the composite whose elements an attribute has.
  var compositeName: String? { attributes["composite"] ?? attributes["compositeName"] }

  var versionHashModifier: String? {
    attributes["versionHashModifier"].flatMap { $0.isEmpty ? nil : $0 }
  }
}

extension FetchRequest {
  /// Reads the settings of a `fetchRequest` element like the model compiler: a request for object
  /// identifiers fetches no values, one for dictionaries does not include pending changes
  /// (docs/reference/model-format.md, "Fetch requests").
  init(_ element: XMLTree.Element) throws(ModelFileError) {
    self.init(
      entityName: element.attributes["entity"],
      predicate: element.attributes["predicateString"].map { ValuePredicate(parsing: $0) })
    resultType = try element.integer(attribute: "resultType") ?? 0
    fetchLimit = try element.integer(attribute: "fetchLimit") ?? 0
    batchSize = try element.integer(attribute: "fetchBatchSize") ?? 0
    includesSubentities = try element.flag(attribute: "includeSubentities", default: true)
    includesPropertyValues = try element.flag(
      attribute: "includePropertyValues", default: resultType != 1)
    includesPendingChanges = try element.flag(
      attribute: "includesPendingChanges", default: resultType != 2)
    returnsObjectsAsFaults = try element.flag(attribute: "returnObjectsAsFaults", default: true)
    returnsDistinctResults = try element.flag(attribute: "returnDistinctResults")
  }
}
