import GRDB
import Mapping
import ObjectModel
import Schema
import StoreFormat

/// The rules of the source's own model that its objects break: what they break in the result as
/// well is nothing that a migration did.
struct PriorViolations {
  /// A property of one concrete entity of the source.
  private struct Origin: Hashable {
    var entity: String
    var property: String
  }

  private let model: ManagedObjectModel
  /// The mappings of each step, from the source on.
  private let steps: [MappingModel]
  private var found: [StandingViolation.Place: KeySet] = [:]

  /// Checks the objects that become ones of some entities of the destination.
  ///
  /// - Parameters:
  ///   - source: the objects of the store that is migrated.
  ///   - mappings: those of each step, from the source on.
  init(
    _ source: ObjectContext, mappings: [MappingModel], becoming entities: Set<String>
  ) throws {
    model = source.schema.model
    steps = mappings
    let names = steps.reversed().reduce(entities) { names, step in
      Set(
        step.entityMappings.filter { $0.destinationEntityName.map(names.contains) ?? false }
          .compactMap(\.sourceEntityName))
    }
    let checked = model.entities.filter { names.contains($0.name) }
    var found: [StandingViolation.Place: KeySet] = [:]
    try ModelValidation(context: source, entities: checked) { violation in
      let place = StandingViolation.Place(
        entity: violation.entity, property: violation.property, rule: violation.rule)
      found[place, default: KeySet()].insert(violation.key)
    }.validate()
    self.found = found
  }

  /// The rule of the source that an object with the same key broke; nil where it broke none.
  func place(of violation: Violation) -> StandingViolation.Place? {
    if found.isEmpty { return nil }
    let start: Set = [Origin(entity: violation.entity, property: violation.property)]
    let origins = steps.reversed().reduce(start) { origins, step in
      Set(origins.flatMap { self.origins(of: $0, by: step) })
    }
    for origin in origins {
      var place = StandingViolation.Place(
        entity: origin.entity, property: origin.property, rule: violation.rule)
      guard found[place]?.contains(violation.key) == true else { continue }
      place.entity = declaring(origin)
      return place
    }
    return nil
  }

  private func origins(of property: Origin, by step: MappingModel) -> [Origin] {
    // New objects have keys of their own.
    step.entityMappings.filter {
      $0.destinationEntityName == property.entity && $0.newObjects == nil
    }.compactMap { mapping in
      guard let entity = mapping.sourceEntityName else { return nil }
      let attribute = mapping.attributeMappings.first { $0.name == property.property }
      let relationship = mapping.relationshipMappings.first { $0.name == property.property }
      return (attribute?.origin.attributeName ?? relationship?.sourceRelationshipName).map {
        Origin(entity: entity, property: $0)
      }
    }
  }

  private func declaring(_ origin: Origin) -> String {
    guard let entity = model.entity(name: origin.entity) else { return origin.entity }
    return model.lineage(of: entity).first { level in
      level.leafAttributes.contains { $0.name == origin.property }
        || level.relationships.contains { $0.name == origin.property }
    }?.name ?? origin.entity
  }
}

extension ModelValidation {
  /// Checks all rules, and distinguishes rules that objects broke before from new violations.
  ///
  /// - Parameters:
  ///   - source: the objects of the store that is migrated.
  ///   - mappings: those of each step, from the source on.
  ///   - keepsKey: whether objects of an entity have the keys of their source objects.
  static func violations(
    in context: ObjectContext, of entities: [Entity], since source: ObjectContext,
    mappings: [MappingModel], keepsKey: (String) -> Bool
  ) throws -> ViolationList {
    var all = ViolationList()
    var names: Set<String> = []
    try ModelValidation(context: context, entities: entities) {
      all.add($0)
      names.insert($0.entity)
    }.validate()
    let kept = names.filter(keepsKey)
    if kept.isEmpty { return all }
    let prior = try PriorViolations(source, mappings: mappings, becoming: kept)
    var result = ViolationList()
    try ModelValidation(context: context, entities: entities) { violation in
      if kept.contains(violation.entity), let place = prior.place(of: violation) {
        result.add(standing: violation.key, of: place)
      } else {
        result.add(violation)
      }
    }.validate()
    return result
  }
}
