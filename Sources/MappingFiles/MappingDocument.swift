import Expressions
import KeyedArchives
package import Mapping
import ModelFiles
package import ObjectModel

/// Reads the source of a mapping model, `xcmapping.xml` in an `.xcmappingmodel` folder.
///
/// Types, automatic expressions and hashes are not in it; they are made here as Xcode's compiler
/// makes them (docs/mapping-file.md, "Mapping documents").
package struct MappingDocument: Sendable {
  /// The two models that the mapping was made for, as far as the document embeds them readably.
  package struct Models: Sendable {
    package var source: ManagedObjectModel?
    package var destination: ManagedObjectModel?
    /// Why one of them could not be read, if so.
    package var problems: [MappingFileError] = []
    /// Where the document says that the models lie, relative to the project.
    package var sourcePath: String?
    package var destinationPath: String?
  }

  package private(set) var models = Models()
  private let document: CoreDataDocument
  private let root: CoreDataDocument.Object
  private let rootID: String

  /// Takes the document apart, and reads the models embedded in it.
  package init(decoding bytes: [UInt8]) throws(MappingFileError) {
    document = try CoreDataDocument(decoding: bytes)
    let roots = document.objects.filter { $0.value.type == ObjectType.mappingModel }
    guard roots.count == 1, let root = roots.first else {
      throw MappingFileError(.notAMappingModel)
    }
    (rootID, self.root) = root
    models.sourcePath = root.value.text("sourcemodelpath")
    models.destinationPath = root.value.text("destinationmodelpath")
    models.source = readModel("sourcemodeldata", .source)
    models.destination = readModel("destinationmodeldata", .destination)
  }

  private mutating func readModel(_ key: String, _ side: MappingSide) -> ManagedObjectModel? {
    do throws(MappingFileError) {
      guard let bytes = try root.bytes(key) else {
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

  /// The mapping model for the two models, which are the embedded ones if those can be read.
  package func mapping(
    source: ManagedObjectModel, destination: ManagedObjectModel
  ) throws(MappingFileError) -> MappingModel {
    let listed = try document.targets(
      "entitymappings", of: root, rootID, type: ObjectType.entityMapping)
    var entries: [Entry] = []
    for (id, object) in listed {
      entries.append(
        Entry(id: id, object: object, number: try object.number("mappingnumber") ?? 0))
    }
    // Mappings that have the same number keep the order of their names.
    entries.sort { ($0.number, $0.name) < ($1.number, $1.name) }
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
        result.append(try entityMapping(entry, expressions, hashes))
      } catch {
        throw error.at(mapping: entry.name)
      }
    }
    return MappingModel(entityMappings: result)
  }

  /// The entity mappings without their properties and expressions.
  func outline(
    source: ManagedObjectModel, destination: ManagedObjectModel
  ) throws(MappingFileError) -> MappingModel {
    let listed = try document.targets(
      "entitymappings", of: root, rootID, type: ObjectType.entityMapping)
    let hashes = Hashes(source: source, destination: destination)
    var result: [EntityMapping] = []
    for (id, object) in listed {
      let entry = Entry(id: id, object: object, number: 0)
      var mapping = EntityMapping(
        name: entry.name, kind: .custom, source: entry.source, destination: entry.destination)
      mapping.sourceVersionHash = try hashes.hash(entry.source, .source)
      mapping.destinationVersionHash = try hashes.hash(entry.destination, .destination)
      result.append(mapping)
    }
    return MappingModel(entityMappings: result)
  }

  private enum ObjectType {
    static let mappingModel = "XDDEVMAPPINGMODEL"
    static let entityMapping = "XDDEVENTITYMAPPING"
    static let attributeMapping = "XDDEVATTRIBUTEMAPPING"
    static let relationshipMapping = "XDDEVRELATIONSHIPMAPPING"
  }

  private struct Entry {
    var id: String
    var object: CoreDataDocument.Object
    var number: Int64

    var source: String? { object.text("sourcename") }
    var destination: String? { object.text("destinationname") }
    var name: String {
      object.text("name")
        ?? EntityMapping.standardName(source: source, destination: destination) ?? id
    }
  }

  private struct Hashes {
    let source: ManagedObjectModel
    let destination: ManagedObjectModel

    func hash(_ name: String?, _ side: MappingSide) throws(MappingFileError) -> VersionHash? {
      guard let name else { return nil }
      let model = side == .source ? source : destination
      guard let entity = model.entity(name) else {
        throw MappingFileError(.entityMissing(side, name))
      }
      // Where a hash is not known, the mapping takes any version of the entity.
      return try? model.versionHash(of: entity)
    }
  }

  private func entityMapping(
    _ entry: Entry, _ expressions: ImplicitExpressions, _ hashes: Hashes
  ) throws(MappingFileError) -> EntityMapping {
    guard entry.source != nil || entry.destination != nil else {
      throw MappingFileError(.incomplete(object: entry.id, key: "sourcename"))
    }
    let policy = entry.object.text("migrationpolicyclassname")
    var result = EntityMapping(
      name: entry.name,
      kind: EntityMapping.standardKind(
        source: entry.source, destination: entry.destination, policy: policy),
      source: entry.source, destination: entry.destination)
    result.sourceVersionHash = try hashes.hash(entry.source, .source)
    result.destinationVersionHash = try hashes.hash(entry.destination, .destination)
    result.migrationPolicyClassName = policy
    result.userInfo = try userInfo(of: entry.object)
    if let source = entry.source, entry.destination != nil,
      let predicate = entry.object.text("sourcefilterpredicatestring")
    {
      result.sourceExpression = .sourceObjects(of: source, where: predicate)
    }
    result.attributeMappings = try properties(
      "attributemappings", ObjectType.attributeMapping, entry
    ) { expressions.attribute($0, from: entry.source) }
    result.relationshipMappings = try properties(
      "relationshipmappings", ObjectType.relationshipMapping, entry
    ) { expressions.relationship($0, from: entry.source, to: entry.destination) }
    return result
  }

  /// The property mappings in the order of their names, as the compiler writes them.
  private func properties(
    _ key: String, _ type: String, _ entry: Entry, implicit: (String) -> ValueExpression?
  ) throws(MappingFileError) -> [PropertyMapping] {
    var result: [PropertyMapping] = []
    for (id, object) in try document.targets(key, of: entry.object, entry.id, type: type) {
      guard let name = object.text("name") else {
        throw MappingFileError(.incomplete(object: id, key: "name"))
      }
      do throws(MappingFileError) {
        var mapping = PropertyMapping(name, nil)
        if let bytes = try object.bytes("valueexpressiondata") {
          mapping.valueExpression = try expression(bytes)
        } else if try object.flag("autogenerateexpression") {
          mapping.valueExpression = implicit(name)
        }
        mapping.userInfo = try userInfo(of: object)
        result.append(mapping)
      } catch {
        throw error.at(property: name)
      }
    }
    return result.sorted { $0.name < $1.name }
  }

  private func expression(_ bytes: [UInt8]) throws(MappingFileError) -> ValueExpression {
    let archive = try archive(bytes)
    var expressions = ArchivedExpressions(archive)
    do {
      return try expressions.expression(archive.root)
    } catch {
      throw MappingFileError(error)
    }
  }

  private func userInfo(
    of object: CoreDataDocument.Object
  ) throws(MappingFileError) -> [String: AttributeValue] {
    guard let bytes = try object.bytes("userinfodata") else { return [:] }
    let archive = try archive(bytes)
    let entries: [(key: String, value: KeyedArchive.ID)]
    do {
      entries = try archive.entries(archive.root)
    } catch {
      throw MappingFileError(.damaged(.damagedArchive(error)))
    }
    do {
      return try ArchivedUserInfo.values(entries, ArchivedExpressions(archive))
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
