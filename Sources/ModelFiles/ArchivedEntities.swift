import Expressions
import KeyedArchives
import ObjectModel

/// Reads the entities of one archive.
struct ArchivedEntities {
  let archive: KeyedArchive
  var expressions: ArchivedExpressions
  /// How many more properties and entries may be read; entities of a damaged archive may all share
  /// one large collection.
  private var budget = 1_000_000
  /// The depth of composite attributes within composite attributes.
  private var elementDepth = 0

  init(_ archive: KeyedArchive) {
    self.archive = archive
    expressions = ArchivedExpressions(archive)
  }

  mutating func entity(
    name: String, id: KeyedArchive.ID
  ) throws(ModelFileError) -> Entity {
    var entity = Entity(name)
    do throws(ModelFileError) {
      guard try archive.class(of: id) == "NSEntityDescription" else {
        throw ModelFileError(.notAModelArchive)
      }
      entity.className = ClassNames.own(try archive.text(key: "NSClassNameForEntity", of: id))
      entity.isAbstract = try archive.flag(key: "NSIsAbstract", of: id)
      if let parent = try archive.target(key: "NSSuperentity", of: id) {
        entity.superentityName = try archive.requiredText("NSEntityName", of: parent)
      }
      entity.versionHashModifier = try archive.text(key: "NSVersionHashModifier", of: id)
      let identifier = try archive.text(key: "NSRenamingIdentifier", of: id)
      entity.renamingIdentifier = identifier == name ? nil : identifier
      try readUserInfo(
        of: id, into: &entity.userInfo, others: &entity.opaqueUserInfo, unread: &entity.unread)
      for (name, property) in try archive.dictionary(key: "NSProperties", of: id) ?? [] {
        try add(property, named: name, to: &entity, owner: id)
      }
      try readIndexes(of: id, into: &entity)
    } catch {
      if case .tooLarge = error.problem { throw error.at(entity: name) }
      entity.unread.append(UnreadPart(part: .element, name: name, form: error.form))
    }
    entity.normalize()
    return entity
  }

