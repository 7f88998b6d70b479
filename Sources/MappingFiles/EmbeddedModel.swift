import Expressions
import KeyedArchives
package import ModelFiles
package import ObjectModel

/// Reads the models that Xcode embeds in a mapping document: archives of the model editor's own
/// classes, in which each property of an element is a named value of a stereotype.
package enum XDPMModel {
  /// Reads the model of an archive.
  ///
  /// - Throws: `ModelFileError`, if the archive is damaged or not of such a model.
  package static func model(decoding bytes: [UInt8]) throws(ModelFileError) -> ManagedObjectModel {
    let archive: KeyedArchive
    do {
      archive = try KeyedArchive(decoding: bytes)
    } catch {
      throw ModelFileError(.damagedArchive(error))
    }
    guard try archive.class(of: archive.root) == "XDPMModel",
      let package = try archive.target(key: "_xd_rootPackage", of: archive.root),
      let classes = try archive.dictionary(key: "XDBucketForClassesstorage", of: package)
    else { throw ModelFileError(.notAModelArchive) }
    var reader = EditorArchive(archive)
    var entities: [Entity] = []
    for (name, id) in classes { entities.append(try reader.entity(name: name, id: id)) }
    var model: ManagedObjectModel
    do {
      model = try ManagedObjectModel(entities: entities)
    } catch {
      throw ModelFileError(.notAModel(error), entity: error.entity, property: error.property)
    }
    model.versionIdentifiers =
      try archive.text(key: "_modelVersionIdentifier", of: archive.root).map { [$0] } ?? []
    return model
  }
}

private struct EditorArchive {
  let archive: KeyedArchive
  /// How many more objects may be read; those of a damaged archive may share large collections.
  private var budget = 1_000_000

  init(_ archive: KeyedArchive) { self.archive = archive }

  mutating func entity(
    name: String, id: KeyedArchive.ID
  ) throws(ModelFileError) -> Entity {
    var entity = Entity(name)
    do throws(ModelFileError) {
      let facts = try facts(of: id)
      entity.isAbstract = try facts.flag(key: "XD_PSK_isAbstract")
      entity.versionHashModifier = facts.text(key: "XD_PSK_versionHashModifier")
      entity.renamingIdentifier = facts.text(key: "XD_PSK_elementID").flatMap {
        $0 == name ? nil : $0
      }
      entity.className = facts.text(key: "XD_PSK_entityClassName").flatMap {
        $0 == "NSManagedObject" ? nil : $0
      }
      entity.uniquenessConstraints = try constraints(facts: facts)
      entity.superentityName = try superentity(of: id)
      let properties =
        try archive.dictionary(key: "XDBucketForOwnedAttributesstorage", of: id) ?? []
      try spend(properties.count)
      for (name, property) in properties { try add(property, name: name, to: &entity) }
    } catch {
      throw error.at(entity: name)
    }
    entity.attributes.sort { $0.name < $1.name }
    entity.relationships.sort { $0.name < $1.name }
    return entity
  }

  private func superentity(of id: KeyedArchive.ID) throws(ModelFileError) -> String? {
    guard
      let links = try archive.members(key: "XDBucketForGeneralizationsstorage", of: id),
      !links.isEmpty
    else { return nil }
    guard links.count == 1, let general = try archive.target(key: "_general", of: links[0]) else {
      throw ModelFileError(.notAModelArchive)
    }
    return try archive.requiredText("_name", of: general)
  }

  private mutating func constraints(facts: Facts) throws(ModelFileError) -> [[String]] {
    guard let list = facts.values["XDPMUniquenessConstraints"] ?? nil else { return [] }
    var result: [[String]] = []
    for constraint in try archive.members(of: list) {
      let members = try archive.members(of: constraint)
      try spend(members.count + 1)
      var names: [String] = []
      for member in members {
        guard let name = archive.string(id: member) else {
          throw ModelFileError(.badValue(key: "XDPMUniquenessConstraints", value: "not a name"))
        }
        names.append(name)
      }
      result.append(names)
    }
    return result
  }

  private mutating func add(
    _ id: KeyedArchive.ID, name: String, to entity: inout Entity
  ) throws(ModelFileError) {
    do throws(ModelFileError) {
      let kind = try archive.class(of: id)
      switch kind {
      case "XDPMAttribute":
        entity.attributes.append(try attribute(name: name, facts: try facts(of: id)))
      case "XDPMRelationship":
        entity.relationships.append(try relationship(name: name, facts: try facts(of: id)))
      // Neither version hashes nor mappings depend on fetched properties.
      case "XDPMFetchedProperty": break
      default: throw ModelFileError(.unknownClass(kind))
      }
    } catch {
      throw error.at(property: name)
    }
  }

