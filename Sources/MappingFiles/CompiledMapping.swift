import Expressions
import KeyedArchives
package import Mapping
import ModelFiles
import ObjectModel

/// Reads compiled mapping models, `.cdm` files.
package enum CompiledMapping {
  /// Reads the mapping model of an archive.
  ///
  /// - Throws: `MappingFileError` with the entity mapping and the property.
  package static func mapping(decoding bytes: [UInt8]) throws(MappingFileError) -> MappingModel {
    try noted(decoding: bytes).mapping
  }

  /// Reads the mapping model of an archive, and lists the parts that it does not show.
  ///
  /// - Throws: `MappingFileError` with the entity mapping and the property.
  static func noted(
    decoding bytes: [UInt8]
  ) throws(MappingFileError) -> (mapping: MappingModel, notes: [MappingNote]) {
    var notes: [MappingNote] = []
    let mapping = try read(bytes) { reader, members throws(ModelFileError) in
      let mappings = try reader.mappings(members: members)
      notes = reader.notes
      return mappings
    }
    return (mapping, notes)
  }

  /// Reads the entity mappings of an archive, without their properties and expressions.
  static func outline(decoding bytes: [UInt8]) throws(MappingFileError) -> MappingModel {
    try read(bytes) { reader, members throws(ModelFileError) in try reader.outlines(members) }
  }

  private static func read(
    _ bytes: [UInt8],
    body: (inout ArchivedMappings, [KeyedArchive.ID]) throws(ModelFileError) -> [EntityMapping]
  ) throws(MappingFileError) -> MappingModel {
    let archive: KeyedArchive
    do {
      archive = try KeyedArchive(decoding: bytes)
    } catch {
      throw MappingFileError(.damaged(.damagedArchive(error)))
    }
    var reader = ArchivedMappings(archive)
    do throws(ModelFileError) {
      guard try archive.class(of: archive.root) == "NSMappingModel",
        let members = try archive.members(key: "NSEntityMappings", of: archive.root)
      else { throw ModelFileError(.notAModelArchive) }
      return MappingModel(entityMappings: try body(&reader, members))
    } catch {
      if case .notAModelArchive = error.problem, reader.mapping == nil {
        throw MappingFileError(.notAMappingModel)
      }
      throw MappingFileError(error).at(mapping: reader.mapping, property: reader.property)
    }
  }
}

/// Reads the entity mappings of one archive, and remembers the present one for errors.
private struct ArchivedMappings {
  let archive: KeyedArchive
  private(set) var mapping: String?
  private(set) var property: String?
  /// The parts that the entity mappings do not show.
  private(set) var notes: [MappingNote] = []
  private var expressions: ArchivedExpressions
  /// How many more properties and entries may be read; mappings of a damaged archive may all share
  /// one large collection.
  private var budget = 1_000_000

  init(_ archive: KeyedArchive) {
    self.archive = archive
    expressions = ArchivedExpressions(archive)
  }

  mutating func mappings(
    members: [KeyedArchive.ID]
  ) throws(ModelFileError) -> [EntityMapping] {
    var result: [EntityMapping] = []
    for member in members {
      let name = try archive.requiredText("NSMappingName", of: member)
      mapping = name
      property = nil
      let read = try entityMapping(name: name, id: member)
      if read.sourceEntityName == nil && read.destinationEntityName == nil {
        notes.append(MappingNote(.namesNoEntity, mapping: name))
      } else {
        result.append(read)
      }
    }
    return result
  }

  /// Notes the keys of an object that have a value and no known meaning.
  private mutating func noteUnknownKeys(of id: KeyedArchive.ID, known: Set<String>) {
    for (key, value) in archive.members(id: id) where !known.contains(key) {
      switch value {
      case .uid(0), .boolean(false), .integer(0): continue
      case .uid(let target) where isEmptyCollection(target): continue
      default:
        notes.append(MappingNote(unknownField: key, mapping: mapping, property: property))
      }
    }
  }

  private func isEmptyCollection(_ target: Int) -> Bool {
    guard target > 0, target < archive.count else { return false }
    return (try? archive.elements(id: KeyedArchive.ID(rawValue: target)))?.isEmpty ?? false
  }

  private static let mappingKeys: Set<String> = [
    "$class", "NSMappingName", "NSMappingType", "NSSourceEntityName", "NSDestinationEntityName",
    "NSSourceEntityVersionHash", "NSDestinationEntityVersionHash", "NSSourceExpression",
    "NSAttributeMappings", "NSRelationshipMappings", "NSEntityMigrationPolicyClassName",
    "NSUserInfo",
  ]
  private static let propertyKeys: Set<String> = [
    "$class", "NSDestinationPropertyName", "NSValueExpression", "NSUserInfo",
  ]

