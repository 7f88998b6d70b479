import Mapping
import ModelFiles
import ObjectModel
import Planning
import RowPrograms
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// What is known of the names of the destination's join tables besides the source.
///
/// Of two inverse to-many relationships of an entity with itself, either may name the table; the
/// model does not determine which.
struct JoinChoices {
  /// The relationships after which the request names join tables, by entity.
  private var asked: [String: Set<String>] = [:]
  /// The naming in other stores, valid for entities with the same version hash.
  private var seen: [(hashes: [String: VersionHash], naming: JoinNaming)] = []
  /// The join tables of the source whose names steps before have assumed.
  var assumed: [JoinContinuation.Choice] = []

  static let none = JoinChoices()

  private init() {}

  /// Reads the stores among the paths of the request.
  ///
  /// - Throws: `MigrationError.joinTableUnknown`, for a relationship whose table has one possible
  ///   name.
  init(request: MigrationRequest, target: ManagedObjectModel) throws {
    for text in request.joinTables {
      let parts = text.split(separator: ".", maxSplits: 1).map(String.init)
      guard parts.count == 2, Self.isOpen(parts[1], of: parts[0], in: target) else {
        throw MigrationError.joinTableUnknown(text)
      }
      asked[parts[0], default: []].insert(parts[1])
    }
    let places = request.target + request.models
    for path in try places.flatMap({ place in
      try ifReadable { try ModelPlace(place) }?.stores ?? []
    }) {
      // A store whose model is not found proves no names.
      guard let reader = try? StoreReader(immutable: path),
        let hashes = try? reader.metadata().versionHashes,
        let model = try? OwnModel.find(hashes, in: [], reader: reader),
        let catalog = try? reader.catalog(), let schema = try? StoreSchema(model)
      else { continue }
      seen.append((hashes, schema.resolved(in: catalog).schema.joinNaming))
    }
  }

  /// Whether the relationship is one of two that connect an entity with itself.
  private static func isOpen(
    _ name: String, of entity: String, in model: ManagedObjectModel
  ) -> Bool {
    guard let entity = model.entity(name: entity),
      let relationship = entity.relationships.first(where: { $0.name == name }),
      let (owner, inverse) = model.inverseWithOwner(of: relationship)
    else { return false }
    return owner.name == entity.name && inverse.name != name && relationship.isToMany
      && inverse.isToMany
  }

  /// The tables of a step's destination, and the join tables whose names are assumed.
  func destination(
    of step: MigrationRoute.Step, by mappings: [MappingModel], from source: StoreSchema
  ) throws -> (schema: StoreSchema, choices: [JoinContinuation.Choice]) {
    let model = step.destination.model
    let continuation = JoinContinuation(
      from: source, assumed: assumed, to: model, by: mappings, known: known(of: step.destination))
    return (try StoreSchema(model, naming: continuation.naming), continuation.choices)
  }

  private func known(of version: RouteVersion) -> JoinNaming {
    var result = JoinNaming()
    for entity in version.model.entities {
      guard let hash = try? version.model.versionHash(of: entity),
        let store = seen.first(where: { $0.hashes[entity.name] == hash })
      else { continue }
      result.relationships[entity.name] = store.naming.relationships[entity.name]
      result.suffixes[entity.name] = store.naming.suffixes[entity.name]
    }
    for (entity, names) in asked {
      let model = version.model
      let open = names.filter { Self.isOpen($0, of: entity, in: model) }
      // The request overrides what a store shows.
      let pairs = Set(
        open.compactMap { name in
          model.entity(name: entity)?.relationships.first { $0.name == name }?.inverseName
        })
      result.relationships[entity, default: []].subtract(pairs)
      result.relationships[entity, default: []].formUnion(open)
    }
    return result
  }
}
