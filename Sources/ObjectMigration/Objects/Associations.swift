import GRDB

/// Which source object became which destination object by which mapping.
///
/// Objects that keep their keys are kept as sets of keys, which are small; all others stand in a
/// table on disk.
final class Associations {
  struct Place: Hashable, Comparable {
    var table: Int64
    var key: Int64

    static func < (a: Self, b: Self) -> Bool { (a.table, a.key) < (b.table, b.key) }
  }

  struct Destination {
    var place: Place
    var number: Int64
  }

  typealias Pair = (source: Place, destination: Destination)

  /// The objects of one source table that kept their keys by one mapping as objects of one entity.
  private struct Kept {
    var mapping: Int64
    var sourceTable: Int64
    var destinationTable: Int64
    var number: Int64
    var keys: KeySet
  }

  private let statements: PreparedStatements
  var db: Database { statements.db }
  /// By mapping, then by tables, which is the order in which objects are found.
  private var kept: [Kept] = []
  private var lastKept = 0
  /// The mappings with pairs in the table, in their order.
  private var moved: [Int64] = []
  private var isIndexed = false
  /// Mappings that may have made one object of several.
  private var merging: Set<Int64> = []

  /// Makes the table in the attached file.
  init(statements: PreparedStatements) throws {
    self.statements = statements
    try db.execute(
      sql: """
        CREATE TABLE link.association (mapping INTEGER, source_table INTEGER, source INTEGER,
          destination_table INTEGER, destination INTEGER, destination_number INTEGER,
          PRIMARY KEY (mapping, source_table, source, destination_table, destination))
          WITHOUT ROWID
        """)
  }

  /// `isFirst` is true if this destination object has no other source object.
  func add(
    mapping: Int64, source: Place, destination: Place, number: Int64, isFirst: Bool
  ) throws {
    if !isFirst { merging.insert(mapping) }
    guard source.key != destination.key else {
      insert(mapping, source: source, destination: destination, number: number)
      return
    }
    if !moved.contains(mapping) {
      moved.append(mapping)
      moved.sort()
    }
    let statement = try statements.statement(
      sql: "INSERT OR IGNORE INTO link.association VALUES (?, ?, ?, ?, ?, ?)")
    statement.bind(
      all: [mapping, source.table, source.key, destination.table, destination.key, number])
    try statement.execute()
  }

  private func insert(_ mapping: Int64, source: Place, destination: Place, number: Int64) {
    func fits(_ set: Kept) -> Bool {
      set.mapping == mapping && set.sourceTable == source.table
        && set.destinationTable == destination.table && set.number == number
    }
    if kept.indices.contains(lastKept), fits(kept[lastKept]) {
      kept[lastKept].keys.insert(source.key)
      return
    }
    if let place = kept.firstIndex(where: fits) {
      lastKept = place
    } else {
      func order(set: Kept) -> [Int64] {
        [set.mapping, set.sourceTable, set.destinationTable, set.number]
      }
      let made = Kept(
        mapping: mapping, sourceTable: source.table, destinationTable: destination.table,
        number: number, keys: KeySet())
      lastKept =
        kept.firstIndex { order(set: made).lexicographicallyPrecedes(order(set: $0)) } ?? kept.count
      kept.insert(made, at: lastKept)
    }
    kept[lastKept].keys.insert(source.key)
  }

  // MARK: Looking up

  /// What a source object became, by one mapping or by any but those skipped, in the order of
  /// mappings and keys.
  func destinations(
    of source: Place, mapping: Int64?, skipping: Set<Int64> = []
  ) throws -> [Destination] {
    var found: [(mapping: Int64, destination: Destination)] = []
    for set in kept
    where set.sourceTable == source.table && (mapping == nil || set.mapping == mapping)
      && !skipping.contains(set.mapping) && set.keys.contains(source.key)
    {
      let place = Place(table: set.destinationTable, key: source.key)
      found.append((set.mapping, Destination(place: place, number: set.number)))
    }
    guard !moved.isEmpty else { return found.map(\.destination) }
    let before = found.count
    for other in moved
    where (mapping == nil || other == mapping) && !skipping.contains(other) {
      let statement = try statements.statement(
        sql: """
          SELECT destination_table, destination, destination_number FROM link.association
          WHERE mapping = ? AND source_table = ? AND source = ?
          ORDER BY destination_table, destination
          """)
      statement.bind(all: [other, source.table, source.key])
      while try statement.step() {
        let place = Place(table: statement.integer(column: 0), key: statement.integer(column: 1))
        found.append((other, Destination(place: place, number: statement.integer(column: 2))))
      }
    }
    if before > 0, found.count > before {
      found.sort { ($0.mapping, $0.destination.place) < ($1.mapping, $1.destination.place) }
    }
    return found.map(\.destination)
  }

  /// The same, one after the other.
  func forEachDestination(
    of source: Place, mapping: Int64?, skipping: Set<Int64> = [],
    body: (Destination) throws -> Void
  ) throws {
    guard moved.isEmpty else {
      let all = try destinations(of: source, mapping: mapping, skipping: skipping)
      for found in all { try body(found) }
      return
    }
    for set in kept
    where set.sourceTable == source.table && (mapping == nil || set.mapping == mapping)
      && !skipping.contains(set.mapping) && set.keys.contains(source.key)
    {
      let place = Place(table: set.destinationTable, key: source.key)
      try body(Destination(place: place, number: set.number))
    }
  }

