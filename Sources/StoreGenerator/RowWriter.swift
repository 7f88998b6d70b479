import GRDB
import GRDBSQLite
import Schema
import StoreFormat

/// An INSERT statement whose values are bound one after the other.
///
/// It calls SQLite directly: GRDB's statements cost several times what SQLite itself does here.
struct Insertion {
  private let statement: Statement
  private let handle: OpaquePointer
  private let db: Database
  private var parameter: Int32 = 0
  private var code = SQLITE_OK

  init(sql: String, in db: Database) throws {
    statement = try db.makeStatement(sql: sql)
    handle = statement.sqliteStatement
    self.db = db
  }

  mutating func bind(_ value: Int64) {
    parameter += 1
    check(sqlite3_bind_int64(handle, parameter, value))
  }

  mutating func bind(_ value: ValueMaker.Value, scratch: [UInt8]) {
    parameter += 1
    switch value {
    case .null: check(sqlite3_bind_null(handle, parameter))
    case .integer(let value): check(sqlite3_bind_int64(handle, parameter, value))
    case .real(let value): check(sqlite3_bind_double(handle, parameter, value))
    case .pooledText(let bytes):
      check(
        sqlite3_bind_text(
          handle, parameter, bytes.assumingMemoryBound(to: CChar.self).baseAddress,
          Int32(bytes.count), nil))
    case .pooledBlob(let bytes):
      check(
        sqlite3_bind_blob(handle, parameter, bytes.baseAddress, Int32(bytes.count), nil))
    case .text:
      scratch.withUnsafeBytes { bytes in
        check(
          sqlite3_bind_text(
            handle, parameter, bytes.assumingMemoryBound(to: CChar.self).baseAddress,
            Int32(bytes.count), RawStatement.copiesBytes))
      }
    case .blob:
      scratch.withUnsafeBytes { bytes in
        check(
          sqlite3_bind_blob(
            handle, parameter, bytes.baseAddress, Int32(bytes.count), RawStatement.copiesBytes))
      }
    }
  }

  /// Inserts the row and starts the next one.
  mutating func insert() throws {
    if code == SQLITE_OK {
      code = sqlite3_step(handle)
      sqlite3_reset(handle)
    }
    guard code == SQLITE_DONE else {
      throw DatabaseError(
        resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage,
        sql: statement.sql)
    }
    code = SQLITE_OK
    parameter = 0
  }

  private mutating func check(_ result: Int32) {
    if code == SQLITE_OK { code = result }
  }
}

/// Writes the rows of one table.
struct RowWriter {
  private let plan: TablePlan
  private var maker: ValueMaker
  private var insertion: Insertion
  /// The objects that the links of the row refer to.
  private var references: [Link.Reference?]

  init(plan: TablePlan, pool: ValuePool, in db: Database) throws {
    self.plan = plan
    maker = ValueMaker(pool: pool)
    insertion = try Insertion(sql: plan.insertStatement, in: db)
    references = plan.links.map { _ in nil }
  }

  /// Writes the row at a position in key order.
  mutating func write(position: Int64, files: inout GeneratedFiles) throws {
    let (slot, index, key) = plan.keys.object(atPosition: position)
    let entity = plan.entities[slot]
    for (link, member) in entity.links {
      references[link] = plan.links[link].reference(member: member, index: index)
    }
    let row = Mixing.mix(plan.salt, UInt64(bitPattern: key))
    for cell in entity.cells {
      switch cell {
      case .null: insertion.bind(.null, scratch: [])
      case .key: insertion.bind(key)
      case .entityNumber: insertion.bind(entity.number)
      case .optimisticLock: insertion.bind(Int64(1 + row % 5))
      case .linkKey(let link): bind(references[link]?.key)
      case .linkNumber(let link): bind(references[link]?.number)
      case .linkOrder(let link): bind(references[link]?.order)
      case .attribute(let place, let fileEvery):
        guard let column = plan.attributes[place] else {
          preconditionFailure("an attribute's cell names an attribute's column")
        }
        if fileEvery > 0, index % fileEvery == 0 {
          let file = maker.external(column: column, row: row)
          try files.write(file.content, name: file.name)
          insertion.bind(.blob, scratch: maker.scratch)
        } else {
          let value = maker.value(column: column, row: row, key: key, in: plan)
          insertion.bind(value, scratch: maker.scratch)
        }
      }
    }
    try insertion.insert()
  }

  private mutating func bind(_ value: Int64?) {
    insertion.bind(value.map { .integer($0) } ?? .null, scratch: [])
  }
}

/// Writes the pairs of one join table.
struct PairWriter {
  private let plan: JoinPlan
  private var insertion: Insertion
  private(set) var count: Int64 = 0

  init(plan: JoinPlan, in db: Database) throws {
    self.plan = plan
    insertion = try Insertion(sql: plan.insertStatement, in: db)
  }

  mutating func writePairs(of object: Int64) throws {
    let first = plan.first.object(ordinal: object).key
    try plan.forEachPair(of: object) { pair in
      insertion.bind(first)
      insertion.bind(plan.second.object(ordinal: pair.second).key)
      if plan.table.first.orderColumn != nil {
        insertion.bind(OrderValue.of(rank: pair.rankOfFirst))
      }
      if plan.table.second.orderColumn != nil {
        insertion.bind(OrderValue.of(rank: pair.rankOfSecond))
      }
      try insertion.insert()
      count += 1
    }
  }
}
