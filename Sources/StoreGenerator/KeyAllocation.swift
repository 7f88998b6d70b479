import ObjectModel
import Schema

/// How many objects each concrete entity has, and their primary keys.
///
/// Everything is computed on demand: a store of a billion objects takes no more memory than an
/// empty one.
struct KeyAllocation: Sendable {
  /// The largest number of objects, far more than a file can have.
  static let maximumRows: Int64 = 1 << 40

  struct Concrete: Sendable {
    let name: String
    let number: Int64
    /// The index of its table in the schema.
    let table: Int
    /// Its position among the concrete entities of the table.
    let slot: Int
    let count: Int64
  }

  /// The concrete entities by entity number.
  let concretes: [Concrete]
  /// One for each table of the schema.
  let tables: [TableKeys]

  init(schema: StoreSchema, names: Set<String>, rows: Int64, seed: UInt64) {
    let model = schema.model
    var wanted: [(name: String, number: Int64, root: String)] = []
    for name in schema.numbers.names where names.contains(name) {
      guard let entity = model.entity(name: name), !entity.isAbstract,
        let number = schema.numbers[name]
      else { continue }
      wanted.append((name, number.rawValue, model.root(of: entity).name))
    }
    let shares = Int64(max(1, wanted.count))
    let base = rows / shares
    var concretes: [Concrete] = []
    var widths = schema.tables.map { _ in 0 }
    var widthsOfLast = schema.tables.map { _ in Int64(0) }
    for (index, entity) in wanted.enumerated() {
      guard let table = schema.tables.firstIndex(where: { $0.rootName == entity.root }) else {
        preconditionFailure("every root entity has a table")
      }
      let hasExtra = Int64(index) < rows % shares
      concretes.append(
        Concrete(
          name: entity.name, number: entity.number, table: table, slot: widths[table],
          count: base + (hasExtra ? 1 : 0)))
      widths[table] += 1
      widthsOfLast[table] += hasExtra ? 1 : 0
    }
    self.concretes = concretes
    tables = schema.tables.indices.map { index in
      TableKeys(
        width: Int64(widths[index]), widthOfLast: widthsOfLast[index], base: base,
        salt: Mixing.salt(seed, parts: schema.tables[index].rootName, "keys"))
    }
  }
}

/// The primary keys of one table: entities take turns, in an order that changes from block to
/// block.
///
/// Objects beyond equal shares belong to the first entities by number, so the last block has the
/// first `widthOfLast` of them.
struct TableKeys: Sendable {
  let width: Int64
  let widthOfLast: Int64
  let base: Int64
  let salt: UInt64

  var rows: Int64 { width * base + widthOfLast }
  var maximumKey: Int64 { rows == 0 ? 0 : key(atPosition: rows - 1) }

  /// Leaves out one key in a hundred, as if objects had been deleted.
  private func key(atPosition position: Int64) -> Int64 {
    position + 1 + (position + Int64(salt % 99)) / 99
  }

  private func turn(_ block: Int64) -> (offset: Int64, width: Int64) {
    let width = block < base ? width : widthOfLast
    return (Int64(Mixing.mix(salt, UInt64(block)) % UInt64(width)), width)
  }

  /// The primary key of an entity's object number `index`.
  func key(slot: Int, index: Int64) -> Int64 {
    let turn = turn(index)
    return key(atPosition: index * width + (Int64(slot) + turn.offset) % turn.width)
  }

  /// The object at a position in key order.
  func object(atPosition position: Int64) -> (slot: Int, index: Int64, key: Int64) {
    let block = position / width
    let turn = turn(block)
    let slot = (position % width + turn.width - turn.offset) % turn.width
    return (Int(slot), block, key(atPosition: position))
  }
}

/// The objects of some entities of one table, numbered from 0.
struct Population: Sendable {
  private let table: TableKeys
  private let slots: [Int]
  private let numbers: [Int64]
  let count: Int64

  /// Takes the concrete entities by entity number.
  init(members: [KeyAllocation.Concrete], in allocation: KeyAllocation) {
    table =
      members.first.map { allocation.tables[$0.table] }
      ?? TableKeys(width: 0, widthOfLast: 0, base: 0, salt: 0)
    slots = members.map(\.slot)
    numbers = members.map(\.number)
    count = members.reduce(0) { $0 + $1.count }
  }

  /// The primary key and the entity number of an object.
  func object(ordinal: Int64) -> (key: Int64, number: Int64) {
    // Members with one object more come first, so counting across the members leaves no gap.
    let member = Int(ordinal % Int64(slots.count))
    let index = ordinal / Int64(slots.count)
    return (table.key(slot: slots[member], index: index), numbers[member])
  }

  /// The position of an entity among the members, nil if it is not one.
  func member(slot: Int) -> Int? { slots.firstIndex(of: slot) }

  func ordinal(member: Int, index: Int64) -> Int64 { index * Int64(slots.count) + Int64(member) }
}