  func sources(of destination: Place, mapping: Int64) throws -> [Place] {
    var found: [Place] = []
    for set in kept
    where set.mapping == mapping && set.destinationTable == destination.table
      && set.keys.contains(destination.key)
    {
      found.append(Place(table: set.sourceTable, key: destination.key))
    }
    guard moved.contains(mapping) else { return found }
    try makeIndex()
    let statement = try statements.statement(
      sql: """
        SELECT source_table, source FROM link.association
        WHERE mapping = ? AND destination_table = ? AND destination = ?
        """)
    statement.bind(all: [mapping, destination.table, destination.key])
    while try statement.step() {
      found.append(Place(table: statement.integer(column: 0), key: statement.integer(column: 1)))
    }
    return found.sorted()
  }

  /// The first source object of a destination object, in the order of tables and keys.
  func firstSource(of destination: Place, mapping: Int64) throws -> Place? {
    var first: Place?
    for set in kept
    where set.mapping == mapping && set.destinationTable == destination.table
      && set.keys.contains(destination.key)
    {
      let place = Place(table: set.sourceTable, key: destination.key)
      if first.map({ place < $0 }) ?? true { first = place }
    }
    guard moved.contains(mapping) else { return first }
    try makeIndex()
    let statement = try statements.statement(
      sql: """
        SELECT source_table, source FROM link.association
        WHERE mapping = ? AND destination_table = ? AND destination = ?
        ORDER BY source_table, source LIMIT 1
        """)
    statement.bind(all: [mapping, destination.table, destination.key])
    guard try statement.step() else { return first }
    defer { statement.reset() }
    let place = Place(table: statement.integer(column: 0), key: statement.integer(column: 1))
    return first.map { min($0, place) } ?? place
  }

  private func makeIndex() throws {
    if isIndexed { return }
    isIndexed = true
    try db.execute(
      sql: """
        CREATE INDEX link.by_destination
        ON association (mapping, destination_table, destination)
        """)
  }

  /// The pairs of a mapping behind a given one, in the order of the source keys.
  func pairs(
    mapping: Int64, after last: (source: Place, destination: Place)?, limit: Int
  ) throws -> [Pair] {
    var result: [Pair] = []
    for set in kept where set.mapping == mapping {
      let start = last.map { first(of: set, after: $0) } ?? .min
      guard let start else { continue }
      for key in set.keys.keys(from: start, most: limit) {
        let place = Place(table: set.destinationTable, key: key)
        result.append(
          (
            Place(table: set.sourceTable, key: key),
            Destination(place: place, number: set.number)
          ))
      }
    }
    let streams = kept.count { $0.mapping == mapping } + (moved.contains(mapping) ? 1 : 0)
    if moved.contains(mapping) {
      result += try movedPairs(mapping: mapping, after: last, limit: limit)
    }
    guard streams > 1 else { return result }
    result.sort { ($0.source, $0.destination.place) < ($1.source, $1.destination.place) }
    return Array(result.prefix(limit))
  }

  /// The first key of a set whose pair comes behind another; nil where none does.
  private func first(
    of set: Kept, after last: (source: Place, destination: Place)
  ) -> Int64? {
    if set.sourceTable != last.source.table {
      return set.sourceTable < last.source.table ? nil : .min
    }
    let own = Place(table: set.destinationTable, key: last.source.key)
    if last.destination < own { return last.source.key }
    return last.source.key == .max ? nil : last.source.key + 1
  }

  private func movedPairs(
    mapping: Int64, after last: (source: Place, destination: Place)?, limit: Int
  ) throws -> [Pair] {
    let statement = try statements.statement(
      sql: """
        SELECT source_table, source, destination_table, destination, destination_number
        FROM link.association WHERE mapping = ?
        AND (source_table, source, destination_table, destination) > (?, ?, ?, ?)
        ORDER BY source_table, source, destination_table, destination LIMIT ?
        """)
    let start = last.map {
      [$0.source.table, $0.source.key, $0.destination.table, $0.destination.key]
    }
    statement.bind(all: [mapping] + (start ?? [.min, .min, .min, .min]) + [Int64(limit)])
    var result: [Pair] = []
    while try statement.step() {
      let place = Place(table: statement.integer(column: 2), key: statement.integer(column: 3))
      result.append(
        (
          Place(table: statement.integer(column: 0), key: statement.integer(column: 1)),
          Destination(place: place, number: statement.integer(column: 4))
        ))
    }
    return result
  }

  /// Whether a mapping may have made one object of several.
  func mergesSources(mapping: Int64) -> Bool { merging.contains(mapping) }

  /// Whether some objects of a mapping have other keys than what they were made of.
  func hasMoved(mapping: Int64) -> Bool { moved.contains(mapping) }

  /// Whether an object has the key of what a mapping made it of.
  func isKept(_ destination: Place, mapping: Int64) -> Bool {
    kept.contains {
      $0.mapping == mapping && $0.destinationTable == destination.table
        && $0.keys.contains(destination.key)
    }
  }

  /// The source objects of a mapping whose keys stayed, by table, and how many objects they became.
  func keptAccounts(mapping: Int64) -> (sources: [Int64: KeySet], objects: Int64) {
    var sources: [Int64: KeySet] = [:]
    var objects: Int64 = 0
    for set in kept where set.mapping == mapping {
      objects += set.keys.count
      sources[set.sourceTable, default: KeySet()].formUnion(set.keys)
    }
    return (sources, objects)
  }

  /// Forgets everything, as between two mapping models of one step.
  func reset() throws {
    kept = []
    merging = []
    if !moved.isEmpty { try db.execute(sql: "DELETE FROM link.association") }
    moved = []
  }
}
