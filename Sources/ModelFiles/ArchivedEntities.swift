import Expressions
import KeyedArchives
import ObjectModel

/// Reads the entities of one archive.
struct ArchivedEntities {
  let archive: KeyedArchive
  var expressions: ArchivedExpressions
  /// Entities of a damaged archive may all share one big collection; this bounds what comes of it.
  private var budget = 1_000_000
  /// Composites within composites.
  private var elementDepth = 0

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
      try readUserInfo(of: id, into: &entity.userInfo, &entity.opaqueUserInfo, &entity.unread)
      for (name, property) in try archive.dictionary("NSProperties", of: id) ?? [] {
        try add(property, named: name, to: &entity, id)
      }
      try readIndexes(of: id, into: &entity)
    } catch {
      if case .tooLarge = error.problem { throw error.at(entity: name) }
      entity.unread.append(UnreadPart(.element, name: name, form: error.form))
    }
    entity.normalize()
    return entity
  }

  private mutating func readIndexes(
    of id: KeyedArchive.ID, into entity: inout Entity
  ) throws(ModelFileError) {
    entity.uniquenessConstraints =
      try UnreadPart.attempt(.constraint, noting: &entity.unread) { () throws(ModelFileError) in
        try propertyNames("NSUniqueTuples", of: id)
      } ?? []
    entity.compoundIndexes =
      try UnreadPart.attempt(.compoundIndex, noting: &entity.unread) {
        () throws(ModelFileError) in try propertyNames("NSCompoundIndexes", of: id)
      } ?? []
    let indexes = try UnreadPart.attempt(.fetchIndex, noting: &entity.unread) {
      () throws(ModelFileError) in try archive.members("NSFetchIndexDescriptions", of: id) ?? []
    }
    for index in indexes ?? [] {
      let name = archive.nameIfAny("NSIndexName", of: index)
      var unread: [UnreadPart] = []
      let read = try UnreadPart.attempt(.fetchIndex, name: name, noting: &entity.unread) {
        () throws(ModelFileError) in try fetchIndex(index, noting: &unread)
      }
      entity.unread += unread
      if let read { entity.fetchIndexes.append(read) }
    }
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
        let property = try UnreadPart.attempt(.fetchedProperty, name: name, noting: &entity.unread)
        { () throws(ModelFileError) in try fetchedProperty(name, id) }
        if let property { entity.fetchedProperties.append(property) }
      default:
        entity.unread.append(UnreadPart(.element, name: name, form: kind))
      }
    } catch {
      if case .tooLarge = error.problem { throw error.at(property: name) }
      entity.unread.append(UnreadPart(.element, name: name, form: error.form))
    }
  }

  private mutating func attribute(
    _ name: String, _ id: KeyedArchive.ID, _ kind: String
  ) throws(ModelFileError) -> Attribute {
    let number = try archive.number("NSAttributeType", of: id) ?? 0
    let known = Int(exactly: number).flatMap { AttributeType(rawValue: $0) }
    let type = known ?? .undefined
    var attribute = Attribute(name, type)
    if known == nil { attribute.unread.append(UnreadPart(.type, form: "\(number)")) }
    attribute.isOptional = try archive.flag("NSIsOptional", of: id)
    attribute.isTransient = try archive.flag("NSIsTransient", of: id)
    attribute.isIndexed = try archive.flag("NSIsIndexed", of: id)
    attribute.isIndexedBySpotlight = try archive.flag("NSIndexedBySpotlight", of: id)
    let flags = try archive.number("NSFlagsKey", of: id) ?? 0
    attribute.storesBinaryDataExternally = flags & ArchivedFlags.externalStorage != 0
    attribute.preservesValueAfterDeletion = flags & ArchivedFlags.preservation != 0
    if flags & ~ArchivedFlags.known != 0 {
      attribute.unread.append(UnreadPart(.flags, form: "NSFlagsKey \(flags)"))
    }
    attribute.allowsCloudEncryption = try archive.flag("NSAllowsCloudEncryption", of: id)
    attribute.valueTransformerName = try archive.text("NSValueTransformerName", of: id)
    let valueClass = try archive.text("NSAttributeValueClassName", of: id)
    attribute.valueClassName = valueClass == ClassNames.ofValues(type) ? nil : valueClass
    try readDefault(of: id, into: &attribute)
    if kind == "NSDerivedAttributeDescription" {
      attribute.derivation =
        try UnreadPart.attempt(.derivation, noting: &attribute.unread) {
          () throws(ModelFileError) in try derivation(id)
        } ?? Attribute.Derivation(expression: .constant(.null))
    }
    try readElements(of: id, into: &attribute)
    attribute.versionHashModifier = try archive.text("NSVersionHashModifier", of: id)
    let identifier = try archive.text("NSRenamingIdentifier", of: id)
    attribute.renamingIdentifier = identifier == name ? nil : identifier
    try readUserInfo(
      of: id, into: &attribute.userInfo, &attribute.opaqueUserInfo, &attribute.unread)
    for id in try archive.members("NSValidationPredicates", of: id) ?? [] {
      let predicate = try UnreadPart.attempt(.validation, noting: &attribute.unread) {
        () throws(ModelFileError) in try expressions.predicate(id)
      }
      if let predicate { attribute.limits.add(predicate, for: type) }
    }
    return attribute
  }

  /// A default of a class that is not known is carried as it is.
  private mutating func readDefault(
    of id: KeyedArchive.ID, into attribute: inout Attribute
  ) throws(ModelFileError) {
    let reference = try UnreadPart.attempt(.defaultValue, noting: &attribute.unread) {
      () throws(ModelFileError) in try archive.target("NSDefaultValue", of: id)
    }
    guard let value = reference ?? nil else { return }
    let known = try UnreadPart.attempt(.defaultValue, noting: &attribute.unread) {
      () throws(ModelFileError) in try expressions.value(value)
    }
    if let known {
      attribute.defaultValue = known.converted(to: attribute.type)
    } else {
      attribute.opaqueDefault = archive.extracted(value, notTo: Self.modelClasses)
    }
  }

  /// The elements of a composite attribute, in declared order.
  private mutating func readElements(
    of id: KeyedArchive.ID, into attribute: inout Attribute
  ) throws(ModelFileError) {
    guard attribute.type == .composite else { return }
    elementDepth += 1
    defer { elementDepth -= 1 }
    for element in try archive.members("NSCompositeElements", of: id) ?? [] {
      try spend(1)
      let read = try UnreadPart.attempt(.element, noting: &attribute.unread) {
        () throws(ModelFileError) in
        guard elementDepth < 20 else { throw ModelFileError(.expressionTooComplex) }
        let name = try archive.requiredText("NSPropertyName", of: element)
        return try self.attribute(name, element, try archive.class(of: element))
      }
      if let read { attribute.elements.append(read) }
    }
  }

  /// What refers to one of these belongs to its model and cannot be carried to another.
  private static let modelClasses: Set<String> = [
    "NSManagedObjectModel", "NSEntityDescription", "NSAttributeDescription",
    "NSDerivedAttributeDescription", "NSCompositeAttributeDescription",
    "NSRelationshipDescription", "NSFetchedPropertyDescription", "NSFetchIndexDescription",
    "_NSPropertyDescriptionProxy",
  ]

  /// A predicate, and what it was archived as where it could not be written again.
  private mutating func predicate(
    _ key: String, of id: KeyedArchive.ID, _ part: UnreadPart.Part, name: String?,
    noting unread: inout [UnreadPart]
  ) throws(ModelFileError) -> (ValuePredicate?, opaque: [UInt8]?) {
    guard let target = try archive.target(key, of: id) else { return (nil, nil) }
    let read = try UnreadPart.attempt(part, name: name, noting: &unread) {
      () throws(ModelFileError) in try expressions.predicate(target)
    }
    if let form = read?.unparsedForm {
      unread.append(UnreadPart(part, name: name, form: form))
    }
    let predicate = read ?? .unparsed(unread.last?.form ?? "")
    if predicate.isArchivable { return (predicate, nil) }
    return (predicate, archive.extracted(target, notTo: Self.modelClasses))
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
    if let known = Int(exactly: rule).flatMap({ DeleteRule(rawValue: $0) }) {
      relationship.deleteRule = known
    } else {
      relationship.unread.append(UnreadPart(.deleteRule, form: "NSDeleteRule \(rule)"))
    }
    relationship.versionHashModifier = try archive.text("NSVersionHashModifier", of: id)
    let identifier = try archive.text("NSRenamingIdentifier", of: id)
    relationship.renamingIdentifier = identifier == name ? nil : identifier
    try readUserInfo(
      of: id, into: &relationship.userInfo, &relationship.opaqueUserInfo, &relationship.unread)
    return relationship
  }

  private mutating func fetchedProperty(
    _ name: String, _ id: KeyedArchive.ID
  ) throws(ModelFileError) -> FetchedProperty {
    var request = FetchRequest(entityName: nil)
    var unread: [UnreadPart] = []
    if let archived = try archive.target("NSFetchRequest", of: id) {
      request = try fetchRequest(archived, named: nil, noting: &unread)
    }
    let named = try archive.text("_NSFetchRequestEntityName", of: id)
    request.entityName = named ?? request.entityName
    var property = FetchedProperty(name, request: request)
    property.isOptional = try archive.flag("NSIsOptional", of: id)
    property.versionHashModifier = try archive.text("NSVersionHashModifier", of: id)
    let identifier = try archive.text("NSRenamingIdentifier", of: id)
    property.renamingIdentifier = identifier == name ? nil : identifier
    property.unread = unread
    try readUserInfo(
      of: id, into: &property.userInfo, &property.opaqueUserInfo, &property.unread)
    return property
  }

  mutating func fetchRequest(
    _ id: KeyedArchive.ID, named name: String?, noting unread: inout [UnreadPart]
  ) throws(ModelFileError) -> FetchRequest {
    var request = FetchRequest(entityName: nil)
    if let entity = try archive.target("NSEntity", of: id) {
      request.entityName = try archive.requiredText("NSEntityName", of: entity)
    }
    (request.predicate, request.opaquePredicate) = try predicate(
      "NSPredicate", of: id, .predicate, name: name, noting: &unread)
    request.resultType = try archive.number("NSResultType", of: id) ?? 0
    request.fetchLimit = try archive.number("NSFetchLimit", of: id) ?? 0
    request.batchSize = try archive.number("NSBatchSize", of: id) ?? 0
    if let flags = try archive.number("NSFetchRequestFlags", of: id) {
      request.archivedFlags = flags
    }
    return request
  }

  private mutating func fetchIndex(
    _ id: KeyedArchive.ID, noting unread: inout [UnreadPart]
  ) throws(ModelFileError) -> FetchIndex {
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
    (index.partialPredicate, index.opaquePredicate) = try predicate(
      "NSPartialIndexPredicate", of: id, .predicate, name: index.name, noting: &unread)
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

  /// Text is kept as such, any other value as the archive that it came in.
  private mutating func readUserInfo(
    of id: KeyedArchive.ID, into texts: inout [String: String],
    _ others: inout [String: [UInt8]], _ unread: inout [UnreadPart]
  ) throws(ModelFileError) {
    let entries = try UnreadPart.attempt(.userInfo, noting: &unread) {
      () throws(ModelFileError) in try archive.dictionary("NSUserInfo", of: id) ?? []
    }
    try spend(entries?.count ?? 0)
    for (key, value) in entries ?? [] {
      if let text = archive.string(value) {
        texts[key] = text
      } else if let bytes = archive.extracted(value, notTo: Self.modelClasses) {
        others[key] = bytes
      } else {
        unread.append(UnreadPart(.userInfo, name: key, form: "of the model itself, or damaged"))
      }
    }
  }
}
