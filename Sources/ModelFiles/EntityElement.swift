import Expressions
import ObjectModel

/// Reads an `entity` element of a model source.
struct EntityElement {
  private let element: XMLTree.Element
  private let tree: XMLTree
  /// The composite attributes of the model, by name.
  private let composites: [String: XMLTree.Element]

  init(
    element: XMLTree.Element, tree: XMLTree, composites: [String: XMLTree.Element]
  ) {
    self.element = element
    self.tree = tree
    self.composites = composites
  }

  func entity() throws(ModelFileError) -> Entity {
    var entity = Entity(try element.required("name"))
    entity.className = ClassNames.own(element.attributes["representedClassName"])
    entity.superentityName = element.attributes["parentEntity"]
    entity.versionHashModifier = element.versionHashModifier
    entity.renamingIdentifier = element.renamingIdentifier(of: entity.name)
    let isAbstract = try UnreadPart.attempt(.element, noting: &entity.unread) {
      () throws(ModelFileError) in try element.flag(attribute: "isAbstract")
    }
    entity.isAbstract = isAbstract ?? false
    entity.unread += element.unknownSettings
    for child in tree.children(of: element) {
      var unread: [UnreadPart] = []
      let name = child.attributes["name"]
      _ = try UnreadPart.attempt(Self.part(element: child.name), name: name, noting: &unread) {
        () throws(ModelFileError) in try add(child, to: &entity)
      }
      entity.unread += unread
    }
    entity.normalize()
    return entity
  }

  private static func part(element: String) -> UnreadPart.Part {
    switch element {
    case "fetchedProperty": .fetchedProperty
    case "fetchIndex": .fetchIndex
    case "compoundIndexes": .compoundIndex
    case "uniquenessConstraints": .constraint
    case "userInfo": .userInfo
    default: .element
    }
  }

  private func add(_ child: XMLTree.Element, to entity: inout Entity) throws(ModelFileError) {
    switch child.name {
    case "attribute": entity.attributes.append(try attribute(element: child))
    case "relationship": entity.relationships.append(try relationship(element: child))
    case "fetchedProperty": entity.fetchedProperties.append(try fetchedProperty(element: child))
    case "fetchIndex": entity.fetchIndexes.append(try fetchIndex(element: child))
    case "compoundIndexes":
      for index in tree.children(of: child, named: "compoundIndex") {
        entity.compoundIndexes.append(try values(of: index, named: "index"))
      }
    case "uniquenessConstraints":
      for constraint in tree.children(of: child, named: "uniquenessConstraint") {
        entity.uniquenessConstraints.append(try values(of: constraint, named: "constraint"))
      }
    case "userInfo": entity.userInfo = try userInfo(element: child)
    default: throw ModelFileError(.unknownElement(child.name))
    }
  }

  private func attribute(
    element: XMLTree.Element, isElement: Bool = false
  ) throws(ModelFileError) -> Attribute {
    let name = try element.required("name")
    do throws(ModelFileError) {
      let typeName = element.attributes["attributeType"] ?? AttributeType.undefined.name
      let known = AttributeType(name: typeName)
      var attribute = Attribute(name: name, type: known ?? .undefined)
      if known == nil { attribute.unread.append(UnreadPart(part: .type, form: typeName)) }
      attribute.isOptional = try element.flag(attribute: "optional")
      attribute.isTransient = try element.flag(attribute: "transient")
      attribute.isIndexed = try element.flag(attribute: "indexed")
      attribute.isIndexedBySpotlight = try element.flag(attribute: "spotlightIndexingEnabled")
      attribute.storesBinaryDataExternally = try element.flag(
        attribute: "allowsExternalBinaryDataStorage")
      attribute.preservesValueAfterDeletion = try element.flag(attribute: "preserveAfterDeletion")
      attribute.allowsCloudEncryption = try element.flag(attribute: "allowsCloudEncryption")
      attribute.valueTransformerName = element.attributes["valueTransformerName"]
      attribute.valueClassName = element.attributes["customClassName"]
      attribute.compositeName = element.compositeName
      attribute.versionHashModifier = element.versionHashModifier
      attribute.renamingIdentifier = element.renamingIdentifier(of: name)
      attribute.derivation = try derivation(element: element, noting: &attribute.unread)
      try readValues(of: element, into: &attribute)
      attribute.userInfo = try userInfo(in: element, noting: &attribute.unread)
      attribute.unread += element.unknownSettings
      // A composite within a composite is refused by name, so its elements are not needed.
      if let name = attribute.compositeName, !isElement, let composite = composites[name] {
        for child in tree.children(of: composite, named: "attribute") {
          attribute.elements.append(try self.attribute(element: child, isElement: true))
        }
      }
      return attribute
    } catch {
      throw error.at(property: name)
    }
  }

