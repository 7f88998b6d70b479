package import ObjectModel
import ValueExpressions

/// Reads the source of a model, the file `contents` in an `.xcdatamodel` folder.
package enum ModelDocument {
  /// The model that the document describes.
  package static func model(
    decoding bytes: [UInt8]
  ) throws(ModelFileError) -> ManagedObjectModel {
    let tree = try XMLTree(parsing: bytes)
    guard tree.root.name == "model" else { throw ModelFileError(.notAModelDocument) }
    var parts = ModelParts()
    for child in tree.children(of: tree.root) { try parts.add(child, of: tree) }
    var model: ManagedObjectModel
    do {
      model = try ManagedObjectModel(entities: parts.entities)
    } catch {
      throw ModelFileError(.notAModel(error), entity: error.entity, property: error.property)
    }
    model.versionIdentifiers =
      tree.root.attributes["userDefinedModelVersionIdentifier"].map { [$0] } ?? []
    model.configurations = parts.configurations
    model.fetchRequestTemplates = parts.templates
    return model
  }
}

private struct ModelParts {
  var entities: [Entity] = []
  var configurations: [String: [String]] = [:]
  var templates: [String: FetchRequest] = [:]

  mutating func add(_ element: XMLTree.Element, of tree: XMLTree) throws(ModelFileError) {
    switch element.name {
    case "entity": entities.append(try EntityElement(element, tree).entity())
    case "configuration":
      var members: [String] = []
      for member in tree.children(of: element, named: "memberEntity") {
        members.append(try member.required("name"))
      }
      configurations[try element.required("name")] = members.sorted()
    case "fetchRequest":
      templates[try element.required("name")] = try FetchRequest(element)
    case "elements": break  // where the editor draws each entity
    // A definition that attributes of type Composite refer to; their hashes are unknown anyway.
    case "compositeAttribute": break
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

  /// A flag; absent means the default, which is NO for all but the settings of fetch requests.
  func flag(_ attribute: String, default standard: Bool = false) throws(ModelFileError) -> Bool {
    guard let text = attributes[attribute] else { return standard }
    guard let value = AttributeText.flag(text) else { throw bad(attribute, text) }
    return value
  }

  func integer(_ attribute: String) throws(ModelFileError) -> Int64? {
    guard let text = attributes[attribute] else { return nil }
    guard let value = AttributeText.integer(text) else { throw bad(attribute, text) }
    return value
  }

  func bad(_ key: String, _ value: String) -> ModelFileError {
    ModelFileError(.badValue(key: key, value: value))
  }

  /// The renaming identifier, which is called the element's own name where there is none.
  func renamingIdentifier(of name: String) -> String? {
    attributes["elementID"].flatMap { $0 == name || $0.isEmpty ? nil : $0 }
  }

  var versionHashModifier: String? {
    attributes["versionHashModifier"].flatMap { $0.isEmpty ? nil : $0 }
  }
}

extension FetchRequest {
  /// The settings of a `fetchRequest` element as the model compiler understands them: a request for
  /// object identifiers fetches no values, one for dictionaries sees no pending changes
  /// (docs/model-format.md, "Fetch requests").
  init(_ element: XMLTree.Element) throws(ModelFileError) {
    self.init(
      entityName: element.attributes["entity"],
      predicate: element.attributes["predicateString"].map { ValuePredicate(parsing: $0) })
    resultType = try element.integer("resultType") ?? 0
    fetchLimit = try element.integer("fetchLimit") ?? 0
    batchSize = try element.integer("fetchBatchSize") ?? 0
    includesSubentities = try element.flag("includeSubentities", default: true)
    includesPropertyValues = try element.flag("includePropertyValues", default: resultType != 1)
    includesPendingChanges = try element.flag("includesPendingChanges", default: resultType != 2)
    returnsObjectsAsFaults = try element.flag("returnObjectsAsFaults", default: true)
    returnsDistinctResults = try element.flag("returnDistinctResults")
  }
}
