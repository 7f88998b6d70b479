import Expressions
import KeyedArchives
import ObjectModel

extension ModelArchiveWriter {
  mutating func write(
    _ attribute: Attribute, id: ID?, of entity: Entity
  ) throws(ModelFileError) {
    guard let id else { return }
    do throws(ModelFileError) {
      let fields = try fields(of: attribute, in: entity, named: entity)
      values.writer.set(id, kind: Self.kind(of: attribute), fields: fields)
    } catch {
      throw error.at(property: attribute.name)
    }
  }

  private static func kind(of attribute: Attribute) -> KeyedArchiveWriter.Class {
    if attribute.type == .composite { return ArchivedClass.compositeAttribute }
    return attribute.derivation == nil ? ArchivedClass.attribute : ArchivedClass.derivedAttribute
  }

  /// The fields of an attribute or of an element of a composite one, which names no entity.
  private mutating func fields(
    of attribute: Attribute, in entity: Entity, named owner: Entity?
  ) throws(ModelFileError) -> Fields {
    var fields = common(
      attribute.name, of: owner,
      facts: PropertyFacts(
        isOptional: attribute.isOptional, isTransient: attribute.isTransient,
        isReadOnly: attribute.derivation != nil,
        isIndexedBySpotlight: attribute.isIndexedBySpotlight,
        allowsCloudEncryption: attribute.allowsCloudEncryption,
        versionHashModifier: attribute.versionHashModifier,
        renamingIdentifier: attribute.renamingIdentifier, userInfo: attribute.userInfo,
        opaqueUserInfo: attribute.opaqueUserInfo))
    let valueClass = attribute.valueClassName ?? attribute.type.valueClassName
    let flags =
      (attribute.storesBinaryDataExternally ? ArchivedFlags.externalStorage : 0)
      | (attribute.preservesValueAfterDeletion ? ArchivedFlags.preservation : 0)
    fields += [
      ("NSAttributeType", .integer(Int64(attribute.type.rawValue))),
      ("NSAttributeValueClassName", .reference(text(valueClass))),
      ("NSValueTransformerName", .reference(text(attribute.valueTransformerName))),
      ("NSFlagsKey", .integer(flags)),
    ]
    fields.append(("NSDefaultValue", .reference(defaultValue(of: attribute, entity: entity))))
    if attribute.isIndexed { fields.append(("NSIsIndexed", .boolean(true))) }
    if attribute.allowsCloudEncryption {
      fields.append(("NSAllowsCloudEncryption", .boolean(true)))
    }
    if let derivation = attribute.derivation {
      let expression = try values.expression(derivation.expression)
      fields.append(("NSDerivationExpression", .reference(expression)))
      fields.append(("NSFilteringPredicate", .reference(try values.predicate(derivation.filter))))
    }
    if attribute.type == .composite {
      fields.append(
        ("NSCompositeElements", .reference(try elements(of: attribute, in: entity))))
    }
    return fields
  }

  /// The elements of a composite attribute, in declared order.
  private mutating func elements(
    of attribute: Attribute, in entity: Entity
  ) throws(ModelFileError) -> ID {
    var members: [ID] = []
    for element in attribute.elements {
      guard element.type != .composite else {
        throw ModelFileError(.cannotArchive("composite element \(element.name)"))
      }
      let id = values.writer.reserve()
      values.writer.set(
        id, kind: Self.kind(of: element), fields: try fields(of: element, in: entity, named: nil))
      members.append(id)
    }
    return values.writer.add(ArchivedClass.mutableArray, of: members)
  }

  mutating func write(_ relationship: Relationship, id: ID?, of entity: Entity) {
    guard let id else { return }
    let destination = relationship.destinationEntityName
    let inverse = relationship.inverseName.flatMap { properties[destination]?[$0] }
    var fields = common(
      relationship.name, of: entity,
      facts: PropertyFacts(
        isOptional: relationship.isOptional, isTransient: relationship.isTransient,
        isOrdered: relationship.isOrdered,
        isIndexedBySpotlight: relationship.isIndexedBySpotlight,
        versionHashModifier: relationship.versionHashModifier,
        renamingIdentifier: relationship.renamingIdentifier, userInfo: relationship.userInfo,
        opaqueUserInfo: relationship.opaqueUserInfo))
    fields += [
      ("NSDestinationEntity", .reference(entities[destination])),
      ("_NSDestinationEntityName", .reference(values.writer.add(destination))),
      ("NSInverseRelationship", .reference(inverse)),
      ("_NSInverseRelationshipName", .reference(text(relationship.inverseName))),
      ("NSMinCount", .integer(relationship.minCount)),
      ("NSMaxCount", .integer(relationship.maxCount)),
      ("NSDeleteRule", .integer(Int64(relationship.deleteRule.rawValue))),
    ]
    if relationship.isOrdered { fields.append(("NSIsOrdered", .boolean(true))) }
    values.writer.set(id, kind: ArchivedClass.relationship, fields: fields)
  }

