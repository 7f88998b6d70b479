import KeyedArchives
package import ObjectModel
import ValueExpressions

/// Reads archived models: the `.mom` files of a bundle, and the model caches of stores.
package enum CompiledModel {
  /// The model of an archive; properties that an entity inherits are not among its own.
  package static func model(
    decoding bytes: [UInt8]
  ) throws(ModelFileError) -> ManagedObjectModel {
    let archive: KeyedArchive
    do {
      archive = try KeyedArchive(decoding: bytes)
    } catch {
      throw ModelFileError(.damagedArchive(error))
    }
    guard try archive.class(of: archive.root) == "NSManagedObjectModel",
      let entries = try archive.dictionary("NSEntities", of: archive.root)
    else { throw ModelFileError(.notAModelArchive) }
    var reader = ArchivedEntities(archive)
    var entities: [Entity] = []
    for (name, id) in entries { entities.append(try reader.entity(name, id)) }
    var model: ManagedObjectModel
    do {
      model = try ManagedObjectModel(entities: withoutInherited(entities))
    } catch {
      throw ModelFileError(.notAModel(error), entity: error.entity, property: error.property)
    }
    model.versionIdentifiers =
      try archive.members("NSVersionIdentifiers", of: archive.root)?
      .compactMap { archive.string($0) }.sorted() ?? []
    for (name, id) in try archive.dictionary("NSConfigurations", of: archive.root) ?? [] {
      var members: [String] = []
      for member in try archive.members(of: id) {
        members.append(try archive.requiredText("NSEntityName", of: member))
      }
      model.configurations[name] = members.sorted()
    }
    let templates = try archive.dictionary("NSFetchRequestTemplates", of: archive.root) ?? []
    for (name, id) in templates {
      model.fetchRequestTemplates[name] = try reader.fetchRequest(id)
    }
    return model
  }

  /// Model caches list the properties of an entity again, as full copies, in every entity below it.
  /// A copy equals what the superentity lists, whether that is its own or a copy too.
  private static func withoutInherited(_ entities: [Entity]) -> [Entity] {
    let byName = Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
    return entities.map { entity in
      guard let parent = entity.superentityName.flatMap({ byName[$0] }), entity.hasProperties
      else { return entity }
      var own = entity
      let inherited = (
        Set(parent.attributes), Set(parent.relationships), Set(parent.fetchedProperties)
      )
      own.attributes.removeAll { inherited.0.contains($0) }
      own.relationships.removeAll { inherited.1.contains($0) }
      own.fetchedProperties.removeAll { inherited.2.contains($0) }
      return own
    }
  }
}

extension Entity {
  fileprivate var hasProperties: Bool {
    !(attributes.isEmpty && relationships.isEmpty && fetchedProperties.isEmpty)
  }
}

/// Reads the entities of one archive.
private struct ArchivedEntities {
  let archive: KeyedArchive
  var expressions: ArchivedExpressions
  /// Entities of a damaged archive may all share one big collection; this bounds what comes of it.
  private var budget = 1_000_000

  init(_ archive: KeyedArchive) {
    self.archive = archive
    expressions = ArchivedExpressions(archive)
  }

  mutating func entity(
    _ name: String, _ id: KeyedArchive.ID
  ) throws(ModelFileError) -> Entity {
    var entity = Entity(name)
    do throws(ModelFileError) {
      guard try archive.class(of: id) == "NSEntityDescription" else {
        throw ModelFileError(.notAModelArchive)
      }
      entity.className = ClassNames.own(try archive.text("NSClassNameForEntity", of: id))
      entity.isAbstract = try archive.flag("NSIsAbstract", of: id)
      if let parent = try archive.target("NSSuperentity", of: id) {
        entity.superentityName = try archive.requiredText("NSEntityName", of: parent)
      }
      entity.versionHashModifier = try archive.text("NSVersionHashModifier", of: id)
      let identifier = try archive.text("NSRenamingIdentifier", of: id)
      entity.renamingIdentifier = identifier == name ? nil : identifier
      entity.userInfo = try userInfo(of: id)
      for (name, property) in try archive.dictionary("NSProperties", of: id) ?? [] {
        try add(property, named: name, to: &entity, id)
      }
      entity.uniquenessConstraints = try propertyNames("NSUniqueTuples", of: id)
      entity.compoundIndexes = try propertyNames("NSCompoundIndexes", of: id)
      for index in try archive.members("NSFetchIndexDescriptions", of: id) ?? [] {
        entity.fetchIndexes.append(try fetchIndex(index))
      }
    } catch {
      throw error.at(entity: name)
    }
    entity.normalize()
    return entity
  }

