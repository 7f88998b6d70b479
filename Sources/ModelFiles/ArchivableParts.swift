import Expressions
import ObjectModel

/// Removes from a model what an archive of it cannot contain, and lists what that was.
struct ArchivableParts {
  private let source: ManagedObjectModel
  private(set) var leftOut: [ModelFileError] = []

  init(_ model: ManagedObjectModel) { source = model }

  /// The model without fetched properties, templates and indexes whose predicate or expression
  /// cannot be archived, and which would have another meaning without it.
  ///
  /// No version hash covers them.
  mutating func model() throws(ModelFileError) -> ManagedObjectModel {
    noteUnread()
    var entities: [Entity] = []
    for entity in source.entities { entities.append(archivable(entity)) }
    var result: ManagedObjectModel
    do {
      result = try ManagedObjectModel(entities: entities)
    } catch {
      throw ModelFileError(.notAModel(error), entity: error.entity, property: error.property)
    }
    result.versionIdentifiers = source.versionIdentifiers
    result.configurations = source.configurations
    for (name, request) in source.fetchRequestTemplates.sorted(by: { $0.key < $1.key }) {
      if request.isArchivable {
        result.fetchRequestTemplates[name] = request
      } else {
        leaveOut("fetch request \(name)", predicate: request.predicate)
      }
    }
    return result
  }

  private mutating func archivable(_ entity: Entity) -> Entity {
    var result = entity
    result.fetchedProperties = entity.fetchedProperties.filter { property in
      if property.request.isArchivable { return true }
      leaveOut(
        "fetched property", predicate: property.request.predicate, entity: entity.name,
        property: property.name)
      return false
    }
    result.fetchIndexes = entity.fetchIndexes.filter { index in
      let isPlain = index.elements.allSatisfy(\.isArchivable)
      let isArchivable = index.opaquePredicate != nil || index.partialPredicate.isArchivable
      if isPlain && isArchivable { return true }
      leaveOut(
        "fetch index \(index.name)", predicate: isPlain ? index.partialPredicate : nil,
        entity: entity.name)
      return false
    }
    return result
  }

  /// Lists parts that could not be read and whose archived form was not kept either; validation
  /// rules are in no archive.
  private mutating func noteUnread() {
    for (entity, property, part) in source.unreadParts {
      switch part.part {
      case .validation, .limit, .predicate: continue
      case .defaultValue where isCarried(entity, property: property),
        .leftoverDefault where isCarried(entity, property: property):
        continue
      default:
        leftOut.append(ModelFileError(.unread(part), entity: entity, property: property))
      }
    }
  }

  private func isCarried(_ entity: String?, property: String?) -> Bool {
    guard let entity = entity.flatMap({ source.entity(name: $0) }) else { return false }
    return entity.attributes.contains { $0.name == property && $0.opaqueDefault != nil }
  }

  private mutating func leaveOut(
    _ part: String, predicate: ValuePredicate?, entity: String? = nil, property: String? = nil
  ) {
    let form = predicate.map { " (\($0))" } ?? ""
    leftOut.append(
      ModelFileError(.cannotArchive(part + form), entity: entity, property: property))
  }
}

extension FetchRequest {
  fileprivate var isArchivable: Bool { opaquePredicate != nil || predicate.isArchivable }
}

extension ValuePredicate? {
  fileprivate var isArchivable: Bool { self.map(\.isArchivable) ?? true }
}

extension FetchIndex.Element {
  /// Whether it indexes a property, or an expression of those that archives are known to have.
  fileprivate var isArchivable: Bool {
    switch expression {
    case nil, .evaluatedObject?, .keyPath(nil, _)?: true
    default: false
    }
  }
}