  mutating func write(
    _ property: FetchedProperty, id: ID?, of entity: Entity
  ) throws(ModelFileError) {
    guard let id else { return }
    var fields = common(
      property.name, of: entity,
      facts: PropertyFacts(
        isOptional: property.isOptional, isTransient: true, isReadOnly: true,
        versionHashModifier: property.versionHashModifier,
        renamingIdentifier: property.renamingIdentifier, userInfo: property.userInfo,
        opaqueUserInfo: property.opaqueUserInfo))
    fields += [
      ("_NSFetchRequestEntityName", .reference(text(property.request.entityName))),
      ("NSFetchRequest", .reference(try fetchRequest(request: property.request))),
    ]
    values.writer.set(id, kind: ArchivedClass.fetchedProperty, fields: fields)
  }

  private mutating func common(
    _ name: String, of entity: Entity?, facts: PropertyFacts
  ) -> Fields {
    var fields: Fields = [("NSPropertyName", .reference(values.writer.add(name)))]
    if let entity { fields.append(("NSEntity", .reference(entities[entity.name]))) }
    fields += [
      ("NSRenamingIdentifier", .reference(values.writer.add(facts.renamingIdentifier ?? name))),
      ("_P", .integer(facts.bits)),
    ]
    if facts.isOptional { fields.append(("NSIsOptional", .boolean(true))) }
    if facts.isTransient { fields.append(("NSIsTransient", .boolean(true))) }
    if facts.isReadOnly { fields.append(("NSIsReadOnly", .boolean(true))) }
    if facts.isIndexedBySpotlight { fields.append(("NSIndexedBySpotlight", .boolean(true))) }
    if let modifier = facts.versionHashModifier {
      fields.append(("NSVersionHashModifier", .reference(values.writer.add(modifier))))
    }
    if facts.hasUserInfo {
      fields.append(
        ("NSUserInfo", .reference(userInfo(entries: facts.userInfo, opaque: facts.opaqueUserInfo))))
    }
    return fields
  }

  mutating func fetchRequest(request: FetchRequest) throws(ModelFileError) -> ID {
    let condition = try predicate(request.predicate, opaque: request.opaquePredicate)
    return values.writer.add(
      ArchivedClass.fetchRequest,
      fields: [
        ("NSEntity", .reference(request.entityName.flatMap { entities[$0] })),
        ("NSPredicate", .reference(condition)), ("NSSortDescriptors", .reference(nil)),
        ("NSValuesToFetch", .reference(nil)), ("NSValuesToGroupBy", .reference(nil)),
        ("NSHavingPredicate", .reference(nil)),
        ("NSRelationshipKeyPathsForPrefetching", .reference(nil)),
        ("NSHasFetchRequestFlags", .boolean(true)),
        ("NSFetchRequestFlags", .integer(request.archivedFlags)),
        ("NSResultType", .integer(request.resultType)), ("NSFetchOffset", .integer(0)),
        ("NSFetchLimit", .integer(request.fetchLimit)),
        ("NSBatchSize", .integer(request.batchSize)), ("NSAllocationType", .integer(0)),
      ])
  }

  mutating func text(_ text: String?) -> ID? { text.map { values.writer.add($0) } }

  /// The predicate, in its original archived form if there is one.
  mutating func predicate(
    _ predicate: ValuePredicate?, opaque: [UInt8]?
  ) throws(ModelFileError) -> ID? {
    if let opaque, let id = values.writer.add(archive: opaque) { return id }
    return try values.predicate(predicate)
  }

  private mutating func defaultValue(of attribute: Attribute, entity: Entity) -> ID? {
    if let opaque = attribute.opaqueDefault { return values.writer.add(archive: opaque) }
    do {
      return try values.value(attribute.defaultValue)
    } catch {
      leftOut.append(error.at(entity: entity.name, property: attribute.name))
      return nil
    }
  }

  mutating func userInfo(
    entries: [String: String], opaque: [String: [UInt8]]
  ) -> ID {
    if entries.isEmpty && opaque.isEmpty { return noUserInfo }
    var members: [(key: String, value: ID)] = []
    for key in (Array(entries.keys) + opaque.keys).sorted() {
      if let text = entries[key] {
        members.append((key, values.writer.add(text)))
      } else if let id = opaque[key].flatMap({ values.writer.add(archive: $0) }) {
        members.append((key, id))
      }
    }
    return values.writer.add(ArchivedClass.dictionary, of: members)
  }
}