  /// Names, entities and version hashes only, by which the versions of a mapping model are
  /// identified.
  func outlines(_ members: [KeyedArchive.ID]) throws(ModelFileError) -> [EntityMapping] {
    var result: [EntityMapping] = []
    for id in members {
      let source = try archive.text(key: "NSSourceEntityName", of: id)
      let destination = try archive.text(key: "NSDestinationEntityName", of: id)
      if source == nil && destination == nil { continue }
      var mapping = EntityMapping(
        name: try archive.requiredText("NSMappingName", of: id), kind: .custom, source: source,
        destination: destination)
      mapping.sourceVersionHash = try hash(key: "NSSourceEntityVersionHash", of: id)
      mapping.destinationVersionHash = try hash(key: "NSDestinationEntityVersionHash", of: id)
      result.append(mapping)
    }
    return result
  }

  private mutating func entityMapping(
    name: String, id: KeyedArchive.ID
  ) throws(ModelFileError) -> EntityMapping {
    let source = try archive.text(key: "NSSourceEntityName", of: id)
    let destination = try archive.text(key: "NSDestinationEntityName", of: id)
    let policy = try archive.text(key: "NSEntityMigrationPolicyClassName", of: id)
    let number = try archive.number(key: "NSMappingType", of: id) ?? 0
    guard
      let kind = Self.kind(number: number, source: source, destination: destination, policy: policy)
    else {
      throw ModelFileError(.badValue(key: "NSMappingType", value: "\(number)"))
    }
    var result = EntityMapping(name: name, kind: kind, source: source, destination: destination)
    result.sourceVersionHash = try hash(key: "NSSourceEntityVersionHash", of: id)
    result.destinationVersionHash = try hash(key: "NSDestinationEntityVersionHash", of: id)
    result.migrationPolicyClassName = policy
    result.sourceExpression = nil
    if let expression = try archive.target(key: "NSSourceExpression", of: id) {
      result.sourceExpression = try expressions.expression(id: expression)
    }
    result.userInfo = try userInfo(of: id)
    noteUnknownKeys(of: id, known: Self.mappingKeys)
    result.attributeMappings = try properties(key: "NSAttributeMappings", of: id)
    result.relationshipMappings = try properties(key: "NSRelationshipMappings", of: id)
    return result
  }

  /// The kind by its number in `NSEntityMappingType`; 0 is undefined, and follows from the rest.
  private static func kind(
    number: Int64, source: String?, destination: String?, policy: String?
  ) -> EntityMapping.Kind? {
    switch number {
    case 0: EntityMapping.standardKind(source: source, destination: destination, policy: policy)
    case 1: .custom
    case 2: .add
    case 3: .remove
    case 4: .copy
    case 5: .transform
    default: nil
    }
  }

  private func hash(
    key: String, of id: KeyedArchive.ID
  ) throws(ModelFileError) -> VersionHash? {
    guard let target = try archive.target(key: key, of: id) else { return nil }
    guard case .data(let bytes) = try expressions.value(id: target),
      let hash = VersionHash(bytes: bytes)
    else { throw ModelFileError(.badValue(key: key, value: "not 32 bytes")) }
    return hash
  }

  private mutating func properties(
    key: String, of id: KeyedArchive.ID
  ) throws(ModelFileError) -> [PropertyMapping] {
    let members = try archive.members(key: key, of: id) ?? []
    budget -= members.count
    guard budget > 0 else { throw ModelFileError(.expressionTooComplex) }
    var result: [PropertyMapping] = []
    for member in members {
      let name = try archive.requiredText("NSDestinationPropertyName", of: member)
      property = name
      var mapping = PropertyMapping(name: name, valueExpression: nil)
      if let expression = try archive.target(key: "NSValueExpression", of: member) {
        mapping.valueExpression = try expressions.expression(id: expression)
      }
      mapping.userInfo = try userInfo(of: member)
      noteUnknownKeys(of: member, known: Self.propertyKeys)
      result.append(mapping)
    }
    property = nil
    return result
  }

  private mutating func userInfo(
    of id: KeyedArchive.ID
  ) throws(ModelFileError) -> [String: AttributeValue] {
    let entries = try archive.dictionary(key: "NSUserInfo", of: id) ?? []
    budget -= entries.count
    guard budget > 0 else { throw ModelFileError(.expressionTooComplex) }
    return try ArchivedUserInfo.values(entries: entries, expressions: expressions)
  }
}

/// Reads user info with texts, numbers, dates and bytes; Xcode's editor offers only texts.
enum ArchivedUserInfo {
  static func values(
    entries: [(key: String, value: KeyedArchive.ID)], expressions: ArchivedExpressions
  ) throws(ModelFileError) -> [String: AttributeValue] {
    var result: [String: AttributeValue] = [:]
    for (key, value) in entries { result[key] = try expressions.value(id: value) }
    return result
  }
}
