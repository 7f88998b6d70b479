package import ObjectModel

/// The assignment of the bits of `ZCOLUMNS` to the properties of an entity.
///
/// A change has a bit per updated property, from the highest of the first byte on, in the order of
/// docs/reference/store-format.md, "Persistent history". To-many relationships come in the order of
/// a hash table, which may have entries with unknown names. If such entries may have displaced
/// known names, only a set of bits is known, not the bit of each name.
package struct HistoryLayout: Hashable, Sendable {
  /// What a bit stands for.
  package enum Slot: Hashable, Sendable {
    /// An attribute or a relationship.
    case property(String)
    /// The key of the owner, on the side of a to-many relationship that has no inverse.
    case owner(entity: String, relationship: String)
    /// The column with the entity number of a to-one relationship.
    case entityNumber(relationship: String)
    /// The column with the place among the siblings of a to-one relationship.
    case order(relationship: String)
  }

  /// The slots in the order of the bits.
  package private(set) var slots: [Slot]
  /// Sets of at least two bits whose assignment to properties is unknown.
  package private(set) var clusters: [Set<Int>] = []
  /// Whether the entity has composite attributes; no file shows whether these take one bit or one
  /// per element.
  package let hasComposites: Bool
  /// The elements of composite attributes in declared order: where they change, bits may.
  private let elements: [String]

  /// The bytes of a mask.
  package var bytes: Int { (slots.count + 7) / 8 }

  /// Lays out the bits of an entity, inherited properties included.
  package init(of entity: Entity, table: EntityTable, in model: ManagedObjectModel) {
    let levels = Array(model.lineage(of: entity).reversed())
    let names = Set(levels.map(\.name))
    hasComposites = levels.contains { $0.attributes.contains { $0.type == .composite } }
    elements = levels.flatMap(\.leafAttributes).filter(\.isElement).map(\.name)
    var toOnes: [String] = []
    var attributes: [String] = []
    var toMany: (one: [String], many: [String]) = ([], [])
    for level in levels {
      attributes += level.attributes.filter { !$0.isTransient }.map(\.name).sorted()
      for relationship in level.relationships.sorted(by: { $0.name < $1.name })
      where !relationship.isTransient {
        if !relationship.isToMany {
          toOnes.append(relationship.name)
        } else if model.inverse(of: relationship)?.isToMany == true {
          toMany.many.append(relationship.name)
        } else {
          toMany.one.append(relationship.name)
        }
      }
    }
    let columns = Columns(table: table, levels: names, model: model)
    let numbered = columns.numbered.sorted {
      (toOnes.firstIndex(of: $0) ?? 0) < (toOnes.firstIndex(of: $1) ?? 0)
    }
    slots = toOnes.map { .property($0) } + columns.owners
    slots += numbered.map { .entityNumber(relationship: $0) }
    slots += columns.orders.map { .order(relationship: $0) }
    slots += attributes.map { .property($0) }
    let known = toOnes + attributes + toMany.one + toMany.many
    let entries =
      3 + 2 * (toOnes.count + columns.owners.count) + numbered.count + columns.orders.count
      + known.count - toOnes.count
    let hashed = NameTable(
      names: known, watched: Set(toMany.one + toMany.many), entries: entries)
    for group in [toMany.one, toMany.many] { append(group, in: hashed) }
  }

  /// Adds the to-many relationships of one kind in the order of the hash table.
  private mutating func append(_ names: [String], in table: NameTable) {
    let start = slots.count
    let ordered = table.ordered(names)
    slots += ordered.map { .property($0) }
    clusters += table.clusters(of: ordered).map { Set($0.map { start + $0 }) }
  }

  /// The columns of a table that rows of an entity use besides those of its properties.
  private struct Columns {
    var owners: [Slot] = []
    var numbered: [String] = []
    var orders: [String] = []

    init(table: EntityTable, levels: Set<String>, model: ManagedObjectModel) {
      for column in table.columns {
        switch column.role {
        case .owner(let entity, let name):
          if Self.leads(name, of: entity, to: levels, in: model) {
            owners.append(.owner(entity: entity, relationship: name))
          }
        case .ownerOrder(let entity, let name):
          if Self.leads(name, of: entity, to: levels, in: model) { orders.append(name) }
        case .toOneEntity(let entity, let name) where levels.contains(entity):
          numbered.append(name)
        case .toOneOrder(let entity, let name) where levels.contains(entity): orders.append(name)
        default: break
        }
      }
    }

    private static func leads(
      _ name: String, of owner: String, to levels: Set<String>, in model: ManagedObjectModel
    ) -> Bool {
      let relationship = model.entity(name: owner)?.relationships.first { $0.name == name }
      return relationship.map { levels.contains($0.destinationEntityName) } ?? false
    }
  }
}

