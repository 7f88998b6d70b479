import Expressions
import GRDB
import Mapping
import ObjectMigration
import ObjectModel
import PageEngine
import Schema
import StoreFormat
import SystemPackage
import TestSupport
import Testing

/// Filters by the pages of a table, against SQLite and the evaluator.
@Suite(.scratchFolder) struct FilterCursorTests {
  private static let predicates = [
    "n == 5", "n != 5", "n > 5", "n <= 5.5", "n == nil", "n != nil", "NOT (n > 5)",
    "n IN {1, 5, 7}", "n BETWEEN {2, 6}", "n > 5 AND x < 3", "n > 5 OR x < 3", "n >= -5",
    "x > 2", "x == 2.5", "x IN {2.5, 7}", "x BETWEEN {1, 2.5}", "flag == YES", "flag != YES",
    "flag == 1", "word == 'é'", "word != 'b'", "word IN {'a', 'é'}", "word < 'b'",
    "word == nil OR n == 5", "at > CAST(10, 'NSDate')", "at != nil AND NOT (flag == YES)",
    "n != nil OR TRUEPREDICATE", "FALSEPREDICATE", "NOT (n IN {5})", "late == 3", "late != 3",
    "word == 'a' AND flag == NO AND n != nil", "data != nil", "n == 9007199254740993",
    "x == 9007199254740992", "x < 9007199254740993", "n < 9223372036854775807",
    "NOT (word == 'a' OR NOT (flag == YES AND n > 3) OR late == 3)", "n IN {}",
  ]

  private var path: FilePath { ScratchFolder.current.appending("Some.sqlite") }

  private func schema() throws -> StoreSchema {
    try StoreSchema(
      ManagedObjectModel(
        entities: [
          Entity(
            "Item",
            [
              .optional("n", .integer64), .optional("x", .double), .optional("flag", .boolean),
              .optional("at", .date), .optional("word"), .optional("data", .binary),
              .optional("late", .integer16),
            ]), Entity("Other", in: "Item"),
        ]))
  }

  /// Makes a store with values of all kinds, some of which lie beyond their leaf, and a column that
  /// older rows do not have.
  private func make(pageSize: Int, isOdd: Bool, change: String = "") throws -> StoreReader {
    let schema = try schema()
    let connection = try StoreConnection.writable(path)
    let odd = "'abc', 2.5, x'05', CAST(x'ff61' AS TEXT), '7', 1e300"
    func one(of values: String, _ step: Int) -> String {
      let list = values + (isOdd ? ", \(odd)" : "")
      let cases = list.split(separator: ", ").enumerated()
        .map { "WHEN \($0) THEN \($1)" }.joined(separator: " ")
      return "CASE i / \(step) % \(list.split(separator: ", ").count) \(cases) END"
    }
    try connection.run { db in
      try db.execute(sql: "PRAGMA page_size = \(pageSize)")
      for table in schema.tables {
        let statement = table.createStatement.replacing(" ZLATE INTEGER,", with: "")
        #expect(statement != table.createStatement)
        try db.execute(sql: statement)
      }
      let insert = """
        WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 1200)
        INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZN, ZX, ZFLAG, ZAT, ZWORD, ZDATA)
          SELECT (i - 300) * 7 + %, 1 + (i % 9 = 4), 1,
            \(one(of: "NULL, 5, -5, 7, 9007199254740993, 9223372036854775807, 0, 1", 1)),
            \(one(of: "NULL, 2.5, -0.0, 7, 9007199254740993, 1e300, 9e999", 2)),
            \(one(of: "NULL, 0, 1, 2", 3)), \(one(of: "NULL, 11, 9.5", 5)),
            CASE WHEN i % 31 = 7 THEN printf('%.9000c', 'a') ELSE
              \(one(of: "NULL, 'a', 'A', 'b', 'é', 'e' || char(769), '', 'a' || char(0)", 7)) END,
            CASE WHEN i % 40 = 8 THEN zeroblob(70000) WHEN i % 2 = 0 THEN x'01' END
          FROM i;
        """
      try db.execute(
        sql: """
          CREATE TABLE Z_METADATA (x); CREATE TABLE Z_PRIMARYKEY (x);
          \(insert.replacing("7 + %,", with: "7,"))
          ALTER TABLE ZITEM ADD COLUMN ZLATE INTEGER;
          \(insert.replacing("7 + %,", with: "7 + 1,"))
          UPDATE ZITEM SET ZLATE = Z_PK % 5 WHERE Z_PK % 3 = 0;
          INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZN)
            VALUES (-9223372036854775808, 1, 1, 6), (9223372036854775807, 1, 1, 6);
          \(change)
          """)
    }
    try connection.queue.close()
    return try StoreReader(immutable: path)
  }

  private struct Told: Equatable {
    var outcome: FilterSurvey.Outcome?
    /// Keys of objects that all mappings together do not take; then those of each.
    var keys: [[Int64]]
    var shared: [Int] = []
    var error: String?
  }