  /// The derivation of an attribute, whose only key in known files is the expression.
  ///
  /// Any other key is kept as a filter that cannot be parsed, so that the entity's hash counts as
  /// unknown.
  private func derivation(
    element: XMLTree.Element, noting unread: inout [UnreadPart]
  ) throws(ModelFileError) -> Attribute.Derivation? {
    guard try element.flag(attribute: "derived") else { return nil }
    let text = element.attributes["derivationExpression"] ?? ""
    guard let expression = ValueExpression(parsingDerivation: text) else {
      unread.append(UnreadPart(part: .derivation, form: text))
      return Attribute.Derivation(expression: .constant(.null))
    }
    let others = element.attributes.filter {
      $0.key.hasPrefix("deriv") && $0.key != "derived" && $0.key != "derivationExpression"
    }
    return Attribute.Derivation(
      expression: expression, filter: others.values.first.map { .unparsed($0) })
  }

  private func readValues(
    of element: XMLTree.Element, into attribute: inout Attribute
  ) throws(ModelFileError) {
    let type = attribute.type
    var unread: [UnreadPart] = []
    func limit(key: String) -> AttributeValue? {
      guard let text = element.attributes[key] else { return nil }
      let value = AttributeText.value(text: text, for: type)
      if value == nil { unread.append(UnreadPart(part: .limit, form: "\(key) \(text)")) }
      return value
    }
    func length(key: String) throws(ModelFileError) -> Int64? {
      try UnreadPart.attempt(.limit, noting: &unread) { () throws(ModelFileError) in
        try element.integer(attribute: key)
      } ?? nil
    }
    let key = type == .date ? "defaultDateTimeInterval" : "defaultValueString"
    if let text = element.attributes[key] {
      let form = "\(key) \(text.isEmpty ? "\"\"" : text)"
      switch AttributeText.defaultValue(text: text, for: type, isOptional: attribute.isOptional) {
      case .value(let value): attribute.defaultValue = value
      case .leftover:
        unread.append(UnreadPart(part: .leftoverDefault, form: form))
      case .unread: unread.append(UnreadPart(part: .defaultValue, form: form))
      }
    }
    if type == .date {
      attribute.limits.minimum = limit(key: "minDateTimeInterval")
      attribute.limits.maximum = limit(key: "maxDateTimeInterval")
    } else if type == .string {
      attribute.limits.minimumLength = try length(key: "minValueString")
      attribute.limits.maximumLength = try length(key: "maxValueString")
      attribute.limits.pattern = element.attributes["regularExpressionString"]
    } else {
      attribute.limits.minimum = limit(key: "minValueString")
      attribute.limits.maximum = limit(key: "maxValueString")
    }
    attribute.unread += unread
  }

  private func relationship(element: XMLTree.Element) throws(ModelFileError) -> Relationship {
    let name = try element.required("name")
    do throws(ModelFileError) {
      let toMany = try element.flag(attribute: "toMany")
      var relationship = Relationship(
        name: name, to: try element.required("destinationEntity"),
        inverse: element.attributes["inverseName"], isToMany: toMany)
      relationship.isOptional = try element.flag(attribute: "optional")
      relationship.isTransient = try element.flag(attribute: "transient")
      relationship.isOrdered = try element.flag(attribute: "ordered")
      relationship.isIndexedBySpotlight = try element.flag(attribute: "spotlightIndexingEnabled")
      relationship.minCount = try element.integer(attribute: "minCount") ?? 0
      relationship.maxCount = try element.integer(attribute: "maxCount") ?? (toMany ? 0 : 1)
      // Core Data itself distinguishes to-one relationships only by this count.
      relationship.isToMany = relationship.maxCount != 1
      let rule = try UnreadPart.attempt(.deleteRule, noting: &relationship.unread) {
        () throws(ModelFileError) in try deleteRule(element: element)
      }
      relationship.deleteRule = rule ?? .nullify
      relationship.versionHashModifier = element.versionHashModifier
      relationship.renamingIdentifier = element.renamingIdentifier(of: name)
      relationship.userInfo = try userInfo(in: element, noting: &relationship.unread)
      relationship.unread += element.unknownSettings
      return relationship
    } catch {
      throw error.at(property: name)
    }
  }

  private func deleteRule(element: XMLTree.Element) throws(ModelFileError) -> DeleteRule {
    switch element.attributes["deletionRule"] {
    case nil, "Nullify"?: return .nullify
    case "Cascade"?: return .cascade
    case "Deny"?: return .deny
    case "No Action"?: return .noAction
    case let other?: throw element.bad("deletionRule", value: other)
    }
  }

  private func fetchedProperty(
    element: XMLTree.Element
  ) throws(ModelFileError) -> FetchedProperty {
    let name = try element.required("name")
    do throws(ModelFileError) {
      guard let request = tree.children(of: element, named: "fetchRequest").first else {
        throw ModelFileError(.attributeMissing(element: element.name, attribute: "fetchRequest"))
      }
      var property = FetchedProperty(name: name, request: try FetchRequest(request))
      property.isOptional = try element.flag(attribute: "optional")
      property.versionHashModifier = element.versionHashModifier
      property.renamingIdentifier = element.renamingIdentifier(of: name)
      property.userInfo = try userInfo(in: element, noting: &property.unread)
      property.unread += element.unknownSettings
      return property
    } catch {
      throw error.at(property: name)
    }
  }

  private func fetchIndex(element: XMLTree.Element) throws(ModelFileError) -> FetchIndex {
    var index = FetchIndex(name: try element.required("name"), elements: [])
    for child in tree.children(of: element, named: "fetchIndexElement") {
      let ascending = child.attributes["order"] != "descending"
      var part: FetchIndex.Element
      if let property = child.attributes["property"] {
        part = FetchIndex.Element(property: property, isAscending: ascending)
      } else {
        let text = try child.required("expression")
        guard let expression = ValueExpression(parsing: text) else {
          throw child.bad("expression", value: text)
        }
        part = FetchIndex.Element(expression: expression, isAscending: ascending)
      }
      switch child.attributes["type"] {
      case nil, "Binary"?: part.kind = .binary
      case "RTree"?: part.kind = .rTree
      case let other?: throw child.bad("type", value: other)
      }
      index.elements.append(part)
    }
    index.partialPredicate = element.attributes["partialIndexPredicate"].map {
      ValuePredicate(parsing: $0)
    }
    return index
  }

  private func values(
    of element: XMLTree.Element, named name: String
  ) throws(ModelFileError) -> [String] {
    var result: [String] = []
    for child in tree.children(of: element, named: name) {
      result.append(try child.required("value"))
    }
    return result
  }

  private func userInfo(
    in element: XMLTree.Element, noting unread: inout [UnreadPart]
  ) throws(ModelFileError) -> [String: String] {
    var result: [String: String]?
    for child in tree.children(of: element) where child.name != "fetchRequest" {
      if child.name == "userInfo" {
        result = try UnreadPart.attempt(.userInfo, noting: &unread) {
          () throws(ModelFileError) in try userInfo(element: child)
        }
      } else {
        unread.append(UnreadPart(part: .element, form: child.name))
      }
    }
    return result ?? [:]
  }

  private func userInfo(element: XMLTree.Element) throws(ModelFileError) -> [String: String] {
    var result: [String: String] = [:]
    for entry in tree.children(of: element, named: "entry") {
      result[try entry.required("key")] = entry.attributes["value"] ?? ""
    }
    return result
  }
}
