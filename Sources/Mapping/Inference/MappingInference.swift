import Expressions
package import ObjectModel

/// Infers what Core Data calls a lightweight mapping between two models.
///
/// Entities and properties are matched by renaming identifier, which is the own name where none is
/// set; where that leaves both sides unmatched, by name (docs/reference/migration.md, "Renaming").
package struct MappingInference {
  /// The inferred mapping model; of use only without `refusals`.
  package private(set) var mapping = MappingModel(entityMappings: [])
  /// All reasons in the models why the migration cannot be done.
  package private(set) var refusals: [Refusal] = []
  /// All demands on the objects of the store.
  package private(set) var conditions: [Condition] = []
  /// Demands that the source's own model makes as well, so that only a store that lacks an index
  /// breaks them.
  package private(set) var keptConstraints: [Condition] = []
  /// All that the destination has no place for.
  package var possibleLosses: [PossibleLoss] {
    Self.recentLosses.value(from: source, to: destination) {
      MappingLosses(models: [mapping], source: source, destination: destination).possible
    }
  }

  /// Demands on relationships that are mandatory now and were not, or not there.
  package var newMandatoryReferences: [Condition] {
    mapping.mandatoryReferences(from: source, to: destination).filter {
      $0.demand == .noMissingReferences(before: nil)
    }
  }

  private let source: ManagedObjectModel
  private let destination: ManagedObjectModel
  private let matched: RenamingMatch
  private var destinationNameBySource: [String: String] = [:]

  private static let recent = RecentPairs<MappingInference>()
  private static let recentLosses = RecentPairs<[PossibleLoss]>()

  /// Compares the models; neither is changed and nothing is read from a store.
  package init(from source: ManagedObjectModel, to destination: ManagedObjectModel) {
    self = Self.recent.value(from: source, to: destination) {
      MappingInference(comparing: source, with: destination)
    }
  }

  /// Keeps what is inferred while a body runs that infers each of many steps more than once.
  package static func keeping<Result>(_ body: () throws -> Result) rethrows -> Result {
    try recent.keeping(body)
  }

  private init(comparing source: ManagedObjectModel, with destination: ManagedObjectModel) {
    self.source = source
    self.destination = destination
    matched = RenamingMatch.entities(from: source, to: destination)
    for (destinationName, sourceName) in matched.sourceByDestination {
      destinationNameBySource[sourceName] = destinationName
    }
    for ambiguity in matched.ambiguities {
      refusals += ambiguity.destinations.map { Refusal(reason: .renaming(ambiguity), entity: $0) }
    }
    checkHierarchies()
    for entity in destination.entities {
      if let name = matched.sourceByDestination[entity.name],
        let sourceEntity = source.entity(name: name)
      {
        map(sourceEntity, to: entity)
      } else {
        mapping.entityMappings.append(
          EntityMapping(
            name: "IEM_Add_\(entity.name)", kind: .add, source: nil, destination: entity.name))
      }
    }
    for entity in source.entities where destinationNameBySource[entity.name] == nil {
      mapping.entityMappings.append(
        EntityMapping(
          name: "IEM_Remove_\(entity.name)", kind: .remove, source: entity.name, destination: nil))
    }
    refusals = refusals.uniqued()
  }

  /// Objects keep their keys, so two tables of the source cannot become one.
  private mutating func checkHierarchies() {
    for root in destination.roots {
      let family = destination.family(of: root.name)
      let sourceRoots = family.compactMap { matched.sourceByDestination[$0.name] }
        .compactMap { source.entity(name: $0) }.map { source.root(of: $0).name }.uniqued()
      if sourceRoots.count > 1 {
        refusals.append(
          Refusal(reason: .hierarchiesMerged(roots: sourceRoots.sorted()), entity: root.name))
      }
    }
  }

  private mutating func map(_ old: Entity, to new: Entity) {
    var entityMapping = EntityMapping(
      name: "IEM_Transform_\(new.name)", kind: .transform, source: old.name, destination: new.name)
    if !old.isAbstract && new.isAbstract {
      conditions.append(
        Condition(demand: .noObjectsOfAbstract, sourceEntity: old.name, destinationEntity: new.name)
      )
    }
    let properties = PropertyMatch(
      source: source, old: old, destination: destination, new: new, entities: matched)
    for ambiguity in properties.ambiguities {
      refusals += ambiguity.destinations.map {
        Refusal(
          reason: .renaming(ambiguity), entity: properties.declaringEntity(of: $0), property: $0)
      }
    }
    entityMapping.attributeMappings = mapAttributes(properties)
    entityMapping.relationshipMappings = mapRelationships(properties)
    noteConstraints(properties, entityMapping: entityMapping)
    mapping.entityMappings.append(entityMapping)
  }

  private mutating func mapAttributes(_ match: PropertyMatch) -> [PropertyMapping] {
    match.newAttributes.map { attribute in
      let declaring = match.declaringEntity(of: attribute.name)
      if match.changedKinds.contains(attribute.name) {
        refusals.append(
          Refusal(
            reason: .relationshipBecameAttribute, entity: declaring, property: attribute.name))
      }
      if let types = match.changedForms[attribute.name] {
        refusals.append(
          Refusal(
            reason: .incompatibleTypes(source: types.old.name, destination: types.new.name),
            entity: declaring, property: attribute.compositeOrOwnName))
      }
      guard let old = match.oldAttribute(for: attribute.name) else {
        return added(attribute, match: match)
      }
      return continued(old, as: attribute, match: match, declaring: declaring)
    }
  }

  private mutating func added(_ attribute: Attribute, match: PropertyMatch) -> PropertyMapping {
    if attribute.derivation != nil {
      refuseOpenDerivation(attribute, declaring: match.declaringEntity(of: attribute.name))
    } else if let form = attribute.unreadDefault {
      if !match.old.isAbstract {
        conditions.append(
          match.condition(demand: .noObjectsForDefault(form), property: attribute.name))
      }
    } else if !attribute.isOptional && attribute.defaultValue == .null && !match.old.isAbstract {
      conditions.append(
        match.condition(
          demand: .noObjects(missing: attribute.name, isUnique: isUnique(attribute, in: match.new)),
          property: attribute.name))
    }
    return PropertyMapping(
      name: attribute.name,
      valueExpression: attribute.defaultValue == .null ? nil : .constant(attribute.defaultValue))
  }

  /// Whether no two objects of an entity may have the same value in an attribute.
  private func isUnique(_ attribute: Attribute, in entity: Entity) -> Bool {
    destination.lineage(of: entity).flatMap(\.uniquenessConstraints).contains([attribute.name])
  }

  /// Refuses a derived attribute whose values only Core Data can compute.
  private mutating func refuseOpenDerivation(_ attribute: Attribute, declaring: String) {
    if let entity = destination.entity(name: declaring),
      let form = destination.derivationForm(of: attribute, in: entity),
      destination.knowsTriggers(of: form, in: entity)
    {
      return
    }
    refusals.append(
      Refusal(
        reason: .derivationCannotBeComputed, entity: declaring, property: attribute.name))
  }

  private mutating func continued(
    _ old: Attribute, as new: Attribute, match: PropertyMatch, declaring: String
  ) -> PropertyMapping {
    if let derivation = new.derivation, !derivation.isSame(as: old.derivation) {
      // What it held is no part of what is computed.
      refuseOpenDerivation(new, declaring: declaring)
      return PropertyMapping(name: new.name, valueExpression: nil)
    }
    if old.type != new.type {
      if !(old.type.isNumeric && new.type.isNumeric) {
        refusals.append(
          Refusal(
            reason: .incompatibleTypes(source: old.type.name, destination: new.type.name),
            entity: declaring, property: new.name))
      } else if old.type.canOverflow(as: new.type) && !match.old.isAbstract {
        conditions.append(
          match.condition(
            demand: .valuesFit(attribute: old.name, type: new.type.name), property: new.name))
      }
    }
    var replacement = AttributeValue.null
    if old.isOptional && !new.isOptional {
      replacement = new.defaultValue
      if replacement == .null && !match.old.isAbstract {
        conditions.append(
          match.condition(
            demand: .noMissingValues(attribute: old.name, isUnique: isUnique(new, in: match.new)),
            property: new.name))
      }
    }
    var result = PropertyMapping(
      name: new.name, valueExpression: .source(name: old.name, replacingNull: replacement))
    result.readsElement = old.isElement
    return result
  }

  private mutating func mapRelationships(_ match: PropertyMatch) -> [PropertyMapping] {
    match.newRelationships.map { relationship in
      let declaring = match.declaringEntity(of: relationship.name)
      if match.changedKinds.contains(relationship.name) {
        refusals.append(
          Refusal(
            reason: .attributeBecameRelationship, entity: declaring, property: relationship.name))
      }
      guard let old = match.oldRelationship(for: relationship.name) else {
        return PropertyMapping(name: relationship.name, valueExpression: nil)
      }
      if !leadsOn(from: old, to: relationship) {
        refusals.append(
          Refusal(
            reason: .destinationEntityChanged(
              source: old.destinationEntityName,
              destination: relationship.destinationEntityName),
            entity: declaring, property: relationship.name))
      }
      // The two ends of the old one may hold different objects; the new one has a single set.
      if destination.isOwnInverse(relationship, of: match.new),
        !source.isOwnInverse(old, of: match.old)
      {
        refusals.append(
          Refusal(reason: .relationshipForm, entity: declaring, property: relationship.name))
      }
      noteShared(old, new: relationship, match: match)
      return PropertyMapping(
        name: relationship.name, valueExpression: .destinations(ofRelationship: old.name))
    }
  }

  /// Whether a relationship leads to what the old one led to, or to an ancestor of that.
  private func leadsOn(from old: Relationship, to new: Relationship) -> Bool {
    destination.isKind(
      destinationNameBySource[old.destinationEntityName], of: new.destinationEntityName)
  }

  /// Demands that no objects share one which may have a single owner, and that a to-one has one.
  private mutating func noteShared(
    _ old: Relationship, new: Relationship, match: PropertyMatch
  ) {
    guard !match.old.isAbstract else { return }
    func demand(_ demand: Condition.Demand) {
      conditions.append(match.condition(demand: demand, property: new.name))
    }
    if old.isToMany, !new.isToMany { demand(.singleObject(relationship: old.name)) }
    let inverse = destination.inverse(of: new)
    if inverse?.isToMany == true { return }
    // Any number of objects may hold a reference to one that has no inverse.
    if inverse == nil, !new.isToMany { return }
    let isShared =
      old.isToMany ? source.inverse(of: old)?.isToMany == true : new.isToMany
    if isShared, !isCounted(fromInverseOf: new, old: old) {
      demand(.singleOwner(relationship: old.name))
    }
  }

  /// Whether the inverse of a relationship was to-many, is to-one, and continues: the condition on
  /// its objects is part of the inverse.
  private func isCounted(fromInverseOf new: Relationship, old: Relationship) -> Bool {
    guard let (newOwner, inverse) = destination.inverseWithOwner(of: new), !inverse.isToMany,
      let (_, oldInverse) = source.inverseWithOwner(of: old), oldInverse.isToMany,
      let oldOwner = matched.sourceByDestination[newOwner.name].flatMap({ source.entity(name: $0) })
    else { return false }
    let match = PropertyMatch(
      source: source, old: oldOwner, destination: destination, new: newOwner, entities: matched)
    return match.oldRelationship(for: inverse.name)?.name == oldInverse.name
  }

  /// A constraint that the source did not have may be violated by its objects; one that it had
  /// too, once values are no longer what they were.
  private mutating func noteConstraints(_ match: PropertyMatch, entityMapping: EntityMapping) {
    guard !match.old.isAbstract else { return }
    let before = Set(source.lineage(of: match.old).flatMap(\.uniquenessConstraints).map(Set.init))
    for constraint in destination.lineage(of: match.new).flatMap(\.uniquenessConstraints) {
      let sources = Set(
        constraint.map {
          match.oldAttribute(for: $0)?.name ?? match.oldRelationship(for: $0)?.name ?? ""
        })
      let condition = match.condition(demand: .unique(properties: constraint), property: nil)
      if !before.contains(sources) || constraint.contains(where: match.mayAlign) {
        conditions.append(condition)
      } else {
        keptConstraints.append(condition)
      }
    }
  }
}

extension Array where Element: Hashable {
  /// The elements without repetition, in the order of their first appearance.
  fileprivate func uniqued() -> [Element] {
    var seen: Set<Element> = []
    return filter { seen.insert($0).inserted }
  }
}