  private mutating func spend(_ count: Int) throws(ModelFileError) {
    budget -= count
    guard budget >= 0 else { throw ModelFileError(.tooLarge(limit: 1_000_000)) }
  }

  private mutating func add(
    _ id: KeyedArchive.ID, named name: String, to entity: inout Entity, _ owner: KeyedArchive.ID
  ) throws(ModelFileError) {
    try spend(1)
    let kind = try archive.class(of: id)
    // An inherited property is a proxy in some archives, and may be the superentity's own in
    // others.
    if kind == "_NSPropertyDescriptionProxy" { return }
    if let declared = try archive.target("NSEntity", of: id), declared != owner { return }
    do throws(ModelFileError) {
      switch kind {
      case "NSAttributeDescription", "NSDerivedAttributeDescription",
        "NSCompositeAttributeDescription":
        entity.attributes.append(try attribute(name, id, kind))
      case "NSRelationshipDescription":
        entity.relationships.append(try relationship(name, id))
      case "NSFetchedPropertyDescription":
        entity.fetchedProperties.append(try fetchedProperty(name, id))
      default: throw ModelFileError(.unknownClass(kind))
      }
    } catch {
      throw error.at(property: name)
    }
  }

  private mutating func attribute(
    _ name: String, _ id: KeyedArchive.ID, _ kind: String
  ) throws(ModelFileError) -> Attribute {
    let number = try archive.number("NSAttributeType", of: id) ?? 0
    guard let type = Int(exactly: number).flatMap({ AttributeType(rawValue: $0) }) else {
      throw ModelFileError(.unknownAttributeType("\(number)"))
    }
    var attribute = Attribute(name, type)
    attribute.isOptional = try archive.flag("NSIsOptional", of: id)
    attribute.isTransient = try archive.flag("NSIsTransient", of: id)
    attribute.isIndexed = try archive.flag("NSIsIndexed", of: id)
    attribute.isIndexedBySpotlight = try archive.flag("NSIndexedBySpotlight", of: id)
    let flags = try archive.number("NSFlagsKey", of: id) ?? 0
    attribute.storesBinaryDataExternally = flags & ArchivedFlags.externalStorage != 0
    attribute.preservesValueAfterDeletion = flags & ArchivedFlags.preservation != 0
    guard flags & ~ArchivedFlags.known == 0 else {
      throw ModelFileError(.badValue(key: "NSFlagsKey", value: "\(flags)"))
    }
    attribute.valueTransformerName = try archive.text("NSValueTransformerName", of: id)
    let valueClass = try archive.text("NSAttributeValueClassName", of: id)
    attribute.valueClassName = valueClass == ClassNames.ofValues(type) ? nil : valueClass
    if let value = try archive.target("NSDefaultValue", of: id) {
      attribute.defaultValue = try expressions.value(value).converted(to: type)
    }
    if kind == "NSDerivedAttributeDescription" { attribute.derivation = try derivation(id) }
    attribute.versionHashModifier = try archive.text("NSVersionHashModifier", of: id)
    let identifier = try archive.text("NSRenamingIdentifier", of: id)
    attribute.renamingIdentifier = identifier == name ? nil : identifier
    attribute.userInfo = try userInfo(of: id)
    for predicate in try archive.members("NSValidationPredicates", of: id) ?? [] {
      attribute.limits.add(try expressions.predicate(predicate), for: type)
    }
    return attribute
  }

  private mutating func derivation(
    _ id: KeyedArchive.ID
  ) throws(ModelFileError) -> Attribute.Derivation {
    guard let expression = try archive.target("NSDerivationExpression", of: id) else {
      throw ModelFileError(.notAModelArchive)
    }
    var derivation = Attribute.Derivation(expression: try expressions.expression(expression))
    if let filter = try archive.target("NSFilteringPredicate", of: id) {
      derivation.filter = try expressions.predicate(filter)
    }
    return derivation
  }

