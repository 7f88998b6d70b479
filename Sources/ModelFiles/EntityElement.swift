import ObjectModel
import ValueExpressions

/// Reads an `entity` element.
struct EntityElement {
  private let element: XMLTree.Element
  private let tree: XMLTree

  init(_ element: XMLTree.Element, _ tree: XMLTree) {
    self.element = element
    self.tree = tree
  }

  func entity() throws(ModelFileError) -> Entity {
    var entity = Entity(try element.required("name"))
    do throws(ModelFileError) {
      entity.className = ClassNames.own(element.attributes["representedClassName"])
      entity.isAbstract = try element.flag("isAbstract")
      entity.superentityName = element.attributes["parentEntity"]
      entity.versionHashModifier = element.versionHashModifier
      entity.renamingIdentifier = element.renamingIdentifier(of: entity.name)
      for child in tree.children(of: element) { try add(child, to: &entity) }
    } catch {
      throw error.at(entity: entity.name)
    }
    entity.normalize()
    return entity
  }

  private func add(_ child: XMLTree.Element, to entity: inout Entity) throws(ModelFileError) {
    switch child.name {
    case "attribute": entity.attributes.append(try attribute(child))
    case "relationship": entity.relationships.append(try relationship(child))
    case "fetchedProperty": entity.fetchedProperties.append(try fetchedProperty(child))
    case "fetchIndex": entity.fetchIndexes.append(try fetchIndex(child))
    case "compoundIndexes":
      for index in tree.children(of: child, named: "compoundIndex") {
        entity.compoundIndexes.append(try values(of: index, named: "index"))
      }
    case "uniquenessConstraints":
      for constraint in tree.children(of: child, named: "uniquenessConstraint") {
        entity.uniquenessConstraints.append(try values(of: constraint, named: "constraint"))
      }
    case "userInfo": entity.userInfo = try userInfo(child)
    default: throw ModelFileError(.unknownElement(child.name))
    }
  }

  private func attribute(_ element: XMLTree.Element) throws(ModelFileError) -> Attribute {
    let name = try element.required("name")
    do throws(ModelFileError) {
      let typeName = element.attributes["attributeType"] ?? AttributeType.undefined.name
      guard let type = AttributeType(name: typeName) else {
        throw ModelFileError(.unknownAttributeType(typeName))
      }
      var attribute = Attribute(name, type)
      attribute.isOptional = try element.flag("optional")
      attribute.isTransient = try element.flag("transient")
      attribute.isIndexed = try element.flag("indexed")
      attribute.isIndexedBySpotlight = try element.flag("spotlightIndexingEnabled")
      attribute.storesBinaryDataExternally = try element.flag("allowsExternalBinaryDataStorage")
      attribute.preservesValueAfterDeletion = try element.flag("preserveAfterDeletion")
      attribute.allowsCloudEncryption = try element.flag("allowsCloudEncryption")
      attribute.valueTransformerName = element.attributes["valueTransformerName"]
      attribute.valueClassName = element.attributes["customClassName"]
      attribute.compositeName = element.attributes["compositeName"]
      attribute.versionHashModifier = element.versionHashModifier
      attribute.renamingIdentifier = element.renamingIdentifier(of: name)
      attribute.derivation = try derivation(element)
      try readValues(of: element, into: &attribute)
      attribute.userInfo = try userInfo(in: element)
      return attribute
    } catch {
      throw error.at(property: name)
    }
  }

