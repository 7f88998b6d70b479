package import Mapping
import ObjectModel
package import Schema

/// Where a store keeps the references of a relationship.
package enum ReferenceSource: Sendable {
  /// In a column of a table, next to one with the entity number of the object in some.
  case column(EntityTable, key: String, number: String?)
  /// In the rows of a join table.
  case pairs(JoinTable)
}

extension StoreSchema {
  /// The references of relationships that may lose some, in the order of the tables.
  ///
  /// - Parameter hasObjects: whether the store has objects of an entity.
  package func references(
    _ fates: ReferenceFates, hasObjects: (String) -> Bool = { _ in true }
  ) -> [(place: ReferenceFates.Place, source: ReferenceSource)] {
    var found: [(ReferenceFates.Place, ReferenceSource)] = []
    for table in tables {
      for column in table.columns {
        let form: ReferenceFates.Form
        let (entity, name): (String, String)
        switch column.role {
        case .toOne(let owner, let property): (form, entity, name) = (.toOne, owner, property)
        case .owner(let owner, let property): (form, entity, name) = (.owner, owner, property)
        default: continue
        }
        guard let relationship = model.relationship(name: name, of: entity),
          let place = fates.place(
            of: relationship, declaredBy: entity, form: form, hasObjects: hasObjects)
        else { continue }
        let number = table.column(role: .toOneEntity(entity: entity, name: name))?.name
        found.append((place, .column(table, key: column.name, number: number)))
      }
    }
    for join in joinTables {
      guard
        let relationship = model.relationship(
          name: join.first.relationshipName, of: join.first.entityName),
        let place = fates.place(
          of: relationship, declaredBy: join.first.entityName, form: .pair, hasObjects: hasObjects)
      else { continue }
      found.append((place, .pairs(join)))
    }
    return found
  }
}
