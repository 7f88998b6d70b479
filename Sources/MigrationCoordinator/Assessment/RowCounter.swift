import GRDB
import Schema
import StoreFormat

/// Counts rows that satisfy tests, all tests on one table in one pass; large tables by ranges of
/// their keys, on several connections at once.
struct RowCounter {
  /// A test on the rows of a table.
  struct Question: Hashable {
    /// The table, aliased as `s`.
    var from: String
    var test: String
    /// The table by its keys, where its rows may be counted in parts: each is tested by itself.
    var parts: Keys?

    /// The table, whether or not SQLite may use its indexes.
    fileprivate var rows: String {
      from.hasSuffix(Self.withoutIndexes)
        ? String(from.dropLast(Self.withoutIndexes.count)) : from
    }

    fileprivate static let withoutIndexes = " NOT INDEXED"
  }

  /// A table, and the name of the column with the numbers of its rows.
  struct Keys: Hashable {
    var table: String
    var column = "Z_PK"
  }

  private let reader: StoreReader
  private let prepare: (Database) throws -> Void
  private let tables: TableDivision?
  private var open: [Question] = []
  private var answers: [Question: Int64] = [:]
  /// SQLite's limit on columns is 2000, and on the length of a statement a million characters.
  private static let perPass = 100

  /// Takes a connection to the store.
  ///
  /// - Parameters:
  ///   - tables: how tables are divided; by default as their size has it.
  ///   - prepare: makes functions known to another connection which tests call on that one.
  init(
    _ reader: StoreReader, tables: TableDivision? = nil,
    prepare: @escaping (Database) throws -> Void = { _ in }
  ) {
    (self.reader, self.tables, self.prepare) = (reader, tables, prepare)
  }

  /// Adds a test for the next `count`.
  mutating func ask(_ question: Question) {
    if answers[question] == nil && !open.contains(question) { open.append(question) }
  }

  /// Counts for all tests that were added.
  mutating func count() throws {
    if open.isEmpty { return }
    let counting = try Counting(reader, tables: tables ?? TableDivision(reader), prepare: prepare)
    var order: [String] = []
    var byTable: [String: [Question]] = [:]
    for question in open {
      if byTable[question.rows] == nil { order.append(question.rows) }
      byTable[question.rows, default: []].append(question)
    }
    open = []
    for table in order {
      for questions in counting.passes(byTable[table] ?? []) {
        var rest = questions[...]
        while !rest.isEmpty {
          let some = Array(rest.prefix(Self.perPass))
          for (question, count) in zip(some, try counting.counts(some)) {
            answers[question] = count
          }
          rest = rest.dropFirst(Self.perPass)
        }
      }
    }
  }

  func answer(_ question: Question) -> Int64 { answers[question] ?? 0 }
}

/// Counts by the connections of one run.
private final class Counting {
  private let reader: StoreReader
  private let tables: TableDivision
  private let prepare: (Database) throws -> Void
  private var connections: [StoreConnection]
  private var scans: [RowCounter.Keys: SharedScan] = [:]

  init(
    _ reader: StoreReader, tables: TableDivision, prepare: @escaping (Database) throws -> Void
  ) {
    (self.reader, self.tables, self.prepare) = (reader, tables, prepare)
    connections = [reader.connection]
  }

  /// The questions on one table by the passes that answer them.
  ///
  /// Questions whose rows can be counted in parts, if the table is large, share a pass. The others
  /// have passes of their own, in which SQLite may use an index.
  func passes(_ questions: [RowCounter.Question]) -> [[RowCounter.Question]] {
    var shared: [RowCounter.Question] = []
    var others: [[RowCounter.Question]] = [[], []]
    for question in questions {
      if let parts = question.parts, scan(of: parts).readers > 1 {
        shared.append(question)
      } else {
        others[question.rows == question.from ? 0 : 1].append(question)
      }
    }
    // One question about every row requires a pass that an index could have saved.
    let every = shared.filter { $0.rows != $0.from }
    return [every + shared.filter { $0.rows == $0.from }] + others
  }

  private func scan(of keys: RowCounter.Keys) -> SharedScan {
    if let known = scans[keys] { return known }
    let made = tables.scan(of: keys.table)
    scans[keys] = made
    return made
  }

  func counts(_ questions: [RowCounter.Question]) throws -> [Int64] {
    guard let first = questions.first else { return [] }
    let counts = questions.map { "count(*) FILTER (WHERE \($0.test))" }
    let sql = "SELECT \(counts.joined(separator: ", ")) FROM \(first.from)"
    var sums = Array(repeating: Int64(0), count: questions.count)
    if let keys = first.parts, scan(of: keys).readers > 1,
      let part = try inPart(sql, column: "s.\(SQL.identifier(name: keys.column))")
    {
      let scan = scan(of: keys)
      try open(scan.readers)
      try scan.read(with: Array(connections.prefix(scan.readers))) { connection, keys, found in
        try found(
          Self.row(part, [keys.lowerBound, keys.upperBound], count: sums.count, in: connection))
      } take: { (found: [Int64]) in
        for place in sums.indices { sums[place] += found[place] }
      }
      return sums
    }
    return try Self.row(sql, [], count: sums.count, in: reader.connection)
  }

  /// The statement for rows of a range; nil if an index answers everything, or rows would not be
  /// found by their keys.
  private func inPart(_ sql: String, column: String) throws -> String? {
    let part = "\(sql) WHERE \(column) BETWEEN ?1 AND ?2"
    return try reader.connection.run { db in
      func plan(_ sql: String, _ arguments: StatementArguments = []) throws -> [String] {
        let rows = try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \(sql)", arguments: arguments)
        return rows.compactMap { String.fromDatabaseValue($0["detail"]) }
      }
      if try plan(sql).contains(where: { $0.contains("COVERING INDEX") }) { return nil }
      let isByKey = try plan(part, [0, 0]).contains {
        $0.contains("s USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)")
      }
      return isByKey ? part : nil
    }
  }

  private func open(_ count: Int) throws {
    while connections.count < count {
      // Fewer will do where no more files may be open.
      guard let connection = try? tables.connection(connections.count) else { return }
      try connection.run(prepare)
      connections.append(connection)
    }
  }

  private static func row(
    _ sql: String, _ arguments: [Int64], count: Int, in connection: StoreConnection
  ) throws -> [Int64] {
    try connection.run { db in
      let statement = try db.cachedStatement(sql: sql)
      let row = try Row.fetchOne(statement, arguments: StatementArguments(arguments))
      return (0..<count).map { index in row.flatMap { Int64.fromDatabaseValue($0[index]) } ?? 0 }
    }
  }
}

extension RowCounter.Question {
  /// A test on each row of a table of the store, whatever its indexes have.
  init(everyRowOf table: String, column: String = "Z_PK", test: String) {
    self.init(
      from: "\(SQL.identifier(name: table)) AS s\(Self.withoutIndexes)", test: test,
      parts: .init(table: table, column: column))
  }
}
