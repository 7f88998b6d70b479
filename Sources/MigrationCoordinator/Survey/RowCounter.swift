import GRDB
import Schema
import StoreFormat

/// Counts rows that satisfy tests, all tests on one table in one pass.
struct RowCounter {
  /// A test on the rows of a table.
  struct Question: Hashable {
    /// The table, aliased as `s`.
    var from: String
    var test: String
  }

  private let reader: StoreReader
  private var open: [Question] = []
  private var answers: [Question: Int64] = [:]
  /// SQLite's limit on columns is 2000, and on the length of a statement a million characters.
  private static let perPass = 100

  init(_ reader: StoreReader) { self.reader = reader }

  /// Adds a test for the next `run`.
  mutating func ask(_ question: Question) {
    if answers[question] == nil && !open.contains(question) { open.append(question) }
  }

  /// Counts for all tests that were added.
  mutating func run() throws {
    var tables: [String] = []
    var byTable: [String: [Question]] = [:]
    for question in open {
      if byTable[question.from] == nil { tables.append(question.from) }
      byTable[question.from, default: []].append(question)
    }
    open = []
    for table in tables {
      var rest = (byTable[table] ?? [])[...]
      while !rest.isEmpty {
        try count(questions: Array(rest.prefix(Self.perPass)), table: table)
        rest = rest.dropFirst(Self.perPass)
      }
    }
  }

  private mutating func count(questions: [Question], table: String) throws {
    let counts = questions.map { "count(*) FILTER (WHERE \($0.test))" }
    let row = try reader.connection.run { db in
      try Row.fetchOne(db, sql: "SELECT \(counts.joined(separator: ", ")) FROM \(table)")
    }
    for (index, question) in questions.enumerated() {
      answers[question] = row.flatMap { Int64.fromDatabaseValue($0[index]) } ?? 0
    }
  }

  func answer(_ question: Question) -> Int64 { answers[question] ?? 0 }
}
