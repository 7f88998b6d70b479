package import ObjectModel

/// The type that a column is declared with.
package enum DeclaredType: String, Hashable, Codable, Sendable {
  /// Integers, Booleans, keys, entity numbers and places: SQLite's INTEGER affinity.
  case integer = "INTEGER"
  /// Doubles and floats: REAL affinity, so SQLite gives whole numbers as reals.
  case float = "FLOAT"
  /// Dates, in seconds since 2001-01-01 UTC: NUMERIC affinity.
  case timestamp = "TIMESTAMP"
  /// Decimals: NUMERIC affinity, so a text of digits becomes a number.
  case decimal = "DECIMAL"
  /// Strings and URIs: TEXT affinity.
  case varchar = "VARCHAR"
  /// UUIDs, transformables and binary data: no affinity.
  case blob = "BLOB"

  /// The type that a column of that attribute type is declared with.
  package init(of type: AttributeType) {
    self =
      switch type {
      case .integer16, .integer32, .integer64, .boolean, .undefined, .objectID, .composite: .integer
      case .double, .float: .float
      case .date: .timestamp
      case .decimal: .decimal
      case .string, .uri: .varchar
      case .uuid, .transformable, .binary: .blob
      }
  }
}

/// One column of an entity's table.
package struct Column: Hashable, Codable, Sendable {
  /// What a column holds; entity and property are those that declare the property.
  package enum Role: Hashable, Codable, Sendable {
    /// `Z_PK`
    case primaryKey
    /// `Z_ENT`
    case entityNumber
    /// `Z_OPT`, which counts the saves of a row.
    case optimisticLock
    /// The value of an attribute.
    case attribute(entity: String, name: String)
    /// The key of a to-one relationship's object.
    case toOne(entity: String, name: String)
    /// The entity number of a to-one relationship's object, where its entity has subentities.
    case toOneEntity(entity: String, name: String)
    /// The place of this row among its siblings in the ordered inverse of a to-one relationship.
    case toOneOrder(entity: String, name: String)
    /// The key of the owner, on the rows of a to-many relationship that has no inverse.
    case owner(entity: String, name: String)
    /// The place of this row in an ordered to-many relationship that has no inverse.
    case ownerOrder(entity: String, name: String)
  }

  /// The name, in upper case as Core Data gives it: `ZTITLE`, `Z_FOK_AUTHOR`.
  package var name: String
  /// The type in the `CREATE TABLE` statement.
  package var type: DeclaredType
  /// What the column holds.
  package var role: Role

  /// Takes the final name: prefix, property, and a number where names would be alike.
  package init(name: String, type: DeclaredType, role: Role) {
    self.name = name
    self.type = type
    self.role = role
  }

  /// The key of the row, which every table of objects has first.
  package static let primaryKey = Self(name: "Z_PK", type: .integer, role: .primaryKey)
  /// The number of the row's entity, which may be a subentity of the table's.
  package static let entityNumber = Self(name: "Z_ENT", type: .integer, role: .entityNumber)
  /// The count of saves of the row.
  package static let optimisticLock = Self(name: "Z_OPT", type: .integer, role: .optimisticLock)
}