  private mutating func relationship(
    _ name: String, _ id: KeyedArchive.ID
  ) throws(ModelFileError) -> Relationship {
    let maxCount = try archive.number("NSMaxCount", of: id) ?? 0
    var relationship = Relationship(
      name, to: try archive.requiredText("_NSDestinationEntityName", of: id),
      inverse: try archive.text("_NSInverseRelationshipName", of: id), isToMany: maxCount != 1)
    relationship.maxCount = maxCount
    relationship.minCount = try archive.number("NSMinCount", of: id) ?? 0
    relationship.isOptional = try archive.flag("NSIsOptional", of: id)
    relationship.isTransient = try archive.flag("NSIsTransient", of: id)
    relationship.isOrdered = try archive.flag("NSIsOrdered", of: id)
    relationship.isIndexed = try archive.flag("NSIsIndexed", of: id)
    relationship.isIndexedBySpotlight = try archive.flag("NSIndexedBySpotlight", of: id)
    let rule = try archive.number("NSDeleteRule", of: id) ?? 0
    guard let known = Int(exactly: rule).flatMap({ DeleteRule(rawValue: $0) }) else {
      throw ModelFileError(.badValue(key: "NSDeleteRule", value: "\(rule)"))
    }
    relationship.deleteRule = known
    relationship.versionHashModifier = try archive.text("NSVersionHashModifier", of: id)
    let identifier = try archive.text("NSRenamingIdentifier", of: id)
    relationship.renamingIdentifier = identifier == name ? nil : identifier
    relationship.userInfo = try userInfo(of: id)
    return relationship
  }

  private mutating func fetchedProperty(
    _ name: String, _ id: KeyedArchive.ID
  ) throws(ModelFileError) -> FetchedProperty {
    var request = FetchRequest(entityName: nil)
    if let archived = try archive.target("NSFetchRequest", of: id) {
      request = try fetchRequest(archived)
    }
    let named = try archive.text("_NSFetchRequestEntityName", of: id)
    request.entityName = named ?? request.entityName
    var property = FetchedProperty(name, request: request)
    property.isOptional = try archive.flag("NSIsOptional", of: id)
    property.versionHashModifier = try archive.text("NSVersionHashModifier", of: id)
    let identifier = try archive.text("NSRenamingIdentifier", of: id)
    property.renamingIdentifier = identifier == name ? nil : identifier
    property.userInfo = try userInfo(of: id)
    return property
  }

  mutating func fetchRequest(_ id: KeyedArchive.ID) throws(ModelFileError) -> FetchRequest {
    var request = FetchRequest(entityName: nil)
    if let entity = try archive.target("NSEntity", of: id) {
      request.entityName = try archive.requiredText("NSEntityName", of: entity)
    }
    if let predicate = try archive.target("NSPredicate", of: id) {
      request.predicate = try expressions.predicate(predicate)
    }
    request.resultType = try archive.number("NSResultType", of: id) ?? 0
    request.fetchLimit = try archive.number("NSFetchLimit", of: id) ?? 0
    request.batchSize = try archive.number("NSBatchSize", of: id) ?? 0
    if let flags = try archive.number("NSFetchRequestFlags", of: id) {
      request.archivedFlags = flags
    }
    return request
  }

  private mutating func fetchIndex(_ id: KeyedArchive.ID) throws(ModelFileError) -> FetchIndex {
    var index = FetchIndex(try archive.requiredText("NSIndexName", of: id), elements: [])
    let elements = try archive.members("NSIndexElements", of: id) ?? []
    try spend(elements.count + 1)
    for element in elements {
      var part = FetchIndex.Element(
        property: try archive.requiredText("NSPropertyName", of: element),
        isAscending: try archive.flag("NSAscending", of: element))
      let kind = try archive.number("NSFetchIndexElementType", of: element) ?? 0
      guard let known = Int(exactly: kind).flatMap({ FetchIndex.Element.Kind(rawValue: $0) })
      else { throw ModelFileError(.badValue(key: "NSFetchIndexElementType", value: "\(kind)")) }
      part.kind = known
      index.elements.append(part)
    }
    if let predicate = try archive.target("NSPartialIndexPredicate", of: id) {
      index.partialPredicate = try expressions.predicate(predicate)
    }
    return index
  }

  /// Arrays of property names, or of properties.
  private mutating func propertyNames(
    _ key: String, of id: KeyedArchive.ID
  ) throws(ModelFileError) -> [[String]] {
    var result: [[String]] = []
    for tuple in try archive.members(key, of: id) ?? [] {
      var names: [String] = []
      let members = try archive.members(of: tuple)
      try spend(members.count + 1)
      for member in members {
        if let name = archive.string(member) {
          names.append(name)
        } else {
          names.append(try archive.requiredText("NSPropertyName", of: member))
        }
      }
      result.append(names)
    }
    return result
  }

  /// Entries whose value is text; code can put other objects there, which no model file shows.
  private mutating func userInfo(of id: KeyedArchive.ID) throws(ModelFileError) -> [String: String]
  {
    var result: [String: String] = [:]
    let entries = try archive.dictionary("NSUserInfo", of: id) ?? []
    try spend(entries.count)
    for (key, value) in entries {
      if let text = archive.string(value) { result[key] = text }
    }
    return result
  }
}
