import Schema

/// How much persistent history a store has.
package struct HistorySize: Hashable, Sendable {
  /// The transactions; without any, there are the tables and no rows.
  package var transactions: Int64
  /// The changes of all transactions together.
  package var changes: Int64

  /// The most of each, as many as keys of 32 bits.
  package static let maximum: Int64 = 1 << 31

  /// The default number of changes per transaction.
  private static let usual: Int64 = 8

  /// Takes the number of transactions, that of changes, or both; nil without any of the two.
  package init?(transactions: Int64?, changes: Int64?) {
    guard let some = transactions ?? changes else { return nil }
    let inRange = min(max(some, -1), Self.maximum)
    self.transactions = transactions ?? (inRange + Self.usual - 1) / Self.usual
    self.changes = changes ?? min(inRange * Self.usual, Self.maximum)
  }

  /// Whether a store can have so much: changes need a transaction.
  var isPossible: Bool {
    (0...Self.maximum).contains(transactions) && (0...Self.maximum).contains(changes)
      && (changes == 0 || transactions > 0)
  }
}

/// The changes of objects per transaction, computed on demand.
///
/// Objects take turns, in one order that is repeated round by round: an object is inserted in the
/// first round if at all, and what is gone in the end is deleted in the last. A round is never
/// shorter than a transaction, so that each of these changes an object once.
struct HistoryPlan: Sendable {
  /// What happened to an object, as in `ZCHANGETYPE`.
  enum Kind: Int64 { case insert, update, delete }

  struct Change {
    var kind: Kind
    /// The index of the object's entity among the concrete ones.
    var entity: Int
    var key: Int64
  }

  let size: HistorySize
  let salt: UInt64
  private let allocation: KeyAllocation
  /// The first of the tables' objects in one numbering of all, by table.
  private let starts: [Int64]
  /// The index of a concrete entity, by table and slot.
  private let entities: [[Int]]
  private let rows: Permutation
  /// Objects that have a row in the end; those that come after them in a round have none.
  private let living: Int64
  private let turns: Permutation
  private let rounds: Int64

  init(size: HistorySize, allocation: KeyAllocation, seed: UInt64) {
    self.size = size
    self.allocation = allocation
    salt = Mixing.salt(seed, parts: "history")
    var (starts, count): ([Int64], Int64) = ([], 0)
    for table in allocation.tables {
      starts.append(count)
      count += table.rows
    }
    self.starts = starts
    entities = allocation.tables.indices.map { table in
      allocation.concretes.indices.filter { allocation.concretes[$0].table == table }
        .sorted { allocation.concretes[$0].slot < allocation.concretes[$1].slot }
    }
    rows = Permutation(count: count, salt: Mixing.mix(salt, 1))
    let changes = size.changes
    let longest =
      size.transactions == 0 ? 0 : min(changes, 2 * (changes / size.transactions + 1))
    living = min(count, max((changes + 3) / 4, longest - longest / 4))
    let gone = max(changes / 8, longest - living, living == 0 ? 1 : 0)
    turns = Permutation(count: living + gone, salt: Mixing.mix(salt, 2))
    rounds = (changes + turns.count - 1) / turns.count
  }

  // MARK: Transactions

  /// The key of the first transaction: those before are gone by now.
  private var firstTransaction: Int64 { 1 + Int64(salt % 100) }
  /// The key of the first change.
  var firstChange: Int64 { 1 + Int64(salt % 1_000) }

  /// The keys of all transactions; nil without any.
  var transactionKeys: ClosedRange<Int64>? {
    size.transactions == 0
      ? nil : firstTransaction...(firstTransaction + size.transactions - 1)
  }

  /// The number of the first change of a transaction, or of all if there is no such transaction.
  func firstChange(ofTransaction number: Int64) -> Int64 {
    if number <= 0 { return 0 }
    if number >= size.transactions { return size.changes }
    let share = UInt64(max(1, size.changes / size.transactions))
    let jitter = Mixing.mix(salt ^ 3, UInt64(number)) % share
    return size.changes * number / size.transactions + Int64(jitter)
  }

  /// The span of all transactions, at most: ninety days.
  private static let span = 7_776_000.0
  /// When the first one was, in seconds since 2001-01-01 UTC; fixed, as all values are.
  private static let start = 770_000_000.0

  /// When a transaction was made: each after the one before it.
  func time(ofTransaction number: Int64) -> Double {
    let step = min(3_600, Self.span / Double(max(1, size.transactions)))
    var draw = Draw(Mixing.mix(salt ^ 4, UInt64(number)))
    return Self.start + (Double(number) + draw.fraction() * 0.9) * step
  }

  // MARK: Changes

  /// The change of a number below that of all changes.
  func change(_ number: Int64) -> Change {
    let (round, turn) = number.quotientAndRemainder(dividingBy: turns.count)
    let object = turns.image(place: turn)
    let chance = Mixing.mix(salt ^ 5, UInt64(object))
    if object < living {
      let (entity, key) = livingObject(object)
      return Change(
        kind: round == 0 && chance % 2 == 0 ? .insert : .update, entity: entity, key: key)
    }
    // In the last round, not everyone has a turn.
    let last = turn < size.changes - (rounds - 1) * turns.count ? rounds - 1 : rounds - 2
    let (entity, key) = goneObject(object - living)
    if round == last { return Change(kind: .delete, entity: entity, key: key) }
    return Change(kind: round == 0 && chance % 4 > 0 ? .insert : .update, entity: entity, key: key)
  }

  private func livingObject(_ object: Int64) -> (entity: Int, key: Int64) {
    let row = rows.image(place: object)
    // Of tables without rows, the next one begins with the same row.
    let table = starts.lastIndex { $0 <= row } ?? 0
    let found = allocation.tables[table].object(atPosition: row - starts[table])
    return (entities[table][found.slot], found.key)
  }

  /// An object whose key is higher than that of any row.
  private func goneObject(_ object: Int64) -> (entity: Int, key: Int64) {
    let (index, place) = object.quotientAndRemainder(dividingBy: Int64(allocation.concretes.count))
    let concrete = allocation.concretes[Int(place)]
    return (Int(place), key(ofGone: index, concrete: concrete))
  }

  private func key(ofGone index: Int64, concrete: KeyAllocation.Concrete) -> Int64 {
    let table = allocation.tables[concrete.table]
    return table.maximumKey + 1 + index * table.width + Int64(concrete.slot)
  }

  /// The highest key that an object of a table ever had, those that are gone included.
  func maximumKey(ofTable table: Int) -> Int64 {
    let gone = turns.count - living
    guard size.changes > 0 else { return allocation.tables[table].maximumKey }
    return allocation.concretes.enumerated().reduce(allocation.tables[table].maximumKey) {
      result, item in
      guard item.element.table == table else { return result }
      let shares = Int64(allocation.concretes.count)
      let count = (gone - Int64(item.offset) + shares - 1) / shares
      return count > 0 ? max(result, key(ofGone: count - 1, concrete: item.element)) : result
    }
  }
}
