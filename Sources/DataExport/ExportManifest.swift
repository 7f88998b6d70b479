/// What an export consists of: the file `export.json` in its folder.
package struct ExportManifest: Hashable, Codable, Sendable {
  /// A table of the export.
  package struct Table: Hashable, Codable, Sendable {
    /// The entity, `Entity.relationship` for pairs, or a table of the store.
    package var name: String
    /// The file; nil where the table is one of the exported database.
    package var file: String?
    /// The name of the table in the exported database; nil for a file.
    package var table: String?
    /// The kind of its rows.
    package var contents: ExportTable.Contents
    /// Whether its names and types are guessed from the store's tables.
    package var isGuessed: Bool
    /// How many rows it has.
    package var rows: Int64
    /// Its columns, in order.
    package var columns: [Column]
  }

  /// A column of a table.
  package struct Column: Hashable, Codable, Sendable {
    /// The name, such as `title`, `author`, `author._entity`.
    package var name: String
    /// `Key`, `Reference`, `Entity`, `Order`, or the type of the attribute.
    package var type: String
    /// The entity whose objects a reference leads to; nil for other columns.
    package var destination: String?
    /// How many values the type cannot have; they are exported as the store has them.
    package var irregularValues: Int64
  }

  /// The tables, in the order of the store.
  package var tables: [Table] = []
  /// How many files hold a value each.
  package var valueFiles: Int64 = 0
  /// Files of values that the store names and that are missing, or cannot be read; at most 100.
  package var missingFiles: [String] = []
  /// How many such files there are.
  package var missingFileCount: Int64 = 0
}
