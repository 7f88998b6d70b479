package import ObjectModel
import Schema

extension StoreContents {
  /// How many objects of an entity and its subentities have a value in an attribute or a to-one
  /// relationship that the entity declares; nil for any other property.
  package func valueCount(of property: String, declaredBy entity: Entity) throws -> Int64? {
    guard let table = schema.table(of: entity) else { return nil }
    let roles: [Column.Role] = [
      .attribute(entity: entity.name, name: property), .toOne(entity: entity.name, name: property),
    ]
    guard let column = roles.lazy.compactMap({ table.column(role: $0) }).first else { return nil }
    let numbers = schema.model.family(of: entity.name).compactMap { schema.numbers[$0.name] }
    return try number(
      sql: """
        SELECT count(\(SQL.identifier(name: column.name))) \
        FROM \(SQL.identifier(name: table.name)) NOT INDEXED \
        WHERE Z_ENT IN (\(numbers.map { "\($0.rawValue)" }.joined(separator: ", ")))
        """)
  }

  /// Whether all texts of an attribute satisfy a test, which is called with up to 1,000 characters
  /// of each.
  package func hasOnlyTexts(
    of property: String, declaredBy entity: Entity, where test: (String) -> Bool
  ) throws -> Bool {
    guard let table = schema.table(of: entity),
      let column = table.column(role: .attribute(entity: entity.name, name: property))
    else { return true }
    let name = SQL.identifier(name: column.name)
    return try hasOnlyTexts(
      sql: """
        SELECT substr(\(name), 1, 1000) FROM \(SQL.identifier(name: table.name)) NOT INDEXED
        WHERE typeof(\(name)) = 'text'
        """, where: test)
  }
}