/// The hash table whose order to-many relationships take: open addressing, one place on if taken.
///
/// Hash and sizes are published or measured; the names of some entries are not known.
struct NameTable {
  private var places: [String: Int] = [:]
  /// Watched pairs whose order entries without a known name may have swapped.
  private var uncertain: Set<[String]> = []
  private let size: Int?

  /// How many entries without a known name are thought to lie between two places at most.
  private static let unknown = 3

  /// The number of places for up to so many entries.
  private static let sizes = [
    (3, 3), (6, 7), (11, 13), (19, 23), (32, 41), (52, 71), (85, 127), (118, 191), (155, 251),
    (237, 383),
  ]

  init(names: [String], watched: Set<String>, entries: Int) {
    size = Self.sizes.first { entries <= $0.0 }?.1
    guard let size else { return }
    var taken: Set<Int> = []
    for name in names.sorted() where taken.count < size {
      let own = Int(Self.hash(name) % UInt64(size))
      for other in watched where watched.contains(name) {
        guard let place = places[other], place > own else { continue }
        let free = (own..<place).count { !taken.contains($0) }
        if (1...Self.unknown).contains(free) { uncertain.insert([other, name].sorted()) }
      }
      var place = own
      while !taken.insert(place).inserted { place = (place + 1) % size }
      places[name] = place
    }
  }

  /// The names as the table lists them; of names without a place by themselves.
  func ordered(_ names: [String]) -> [String] {
    names.sorted { (places[$0] ?? .max, $0) < (places[$1] ?? .max, $1) }
  }

  /// The places in a list of names whose order is unknown.
  ///
  /// A name passes an earlier one only if all places between them are taken, possibly by unknown
  /// entries.
  func clusters(of names: [String]) -> [[Int]] {
    guard size != nil else { return names.count > 1 ? [Array(names.indices)] : [] }
    var result: [[Int]] = []
    for index in names.indices.dropFirst() {
      let before = names[..<index]
      guard let first = before.firstIndex(where: { isUncertain($0, names[index]) }) else {
        continue
      }
      if let last = result.last?.last, last >= first {
        result[result.count - 1] += Array(last + 1...index)
      } else {
        result.append(Array(first...index))
      }
    }
    return result
  }

  private func isUncertain(_ first: String, _ second: String) -> Bool {
    uncertain.contains([first, second].sorted())
  }

  /// The hash of a string, in its published form: 64 bits, four UTF-16 units at a time.
  static func hash(_ name: String) -> UInt64 {
    let units = Array(name.utf16).map(UInt64.init)
    var result = UInt64(units.count)
    var index = 0
    while index + 4 <= units.count {
      result =
        result &* 67_503_105 &+ units[index] &* 16_974_593 &+ units[index + 1] &* 66_049
        &+ units[index + 2] &* 257 &+ units[index + 3]
      index += 4
    }
    while index < units.count {
      result = result &* 257 &+ units[index]
      index += 1
    }
    return result &+ (result << UInt64(units.count & 31))
  }
}
