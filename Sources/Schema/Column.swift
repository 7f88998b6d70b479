/// The type that a column is declared with.
package enum DeclaredType: String, Hashable, Codable, Sendable {
  case integer = "INTEGER"
  case float = "FLOAT"
  case timestamp = "TIMESTAMP"
  case decimal = "DECIMAL"
  case varchar = "VARCHAR"
  case blob = "BLOB"
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

  package var name: String
  package var type: DeclaredType
  package var role: Role

  package init(name: String, type: DeclaredType, role: Role) {
    self.name = name
    self.type = type
    self.role = role
  }

  package static let primaryKey = Self(name: "Z_PK", type: .integer, role: .primaryKey)
  package static let entityNumber = Self(name: "Z_ENT", type: .integer, role: .entityNumber)
  package static let optimisticLock = Self(name: "Z_OPT", type: .integer, role: .optimisticLock)
}
