import GRDB
import ObjectModel
import Schema
import StoreFormat

/// What changes of one entity's objects look like.
private struct EntityHistory {
  var number: Int64
  var table: Int
  var bytes: Int
  /// Bits that change together: a reference, its entity number and its place.
  var groups: [[Int]]
  /// The columns of the preserved attributes, by their places in the table; nil where the table
  /// has none.
  var preserved: [Int?]
}

/// Writes the rows of persistent history.
struct HistoryWriter {
  private let plan: HistoryPlan
  private let tombstones: Int
  private let entities: [EntityHistory]
  private let tables: [TablePlan]
  private var maker: ValueMaker
  private var insertion: Insertion
  /// The bits of the mask that is made.
  private var mask: [UInt8] = []

  init(
    plan: HistoryPlan, schema: StoreSchema, allocation: KeyAllocation, tables: [TablePlan],
    pool: ValuePool, in db: Database
  ) throws {
    self.plan = plan
    self.tables = tables
    tombstones = schema.history?.tombstones ?? 0
    entities = allocation.concretes.compactMap { EntityHistory($0, schema: schema) }
    maker = ValueMaker(pool: pool)
    let number = Self.number(of: HistoryTables.changes)
    let values = ["?", "\(number)", "NULL"] + (0..<(5 + tombstones)).map { _ in "?" }
    insertion = try Insertion(
      sql: "INSERT INTO \(HistoryTables.changes) VALUES (\(values.joined(separator: ", ")))", in: db
    )
  }

  private static func number(of table: String) -> Int64 {
    HistoryTables.entity(ofTable: table)?.number.rawValue ?? 0
  }

  /// The names to which transactions refer, in the order of their keys.
  private static let strings = [
    "com.example.Made", "Made", "viewContext", "background", "app", "com.example.Made.widget",
    "NSCloudKitMirroringDelegate.import",
  ]

  /// The keys of optional names of a transaction: its author, its context.
  private static let choices: [[Int64]] = [[5, 5, 6, 7], [3, 3, 4]]

  /// Writes all rows, and returns the highest keys, by table.
  mutating func write(
    in db: Database, progress: () throws -> Void
  ) throws -> [String: Int64] {
    guard let keys = plan.transactionKeys else { return [:] }
    for (place, name) in Self.strings.enumerated() {
      try db.execute(
        sql: "INSERT INTO \(HistoryTables.strings) VALUES (?, ?, NULL, ?)",
        arguments: [place + 1, Self.number(of: HistoryTables.strings), name])
    }
    try writeTransactions(keys, in: db, progress: progress)
    for transaction in 0..<plan.size.transactions {
      let first = plan.firstChange(ofTransaction: transaction)
      for change in first..<plan.firstChange(ofTransaction: transaction + 1) {
        try write(change, transaction: keys.lowerBound + transaction)
        if change % 4096 == 0 { try progress() }
      }
    }
    return [
      HistoryTables.changes: plan.firstChange + plan.size.changes - 1,
      HistoryTables.transactions: keys.upperBound,
      HistoryTables.strings: Int64(Self.strings.count),
    ]
  }

  private func writeTransactions(
    _ keys: ClosedRange<Int64>, in db: Database, progress: () throws -> Void
  ) throws {
    let number = Self.number(of: HistoryTables.transactions)
    var insertion = try Insertion(
      sql: "INSERT INTO \(HistoryTables.transactions) (Z_PK, Z_ENT, ZAUTHORTS, ZBUNDLEIDTS, "
        + "ZCONTEXTNAMETS, ZPROCESSIDTS, ZTIMESTAMP) VALUES (?, \(number), ?, 1, ?, 2, ?)", in: db)
    for transaction in 0..<plan.size.transactions {
      var draw = Draw(Mixing.mix(plan.salt ^ 6, UInt64(transaction)))
      insertion.bind(keys.lowerBound + transaction)
      for names in Self.choices {
        let drawn = draw.below(limit: names.count + 1)
        insertion.bind(drawn == 0 ? .null : .integer(names[drawn - 1]), scratch: [])
      }
      insertion.bind(.real(plan.time(ofTransaction: transaction)), scratch: [])
      try insertion.insert()
      if transaction % 4096 == 0 { try progress() }
    }
  }

  private mutating func write(_ number: Int64, transaction: Int64) throws {
    let change = plan.change(number)
    let entity = entities[change.entity]
    insertion.bind(plan.firstChange + number)
    insertion.bind(change.kind.rawValue)
    insertion.bind(entity.number)
    insertion.bind(change.key)
    insertion.bind(transaction)
    if change.kind == .update {
      makeMask(of: entity, number: number)
      insertion.bind(.blob, scratch: mask)
    } else {
      insertion.bind(.null, scratch: [])
    }
    for place in 0..<tombstones {
      let isOwn = change.kind == .delete && place < entity.preserved.count
      guard isOwn, let column = entity.preserved[place] else {
        insertion.bind(.null, scratch: [])
        continue
      }
      let table = tables[entity.table]
      guard let attribute = table.attributes[column] else {
        preconditionFailure("a preserved attribute has a column of its own")
      }
      let row = Mixing.mix(table.salt, UInt64(bitPattern: change.key))
      insertion.bind(
        maker.value(column: attribute, row: row, key: change.key, in: table),
        scratch: maker.scratch)
    }
    try insertion.insert()
  }

  /// One to three properties, or now and then as many as may be.
  private mutating func makeMask(of entity: EntityHistory, number: Int64) {
    mask.removeAll(keepingCapacity: true)
    for _ in 0..<entity.bytes { mask.append(0) }
    guard !entity.groups.isEmpty else { return }
    var draw = Draw(Mixing.mix(plan.salt ^ 7, UInt64(number)))
    let most = draw.below(limit: 16) == 0 ? entity.groups.count : 3
    for _ in 0...draw.below(limit: most) {
      for bit in entity.groups[draw.below(limit: entity.groups.count)] {
        mask[bit / 8] |= 0x80 >> UInt8(bit % 8)
      }
    }
  }
}

extension EntityHistory {
  fileprivate init?(_ concrete: KeyAllocation.Concrete, schema: StoreSchema) {
    guard let entity = schema.model.entity(name: concrete.name) else { return nil }
    let table = schema.tables[concrete.table]
    let layout = HistoryLayout(of: entity, table: table, in: schema.model)
    (number, self.table, bytes) = (concrete.number, concrete.table, layout.bytes)
    groups = layout.groups
    preserved = HistoryTables.preserved(of: entity, in: schema.model).map { name in
      let owner = schema.model.declarer(of: name, in: entity.name)
      return table.columns.firstIndex {
        $0.role == owner.map { .attribute(entity: $0, name: name) }
      }
    }
  }
}

extension HistoryLayout {
  /// The bits of each property, with those of the columns that go with it.
  fileprivate var groups: [[Int]] {
    var places: [String: Int] = [:]
    var result: [[Int]] = []
    for (bit, slot) in slots.enumerated() {
      switch slot {
      case .property(let name), .owner(_, let name):
        places[name] = result.count
        result.append([bit])
      case .entityNumber(let name), .order(let name):
        if let place = places[name] { result[place].append(bit) } else { result.append([bit]) }
      }
    }
    return result
  }
}