  private func attribute(name: String, facts: Facts) throws(ModelFileError) -> Attribute {
    let number = try facts.number(key: "XD_PAttK_attributeType") ?? 0
    guard let type = Int(exactly: number).flatMap({ AttributeType(rawValue: $0) }) else {
      throw ModelFileError(.badValue(key: "XD_PAttK_attributeType", value: "\(number)"))
    }
    var attribute = Attribute(name: name, type: type)
    attribute.isOptional = try facts.flag(key: "XD_PPSK_isOptional")
    attribute.isTransient = try facts.flag(key: "XD_PPSK_isTransient")
    attribute.isIndexed = try facts.flag(key: "XD_PPSK_isIndexed")
    attribute.storesBinaryDataExternally = try facts.flag(
      key: "XD_PAttK_allowsExternalBinaryDataStorage")
    attribute.valueTransformerName = facts.text(key: "XD_PAttK_valueTransformerName")
    attribute.versionHashModifier = facts.text(key: "XD_PPSK_versionHashModifier")
    attribute.renamingIdentifier = facts.text(key: "XD_PPSK_elementID").flatMap {
      $0 == name ? nil : $0
    }
    // A default that this version cannot read, such as a date in words, changes no hash.
    if let text = facts.text(key: "XD_PAttK_defaultValueAsString"),
      case .value(let value) = AttributeText.defaultValue(
        text: text, for: type, isOptional: attribute.isOptional)
    {
      attribute.defaultValue = value
    }
    try facts.requireKnown()
    return attribute
  }

  private func relationship(
    name: String, facts: Facts
  ) throws(ModelFileError) -> Relationship {
    guard let destination = facts.values["XD_PRK_destination"] ?? nil else {
      throw ModelFileError(.notAModelArchive)
    }
    let isToMany = try facts.flag(key: "XD_PRK_isToMany")
    var relationship = Relationship(
      name: name, to: try archive.requiredText("_name", of: destination), isToMany: isToMany)
    if let inverse = facts.values["XD_PRK_inverseRelationship"] ?? nil {
      relationship.inverseName = try archive.requiredText("_name", of: inverse)
    }
    relationship.minCount = try facts.number(key: "XD_PRK_minCount") ?? 0
    relationship.maxCount = try facts.number(key: "XD_PRK_maxCount") ?? relationship.maxCount
    relationship.isOrdered = try facts.flag(key: "XD_PRK_ordered")
    relationship.isOptional = try facts.flag(key: "XD_PPSK_isOptional")
    relationship.isTransient = try facts.flag(key: "XD_PPSK_isTransient")
    relationship.isIndexed = try facts.flag(key: "XD_PPSK_isIndexed")
    let rule = try facts.number(key: "XD_PRK_deleteRule") ?? 1
    guard let known = Int(exactly: rule).flatMap({ DeleteRule(rawValue: $0) }) else {
      throw ModelFileError(.badValue(key: "XD_PRK_deleteRule", value: "\(rule)"))
    }
    relationship.deleteRule = known
    relationship.versionHashModifier = facts.text(key: "XD_PPSK_versionHashModifier")
    relationship.renamingIdentifier = facts.text(key: "XD_PPSK_elementID").flatMap {
      $0 == name ? nil : $0
    }
    try facts.requireKnown()
    return relationship
  }

  /// The named values of an element; a value of nil is `$null`.
  private struct Facts {
    let archive: KeyedArchive
    var values: [String: KeyedArchive.ID?] = [:]

    func text(key: String) -> String? {
      guard let id = values[key] ?? nil, let text = archive.string(id: id), !text.isEmpty else {
        return nil
      }
      return text
    }

    func number(key: String) throws(ModelFileError) -> Int64? {
      guard let id = values[key] ?? nil else { return nil }
      switch archive.object(id: id) {
      case .integer(let value): return value
      case .boolean(let value): return value ? 1 : 0
      default: throw ModelFileError(.badValue(key: key, value: "not a number"))
      }
    }

    func flag(key: String) throws(ModelFileError) -> Bool { try number(key: key) ?? 0 != 0 }

    /// Checks that no unknown name has a value, because the version hash might depend on it.
    func requireKnown() throws(ModelFileError) {
      for (key, value) in values where !Self.known.contains(key) {
        guard let value else { continue }
        switch archive.object(id: value) {
        case .boolean(false), .integer(0): continue
        default: throw ModelFileError(.badValue(key: key, value: "set"))
        }
      }
    }

    private static let known: Set<String> = [
      "XD_PPSK_isStoredInTruthFile", "XD_PPSK_versionHashModifier", "XD_PPSK_userInfo",
      "XD_PPSK_isIndexed", "XD_PPSK_isOptional", "XD_PPSK_isSpotlightIndexed",
      "XD_PPSK_elementID", "XD_PPSK_isTransient", "XD_PAttK_defaultValueAsString",
      "XD_PAttK_allowsExternalBinaryDataStorage", "XD_PAttK_minValueString",
      "XD_PAttK_attributeType", "XD_PAttK_maxValueString", "XD_PAttK_valueTransformerName",
      "XD_PAttK_regularExpressionString", "XD_PRK_minCount", "XD_PRK_deleteRule",
      "XD_PRK_maxCount", "XD_PRK_destination", "XD_PRK_isToMany", "XD_PRK_ordered",
      "XD_PRK_inverseRelationship",
    ]
  }

  private mutating func facts(of id: KeyedArchive.ID) throws(ModelFileError) -> Facts {
    var facts = Facts(archive: archive)
    let stereotypes = try archive.dictionary(key: "XDBucketForStereotypesstorage", of: id) ?? []
    for (_, stereotype) in stereotypes {
      let members =
        try archive.dictionary(key: "XDBucketForOwnedAttributesstorage", of: stereotype) ?? []
      try spend(members.count + 1)
      for (key, member) in members {
        facts.values.updateValue(try archive.target(key: "_default", of: member), forKey: key)
      }
    }
    return facts
  }

  private mutating func spend(_ count: Int) throws(ModelFileError) {
    budget -= count
    guard budget > 0 else { throw ModelFileError(.expressionTooComplex) }
  }
}
