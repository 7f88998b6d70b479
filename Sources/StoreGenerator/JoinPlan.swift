import ObjectModel
import Schema

/// The pairs of a many-to-many relationship, about two for each object.
///
/// Objects of the first end are placed on a ring in a shuffled order, lap after lap; the n-th
/// partner of each is the object n steps further on the ring, which is the second end in another
/// shuffled order. So no pair occurs twice, and step and lap give the ranks on the other side.
struct JoinPlan: Sendable {
  struct Pair {
    var first: Int64
    var second: Int64
    /// The rank of the first object among those of the second, and the reverse.
    var rankOfFirst: Int64
    var rankOfSecond: Int64
  }

  let table: JoinTable
  let first: Population
  let second: Population
  private let isReflexive: Bool
  private let least: (first: Int64, second: Int64)
  private let most: (first: Int64, second: Int64)
  /// Whether partners are whole laps apart, so that every second object gets one.
  private let covers: Bool
  private let partners: Int64
  private let salt: UInt64
  private let firstOrder: Permutation
  private let secondOrder: Permutation

  /// The most partners per object that a minimum enforces.
  private static let mostForced: Int64 = 64

  init?(table: JoinTable, linker: Linker) {
    let model = linker.schema.model
    let (a, b) = (table.first, table.second)
    guard let relationship = model.relationship(name: a.relationshipName, of: a.entityName),
      let other = model.relationship(name: b.relationshipName, of: b.entityName)
    else { return nil }
    self.table = table
    isReflexive = a.entityName == b.entityName && a.relationshipName == b.relationshipName
    first = linker.population(
      family: a.entityName, property: a.relationshipName, of: a.entityName,
      within: other.destinationEntityName)
    second = linker.population(
      family: b.entityName, property: b.relationshipName, of: b.entityName,
      within: relationship.destinationEntityName)
    least = (
      min(relationship.leastCount, Self.mostForced), min(other.leastCount, Self.mostForced)
    )
    most = (
      relationship.maxCount > 0 ? relationship.maxCount : .max,
      other.maxCount > 0 ? other.maxCount : .max
    )
    // Fewer first objects than second ones, which all need a partner.
    covers = least.second > 0 && first.count > 0 && first.count < second.count
    let wanted =
      covers
      ? (second.count + first.count - 1) / first.count
      : max(4, least.first, least.second)
    partners = min(wanted, second.count, most.first)
    salt = Mixing.salt(linker.seed, parts: a.entityName, a.relationshipName)
    firstOrder = Permutation(count: first.count, salt: Mixing.mix(salt, 1))
    secondOrder = Permutation(count: second.count, salt: Mixing.mix(salt, 2))
  }

  /// The pairs whose first object has this number.
  func forEachPair(of object: Int64, body: (Pair) throws -> Void) rethrows {
    guard first.count > 0, second.count > 0 else { return }
    if isReflexive { return try forEachReflexivePair(of: object, body: body) }
    let place = firstOrder.preimage(object)
    let lap = place / second.count
    let chance = Mixing.mix(salt, UInt64(bitPattern: object))
    let drawn = Int64(chance % 5)
    let stride = covers ? first.count : 1
    let own = covers ? partners : min(partners, max(drawn, least.first, least.second))
    for step in 0..<own {
      let rank = step + partners * lap
      guard rank < most.second else { continue }
      let target = (place % second.count + step * stride) % second.count
      try body(
        Pair(
          first: object, second: secondOrder.image(place: target), rankOfFirst: rank,
          rankOfSecond: (step + Int64(chance >> 33)) % partners))
    }
  }

  /// Pairs of neighbours on a ring of all objects, in both directions.
  private func forEachReflexivePair(
    of object: Int64, body: (Pair) throws -> Void
  ) rethrows {
    let count = first.count
    let place = firstOrder.preimage(object)
    let reach: Int64 = most.first < 4 ? 1 : 2
    for step in steps(to: reach) {
      for (isAhead, rank) in [(true, 2 * step - 2), (false, 2 * step - 1)] {
        let other = isAhead ? (place + step) % count : (place - step + count) % count
        let start = isAhead ? place : other
        guard hasEdge(from: start, step: step) else { continue }
        try body(
          Pair(
            first: object, second: firstOrder.image(place: other), rankOfFirst: rank ^ 1,
            rankOfSecond: rank))
      }
    }
  }

  /// Distances on the ring at which each object has two different neighbours.
  private func steps(to reach: Int64) -> ClosedRange<Int64> {
    1...max(1, min(reach, (first.count - 1) / 2))
  }

  private func hasEdge(from start: Int64, step: Int64) -> Bool {
    let count = first.count
    // Of one object or two, or with one partner each, only every second edge exists.
    if count <= 2 || most.first == 1 {
      guard start % 2 == 0, start + 1 < count else { return false }
    }
    if least.first > 0 { return step <= least.first }
    return Mixing.mix(salt, UInt64(bitPattern: start) &* 4 &+ UInt64(step)) % 2 == 0
  }
}

extension JoinPlan {
  var insertStatement: String {
    let names = table.columnNames
    return "INSERT INTO \(SQL.identifier(name: table.name)) "
      + "(\(names.map(SQL.identifier).joined(separator: ", "))) "
      + "VALUES (\(names.map { _ in "?" }.joined(separator: ", ")))"
  }
}
