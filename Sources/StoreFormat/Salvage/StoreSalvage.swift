import GRDB
import Schema
import StoreNames
import SystemCalls
package import SystemPackage

/// Takes what can be read of a damaged store: every table page by page from the root of its b-tree.
///
/// Rows come neither from SQLite nor from an index; a complete index only shows which rows existed.
/// Schema and metadata are required, since nothing else defines the rows.
package struct StoreSalvage {
  private let file: DamagedFile
  private let schema: SalvageSchema

  /// Reads an unchanging store without a log.
  ///
  /// - Parameter memory: what the process may occupy, in bytes; longer rows than fit are refused,
  ///   with `StoreError.Problem.rowTooLong`.
  /// - Throws: `StoreError` with `notSalvageable` where the schema cannot be read.
  package init(of store: FilePath, memory: Int64 = 256 << 20) throws {
    file = try DamagedFile(store, memory: memory)
    schema = try SalvageSchema(file)
  }

  /// The header of a store that may be shorter than the header states.
  ///
  /// - Throws: `StoreError` with `notSalvageable` where it makes no sense.
  package static func header(of store: FilePath) throws -> StoreHeader {
    do {
      let header = try StoreHeader(readingSource: store)
      // SQLite's own limit.
      guard header.pageSize - header.reservedBytes >= 480 else {
        throw StoreError(problem: .damaged, store: store)
      }
      return header
    } catch let error as StoreError {
      switch error.problem {
      case .damaged, .truncated:
        throw StoreError(problem: .notSalvageable(["its header"]), store: store)
      default: throw error
      }
    }
  }

  /// What a copy would have and lack; writes to a temporary folder.
  ///
  /// - Throws: `StoreError` with `notSalvageable` where a table cannot be read at all.
  package func examine() throws -> SalvagedStore {
    let folder = try TemporaryFolder()
    return try withExtendedLifetime(folder) {
      try salvage(into: folder.path.appending("source.sqlite"), keepsRows: false)
    }
  }

  /// Makes a sound store of everything that can be read, with the same schema; what it lacks.
  ///
  /// - Throws: `StoreError` with `notSalvageable` where a table cannot be read at all.
  package func copy(to path: FilePath) throws -> SalvagedStore {
    for suffix in StoreFile.suffixes {
      try Files.remove(FilePath(path.string + suffix))
    }
    return try salvage(into: path, keepsRows: true)
  }

  private func salvage(into path: FilePath, keepsRows: Bool) throws -> SalvagedStore {
    let header = try StoreHeader(readingSource: file.path)
    let connection = try StoreConnection.scratch(
      path, cacheBytes: 16 << 20, textEncoding: file.textEncoding, pageSize: file.pageSize,
      vacuum: header.largestRoot == 0 ? 0 : 2)
    let found = try connection.perform { db in
      // Where a unique index is not possible any more, its beginning is taken back.
      _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = MEMORY")
      var found = SalvagedStore()
      try db.inTransaction {
        found = try fill(db, keepsRows: keepsRows)
        return .commit
      }
      return found
    }
    try connection.close()
    return found
  }

  private func fill(_ db: Database, keepsRows: Bool) throws -> SalvagedStore {
    let target = SalvageTarget(db, keepsRows: keepsRows, textEncoding: file.textEncoding)
    var found = SalvagedStore()
    found.pagesMissing = Int64(file.pagesExpected) - Int64(file.pageCount)
    let layouts = try createTables(in: target)
    try takeRows(layouts, into: target, result: &found)
    if keepsRows {
      try createIndexes(in: db, result: &found)
      try finish(db)
    }
    return found
  }

  // MARK: Tables

  /// Core Data's own tables, whose rows are no objects.
  private static let own: Set = ["Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE"]

  private func createTables(in target: SalvageTarget) throws -> [SalvageTarget.Table] {
    var missing: [String] = []
    var layouts: [SalvageTarget.Table] = []
    for entry in schema.tables {
      do {
        // SQLite creates this table itself when another one requires it.
        if entry.name != "sqlite_sequence", let sql = entry.sql {
          try Self.create(sql: sql, kind: "TABLE", in: target.db)
        }
        guard let layout = try target.layout(of: entry.name) else {
          missing.append(entry.name)
          continue
        }
        layouts.append(layout)
      } catch let error as DatabaseError where Self.isAboutText(error) {
        missing.append(entry.name)
      }
    }
    let names = Set(layouts.map(\.name))
    missing += ["Z_METADATA", "Z_PRIMARYKEY"].filter {
      !names.contains($0) && !missing.contains($0)
    }
    if !missing.isEmpty {
      throw StoreError(problem: .notSalvageable(missing), store: file.path)
    }
    return layouts
  }

  private func takeRows(
    _ layouts: [SalvageTarget.Table], into target: SalvageTarget, result: inout SalvagedStore
  ) throws {
    var missing: [String] = []
    let maxima = try maxima(of: layouts)
    for (entry, layout) in zip(schema.tables, layouts) {
      try target.begin(layout)
      guard layout.hasRowNumbers else {
        // Core Data makes no such table, and no model requires one.
        result.tables.append(.unread(name: entry.name))
        continue
      }
      var sum = KeySum()
      let tree = TreeSalvage(
        file, claims: schema.claims, kind: .table, mostColumns: layout.columns.count
      ) { key, values, isSound in
        guard let displaced = try target.insert(key: key, values: values, isSound: isSound) else {
          return false
        }
        for key in displaced { sum.remove(key) }
        sum.add(key)
        return true
      }
      try read(tree: tree, of: entry)
      let isEmptyMetadata = entry.name == "Z_METADATA" && tree.rows == 0
      if tree.isRootLost || isEmptyMetadata {
        missing.append(entry.name)
        continue
      }
      if !Self.own.contains(entry.name) { result.rowsTaken += sum.count }
      try judge(
        tree, of: entry, sum: sum, target: target, highest: maxima[entry.name], result: &result)
    }
    if !missing.isEmpty {
      throw StoreError(problem: .notSalvageable(missing), store: file.path)
    }
  }

  private func read(tree: TreeSalvage, of entry: SalvageSchema.Entry) throws {
    do {
      try tree.salvage(root: entry.root)
    } catch let error as TreeSalvage.TooLong {
      let row = LongRow(
        table: entry.table, key: error.key, bytes: error.bytes, memory: file.memory)
      throw StoreError(problem: .rowTooLong(row), store: file.path)
    }
  }

  /// Compares a table with its indexes, and records the missing keys.
  private func judge(
    _ tree: TreeSalvage, of entry: SalvageSchema.Entry, sum: KeySum, target: SalvageTarget,
    highest: Int64?, result: inout SalvagedStore
  ) throws {
    let db = target.db
    try db.execute(sql: "DROP TABLE IF EXISTS temp.named")
    try db.execute(sql: "CREATE TEMP TABLE named (key INTEGER PRIMARY KEY)")
    let insert = try db.makeStatement(sql: "INSERT OR IGNORE INTO temp.named VALUES (?)")
    var isExact = false
    for index in schema.indexes where index.table == entry.name {
      var entries = KeySum()
      let first = TreeSalvage(file, claims: schema.claims, kind: .index) { key, _, _ in
        entries.add(key)
        return true
      }
      try read(tree: first, of: index)
      let agrees = entries == sum
      // Where rows are lost, an index that is whole names them, and is right.
      if !first.isWhole || (index.hasAllRows && !agrees && tree.isWhole) {
        result.indexes.append(
          .init(index: index.name, table: entry.name, damagedPages: first.damagedPages))
      }
      if first.isWhole && index.hasAllRows { isExact = true }
      if agrees { continue }
      let second = TreeSalvage(file, claims: schema.claims, kind: .index) { key, _, _ in
        try insert.execute(arguments: [key])
        return true
      }
      try read(tree: second, of: index)
    }
    try target.addDisplaced(to: "temp.named")
    let lost = try Self.ranges(
      "SELECT key FROM temp.named WHERE key NOT IN (\(target.keysTaken)) ORDER BY key", in: db)
    guard !tree.isWhole || lost.count > 0 else { return }
    var ranges = tree.gaps.map { gap in
      SalvagedStore.Keys(
        first: gap.after.map { $0 == .max ? $0 : $0 + 1 },
        last: gap.before.map { $0 == .min ? $0 : $0 - 1 })
    }
    if let rest = lost.rest { ranges.append(rest) }
    result.tables.append(
      .init(
        table: entry.name, rowsTaken: sum.count, damagedPages: tree.damagedPages, ranges: ranges,
        lostKeys: lost.keys, lostKeyCount: lost.count, isExact: isExact,
        mostLost: isExact ? lost.count : Self.most(in: ranges, highest: highest)))
  }

  /// The most keys that ranges can hold; nil where the last one has no known end.
  private static func most(in ranges: [SalvagedStore.Keys], highest: Int64?) -> Int64? {
    var sum: Int64 = 0
    for range in ranges {
      // Core Data counts keys from 1 up to Z_MAX.
      let first = range.first ?? 1
      guard let last = range.last ?? highest else { return nil }
      guard last >= first else { continue }
      let (width, overflow) = last.subtractingReportingOverflow(first)
      let (total, more) = sum.addingReportingOverflow(width)
      guard !overflow, !more, total < .max else { return nil }
      sum = total + 1
    }
    return sum
  }

  /// The highest keys that objects were ever given, by the table of their root entity.
  private func maxima(of layouts: [SalvageTarget.Table]) throws -> [String: Int64] {
    var found: [String: Int64] = [:]
    for (entry, layout) in zip(schema.tables, layouts) where entry.name == "Z_PRIMARYKEY" {
      func value(of column: String, in values: [SalvagedValue]) -> SalvagedValue? {
        layout.columns.firstIndex(of: column).flatMap { $0 < values.count ? values[$0] : nil }
      }
      let tree = TreeSalvage(
        file, claims: schema.claims, kind: .table, mostColumns: layout.columns.count
      ) { _, values, _ in
        if let name = value(of: "Z_NAME", in: values)?.string(file.textEncoding),
          case .integer(let highest)? = value(of: "Z_MAX", in: values),
          case .integer(0)? = value(of: "Z_SUPER", in: values)
        {
          found["Z\(name.uppercased())"] = highest
        }
        return true
      }
      try tree.salvage(root: entry.root)
    }
    return found
  }

  private static let mostRanges = 100_000

  /// The keys that a query gives, in ranges; where there are too many of those to be listed, the
  /// rest lies in one.
  private static func ranges(
    _ sql: String, in db: Database
  ) throws -> (keys: [SalvagedStore.Keys], count: Int64, rest: SalvagedStore.Keys?) {
    var found: [SalvagedStore.Keys] = []
    var rest: SalvagedStore.Keys?
    var count: Int64 = 0
    let keys = try Int64.fetchCursor(db, sql: sql)
    while let key = try keys.next() {
      count += 1
      if let last = found.last?.last, last != .max, last + 1 == key {
        found[found.count - 1].last = key
      } else if found.count == mostRanges {
        rest = .init(first: rest?.first ?? key, last: key)
      } else {
        found.append(.init(first: key, last: key))
      }
    }
    return (found, count, rest)
  }

  // MARK: The rest of the schema

  /// Runs a statement of the schema: only one, and of the given kind.
  private static func create(sql: String, kind: String, in db: Database) throws {
    guard sql.hasPrefix("CREATE \(kind) ") else {
      throw DatabaseError(resultCode: .SQLITE_ERROR, message: "no CREATE \(kind)")
    }
    try db.makeStatement(sql: sql).execute()
  }

  /// Whether a statement of the schema is at fault, rather than the rows or the disk.
  private static func isAboutText(_ error: DatabaseError) -> Bool {
    [.SQLITE_ERROR, .SQLITE_MISUSE].contains(error.resultCode)
  }

  private func createIndexes(in db: Database, result: inout SalvagedStore) throws {
    for index in schema.indexes {
      guard let sql = index.sql else { continue }
      do {
        try Self.create(
          sql: sql, kind: sql.hasPrefix("CREATE UNIQUE") ? "UNIQUE INDEX" : "INDEX", in: db)
      } catch let error as DatabaseError
        where error.resultCode == .SQLITE_CONSTRAINT || Self.isAboutText(error)
      {
        result.indexesLeftOut.append(index.name)
      }
    }
  }

  /// Copies what has no pages, and the numbers of the app.
  private func finish(_ db: Database) throws {
    let header = try file.page(1) ?? []
    for (pragma, offset) in [("user_version", 60), ("application_id", 68)] {
      let number = Int32(
        truncatingIfNeeded: PageBytes.number(header, at: offset, count: 4) ?? 0)
      try db.execute(sql: "PRAGMA \(pragma) = \(number)")
    }
    var virtual: [SalvageSchema.Entry] = []
    for entry in schema.others {
      if entry.type == "table" {
        virtual.append(entry)
        continue
      }
      do {
        try Self.create(sql: entry.sql ?? "", kind: entry.type.uppercased(), in: db)
      } catch let error as DatabaseError where Self.isAboutText(error) {
        throw StoreError(problem: .notSalvageable([entry.name]), store: file.path)
      }
    }
    guard !virtual.isEmpty else { return }
    // Their own tables are there, and creating one would make them.
    try db.execute(sql: "PRAGMA writable_schema = ON")
    for entry in virtual where entry.sql?.hasPrefix("CREATE VIRTUAL TABLE ") == true {
      try db.execute(
        sql: "INSERT INTO sqlite_schema VALUES (?, ?, ?, 0, ?)",
        arguments: [entry.type, entry.name, entry.table, entry.sql])
    }
    try db.execute(sql: "PRAGMA writable_schema = OFF")
  }
}

/// A sum over keys, equal for equal sets of them.
private struct KeySum: Equatable {
  private(set) var count: Int64 = 0
  private var sum: UInt64 = 0

  mutating func add(_ key: Int64) {
    count += 1
    sum &+= Self.hash(key)
  }

  mutating func remove(_ key: Int64) {
    count -= 1
    sum &-= Self.hash(key)
  }

  private static func hash(_ key: Int64) -> UInt64 {
    var hash = UInt64(bitPattern: key) &* 0x9E37_79B9_7F4A_7C15
    hash = (hash ^ hash >> 29) &* 0xbf58_476d_1ce4_e5b9
    return hash ^ hash >> 32
  }
}

extension SalvagedStore.Table {
  /// A table of a kind that is not read.
  fileprivate static func unread(name: String) -> Self {
    Self(
      table: name, rowsTaken: 0, damagedPages: [], ranges: [.init(first: nil, last: nil)],
      lostKeys: [], lostKeyCount: 0, isExact: false, mostLost: nil)
  }
}
