import GRDB
import Schema

/// Gives places in ordered relationships the numbers that Core Data gives them.
struct PlaceNumbering {
  let schema: StoreSchema
  let db: Database

  func number() throws {
    for table in schema.tables {
      for (owner, order) in pairs(table: table) {
        try number(table: table.name, owner: owner, order: order, key: "Z_PK")
      }
    }
    for join in schema.joinTables {
      if let order = join.second.orderColumn {
        try number(
          table: join.name, owner: join.first.keyColumn, order: order,
          key: SQL.identifier(name: join.second.keyColumn))
      }
      if let order = join.first.orderColumn {
        try number(
          table: join.name, owner: join.second.keyColumn, order: order,
          key: SQL.identifier(name: join.first.keyColumn))
      }
    }
  }

  private func pairs(table: EntityTable) -> [(String, String)] {
    table.columns.compactMap { column in
      switch column.role {
      case .toOneOrder(let entity, let name):
        table.column(role: .toOne(entity: entity, name: name)).map { ($0.name, column.name) }
      case .ownerOrder(let entity, let name):
        table.column(role: .owner(entity: entity, name: name)).map { ($0.name, column.name) }
      default: nil
      }
    }
  }

  /// From 2048 in steps of 1024, per owner (docs/reference/store-format.md, "Entity tables").
  private func number(
    table: String, owner: String, order: String, key: String
  ) throws {
    let table = "main.\(SQL.identifier(name: table))"
    let (owner, order) = (SQL.identifier(name: owner), SQL.identifier(name: order))
    let bare = table.dropFirst("main.".count)
    try db.execute(
      sql: """
        UPDATE \(table) SET \(order) = n.place FROM (
          SELECT rowid AS row, 1024 + 1024 * row_number() OVER (
            PARTITION BY \(owner) ORDER BY \(order), \(key)) AS place
          FROM \(table) WHERE \(owner) IS NOT NULL
        ) AS n WHERE n.row = \(bare).rowid
        """)
  }
}
