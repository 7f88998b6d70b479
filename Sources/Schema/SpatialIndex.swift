import ObjectModel

/// An R-tree over the coordinates of an entity's objects, which three triggers keep
/// (docs/reference/store-format.md, "R-trees").
package struct SpatialIndex: Hashable, Codable, Sendable {
  /// The name of the virtual table.
  package var name: String
  /// The table whose rows it has, each with a point.
  package var table: String

  /// The columns of the only form that real stores show.
  private static let columns = ["ZLATITUDE", "ZLONGITUDE"]
  /// The columns of a row, in the order of the virtual table's.
  private static let bounds = columns.flatMap { ["\($0)_MIN", "\($0)_MAX"] }

  /// Whether the coordinates of an entity lie in the columns that the known form names.
  fileprivate static func isKnown(
    _ coordinates: [String], of entity: Entity, in table: EntityTable
  ) -> Bool {
    coordinates.map { table.column(role: .attribute(entity: entity.name, name: $0))?.name }
      == columns
  }

  /// The tables in which SQLite keeps the tree.
  package var shadowTables: [String] { ["rowid", "node", "parent"].map { "\(name)_\($0)" } }

  /// The `CREATE VIRTUAL TABLE` statement as Core Data writes it.
  package var createStatement: String {
    let list = Self.bounds.map { ", \($0) FLOAT" }.joined()
    return "CREATE VIRTUAL TABLE \(SQL.identifier(name: name)) USING RTREE "
      + "(Z_PK INTEGER PRIMARY KEY\(list))"
  }

  /// Fills the tree from the rows of its table.
  package var fillStatement: String {
    let values = Self.columns.map { ", \($0), \($0)" }.joined()
    return "INSERT INTO \(SQL.identifier(name: name)) SELECT Z_PK\(values) "
      + "FROM \(SQL.identifier(name: table)) NOT INDEXED ORDER BY Z_PK"
  }

  /// A query of the keys whose rows have no point in the tree, or one elsewhere.
  package var strayKeys: String {
    let tree = SQL.identifier(name: name)
    // Bounds are the numbers of 32 bits around the coordinates, as far as there are any.
    let outside = Self.columns.map { (column: String) -> String in
      let value = "coalesce(CAST(t.\(column) AS REAL), 0)"
      return "(abs(\(value)) < 3.4e38 AND (r.\(column)_MIN > \(value) + 1e-37 "
        + "OR r.\(column)_MAX < \(value) - 1e-37)) "
        + "OR (\(value) >= 3.4e38 AND r.\(column)_MAX < 3.4e38) "
        + "OR (\(value) <= -3.4e38 AND r.\(column)_MIN > -3.4e38)"
    }.joined(separator: " OR ")
    return """
      SELECT t.Z_PK FROM \(SQL.identifier(name: table)) AS t LEFT JOIN \(tree) AS r ON r.Z_PK = t.Z_PK
      WHERE r.Z_PK IS NULL OR \(outside)
      UNION ALL SELECT r.Z_PK FROM \(tree) AS r
      WHERE NOT EXISTS (SELECT 1 FROM \(SQL.identifier(name: table)) AS t WHERE t.Z_PK = r.Z_PK)
      """
  }

  /// The triggers that keep the tree, in the order of a store.
  package var triggers: [Trigger] {
    let tree = SQL.identifier(name: name)
    // Core Data's own spacing.
    let values = Self.columns.enumerated().map { place, column in
      "NEW.\(column)\(place == 0 ? " ," : ", ")NEW.\(column)"
    }.joined(separator: ", ")
    let row =
      "\(tree) (Z_PK, \(Self.bounds.joined(separator: ", "))) VALUES (NEW.Z_PK, \(values)) ; "
    return [
      Trigger(
        name: "\(name)_INSERT", event: "INSERT", table: table,
        body: "INSERT OR REPLACE INTO \(row)"),
      Trigger(
        name: "\(name)_UPDATE", event: "UPDATE", table: table,
        body: "DELETE FROM \(tree) WHERE Z_PK = NEW.Z_PK ; INSERT INTO \(row)"),
      Trigger(
        name: "\(name)_DELETE", event: "DELETE", table: table,
        body: "DELETE FROM \(tree) WHERE Z_PK = OLD.Z_PK ; "),
    ]
  }
}

extension StoreSchema {
  /// The R-trees that a model requires, and those of unknown forms.
  static func spatialIndexes(
    in model: ManagedObjectModel, numbers: EntityNumbers, tables: [EntityTable]
  ) -> ([SpatialIndex], [Omission]) {
    var found: [SpatialIndex] = []
    var omissions: [Omission] = []
    for table in tables {
      for entity in table.entityNames.compactMap({ model.entity(name: $0) }) {
        for attribute in entity.attributes.sorted(by: { $0.name < $1.name }) {
          guard let coordinates = attribute.coordinates else { continue }
          if attribute.isTransient, SpatialIndex.isKnown(coordinates, of: entity, in: table) {
            found.append(
              SpatialIndex(name: "Z_RT_\(entity.name)_\(attribute.name)", table: table.name))
          } else {
            omissions.append(
              .init(
                entity: entity.name, index: attribute.name,
                reason: "an R-tree of an unknown form"))
          }
        }
      }
    }
    return (found, omissions)
  }
}
