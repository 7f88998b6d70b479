package import ObjectModel

/// One table of an export: a file of rows, or a table of the exported database.
package struct ExportTable: Hashable, Sendable {
  /// The kinds of rows.
  package enum Contents: String, Hashable, Codable, Sendable {
    /// The objects of one entity, without those of its subentities.
    case objects
    /// The pairs of a to-many relationship.
    case pairs
    /// Rows of a table that no entity of the model explains, under the names of the store.
    case rows
  }

  /// The name of the entity, `Entity.relationship` for pairs, or the name of the store's table.
  package var name: String
  /// The kind of its rows.
  package var contents: Contents
  /// Its columns, in order.
  package var columns: [ExportColumn]
  /// Whether the names and types are guessed from the store's tables.
  package var isGuessed: Bool
}

/// One column of an export.
package struct ExportColumn: Hashable, Sendable {
  /// The kinds of values in a column.
  package enum Kind: Hashable, Sendable {
    /// The key of the row's object (`Z_PK`).
    case key
    /// The key of another object (`Z_PK`).
    case reference
    /// The name of an entity.
    case entity
    /// A sort key: the place of an object in an ordered relationship.
    case order
    /// The value of an attribute.
    case attribute(AttributeType)
  }

  /// The name of the property, or one with a leading underscore for what is no property.
  package var name: String
  /// The kind of its values.
  package var kind: Kind
  /// The entity whose objects a reference leads to.
  package var destination: String?

  /// The kind in one word, for readers of the manifest.
  package var typeName: String {
    switch kind {
    case .key: "Key"
    case .reference: "Reference"
    case .entity: "Entity"
    case .order: "Order"
    case .attribute(let type): type.name
    }
  }
}

/// A query over one table of the store that fills tables of the export.
struct ExportScan: Sendable {
  /// How the values of one column of the export are made from a row of the query.
  struct Source: Hashable, Sendable {
    /// The conversions of values.
    enum Conversion: Hashable, Sendable {
      /// The value as it is.
      case plain
      case boolean, decimal, date, text, uuid
      /// The name of the entity with that number.
      case entityName
      /// Bytes in the row, or in a file if `isExternal`; the next column has their count where they
      /// are too long for the query to return.
      case bytes(column: String, isExternal: Bool)
    }

    /// The place among the columns of the query.
    var index: Int
    var conversion: Conversion
    /// The name of the folder for values that become files.
    var folder = ""
  }

  /// A table to fill, with the sources of its columns.
  struct Output: Sendable {
    var table: ExportTable
    var sources: [Source]
    /// Whether the table is part of the export without rows too.
    var isRequired: Bool
  }

  /// The table that is read.
  var table: String
  /// The SQL: its first column is the row's key, its second the entity number.
  var sql: String
  /// The tables to fill, by entity number.
  var outputs: [Int64: Output] = [:]
  /// The numbers of all entities of the table, also of those that are not exported.
  var entityNumbers: [Int64] = []
  /// The table for rows of any other number; without one, they are counted.
  var other: Output?
}
