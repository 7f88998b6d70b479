import Expressions
import ObjectModel

/// Writes the elements of a model source, in the order in which Xcode does.
struct ModelSourceWriter {
  typealias Attributes = [(name: String, value: String?)]

  private let model: ManagedObjectModel
  private var lines: [String] = []
  private var depth = 0
  /// The elements of the composites so far, by the names that they got.
  private var composites: [(name: String, elements: [Attribute])] = []

  init(_ model: ManagedObjectModel) { self.model = model }

  mutating func document() -> String {
    lines = ["<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>"]
    let root: Attributes = [
      ("type", "com.apple.IDECoreDataModeler.DataModel"), ("documentVersion", "1.0"),
      ("minimumToolsVersion", "Automatic"), ("sourceLanguage", "Swift"),
      ("userDefinedModelVersionIdentifier", model.versionIdentifiers.first),
    ]
    element("model", root) { writer in
      for entity in writer.model.entities { writer.write(entity) }
      for (name, request) in writer.model.fetchRequestTemplates.sorted(by: { $0.key < $1.key }) {
        writer.write(request, name: name)
      }
      for composite in writer.composites {
        writer.element("composite", [("name", composite.name)]) { writer in
          for attribute in composite.elements { writer.write(attribute) }
        }
      }
      for (name, members) in writer.model.configurations.sorted(by: { $0.key < $1.key }) {
        writer.element("configuration", [("name", name)]) { writer in
          for member in members { writer.element("memberEntity", [("name", member)]) }
        }
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  // MARK: Elements

  private mutating func element(
    _ name: String, _ attributes: Attributes, _ body: ((inout Self) -> Void)? = nil
  ) {
    let indent = String(repeating: "    ", count: depth)
    let list = attributes.compactMap { name, value in
      value.map { " \(name)=\"\(XMLText.escaped($0))\"" }
    }.joined()
    guard let body else { return lines.append("\(indent)<\(name)\(list)/>") }
    let start = lines.count
    lines.append("\(indent)<\(name)\(list)>")
    depth += 1
    body(&self)
    depth -= 1
    if lines.count == start + 1 {
      lines[start] = "\(indent)<\(name)\(list)/>"
    } else {
      lines.append("\(indent)</\(name)>")
    }
  }

  private static func flag(_ isSet: Bool) -> String? { isSet ? "YES" : nil }

  private mutating func write(userInfo: [String: String]) {
    if userInfo.isEmpty { return }
    element("userInfo", []) { writer in
      for (key, value) in userInfo.sorted(by: { $0.key < $1.key }) {
        writer.element("entry", [("key", key), ("value", value)])
      }
    }
  }

  // MARK: Entities

  private mutating func write(_ entity: Entity) {
    let attributes: Attributes = [
      ("name", entity.name), ("representedClassName", entity.className),
      ("isAbstract", Self.flag(entity.isAbstract)), ("parentEntity", entity.superentityName),
      ("elementID", entity.renamingIdentifier), ("versionHashModifier", entity.versionHashModifier),
      ("syncable", "YES"),
    ]
    element("entity", attributes) { writer in
      for attribute in entity.attributes { writer.write(attribute) }
      for relationship in entity.relationships { writer.write(relationship) }
      for property in entity.fetchedProperties { writer.write(property) }
      for index in entity.fetchIndexes { writer.write(index) }
      if !entity.compoundIndexes.isEmpty {
        writer.element("compoundIndexes", []) { writer in
          for names in entity.compoundIndexes {
            writer.write(names, in: "compoundIndex", each: "index")
          }
        }
      }
      if !entity.uniquenessConstraints.isEmpty {
        writer.element("uniquenessConstraints", []) { writer in
          for names in entity.uniquenessConstraints {
            writer.write(names, in: "uniquenessConstraint", each: "constraint")
          }
        }
      }
      writer.write(userInfo: entity.userInfo)
    }
  }

  private mutating func write(_ names: [String], in outer: String, each inner: String) {
    element(outer, []) { writer in
      for name in names { writer.element(inner, [("value", name)]) }
    }
  }

  // MARK: Properties

  private mutating func write(_ attribute: Attribute) {
    let limits = attribute.limits
    let isDate = attribute.type == .date
    let isText = attribute.type == .string
    let (least, greatest) = (limits.minimum?.sourceText, limits.maximum?.sourceText)
    let value = attribute.defaultValue.sourceText
    var list: Attributes = [
      ("name", attribute.name), ("optional", Self.flag(attribute.isOptional)),
      ("transient", Self.flag(attribute.isTransient)),
      ("attributeType", attribute.type == .undefined ? nil : attribute.type.name),
      ("minValueString", isText ? limits.minimumLength.map { "\($0)" } : isDate ? nil : least),
      ("maxValueString", isText ? limits.maximumLength.map { "\($0)" } : isDate ? nil : greatest),
      ("minDateTimeInterval", isDate ? least : nil),
      ("maxDateTimeInterval", isDate ? greatest : nil),
      ("defaultDateTimeInterval", isDate ? value : nil),
      ("defaultValueString", isDate ? nil : value), ("regularExpressionString", limits.pattern),
      ("valueTransformerName", attribute.valueTransformerName),
      ("customClassName", attribute.valueClassName),
    ]
    list += [
      ("allowsExternalBinaryDataStorage", Self.flag(attribute.storesBinaryDataExternally)),
      ("preserveAfterDeletion", Self.flag(attribute.preservesValueAfterDeletion)),
      ("allowsCloudEncryption", Self.flag(attribute.allowsCloudEncryption)),
      ("spotlightIndexingEnabled", Self.flag(attribute.isIndexedBySpotlight)),
      ("indexed", Self.flag(attribute.isIndexed)),
      ("derived", Self.flag(attribute.derivation != nil)),
      ("derivationExpression", attribute.derivation?.expression.description),
      ("elementID", attribute.renamingIdentifier),
      ("versionHashModifier", attribute.versionHashModifier),
    ]
    if attribute.type == .composite { list.append(("composite", name(of: attribute))) }
    element("attribute", list) { $0.write(userInfo: attribute.userInfo) }
  }

  /// The name of the composite with an attribute's elements: one for all that have the same.
  private mutating func name(of attribute: Attribute) -> String {
    if let known = composites.first(where: { $0.elements == attribute.elements }) {
      return known.name
    }
    let base = attribute.name.prefix(1).uppercased() + attribute.name.dropFirst()
    var name = base
    var number = 1
    while composites.contains(where: { $0.name == name }) {
      number += 1
      name = "\(base)\(number)"
    }
    composites.append((name, attribute.elements))
    return name
  }

  private mutating func write(_ relationship: Relationship) {
    let rule =
      switch relationship.deleteRule {
      case .noAction: "No Action"
      case .nullify: "Nullify"
      case .cascade: "Cascade"
      case .deny: "Deny"
      }
    let attributes: Attributes = [
      ("name", relationship.name), ("optional", Self.flag(relationship.isOptional)),
      ("transient", Self.flag(relationship.isTransient)),
      ("toMany", Self.flag(relationship.isToMany)),
      ("minCount", relationship.minCount == 0 ? nil : "\(relationship.minCount)"),
      ("maxCount", relationship.maxCount == 0 ? nil : "\(relationship.maxCount)"),
      ("ordered", Self.flag(relationship.isOrdered)), ("deletionRule", rule),
      ("destinationEntity", relationship.destinationEntityName),
      ("inverseName", relationship.inverseName),
      (
        "inverseEntity",
        relationship.inverseName == nil ? nil : relationship.destinationEntityName
      ),
      ("spotlightIndexingEnabled", Self.flag(relationship.isIndexedBySpotlight)),
      ("elementID", relationship.renamingIdentifier),
      ("versionHashModifier", relationship.versionHashModifier),
    ]
    element("relationship", attributes) { $0.write(userInfo: relationship.userInfo) }
  }

  private mutating func write(_ property: FetchedProperty) {
    let attributes: Attributes = [
      ("name", property.name), ("optional", Self.flag(property.isOptional)),
      ("elementID", property.renamingIdentifier),
      ("versionHashModifier", property.versionHashModifier),
    ]
    element("fetchedProperty", attributes) { writer in
      writer.write(property.request, name: "fetchedPropertyFetchRequest")
      writer.write(userInfo: property.userInfo)
    }
  }

  private mutating func write(_ request: FetchRequest, name: String) {
    func text(_ isSet: Bool) -> String { isSet ? "YES" : "NO" }
    element(
      "fetchRequest",
      [
        ("name", name), ("entity", request.entityName),
        ("predicateString", request.predicate?.description),
        ("resultType", "\(request.resultType)"),
        ("fetchLimit", request.fetchLimit == 0 ? nil : "\(request.fetchLimit)"),
        ("fetchBatchSize", request.batchSize == 0 ? nil : "\(request.batchSize)"),
        ("includeSubentities", text(request.includesSubentities)),
        ("includePropertyValues", text(request.includesPropertyValues)),
        ("includesPendingChanges", text(request.includesPendingChanges)),
        ("returnObjectsAsFaults", text(request.returnsObjectsAsFaults)),
        ("returnDistinctResults", text(request.returnsDistinctResults)),
      ])
  }

  private mutating func write(_ index: FetchIndex) {
    let attributes: Attributes = [
      ("name", index.name), ("partialIndexPredicate", index.partialPredicate?.description),
    ]
    element("fetchIndex", attributes) { writer in
      for part in index.elements {
        writer.element(
          "fetchIndexElement",
          [
            ("property", part.propertyName),
            ("expression", part.propertyName == nil ? part.expression?.description : nil),
            ("type", part.kind == .rTree ? "RTree" : "Binary"),
            ("order", part.isAscending ? "ascending" : "descending"),
          ])
      }
    }
  }
}
