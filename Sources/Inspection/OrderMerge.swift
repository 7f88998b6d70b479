import ObjectMigration
import Schema
import StoreFormat

/// Compares the order of an ordered relationship's objects in two stores, owner by owner.
///
/// Only the order of places matters, not what they are. Of each owner the members are digested as a
/// set and as a sequence, so that nothing is collected however many there are.
struct OrderMerge {
  /// Where a store keeps the members of an ordered relationship.
  struct Place {
    var table: String
    var owner: String
    var member: String
    var order: String
  }

  /// The entity of the owners, and the relationship.
  let entity: String
  let relationship: String

  /// Notes each owner of whose members the order alone differs.
  func compare(
    _ first: Place, of reader: ObjectReader, _ second: Place, of other: ObjectReader,
    into result: inout StoreDifferences
  ) throws {
    let one = try Members(first, reader: reader)
    let two = try Members(second, reader: other)
    defer {
      one.close()
      two.close()
    }
    var (a, b) = (try one.next(), try two.next())
    while let left = a, let right = b {
      if left.owner == right.owner {
        if left.set == right.set, left.sequence != right.sequence {
          result.note(.order, of: entity, key: left.owner, property: relationship)
        }
        (a, b) = (try one.next(), try two.next())
      } else if left.owner < right.owner {
        a = try one.next()
      } else {
        b = try two.next()
      }
    }
  }

  /// The members of each owner, in the order of owners.
  private final class Members {
    struct Digest {
      let owner: Int64
      var count: Int64 = 0
      var sum: UInt64 = 0
      var sequence: UInt64 = 0

      /// The same for the same members in any order.
      var set: [UInt64] { [UInt64(bitPattern: count), sum] }

      mutating func add(_ key: Int64) {
        let hash = RowDigest.integer(value: key)
        count += 1
        sum &+= hash
        RowDigest.mix(&sequence, value: hash)
      }
    }

    private let rows: PreparedStatement
    private var isAtRow: Bool

    init(_ place: Place, reader: ObjectReader) throws {
      let owner = SQL.identifier(name: place.owner)
      let order = [place.owner, place.order, place.member].map(SQL.identifier)
      rows = try reader.statements.statement(
        sql: """
          SELECT \(owner), \(SQL.identifier(name: place.member)) \
          FROM main.\(SQL.identifier(name: place.table)) WHERE typeof(\(owner)) = 'integer' \
          ORDER BY \(order.joined(separator: ", "))
          """)
      isAtRow = try rows.step()
    }

    func close() { rows.reset() }

    func next() throws -> Digest? {
      guard isAtRow else { return nil }
      var digest = Digest(owner: rows.integer(column: 0))
      repeat {
        digest.add(rows.integer(column: 1))
        isAtRow = try rows.step()
      } while isAtRow && rows.integer(column: 0) == digest.owner
      return digest
    }
  }
}