  /// What is told of filters: by SQLite, by pages, and by pages in ranges on several connections.
  private func told(
    _ filters: [String], reader: StoreReader, entity: String = "Item", readsAll: Bool = false
  ) throws -> [Told] {
    let schema = try schema()
    let division = try MappingLosses.division(
      filters, of: entity, in: schema.model, readsAll: readsAll)
    if readsAll { #expect(division.properties.isEmpty) }
    let pages = try #require(FilterCursors(SourceFile(reader.path), textEncoding: 1))
    let places = division.mappings.indices
    let question = FilterSurvey.Question(
      untaken: [Array(places)] + places.map { [$0] }, exclusive: [Array(places)])
    return try [(nil, 1), (pages, 1), (pages, 3)].map { (pages: (any FilterPages)?, readers: Int) in
      let survey = SharedFilterSurvey(
        try TableDivision(reader, sharedFrom: 0, readers: readers), schema: schema, support: nil,
        now: 0, pages: pages)
      defer { survey.close() }
      var told = Told(keys: question.untaken.map { _ in [] })
      do {
        told.outcome = try survey.outcome(division: division, asking: question) { found in
          for (set, keys) in found.keys.enumerated() { told.keys[set] += keys }
          if let shared = found.shared, told.shared.isEmpty { told.shared = [shared.0, shared.1] }
        }
      } catch {
        told.error = "\(error)"
      }
      return told
    }
  }

  @Test(arguments: [512, 4096, 65_536])
  func `pages tell what SQLite tells`(pageSize: Int) throws {
    let reader = try make(pageSize: pageSize, isOdd: false)
    let isCommon = pageSize == 4096
    for predicate in isCommon ? Self.predicates : ["n > 5", "word == 'a'", "data == nil"] {
      for filters in [[predicate], [predicate, "n > 5"], [predicate, "word == 'a'", "late == 1"]] {
        for entity in ["Item", "Other"] {
          let told = try told(filters, reader: reader, entity: entity)
          #expect(told[0].error == nil && told[0].outcome != nil)
          #expect(told[1] == told[0] && told[2] == told[0], "\(filters)")
        }
      }
    }
  }

  @Test func `what mappings take that read all values is told alike, a buffer at a time`() throws {
    // No row takes more than its page.
    let reader = try make(
      pageSize: 4096, isOdd: false,
      change: """
        UPDATE ZITEM SET ZWORD = 'b' WHERE length(ZWORD) > 9;
        UPDATE ZITEM SET ZDATA = NULL WHERE length(ZDATA) > 9;
        """)
    for predicate in ["n == 5", "n > 5 OR x < 3", "word == 'é'", "FALSEPREDICATE", "data != nil"] {
      for filters in [
        [predicate], [predicate, "NOT (\(predicate))"], [predicate, "n > 5", "late == 1"],
      ] {
        for entity in ["Item", "Other"] {
          let told = try told(filters, reader: reader, entity: entity, readsAll: true)
          #expect(told[0].error == nil && told[0].outcome?.forgotten == [:])
          #expect(told[1] == told[0] && told[2] == told[0], "\(filters)")
        }
      }
    }
  }

  @Test(
    arguments: Self.predicates)
  func `values of other types are told alike, and what goes wrong with them`(
    predicate: String
  ) throws {
    let reader = try make(pageSize: 4096, isOdd: true)
    for filters in [[predicate], [predicate, "n == nil"]] {
      let told = try told(filters, reader: reader)
      #expect(told[1] == told[0] && told[2] == told[0], "\(filters)")
    }
  }

  @Test func `what is not as Core Data makes it is left to SQLite`() throws {
    let reader = try make(
      pageSize: 4096, isOdd: false,
      change: """
        ALTER TABLE ZITEM RENAME TO old;
        CREATE TABLE ZITEM (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZN INTEGER,
          ZX FLOAT, ZFLAG INTEGER, ZLATE INTEGER, ZAT TIMESTAMP, ZWORD VARCHAR COLLATE NOCASE,
          ZDATA BLOB);
        INSERT INTO ZITEM SELECT Z_PK, Z_ENT, Z_OPT, ZN, ZX, ZFLAG, ZLATE, ZAT, ZWORD, ZDATA
          FROM old;
        """)
    let told = try told(["word == 'a'"], reader: reader)
    #expect(told[1] == told[0] && told[2] == told[0])
    #expect(FilterCursors(try SourceFile(path), textEncoding: 2) == nil)
  }

  @Test func `a damaged leaf is told as SQLite tells it`() throws {
    let outline = try make(pageSize: 4096, isOdd: false)
    let root = try #require(outline.tableEntries()["ZITEM"]?.root)
    var bytes = try contents(path)
    // The second child of the root.
    let start = (Int(root) - 1) * 4096
    let cell = Int(bytes[start + 14]) << 8 | Int(bytes[start + 15])
    let child = bytes[(start + cell)..<(start + cell + 4)].reduce(0) { $0 << 8 | Int($1) }
    bytes[(child - 1) * 4096 + 3] = 0xff
    try write(bytes)
    let told = try told(["n > 5"], reader: StoreReader(immutable: path))
    #expect(told[0].error != nil && !told[0].keys[0].isEmpty)
    #expect(told[1] == told[0])
    #expect(told[2].error == told[0].error)
  }

  private func contents(_ path: FilePath) throws -> [UInt8] {
    let file = try SourceFile(path)
    var bytes = [UInt8](repeating: 0, count: Int(file.byteCount))
    _ = try bytes.withUnsafeMutableBytes { try file.read($0, at: 0) }
    return bytes
  }

  private func write(_ bytes: [UInt8]) throws {
    let file = try FileDescriptor.open(path, .writeOnly)
    _ = try file.closeAfter { try file.writeAll(bytes) }
  }
}
