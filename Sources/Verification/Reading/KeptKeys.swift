import Mapping
import ObjectModel
import Schema

/// The tables whose rows have the keys of their source objects.
struct KeptKeys {
  private let mappings: [EntityMapping]
  private let old: StoreSchema
  private let new: StoreSchema

  /// Takes all mappings that fill one store.
  init(_ mappings: [EntityMapping], old: StoreSchema, new: StoreSchema) {
    self.mappings = mappings
    (self.old, self.new) = (old, new)
  }

  /// The mappings that make objects of a table, new ones included.
  func makers(into table: String) -> [EntityMapping] {
    mappings.filter { mapping in
      mapping.destinationEntityName.flatMap { new.model.entity(name: $0) }
        .flatMap { new.table(of: $0) }?.name == table
    }
  }

  /// Whether each row of a table has the key of the one object of an entity that it comes from;
  /// new objects have keys above those.
  func keeps(_ table: String, from entity: Entity) -> Bool {
    let sharing = makers(into: table).filter { $0.newObjects == nil && $0.sourceEntityName != nil }
    let roots = Set(
      sharing.compactMap { $0.sourceEntityName.flatMap { old.model.entity(name: $0) } }
        .map { old.model.root(of: $0).name })
    return roots.count == 1
      && sharing.count { $0.sourceEntityName == entity.name } == 1
      && sharing.allSatisfy { $0.sourceExpression == nil || $0.filter != nil }
  }

  /// The table of what the only mapping of an entity and of its subentities makes of its objects,
  /// as an SQL identifier, where their keys stay and nothing else is in it.
  func single(from entity: Entity) -> String? {
    let makers = mappings.filter {
      $0.newObjects == nil && $0.destinationEntityName != nil
        && old.model.isKind($0.sourceEntityName, of: entity.name)
    }
    guard let first = makers.first, makers.count == 1, first.sourceEntityName == entity.name,
      let made = first.destinationEntityName.flatMap({ new.model.entity(name: $0) }),
      let table = new.table(of: made), keeps(table.name, from: entity),
      self.makers(into: table.name).count == 1
    else { return nil }
    return SQL.identifier(name: table.name)
  }
}