  private mutating func readIndexes(
    of id: KeyedArchive.ID, into entity: inout Entity
  ) throws(ModelFileError) {
    entity.uniquenessConstraints =
      try UnreadPart.attempt(.constraint, noting: &entity.unread) { () throws(ModelFileError) in
        try propertyNames(key: "NSUniqueTuples", of: id)
      } ?? []
    entity.compoundIndexes =
      try UnreadPart.attempt(.compoundIndex, noting: &entity.unread) {
        () throws(ModelFileError) in try propertyNames(key: "NSCompoundIndexes", of: id)
      } ?? []
    let indexes = try UnreadPart.attempt(.fetchIndex, noting: &entity.unread) {
      () throws(ModelFileError) in
      try archive.members(key: "NSFetchIndexDescriptions", of: id) ?? []
    }
    for index in indexes ?? [] {
      let name = archive.nameIfAny("NSIndexName", of: index)
      var unread: [UnreadPart] = []
      let read = try UnreadPart.attempt(.fetchIndex, name: name, noting: &entity.unread) {
        () throws(ModelFileError) in try fetchIndex(id: index, noting: &unread)
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
    _ id: KeyedArchive.ID, named name: String, to entity: inout Entity, owner: KeyedArchive.ID
  ) throws(ModelFileError) {
    try spend(1)
    let kind = try archive.class(of: id)
    // An inherited property is a proxy in some archives, and may be the superentity's own in
    // others.
    if kind == "_NSPropertyDescriptionProxy" { return }
    if let declared = try archive.target(key: "NSEntity", of: id), declared != owner { return }
    do throws(ModelFileError) {
      switch kind {
      case "NSAttributeDescription", "NSDerivedAttributeDescription",
        "NSCompositeAttributeDescription":
        entity.attributes.append(try attribute(name: name, id: id, kind: kind))
      case "NSRelationshipDescription":
        entity.relationships.append(try relationship(name: name, id: id))
      case "NSFetchedPropertyDescription":
        let property = try UnreadPart.attempt(.fetchedProperty, name: name, noting: &entity.unread)
        { () throws(ModelFileError) in try fetchedProperty(name: name, id: id) }
        if let property { entity.fetchedProperties.append(property) }
      default:
        entity.unread.append(UnreadPart(part: .element, name: name, form: kind))
      }
    } catch {
      if case .tooLarge = error.problem { throw error.at(property: name) }
      entity.unread.append(UnreadPart(part: .element, name: name, form: error.form))
    }
  }

  private mutating func attribute(
    name: String, id: KeyedArchive.ID, kind: String
  ) throws(ModelFileError) -> Attribute {
    let number = try archive.number(key: "NSAttributeType", of: id) ?? 0
    let known = Int(exactly: number).flatMap { AttributeType(rawValue: $0) }
    let type = known ?? .undefined
    var attribute = Attribute(name: name, type: type)
    if known == nil { attribute.unread.append(UnreadPart(part: .type, form: "\(number)")) }
    attribute.isOptional = try archive.flag(key: "NSIsOptional", of: id)
    attribute.isTransient = try archive.flag(key: "NSIsTransient", of: id)
    attribute.isIndexed = try archive.flag(key: "NSIsIndexed", of: id)
    attribute.isIndexedBySpotlight = try archive.flag(key: "NSIndexedBySpotlight", of: id)
    let flags = try archive.number(key: "NSFlagsKey", of: id) ?? 0
    attribute.storesBinaryDataExternally = flags & ArchivedFlags.externalStorage != 0
    attribute.preservesValueAfterDeletion = flags & ArchivedFlags.preservation != 0
    if flags & ~ArchivedFlags.known != 0 {
      attribute.unread.append(UnreadPart(part: .flags, form: "NSFlagsKey \(flags)"))
    }
    attribute.allowsCloudEncryption = try archive.flag(key: "NSAllowsCloudEncryption", of: id)
    attribute.valueTransformerName = try archive.text(key: "NSValueTransformerName", of: id)
    let valueClass = try archive.text(key: "NSAttributeValueClassName", of: id)
    attribute.valueClassName = valueClass == type.valueClassName ? nil : valueClass
    try readDefault(of: id, into: &attribute)
    if kind == "NSDerivedAttributeDescription" {
      attribute.derivation =
        try UnreadPart.attempt(.derivation, noting: &attribute.unread) {
          () throws(ModelFileError) in try derivation(id: id)
        } ?? Attribute.Derivation(expression: .constant(.null))
    }
    try readElements(of: id, into: &attribute)
    attribute.versionHashModifier = try archive.text(key: "NSVersionHashModifier", of: id)
    let identifier = try archive.text(key: "NSRenamingIdentifier", of: id)
    attribute.renamingIdentifier = identifier == name ? nil : identifier
    var (info, others, unread) = (attribute.userInfo, attribute.opaqueUserInfo, attribute.unread)
    try readUserInfo(of: id, into: &info, others: &others, unread: &unread)
    (attribute.userInfo, attribute.opaqueUserInfo, attribute.unread) = (info, others, unread)
    if attribute.opaqueUserInfo[Attribute.coordinatesKey] != nil {
      attribute.listedCoordinates = try archive.userInfoTexts(key: Attribute.coordinatesKey, of: id)
    }
    for id in try archive.members(key: "NSValidationPredicates", of: id) ?? [] {
      let predicate = try UnreadPart.attempt(.validation, noting: &attribute.unread) {
        () throws(ModelFileError) in try expressions.predicate(id: id)
      }
      if let predicate { attribute.limits.add(predicate, for: type) }
    }
    return attribute
  }

  /// Reads a default value; one of an unknown class is kept in its archived form.
  private mutating func readDefault(
    of id: KeyedArchive.ID, into attribute: inout Attribute
  ) throws(ModelFileError) {
    let reference = try UnreadPart.attempt(.defaultValue, noting: &attribute.unread) {
      () throws(ModelFileError) in try archive.target(key: "NSDefaultValue", of: id)
    }
    guard let value = reference ?? nil else { return }
    // SwiftData gives a composite that is not optional an empty dictionary, which has no meaning.
    if attribute.type == .composite,
      (try? archive.dictionary(key: "NSDefaultValue", of: id))?.isEmpty == true
    {
      attribute.opaqueDefault = archive.extracted(value, notTo: Self.modelClasses)
      return
    }
    let known = try UnreadPart.attempt(.defaultValue, noting: &attribute.unread) {
      () throws(ModelFileError) in try expressions.value(id: value)
    }
    if let known {
      if let fitting = known.converted(to: attribute.type).default(of: attribute.type) {
        attribute.defaultValue = fitting
        return
      }
      attribute.unread.append(
        UnreadPart(
          part: known.isLeftover(in: attribute) ? .leftoverDefault : .defaultValue,
          form: known.formatText))
    }
    attribute.opaqueDefault = archive.extracted(value, notTo: Self.modelClasses)
  }

  /// Reads the elements of a composite attribute, in their declared order.
  private mutating func readElements(
    of id: KeyedArchive.ID, into attribute: inout Attribute
  ) throws(ModelFileError) {
    guard attribute.type == .composite else { return }
    elementDepth += 1
    defer { elementDepth -= 1 }
    for element in try archive.members(key: "NSCompositeElements", of: id) ?? [] {
      try spend(1)
      let read = try UnreadPart.attempt(.element, noting: &attribute.unread) {
        () throws(ModelFileError) in
        guard elementDepth < 20 else { throw ModelFileError(.expressionTooComplex) }
        let name = try archive.requiredText("NSPropertyName", of: element)
        return try self.attribute(name: name, id: element, kind: try archive.class(of: element))
      }
      if let read { attribute.elements.append(read) }
    }
  }

  /// Classes of the model itself; an archived value that refers to one cannot be moved to another
  /// archive.
  private static let modelClasses: Set<String> = [
    "NSManagedObjectModel", "NSEntityDescription", "NSAttributeDescription",
    "NSDerivedAttributeDescription", "NSCompositeAttributeDescription",
    "NSRelationshipDescription", "NSFetchedPropertyDescription", "NSFetchIndexDescription",
    "_NSPropertyDescriptionProxy",
  ]

  /// The predicate, and its archived form if it cannot be archived again.
  private mutating func predicate(
    key: String, of id: KeyedArchive.ID, part: UnreadPart.Part, name: String?,
    noting unread: inout [UnreadPart]
  ) throws(ModelFileError) -> (ValuePredicate?, opaque: [UInt8]?) {
    guard let target = try archive.target(key: key, of: id) else { return (nil, nil) }
    let read = try UnreadPart.attempt(part, name: name, noting: &unread) {
      () throws(ModelFileError) in try expressions.predicate(id: target)
    }
    if let form = read?.unparsedForm {
      unread.append(UnreadPart(part: part, name: name, form: form))
    }
    let predicate = read ?? .unparsed(unread.last?.form ?? "")
    if predicate.isArchivable { return (predicate, nil) }
    return (predicate, archive.extracted(target, notTo: Self.modelClasses))
  }

  private mutating func derivation(
    id: KeyedArchive.ID
  ) throws(ModelFileError) -> Attribute.Derivation {
    guard let expression = try archive.target(key: "NSDerivationExpression", of: id) else {
      throw ModelFileError(.notAModelArchive)
    }
    var derivation = Attribute.Derivation(expression: try expressions.expression(id: expression))
    if let filter = try archive.target(key: "NSFilteringPredicate", of: id) {
      derivation.filter = try expressions.predicate(id: filter)
    }
    return derivation
  }

  private mutating func relationship(
    name: String, id: KeyedArchive.ID
  ) throws(ModelFileError) -> Relationship {
    let maxCount = try archive.number(key: "NSMaxCount", of: id) ?? 0
    var relationship = Relationship(
      name: name, to: try archive.requiredText("_NSDestinationEntityName", of: id),
      inverse: try archive.text(key: "_NSInverseRelationshipName", of: id), isToMany: maxCount != 1)
    relationship.maxCount = maxCount
    relationship.minCount = try archive.number(key: "NSMinCount", of: id) ?? 0
    relationship.isOptional = try archive.flag(key: "NSIsOptional", of: id)
    relationship.isTransient = try archive.flag(key: "NSIsTransient", of: id)
    relationship.isOrdered = try archive.flag(key: "NSIsOrdered", of: id)
    relationship.isIndexed = try archive.flag(key: "NSIsIndexed", of: id)
    relationship.isIndexedBySpotlight = try archive.flag(key: "NSIndexedBySpotlight", of: id)
    let rule = try archive.number(key: "NSDeleteRule", of: id) ?? 0
    if let known = Int(exactly: rule).flatMap({ DeleteRule(rawValue: $0) }) {
      relationship.deleteRule = known
    } else {
      relationship.unread.append(UnreadPart(part: .deleteRule, form: "NSDeleteRule \(rule)"))
    }
    relationship.versionHashModifier = try archive.text(key: "NSVersionHashModifier", of: id)
    let identifier = try archive.text(key: "NSRenamingIdentifier", of: id)
    relationship.renamingIdentifier = identifier == name ? nil : identifier
    try readUserInfo(
      of: id, into: &relationship.userInfo, others: &relationship.opaqueUserInfo,
      unread: &relationship.unread)
    return relationship
  }

  private mutating func fetchedProperty(
    name: String, id: KeyedArchive.ID
  ) throws(ModelFileError) -> FetchedProperty {
    var request = FetchRequest(entityName: nil)
    var unread: [UnreadPart] = []
    if let archived = try archive.target(key: "NSFetchRequest", of: id) {
      request = try fetchRequest(id: archived, named: nil, noting: &unread)
    }
    let named = try archive.text(key: "_NSFetchRequestEntityName", of: id)
    request.entityName = named ?? request.entityName
    var property = FetchedProperty(name: name, request: request)
    property.isOptional = try archive.flag(key: "NSIsOptional", of: id)
    property.versionHashModifier = try archive.text(key: "NSVersionHashModifier", of: id)
    let identifier = try archive.text(key: "NSRenamingIdentifier", of: id)
    property.renamingIdentifier = identifier == name ? nil : identifier
    property.unread = unread
    try readUserInfo(
      of: id, into: &property.userInfo, others: &property.opaqueUserInfo, unread: &property.unread)
    return property
  }

  mutating func fetchRequest(
    id: KeyedArchive.ID, named name: String?, noting unread: inout [UnreadPart]
  ) throws(ModelFileError) -> FetchRequest {
    var request = FetchRequest(entityName: nil)
    if let entity = try archive.target(key: "NSEntity", of: id) {
      request.entityName = try archive.requiredText("NSEntityName", of: entity)
    }
    (request.predicate, request.opaquePredicate) = try predicate(
      key: "NSPredicate", of: id, part: .predicate, name: name, noting: &unread)
    request.resultType = try archive.number(key: "NSResultType", of: id) ?? 0
    request.fetchLimit = try archive.number(key: "NSFetchLimit", of: id) ?? 0
    request.batchSize = try archive.number(key: "NSBatchSize", of: id) ?? 0
    if let flags = try archive.number(key: "NSFetchRequestFlags", of: id) {
      request.archivedFlags = flags
    }
    return request
  }

  private mutating func fetchIndex(
    id: KeyedArchive.ID, noting unread: inout [UnreadPart]
  ) throws(ModelFileError) -> FetchIndex {
    var index = FetchIndex(name: try archive.requiredText("NSIndexName", of: id), elements: [])
    let elements = try archive.members(key: "NSIndexElements", of: id) ?? []
    try spend(elements.count + 1)
    for element in elements {
      var part = FetchIndex.Element(
        property: try archive.requiredText("NSPropertyName", of: element),
        isAscending: try archive.flag(key: "NSAscending", of: element))
      if let expression = try indexedExpression(of: element) {
        (part.propertyName, part.expression) = (nil, expression)
      }
      let kind = try archive.number(key: "NSFetchIndexElementType", of: element) ?? 0
      guard let known = Int(exactly: kind).flatMap({ FetchIndex.Element.Kind(rawValue: $0) })
      else { throw ModelFileError(.badValue(key: "NSFetchIndexElementType", value: "\(kind)")) }
      part.kind = known
      index.elements.append(part)
    }
    (index.partialPredicate, index.opaquePredicate) = try predicate(
      key: "NSPartialIndexPredicate", of: id, part: .predicate, name: index.name, noting: &unread)
    return index
  }

  /// The expression of an element that indexes one; its property then has a generated name.
  private mutating func indexedExpression(
    of element: KeyedArchive.ID
  ) throws(ModelFileError) -> ValueExpression? {
    guard let property = try archive.target(key: "NSIndexedProperty", of: element),
      try archive.class(of: property) == "NSExpressionDescription",
      let expression = try archive.target(key: "NSExpression", of: property)
    else { return nil }
    return try expressions.expression(id: expression)
  }

  /// Arrays of property names, or of properties, as names.
  private mutating func propertyNames(
    key: String, of id: KeyedArchive.ID
  ) throws(ModelFileError) -> [[String]] {
    var result: [[String]] = []
    for tuple in try archive.members(key: key, of: id) ?? [] {
      var names: [String] = []
      let members = try archive.members(of: tuple)
      try spend(members.count + 1)
      for member in members {
        if let name = archive.string(id: member) {
          names.append(name)
        } else {
          names.append(try archive.requiredText("NSPropertyName", of: member))
        }
      }
      result.append(names)
    }
    return result
  }

  /// Reads user info: strings as such, other values in their archived form.
  private mutating func readUserInfo(
    of id: KeyedArchive.ID, into texts: inout [String: String],
    others: inout [String: [UInt8]], unread: inout [UnreadPart]
  ) throws(ModelFileError) {
    let entries = try UnreadPart.attempt(.userInfo, noting: &unread) {
      () throws(ModelFileError) in try archive.dictionary(key: "NSUserInfo", of: id) ?? []
    }
    try spend(entries?.count ?? 0)
    for (key, value) in entries ?? [] {
      if let text = archive.string(id: value) {
        texts[key] = text
      } else if let bytes = archive.extracted(value, notTo: Self.modelClasses) {
        others[key] = bytes
      } else {
        unread.append(
          UnreadPart(part: .userInfo, name: key, form: "of the model itself, or damaged"))
      }
    }
  }
}

extension AttributeValue {
  /// Whether it is a text that was the default value of another type than an attribute's.
  fileprivate func isLeftover(in attribute: Attribute) -> Bool {
    guard case .string(let text) = self else { return false }
    return AttributeText.defaultValue(
      text: text, for: attribute.type, isOptional: attribute.isOptional) == .leftover
  }
}
