import Expressions
import ObjectModel

/// Which mappings may divide the rows of an entity among them, and put rows of several together.
extension RowCheck {
  /// Whether the rows of two mappings cannot be distinguished, or would have the same keys.
  func clashes(
    _ other: EntityMapping, with entityMapping: EntityMapping, old: Entity, new: Entity
  ) -> Bool {
    guard shares(other, old: old, new: new, name: entityMapping.name) else { return false }
    let isSplit = other.sourceEntityName == old.name
    if isSplit, other.destinationEntityName == new.name { return true }
    // A table cannot become two as it is.
    if isSplit { return !other.isFiltered || !entityMapping.isFiltered }
    return other.sourceEntityName.flatMap { source.entity(name: $0) }
      .map { source.root(of: $0).name != source.root(of: old).name } ?? true
  }

  /// Whether a mapping takes some objects of an entity only, or makes objects of one that another
  /// makes too.
  func divides(_ entityMapping: EntityMapping) -> Bool {
    guard let (old, new) = ends(of: entityMapping) else { return false }
    return entityMapping.isFiltered
      || mapping.entityMappings.contains {
        $0.name != entityMapping.name && $0.makesObjects
          && ($0.sourceEntityName == old.name && $0.destinationEntityName != nil
            || $0.destinationEntityName == new.name)
      }
  }

  /// The source entities from which several mappings make objects of one table.
  var exclusive: Set<String> {
    var found: Set<[String]> = []
    return Set(
      mapping.entityMappings.compactMap { entityMapping in
        guard let (old, new) = ends(of: entityMapping) else { return nil }
        return found.insert([old.name, destination.root(of: new).name]).inserted ? nil : old.name
      })
  }

  /// The mappings that fill the table of a destination entity.
  private func makers(inTableOf new: Entity) -> [EntityMapping] {
    mapping.entityMappings.filter { entityMapping in
      ends(of: entityMapping).map {
        destination.root(of: $0.new).name == destination.root(of: new).name
      } ?? false
    }
  }

  /// Whether the table of a destination entity has rows of a split or a merge within it.
  func isMixed(_ new: Entity) -> Bool {
    let makers = makers(inTableOf: new)
    return Set(makers.map(\.sourceEntityName)).count < makers.count
      || Set(makers.map(\.destinationEntityName)).count < makers.count
  }

  /// Whether all rows that a constraint compares have values that one constraint of the source
  /// compared.
  func isKept(_ constraint: [String], in new: Entity) -> Bool {
    let makers = makers(inTableOf: new).filter { entityMapping in
      ends(of: entityMapping).map { destination.lineage(of: $0.new) }?.contains {
        $0.uniquenessConstraints.contains(constraint)
      } ?? false
    }
    let origins = makers.map { entityMapping in
      constraint.map { name in entityMapping.attributeMappings.first { $0.name == name }?.origin }
    }
    guard let first = origins.first, origins.allSatisfy({ $0 == first }) else { return false }
    let names = first.compactMap { origin in
      if case .attribute(let name, .null)? = origin { name } else { nil }
    }
    guard names.count == constraint.count else { return false }
    let owners = makers.compactMap { ends(of: $0)?.old }.map { old in
      Set(
        source.lineage(of: old).filter { level in
          level.uniquenessConstraints.contains { Set($0) == Set(names) }
        }.map(\.name))
    }
    return owners.dropFirst().reduce(owners.first ?? []) { $0.intersection($1) }.isEmpty == false
      && makers.allSatisfy { entityMapping in
        ends(of: entityMapping).map {
          narrowings(entityMapping, old: $0.old, new: $0.new).isEmpty
        } ?? false
      }
  }
}
