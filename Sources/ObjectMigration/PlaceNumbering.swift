import GRDB
import Schema

/// Gives places in ordered relationships the numbers that Core Data gives them.
struct PlaceNumbering {
  let schema: StoreSchema
  let db: Database

  func run() throws {
    for table in schema.tables {
      for (owner, order) in pairs(table) { try number(table.name, owner, order, "Z_PK") }
    }
    for join in schema.joinTables {
      if let order = join.second.orderColumn {
        try number(join.name, join.first.keyColumn, order, SQL.identifier(join.second.keyColumn))
      }
      if let order = join.first.orderColumn {
        try number(join.name, join.second.keyColumn, order, SQL.identifier(join.first.keyColumn))
      }
    }
  }

  private func pairs(_ table: EntityTable) -> [(String, String)] {
    table.columns.compactMap { column in
      switch column.role {
      case .toOneOrder(let entity, let name):
        table.column(.toOne(entity: entity, name: name)).map { ($0.name, column.name) }
      case .ownerOrder(let entity, let name):
        table.column(.owner(entity: entity, name: name)).map { ($0.name, column.name) }
      default: nil
      }
    }
  }

  /// From 2048 in steps of 1024, per owner (docs/store-format.md, "Entity tables").
  private func number(
    _ table: String, _ owner: String, _ order: String, _ key: String
  ) throws {
    let table = "main.\(SQL.identifier(table))"
    let (owner, order) = (SQL.identifier(owner), SQL.identifier(order))
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
