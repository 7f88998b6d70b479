import Expressions
import KeyedArchives
package import ObjectModel

/// Writes models in the form of the model caches of stores (`Z_MODELCACHE`).
///
/// The form is that of the newest frameworks after a migration: no class names and no validation,
/// inherited properties repeated in each subentity, indexes listed one by one.
/// docs/reference/model-format.md, "Model caches", has the evidence.
package enum ModelArchive {
  /// An archive, and the parts of the model that it lacks.
  package struct Encoded: Sendable {
    /// The archive, not compressed.
    package var bytes: [UInt8]
    /// One error for each part that it lacks, with its entity and property.
    package var leftOut: [ModelFileError]
  }

  /// Archives a model, without parts whose form no known archive shows.
  ///
  /// - Throws: `ModelFileError`, if a version hash covers such a part: a cache that contradicts the
  ///   store's hashes is worse than none.
  package static func encode(_ model: ManagedObjectModel) throws(ModelFileError) -> Encoded {
    var parts = ArchivableParts(model)
    var writer = ModelArchiveWriter(try parts.model())
    let bytes = try writer.encoded()
    return Encoded(bytes: bytes, leftOut: parts.leftOut + writer.leftOut)
  }
}

/// Writes the objects of a model; those of properties are in ModelArchiveProperties.swift.
struct ModelArchiveWriter {
  typealias ID = KeyedArchive.ID
  typealias Fields = [(key: String, value: KeyedArchiveWriter.Field)]

  let model: ManagedObjectModel
  var values = ArchivedValueWriter()
  /// The expressions of indexes so far, by which they get their names.
  private var indexedExpressions = 0
  private let root: ID
  var entities: [String: ID] = [:]
  /// The object of each property in each entity that has or inherits it.
  var properties: [String: [String: ID]] = [:]
  let noUserInfo: ID
  var leftOut: [ModelFileError] = []

  init(_ model: ManagedObjectModel) {
    self.model = model
    root = values.writer.reserve()
    noUserInfo = values.writer.add(ArchivedClass.dictionary, of: [(key: String, value: ID)]())
    for entity in model.entities {
      entities[entity.name] = values.writer.reserve()
      var members: [String: ID] = [:]
      for name in Self.allPropertyNames(of: entity, in: model).sorted() {
        members[name] = values.writer.reserve()
      }
      properties[entity.name] = members
    }
  }

  private static func allPropertyNames(
    of entity: Entity, in model: ManagedObjectModel
  ) -> Set<String> {
    Set(
      model.lineage(of: entity).flatMap {
        $0.attributes.map(\.name) + $0.relationships.map(\.name)
          + $0.fetchedProperties.map(\.name)
      })
  }

  mutating func encoded() throws(ModelFileError) -> [UInt8] {
    for entity in model.entities {
      do throws(ModelFileError) {
        try write(entity)
      } catch {
        throw error.at(entity: entity.name)
      }
    }
    var fields: Fields = [
      ("NSEntities", .reference(entityDictionary())),
      ("NSFetchRequestTemplates", .reference(try templates())),
      ("NSVersionIdentifiers", .reference(versionIdentifiers())),
    ]
    if !model.configurations.isEmpty {
      fields.append(("NSConfigurations", .reference(configurations())))
    }
    values.writer.set(root, kind: ArchivedClass.model, fields: fields)
    return values.writer.encoded(root: root)
  }

  private mutating func entityDictionary() -> ID {
    let names = model.entities.map { values.writer.add($0.name) }
    let keys = values.writer.add(ArchivedClass.array, of: names)
    let strategy = values.writer.add(
      ArchivedClass.knownKeysStrategy,
      fields: [
        ("length", .integer(Int64(names.count))), ("keys", .reference(keys)),
        ("version", .integer(1)),
      ])
    let slots = values.writer.add(
      ArchivedClass.array, of: model.entities.compactMap { entities[$0.name] })
    return values.writer.add(
      ArchivedClass.knownKeysDictionary,
      fields: [
        ("values", .reference(slots)), ("searchMapping", .reference(strategy)),
        ("emptyToken", .reference(values.writer.add(KeyedArchive.emptySlot))),
        ("version", .integer(1)),
      ])
  }

  private mutating func versionIdentifiers() -> ID {
    values.writer.add(ArchivedClass.set, of: model.versionIdentifiers.map { values.writer.add($0) })
  }

  private mutating func configurations() -> ID {
    let members = model.configurations.sorted { $0.key < $1.key }.map { name, names in
      (
        key: name,
        value: values.writer.add(ArchivedClass.set, of: names.compactMap { entities[$0] })
      )
    }
    return values.writer.add(ArchivedClass.mutableDictionary, of: members)
  }

  private mutating func templates() throws(ModelFileError) -> ID? {
    if model.fetchRequestTemplates.isEmpty { return nil }
    var members: [(key: String, value: ID)] = []
    for (name, request) in model.fetchRequestTemplates.sorted(by: { $0.key < $1.key }) {
      members.append((name, try fetchRequest(request: request)))
    }
    return values.writer.add(ArchivedClass.mutableDictionary, of: members)
  }

