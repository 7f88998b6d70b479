import ObjectMigration
import Schema

/// Compares the pairs of one many-to-many relationship in two stores, in the order of their keys.
struct PairMerge {
  private let first: JoinTable
  private let second: JoinTable
  private let readers: (first: ObjectReader, second: ObjectReader)
  /// Whether a place differs, of the objects of either end.
  private(set) var isMoved = (first: false, second: false)

  init(_ first: JoinTable, _ second: JoinTable, readers: (ObjectReader, ObjectReader)) {
    (self.first, self.second) = (first, second)
    self.readers = (readers.0, readers.1)
  }

  private static func pairs(
    of table: JoinTable, reader: ObjectReader
  ) throws -> PreparedStatement {
    let keys = [table.first.keyColumn, table.second.keyColumn].map(SQL.identifier)
    let places = [table.first.orderColumn, table.second.orderColumn].map {
      $0.map(SQL.identifier) ?? "NULL"
    }
    return try reader.statements.statement(
      sql: """
        SELECT \((keys + places).joined(separator: ", ")) \
        FROM main.\(SQL.identifier(name: table.name)) \
        WHERE typeof(\(keys[0])) = 'integer' AND typeof(\(keys[1])) = 'integer' \
        ORDER BY \(keys.joined(separator: ", "))
        """)
  }

  /// How many rows join nothing.
  static func countWithoutKeys(_ table: JoinTable, reader: ObjectReader) throws -> Int64 {
    let keys = [table.first.keyColumn, table.second.keyColumn].map(SQL.identifier)
    let statement = try reader.statements.statement(
      sql: """
        SELECT count(*) FROM main.\(SQL.identifier(name: table.name)) \
        WHERE typeof(\(keys[0])) <> 'integer' OR typeof(\(keys[1])) <> 'integer'
        """)
    defer { statement.reset() }
    return try statement.step() ? statement.integer(column: 0) : 0
  }

  private typealias Keys = (Int64, Int64)

  private static func next(_ pairs: PreparedStatement) throws -> Keys? {
    try pairs.step() ? (pairs.integer(column: 0), pairs.integer(column: 1)) : nil
  }

  /// Compares all pairs.
  mutating func comparePairs(into result: inout StoreDifferences) throws {
    let left = try Self.pairs(of: first, reader: readers.first)
    let right = try Self.pairs(of: second, reader: readers.second)
    defer {
      left.reset()
      right.reset()
    }
    var (one, other) = (try Self.next(left), try Self.next(right))
    while one != nil || other != nil {
      if let a = one, let b = other, a == b {
        isMoved.first = isMoved.first || !left.isSame(column: 2, as: right)
        isMoved.second = isMoved.second || !left.isSame(column: 3, as: right)
        (one, other) = (try Self.next(left), try Self.next(right))
      } else if let a = one, other.map({ a < $0 }) ?? true {
        let target = "\(first.second.entityName)/\(a.1)"
        result.note(
          .member, of: first.first.entityName, key: a.0, property: first.first.relationshipName
        ) { (target, nil) }
        one = try Self.next(left)
      } else if let b = other {
        let target = "\(second.second.entityName)/\(b.1)"
        result.note(
          .member, of: first.first.entityName, key: b.0, property: first.first.relationshipName
        ) { (nil, target) }
        other = try Self.next(right)
      }
    }
  }
}