  /// The only key of a derivation that a known file shows is its expression. Any other is kept as a
  /// filter that cannot be understood, so that the entity's hash counts as unknown.
  private func derivation(
    _ element: XMLTree.Element
  ) throws(ModelFileError) -> Attribute.Derivation? {
    guard try element.flag("derived") else { return nil }
    let text = try element.required("derivationExpression")
    guard let expression = ValueExpression(parsingDerivation: text) else {
      throw element.bad("derivationExpression", text)
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
    func value(_ key: String) throws(ModelFileError) -> AttributeValue? {
      guard let text = element.attributes[key] else { return nil }
      guard let value = AttributeText.value(text, for: type) else {
        throw element.bad(key, text)
      }
      return value
    }
    if type == .date {
      attribute.defaultValue = try value("defaultDateTimeInterval") ?? .null
      attribute.limits.minimum = try value("minDateTimeInterval")
      attribute.limits.maximum = try value("maxDateTimeInterval")
    } else if type == .string {
      attribute.defaultValue = try value("defaultValueString") ?? .null
      attribute.limits.minimumLength = try element.integer("minValueString")
      attribute.limits.maximumLength = try element.integer("maxValueString")
      attribute.limits.pattern = element.attributes["regularExpressionString"]
    } else {
      attribute.defaultValue = try value("defaultValueString") ?? .null
      attribute.limits.minimum = try value("minValueString")
      attribute.limits.maximum = try value("maxValueString")
    }
  }

  private func relationship(_ element: XMLTree.Element) throws(ModelFileError) -> Relationship {
    let name = try element.required("name")
    do throws(ModelFileError) {
      let toMany = try element.flag("toMany")
      var relationship = Relationship(
        name, to: try element.required("destinationEntity"),
        inverse: element.attributes["inverseName"], isToMany: toMany)
      relationship.isOptional = try element.flag("optional")
      relationship.isTransient = try element.flag("transient")
      relationship.isOrdered = try element.flag("ordered")
      relationship.isIndexedBySpotlight = try element.flag("spotlightIndexingEnabled")
      relationship.minCount = try element.integer("minCount") ?? 0
      relationship.maxCount = try element.integer("maxCount") ?? (toMany ? 0 : 1)
      // Core Data itself has no other mark of a to-one than this.
      relationship.isToMany = relationship.maxCount != 1
      relationship.deleteRule = try deleteRule(element)
      relationship.versionHashModifier = element.versionHashModifier
      relationship.renamingIdentifier = element.renamingIdentifier(of: name)
      relationship.userInfo = try userInfo(in: element)
      return relationship
    } catch {
      throw error.at(property: name)
    }
  }

  private func deleteRule(_ element: XMLTree.Element) throws(ModelFileError) -> DeleteRule {
    switch element.attributes["deletionRule"] {
    case nil, "Nullify"?: return .nullify
    case "Cascade"?: return .cascade
    case "Deny"?: return .deny
    case "No Action"?: return .noAction
    case let other?: throw element.bad("deletionRule", other)
    }
  }

  private func fetchedProperty(
    _ element: XMLTree.Element
  ) throws(ModelFileError) -> FetchedProperty {
    let name = try element.required("name")
    do throws(ModelFileError) {
      guard let request = tree.children(of: element, named: "fetchRequest").first else {
        throw ModelFileError(.attributeMissing(element: element.name, attribute: "fetchRequest"))
      }
      var property = FetchedProperty(name, request: try FetchRequest(request))
      property.isOptional = try element.flag("optional")
      property.versionHashModifier = element.versionHashModifier
      property.renamingIdentifier = element.renamingIdentifier(of: name)
      property.userInfo = try userInfo(in: element)
      return property
    } catch {
      throw error.at(property: name)
    }
  }

  private func fetchIndex(_ element: XMLTree.Element) throws(ModelFileError) -> FetchIndex {
    var index = FetchIndex(try element.required("name"), elements: [])
    for child in tree.children(of: element, named: "fetchIndexElement") {
      let ascending = child.attributes["order"] != "descending"
      var part: FetchIndex.Element
      if let property = child.attributes["property"] {
        part = FetchIndex.Element(property: property, isAscending: ascending)
      } else {
        let text = try child.required("expression")
        guard let expression = ValueExpression(parsing: text) else {
          throw child.bad("expression", text)
        }
        part = FetchIndex.Element(expression: expression, isAscending: ascending)
      }
      switch child.attributes["type"] {
      case nil, "Binary"?: part.kind = .binary
      case "RTree"?: part.kind = .rTree
      case let other?: throw child.bad("type", other)
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

  private func userInfo(in element: XMLTree.Element) throws(ModelFileError) -> [String: String] {
    var result: [String: String] = [:]
    for child in tree.children(of: element) where child.name != "fetchRequest" {
      guard child.name == "userInfo" else { throw ModelFileError(.unknownElement(child.name)) }
      result = try userInfo(child)
    }
    return result
  }

  private func userInfo(_ element: XMLTree.Element) throws(ModelFileError) -> [String: String] {
    var result: [String: String] = [:]
    for entry in tree.children(of: element, named: "entry") {
      result[try entry.required("key")] = entry.attributes["value"] ?? ""
    }
    return result
  }
}
