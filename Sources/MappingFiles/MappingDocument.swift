import Expressions
import KeyedArchives
package import Mapping
import ModelFiles
package import ObjectModel

/// Reads the source of a mapping model, `xcmapping.xml` in an `.xcmappingmodel` folder.
///
/// It has no types, automatic expressions and hashes; these are derived as Xcode's compiler does
/// (docs/reference/mapping-file.md, "Mapping documents").
package struct MappingDocument: Sendable {
  /// The two models of the mapping, as far as the document embeds them and they can be read.
  package struct Models: Sendable {
    /// The model before the migration, nil if it cannot be read.
    package var source: ManagedObjectModel?
    /// The model after the migration, nil if it cannot be read.
    package var destination: ManagedObjectModel?
    /// Why embedded models could not be read, one error for each.
    package var problems: [MappingFileError] = []
    /// The path of the source model in the document, relative to the project; nil if it has none.
    package var sourcePath: String?
    /// The path of the destination model in the document, relative to the project; nil if it has
    /// none.
    package var destinationPath: String?
  }

  /// The embedded models.
  package private(set) var models = Models()
  private let document: CoreDataDocument
  private let root: CoreDataDocument.Object
  private let rootID: String

  /// Parses the document and reads the models embedded in it.
  ///
  /// - Throws: `MappingFileError`, but not for a model that cannot be read.
  package init(decoding bytes: [UInt8]) throws(MappingFileError) {
    document = try CoreDataDocument(decoding: bytes)
    let roots = document.objects.filter { $0.value.type == ObjectType.mappingModel }
    guard roots.count == 1, let root = roots.first else {
      throw MappingFileError(.notAMappingModel)
    }
    (rootID, self.root) = root
    models.sourcePath = root.value.text(name: "sourcemodelpath")
    models.destinationPath = root.value.text(name: "destinationmodelpath")
    models.source = readModel("sourcemodeldata", side: .source)
    models.destination = readModel("destinationmodeldata", side: .destination)
  }

  private mutating func readModel(_ key: String, side: MappingSide) -> ManagedObjectModel? {
    do throws(MappingFileError) {
      guard let bytes = try root.bytes(name: key) else {
        throw MappingFileError(.incomplete(object: rootID, key: key))
      }
      do {
        return try XDPMModel.model(decoding: bytes)
      } catch {
        throw MappingFileError(.embeddedModel(side, error.problem))
      }
    } catch {
      models.problems.append(error)
      return nil
    }
  }

  /// The mapping model between two models, usually the embedded ones.
  ///
  /// - Throws: `MappingFileError` with the entity mapping and the property.
  package func mapping(
    source: ManagedObjectModel, destination: ManagedObjectModel
  ) throws(MappingFileError) -> MappingModel {
    let entries = try self.entries()
    var names: Set<String> = []
    for entry in entries where !names.insert(entry.name).inserted {
      throw MappingFileError(.duplicateMapping, mapping: entry.name)
    }
    let expressions = ImplicitExpressions(
      mappings: entries.map { ($0.name, $0.source, $0.destination) }, source: source,
      destination: destination)
    let hashes = Hashes(source: source, destination: destination)
    var result: [EntityMapping] = []
    for entry in entries {
      do {
        result.append(try entityMapping(entry: entry, expressions: expressions, hashes: hashes))
      } catch {
        throw error.at(mapping: entry.name)
      }
    }
    return MappingModel(entityMappings: result)
  }

  /// The entity mappings, without their properties and expressions.
  func outline(
    source: ManagedObjectModel, destination: ManagedObjectModel
  ) throws(MappingFileError) -> MappingModel {
    let hashes = Hashes(source: source, destination: destination)
    var result: [EntityMapping] = []
    for entry in try entries() {
      var mapping = EntityMapping(
        name: entry.name, kind: .custom, source: entry.source, destination: entry.destination)
      mapping.sourceVersionHash = try hashes.hash(name: entry.source, side: .source)
      mapping.destinationVersionHash = try hashes.hash(name: entry.destination, side: .destination)
      result.append(mapping)
    }
    return MappingModel(entityMappings: result)
  }

  /// The entity mappings that the mapping model lists, in processing order.
  ///
  /// One that names no entity maps nothing and is skipped; `notes` names it.
  private func entries() throws(MappingFileError) -> [Entry] {
    var entries: [Entry] = []
    for (id, object) in try listed() {
      let entry = Entry(
        id: id, object: object, number: try object.number(name: "mappingnumber") ?? 0)
      if entry.source != nil || entry.destination != nil { entries.append(entry) }
    }
    // Mappings that have the same number keep the order of their names.
    return entries.sorted { ($0.number, $0.name) < ($1.number, $1.name) }
  }

  private func listed() throws(MappingFileError) -> [(id: String, object: CoreDataDocument.Object)]
  {
    try document.targets(
      relationship: "entitymappings", of: root, id: rootID, type: ObjectType.entityMapping)
  }

  /// The parts of the document that the mapping model does not show.
  ///
  /// - Throws: `MappingFileError`, if the document is damaged.
  func notes() throws(MappingFileError) -> [MappingNote] {
    var notes = DocumentFields.unknown(in: root).map { MappingNote(unknownField: $0) }
    for (id, object) in try listed() {
      let entry = Entry(id: id, object: object, number: 0)
      guard entry.source != nil || entry.destination != nil else {
        notes.append(MappingNote(.namesNoEntity, mapping: entry.name))
        continue
      }
      notes += try entryNotes(entry)
    }
    return notes
  }

  private func entryNotes(_ entry: Entry) throws(MappingFileError) -> [MappingNote] {
    var fields = DocumentFields.unknown(in: entry.object)
    if let type = entry.object.text(name: "mappingtypename"), type != "Undefined" {
      fields.append("mappingtypename \(type)")
    }
    if try !entry.object.flag(name: "autogenerateexpression") {
      fields.append("autogenerateexpression 0")
    }
    var notes = fields.map { MappingNote(unknownField: $0, mapping: entry.name) }
    for (key, type) in [
      ("attributemappings", ObjectType.attributeMapping),
      ("relationshipmappings", ObjectType.relationshipMapping),
    ] {
      for (_, object) in try document.targets(
        relationship: key, of: entry.object, id: entry.id, type: type)
      {
        notes += DocumentFields.unknown(in: object).map {
          MappingNote(
            unknownField: $0, mapping: entry.name, property: object.text(name: "name"))
        }
      }
    }
    return notes
  }

  private struct Entry {
    var id: String
    var object: CoreDataDocument.Object
    var number: Int64

    var source: String? { object.text(name: "sourcename") }
    var destination: String? { object.text(name: "destinationname") }
    var name: String {
      object.text(name: "name")
        ?? EntityMapping.standardName(source: source, destination: destination) ?? id
    }
    /// The two entities between which the mapping leads.
    var place: (source: String?, destination: String?) { (source, destination) }
  }

  private struct Hashes {
    let source: ManagedObjectModel
    let destination: ManagedObjectModel

    func hash(name: String?, side: MappingSide) throws(MappingFileError) -> VersionHash? {
      guard let name else { return nil }
      let model = side == .source ? source : destination
      guard let entity = model.entity(name: name) else {
        throw MappingFileError(.entityMissing(side, name))
      }
      // Where a hash is not known, the mapping takes any version of the entity.
      return try? model.versionHash(of: entity)
    }
  }

  private func entityMapping(
    entry: Entry, expressions: ImplicitExpressions, hashes: Hashes
  ) throws(MappingFileError) -> EntityMapping {
    let policy = entry.object.text(name: "migrationpolicyclassname")
    var result = EntityMapping(
      name: entry.name,
      kind: EntityMapping.standardKind(
        source: entry.source, destination: entry.destination, policy: policy),
      source: entry.source, destination: entry.destination)
    result.sourceVersionHash = try hashes.hash(name: entry.source, side: .source)
    result.destinationVersionHash = try hashes.hash(name: entry.destination, side: .destination)
    result.migrationPolicyClassName = policy
    result.userInfo = try userInfo(of: entry.object)
    if let source = entry.source, entry.destination != nil,
      let predicate = entry.object.text(name: "sourcefilterpredicatestring")
    {
      result.sourceExpression = .sourceObjects(of: source, where: predicate)
    }
    result.attributeMappings = try properties(
      key: "attributemappings", type: ObjectType.attributeMapping, entry: entry
    ) { name, _ in expressions.attribute(name: name, from: entry.source) }
    result.relationshipMappings = try properties(
      key: "relationshipmappings", type: ObjectType.relationshipMapping, entry: entry
    ) { name, object throws(MappingFileError) in
      try RelationshipInspector(object, property: name, entry: entry.place)
        .expression(otherwise: expressions)
    }
    return result
  }

  /// The property mappings by name, in which order the compiler writes them.
  private func properties(
    key: String, type: String, entry: Entry,
    implicit: (String, CoreDataDocument.Object) throws(MappingFileError) -> ValueExpression?
  ) throws(MappingFileError) -> [PropertyMapping] {
    var result: [PropertyMapping] = []
    for (id, object) in try document.targets(
      relationship: key, of: entry.object, id: entry.id, type: type)
    {
      guard let name = object.text(name: "name") else {
        throw MappingFileError(.incomplete(object: id, key: "name"))
      }
      do throws(MappingFileError) {
        var mapping = PropertyMapping(name: name, valueExpression: nil)
        if let bytes = try object.bytes(name: "valueexpressiondata") {
          mapping.valueExpression = try expression(bytes: bytes)
        } else if try object.flag(name: "autogenerateexpression") {
          mapping.valueExpression = try implicit(name, object)
        }
        mapping.userInfo = try userInfo(of: object)
        result.append(mapping)
      } catch {
        throw error.at(property: name)
      }
    }
    return result.sorted { $0.name < $1.name }
  }

  private func expression(bytes: [UInt8]) throws(MappingFileError) -> ValueExpression {
    let archive = try archive(bytes)
    var expressions = ArchivedExpressions(archive)
    do {
      return try expressions.expression(id: archive.root)
    } catch {
      throw MappingFileError(error)
    }
  }

  private func userInfo(
    of object: CoreDataDocument.Object
  ) throws(MappingFileError) -> [String: AttributeValue] {
    guard let bytes = try object.bytes(name: "userinfodata") else { return [:] }
    let archive = try archive(bytes)
    let entries: [(key: String, value: KeyedArchive.ID)]
    do {
      entries = try archive.entries(id: archive.root)
    } catch {
      throw MappingFileError(.damaged(.damagedArchive(error)))
    }
    do {
      return try ArchivedUserInfo.values(
        entries: entries, expressions: ArchivedExpressions(archive))
    } catch {
      throw MappingFileError(error)
    }
  }

  private func archive(_ bytes: [UInt8]) throws(MappingFileError) -> KeyedArchive {
    do {
      return try KeyedArchive(decoding: bytes)
    } catch {
      throw MappingFileError(.damaged(.damagedArchive(error)))
    }
  }
}
