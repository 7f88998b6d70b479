import Expressions
package import ObjectModel

/// What of a mapping model expressions and policies compute object by object, each by itself, so
/// that any range of rows can be migrated without the others.
package struct RowCalls: Hashable, Sendable {
  private let mapping: MappingModel
  /// All demands on the objects of the store, besides the rules of the destination model.
  package let conditions: [Condition]
  /// What the mapping model leaves behind.
  package let losses: MappingLosses
  /// Source entities of whose objects no two mappings may take one: what they make is in one table,
  /// where each keeps its key.
  package let exclusive: Set<String>

  /// Throws the first reason to fall back; policies are independent where they declare it.
  ///
  /// - Parameters:
  ///   - allowsFilters: whether mappings may choose among objects.
  ///   - validates: whether an object without a mandatory value ends the migration.
  package init(
    mapping: MappingModel, source: ManagedObjectModel, destination: ManagedObjectModel,
    independentPolicies: Set<String>, allowsFilters: Bool, validates: Bool = true
  ) throws(RowFallback) {
    self.mapping = mapping
    let check = RowCheck(
      mapping: mapping, source: source, destination: destination,
      independentPolicies: independentPolicies, validates: validates)
    if !allowsFilters, let divided = mapping.entityMappings.first(where: check.divides) {
      throw .init(reason: .watched, mapping: divided.name)
    }
    var conditions: [Condition] = []
    for entityMapping in mapping.entityMappings {
      conditions += try check.conditions(of: entityMapping)
    }
    self.conditions = conditions
    exclusive = check.exclusive
    isDivided = mapping.entityMappings.contains(where: check.divides)
    losses = MappingLosses(models: [mapping], source: source, destination: destination)
  }

  /// Whether mappings choose among objects by filters.
  package var isFiltered: Bool { mapping.entityMappings.contains(where: \.isFiltered) }
  /// Whether entities are filtered, split or merged, so that the entity number alone does not
  /// determine the result or the origin of a row.
  package let isDivided: Bool

  /// Whether nothing is computed: values are copied, converted or constant.
  package var isEmpty: Bool {
    mapping.entityMappings.allSatisfy { entityMapping in
      entityMapping.ownPolicyClassName == nil
        && entityMapping.attributeMappings.allSatisfy { !$0.isComputed }
    }
  }

  /// The place of the entity mapping if it computes the attribute.
  package func mapping(of attribute: String, in entityMapping: EntityMapping) -> Int? {
    let isComputed = entityMapping.attributeMappings.contains {
      $0.name == attribute && $0.isComputed
    }
    guard isComputed || entityMapping.ownPolicyClassName != nil else { return nil }
    return mapping.entityMappings.firstIndex { $0.name == entityMapping.name }
  }
}

extension PropertyMapping {
  /// Whether its value is none of the plain forms.
  package var isComputed: Bool { if case .computed = origin { true } else { false } }
}

/// The conditions of mapping models that run object by object, as far as the rows of the store show
/// them beforehand.
package struct PlainDemands: Hashable, Sendable {
  /// The mappings of all models.
  package let mapping: MappingModel
  /// The demands.
  package private(set) var conditions: [Condition] = []
  /// The mappings whose objects have to satisfy each of them.
  package private(set) var takers: [Condition: [EntityMapping]] = [:]
  /// Values that the types of such mappings may change.
  package private(set) var conversions: [PossibleLoss] = []

  /// Checks each entity mapping without a policy that makes an object of each that it takes.
  package init(
    models: [MappingModel], source: ManagedObjectModel, destination: ManagedObjectModel,
    validates: Bool
  ) {
    mapping = MappingModel(entityMappings: models.flatMap(\.entityMappings))
    let check = RowCheck(
      mapping: mapping, source: source, destination: destination, independentPolicies: [],
      validates: validates)
    let losses = MappingLosses(models: models, source: source, destination: destination)
    for entityMapping in mapping.entityMappings where check.makesOneOfEach(entityMapping) {
      // Two mappings may make the same of one entity.
      for condition in check.plainConditions(of: entityMapping) {
        if takers[condition] == nil { conditions.append(condition) }
        takers[condition, default: []].append(entityMapping)
      }
      conversions += losses.possible.filter { loss in
        if case .conversion = loss.kind {
          loss.entity == entityMapping.sourceEntityName && !conversions.contains(loss)
        } else {
          false
        }
      }
    }
  }
}