  // MARK: Entities

  private mutating func write(_ entity: Entity) throws(ModelFileError) {
    let members = properties[entity.name] ?? [:]
    for attribute in model.allAttributes(of: entity) {
      try write(attribute, id: members[attribute.name], of: entity)
    }
    for relationship in model.allRelationships(of: entity) {
      write(relationship, id: members[relationship.name], of: entity)
    }
    for property in model.allFetchedProperties(of: entity) {
      try write(property, id: members[property.name], of: entity)
    }
    guard let id = entities[entity.name] else { return }
    let own = members.sorted { $0.key < $1.key }.map { (key: $0.key, value: $0.value) }
    let below = model.subentities(of: entity.name).compactMap { child in
      entities[child.name].map { (key: child.name, value: $0) }
    }
    let indexes = model.archivedIndexes(of: entity)
    var fields: Fields = [
      ("NSEntityName", .reference(values.writer.add(entity.name))),
      ("NSClassNameForEntity", .reference(nil)),
      ("NSProperties", .reference(values.writer.add(ArchivedClass.mutableDictionary, of: own))),
      ("NSSubentities", .reference(values.writer.add(ArchivedClass.mutableDictionary, of: below))),
      ("NSSuperentity", .reference(entity.superentityName.flatMap { entities[$0] })),
      ("NSManagedObjectModel", .reference(root)),
      ("NSUserInfo", .reference(userInfo(entries: entity.userInfo, opaque: entity.opaqueUserInfo))),
      ("NSVersionHashModifier", .reference(text(entity.versionHashModifier))),
      (
        "NSRenamingIdentifier",
        .reference(values.writer.add(entity.renamingIdentifier ?? entity.name))
      ),
      ("NSFetchIndexDescriptions", .reference(try fetchIndexes(indexes: indexes, of: id))),
      (
        "NSCompoundIndexes",
        .reference(tuples(model.archivedCompounds(of: entity, indexes: indexes)))
      ),
    ]
    if entity.isAbstract { fields.append(("NSIsAbstract", .boolean(true))) }
    if !entity.uniquenessConstraints.isEmpty {
      fields.append(("NSUniqueTuples", .reference(tuples(entity.uniquenessConstraints))))
    }
    values.writer.set(id, kind: ArchivedClass.entity, fields: fields)
  }

  private mutating func tuples(_ names: [[String]]) -> ID {
    let members = names.map { tuple in
      values.writer.add(ArchivedClass.mutableArray, of: tuple.map { values.writer.add($0) })
    }
    return values.writer.add(ArchivedClass.mutableArray, of: members)
  }

  private mutating func fetchIndexes(
    indexes: [FetchIndex], of entity: ID
  ) throws(ModelFileError) -> ID {
    var members: [ID] = []
    for index in indexes {
      let id = values.writer.reserve()
      var elements: [ID] = []
      for element in index.elements {
        let (name, property) = try indexed(element)
        elements.append(
          values.writer.add(
            ArchivedClass.fetchIndexElement,
            fields: [
              ("NSPropertyName", .reference(name)),
              ("NSFetchIndexElementType", .integer(Int64(element.kind.rawValue))),
              ("NSAscending", .boolean(element.isAscending)),
              ("NSFetchIndexDescription", .reference(id)),
            ] + (property.map { [("NSIndexedProperty", .reference($0))] } ?? [])))
      }
      let list = values.writer.add(ArchivedClass.mutableArray, of: elements)
      values.writer.set(
        id, kind: ArchivedClass.fetchIndex,
        fields: [
          ("NSIndexName", .reference(values.writer.add(index.name))),
          ("NSIndexElements", .reference(list)),
          (
            "NSPartialIndexPredicate",
            .reference(try predicate(index.partialPredicate, opaque: index.opaquePredicate))
          ),
          ("NSEntity", .reference(entity)),
        ])
      members.append(id)
    }
    return values.writer.add(ArchivedClass.mutableArray, of: members)
  }

  /// The name of what an element indexes, and the description that an expression has in its place.
  private mutating func indexed(
    _ element: FetchIndex.Element
  ) throws(ModelFileError) -> (name: ID, property: ID?) {
    if let name = element.propertyName { return (values.writer.add(name), nil) }
    guard let expression = element.expression else {
      throw ModelFileError(.cannotArchive("index on nothing"))
    }
    // Core Data numbers the expressions of a model.
    indexedExpressions += 1
    let name = values.writer.add("expression\(indexedExpressions)")
    let facts = PropertyFacts(
      isOptional: true, isTransient: false, isReadOnly: true, userInfo: [:])
    let property = values.writer.add(
      ArchivedClass.expression,
      fields: [
        ("_P", .integer(facts.bits)), ("NSIsOptional", .boolean(true)),
        ("NSIsReadOnly", .boolean(true)), ("NSExpressionType", .integer(2000)),
        ("NSPropertyName", .reference(name)), ("NSRenamingIdentifier", .reference(name)),
        ("NSExpression", .reference(try values.expression(expression))),
        ("NSEntity", .reference(nil)),
      ])
    return (name, property)
  }
}
