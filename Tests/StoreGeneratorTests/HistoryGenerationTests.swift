import GRDB
import ObjectModel
import Schema
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import StoreGenerator

@Suite(.scratchFolder) struct HistoryGenerationTests {
  private var store: FilePath { ScratchFolder.current.appending("Made.sqlite") }

  /// Whose names and codes outlive them.
  private static func model() throws -> ManagedObjectModel {
    func preserved(_ name: String, _ type: AttributeType) -> Attribute {
      var attribute = Attribute.optional(name, type)
      attribute.preservesValueAfterDeletion = true
      return attribute
    }
    return try ManagedObjectModel(
      Entity("Base", isAbstract: true, [preserved("id", .uuid)]),
      Entity(
        "Album", in: "Base", [preserved("title", .string), preserved("year", .integer32)],
        [.toMany("photos", "Photo", inverse: "album", isOrdered: true)]),
      Entity(
        "Photo", in: "Base", [.optional("name"), preserved("size", .double)],
        [
          .toOne("album", "Album", inverse: "photos"), .toMany("tags", "Tag", inverse: "photos"),
        ]),
      Entity("Tag", [.optional("word")], [.toMany("photos", "Photo", inverse: "tags")]),
      Entity("Void"))
  }

  private func generate(
    _ model: ManagedObjectModel, rows: Int64, transactions: Int64?, changes: Int64?,
    seed: UInt64 = 5, to path: FilePath? = nil
  ) throws {
    _ = try StoreGenerator(
      model: model, rows: rows, seed: seed,
      history: HistorySize(transactions: transactions, changes: changes)
    ).generate(to: path ?? store)
  }

  private func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
    try StoreConnection.immutable(store).run(body)
  }

  private func count(_ table: String) throws -> Int64 {
    try read { db in try Int64.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? -1 }
  }

  /// What no history may have, counted by queries of their own.
  private func faults(_ model: ManagedObjectModel) throws -> [String: Int64] {
    let schema = try StoreSchema(model)
    var queries = [
      "a change without its transaction":
        "ACHANGE WHERE ZTRANSACTIONID NOT IN (SELECT Z_PK FROM ATRANSACTION)",
      "an object that changes twice in a transaction":
        "(SELECT 1 FROM ACHANGE GROUP BY ZTRANSACTIONID, ZENTITY, ZENTITYPK HAVING count(*) > 1)",
      "a mask without an update": "ACHANGE WHERE ZCHANGETYPE <> 1 AND ZCOLUMNS IS NOT NULL",
      "an insert after another change": """
      ACHANGE AS a JOIN ACHANGE AS b USING (ZENTITY, ZENTITYPK)
      WHERE a.ZCHANGETYPE = 0 AND b.Z_PK < a.Z_PK
      """,
      "a change after the deletion": """
      ACHANGE AS a JOIN ACHANGE AS b USING (ZENTITY, ZENTITYPK)
      WHERE a.ZCHANGETYPE = 2 AND b.Z_PK > a.Z_PK
      """,
      "a transaction before the one before it":
        "ATRANSACTION AS a JOIN ATRANSACTION AS b ON b.Z_PK = a.Z_PK + 1 WHERE b.ZTIMESTAMP <= a.ZTIMESTAMP",
      "changes out of the order of transactions": """
      ACHANGE AS a JOIN ACHANGE AS b ON b.Z_PK = a.Z_PK + 1
      WHERE b.ZTRANSACTIONID < a.ZTRANSACTIONID
      """,
      "a number of another kind": "ACHANGE WHERE Z_ENT <> 16001 OR Z_OPT IS NOT NULL",
      "a key above the highest": """
      (SELECT 16001 AS n, max(Z_PK) AS k FROM ACHANGE
      UNION ALL SELECT 16002, max(Z_PK) FROM ATRANSACTION
      UNION ALL SELECT 16003, max(Z_PK) FROM ATRANSACTIONSTRING)
      WHERE k > (SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = n)
      """,
    ]
    for column in HistoryTables.stringColumns {
      queries["a name that is not there, \(column)"] = """
        ATRANSACTION WHERE \(column) IS NOT NULL
        AND \(column) NOT IN (SELECT Z_PK FROM ATRANSACTIONSTRING)
        """
    }
    for entity in model.entities where !entity.isAbstract {
      queries.merge(try queriesOfFaults(of: entity, in: schema)) { $1 }
    }
    return try read { db in
      var found: [String: Int64] = [:]
      for (name, query) in queries {
        let count = try Int64.fetchOne(db, sql: "SELECT count(*) FROM \(query)") ?? -1
        if count != 0 { found[name] = count }
      }
      return found
    }
  }

  /// The same of the changes of one entity's objects.
  private func queriesOfFaults(
    of entity: Entity, in schema: StoreSchema
  ) throws -> [String: String] {
    var queries: [String: String] = [:]
    let table = try #require(schema.table(of: entity))
    let number = try #require(schema.numbers[entity.name]?.rawValue)
    let layout = HistoryLayout(of: entity, table: table, in: schema.model)
    let spare = layout.bytes * 8 - layout.slots.count
    queries["a mask of another length, \(entity.name)"] = """
      ACHANGE WHERE ZENTITY = \(number) AND ZCHANGETYPE = 1
      AND ifnull(length(ZCOLUMNS), 0) <> \(layout.bytes)
      """
    queries["a mask that says nothing, \(entity.name)"] =
      layout.bytes == 0
      ? "Z_METADATA WHERE 0"
      : "ACHANGE WHERE ZENTITY = \(number) AND ZCOLUMNS = zeroblob(\(layout.bytes))"
    let digits = (0..<16).filter { $0 % (1 << min(4, spare)) != 0 }.map {
      "'\(String($0, radix: 16))'"
    }
    queries["a bit of no property, \(entity.name)"] =
      "ACHANGE WHERE ZENTITY = \(number) AND lower(substr(hex(ZCOLUMNS), -1)) IN "
      + "(\(digits.joined(separator: ", ")))"
    queries["an object that is gone and there, \(entity.name)"] = """
      ACHANGE AS c JOIN \(table.name) AS t ON t.Z_PK = c.ZENTITYPK
      WHERE c.ZENTITY = \(number) AND c.ZCHANGETYPE = 2
      """
    queries["an object that is neither gone nor there, \(entity.name)"] = """
      ACHANGE AS c WHERE c.ZENTITY = \(number)
      AND NOT EXISTS (SELECT 1 FROM \(table.name) AS t WHERE t.Z_PK = c.ZENTITYPK
        AND t.Z_ENT = \(number))
      AND NOT EXISTS (SELECT 1 FROM ACHANGE AS d WHERE d.ZENTITY = \(number)
        AND d.ZENTITYPK = c.ZENTITYPK AND d.ZCHANGETYPE = 2)
      """
    queries["a key above the highest of its table, \(entity.name)"] = """
      ACHANGE WHERE ZENTITY = \(number) AND ZENTITYPK >
      (SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = '\(table.rootName)')
      """
    return queries
  }

  @Test(
    arguments: [
      (0, 0, 0), (0, 1, 1), (0, 7, 50), (1, 3, 900), (3, 1, 1), (60, 1, 200), (60, 400, 20),
      (400, 10, 0), (400, 50, 60), (400, 300, 2_500), (1_500, 200, 3_000),
    ] as [(Int64, Int64, Int64)])
  func `a generated history is one that Core Data could have written`(
    rows: Int64, transactions: Int64, changes: Int64
  ) throws {
    let model = try Self.model()
    try generate(model, rows: rows, transactions: transactions, changes: changes)
    #expect(try faults(model) == [:])
    #expect(try count("ACHANGE") == changes)
    #expect(try count("ATRANSACTION") == transactions)
    #expect(try count("Z_PRIMARYKEY WHERE Z_ENT > 16000") == (transactions > 0 ? 3 : 0))
  }

  @Test(
    arguments: [
      ("UPDATE ACHANGE SET ZTRANSACTIONID = 9999 WHERE Z_PK % 50 = 0", "without its transaction"),
      (
        "UPDATE ACHANGE SET ZTRANSACTIONID = (SELECT max(Z_PK) FROM ATRANSACTION)",
        "changes twice in a transaction"
      ),
      ("UPDATE ACHANGE SET ZCOLUMNS = X'80' WHERE ZCHANGETYPE = 0", "mask without an update"),
      ("UPDATE ACHANGE SET ZCHANGETYPE = 0 WHERE ZCHANGETYPE = 1", "insert after another"),
      ("UPDATE ACHANGE SET ZCHANGETYPE = 2 WHERE ZCHANGETYPE = 0", "after the deletion"),
      ("UPDATE ATRANSACTION SET ZTIMESTAMP = 1 WHERE Z_PK % 7 = 0", "before the one before it"),
      ("UPDATE ACHANGE SET ZCOLUMNS = X'8000' WHERE ZCHANGETYPE = 1", "mask of another length"),
      ("UPDATE ACHANGE SET ZCOLUMNS = X'00' WHERE ZCHANGETYPE = 1", "mask that says nothing"),
      ("UPDATE ACHANGE SET ZCOLUMNS = X'81' WHERE ZCHANGETYPE = 1", "a bit of no property"),
      ("UPDATE ACHANGE SET ZENTITYPK = 1 WHERE ZCHANGETYPE = 2", "that is gone and there"),
      ("UPDATE ACHANGE SET ZENTITYPK = 99999 WHERE ZCHANGETYPE = 1", "neither gone nor there"),
      ("UPDATE Z_PRIMARYKEY SET Z_MAX = 1", "key above the highest"),
      ("UPDATE ATRANSACTION SET ZAUTHORTS = 99", "a name that is not there"),
    ])
  func `who judges histories finds what is wrong with them`(sql: String, fault: String) throws {
    let model = try Self.model()
    try generate(model, rows: 400, transactions: 50, changes: 700)
    let connection = try StoreConnection.writable(store)
    try connection.run { try $0.execute(sql: sql) }
    try connection.queue.close()
    #expect(try faults(model).keys.contains { $0.contains(fault) }, "\(sql)")
  }

  @Test(arguments: SampleModels.all.keys.sorted())
  func `history of any model keeps the rules`(name: String) throws {
    let make = try #require(SampleModels.all[name])
    let model = try make()
    try generate(model, rows: 300, transactions: nil, changes: 1_200)
    #expect(try faults(model) == [:])
  }

  @Test func `all kinds of changes occur, and tombstones keep values of the attributes' types`()
    throws
  {
    let model = try Self.model()
    try generate(model, rows: 400, transactions: 100, changes: 2_400)
    try read { db in
      let shares = try Double.fetchAll(
        db,
        sql: """
          SELECT count(*) * 1.0 / (SELECT count(*) FROM ACHANGE) FROM ACHANGE
          GROUP BY ZCHANGETYPE ORDER BY ZCHANGETYPE
          """)
      #expect(shares.count == 3 && shares.allSatisfy { $0 > 0.1 })
      #expect(shares[1] > 0.5)
      // The preserved attributes of albums are id, title and year, those of photos id and size.
      func types(_ entity: Int) throws -> [Set<String>] {
        try (0..<3).map { place in
          try String.fetchSet(
            db, sql: "SELECT typeof(ZTOMBSTONE\(place)) FROM ACHANGE WHERE ZENTITY = \(entity)"
          )
          .subtracting(["null"])
        }
      }
      let numbers = try StoreSchema(model).numbers
      func number(_ name: String) -> Int { Int(numbers[name]?.rawValue ?? 0) }
      #expect(try types(number("Album")) == [["blob"], ["text"], ["integer"]])
      #expect(try types(number("Photo")) == [["blob"], ["real"], []])
      #expect(try types(number("Tag")) == [[], [], []])
      let early = try Int64.fetchOne(
        db,
        sql: "SELECT count(*) FROM ACHANGE WHERE ZCHANGETYPE <> 2 AND ZTOMBSTONE0 IS NOT NULL")
      #expect(early == 0)
      let authors = try Int64.fetchOne(
        db, sql: "SELECT count(DISTINCT ifnull(ZAUTHORTS, 0)) FROM ATRANSACTION")
      #expect(authors == 4)
    }
  }

  @Test func `tables and indexes are made by the statements that Core Data uses`() throws {
    try generate(Self.model(), rows: 10, transactions: 1, changes: 1)
    let statements = try read { db in
      try String.fetchAll(
        db,
        sql: """
          SELECT sql FROM sqlite_schema
          WHERE tbl_name IN ('ACHANGE', 'ATRANSACTION', 'ATRANSACTIONSTRING') ORDER BY rowid
          """)
    }
    #expect(
      statements == [
        "CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER, ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB, ZTOMBSTONE0 BLOB, ZTOMBSTONE1 BLOB, ZTOMBSTONE2 BLOB )",
        "CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZAUTHORTS INTEGER, ZBUNDLEIDTS INTEGER, ZCONTEXTNAMETS INTEGER, ZPROCESSIDTS INTEGER, ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR, ZBUNDLEID VARCHAR, ZCONTEXTNAME VARCHAR, ZPROCESSID VARCHAR, ZQUERYGEN BLOB )",
        "CREATE TABLE ATRANSACTIONSTRING ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR )",
        "CREATE INDEX ACHANGE_ZTRANSACTIONID_INDEX ON ACHANGE (ZTRANSACTIONID)",
        "CREATE INDEX ATRANSACTION_ZAUTHORTS_INDEX ON ATRANSACTION (ZAUTHORTS)",
        "CREATE INDEX ATRANSACTION_ZBUNDLEIDTS_INDEX ON ATRANSACTION (ZBUNDLEIDTS)",
        "CREATE INDEX ATRANSACTION_ZCONTEXTNAMETS_INDEX ON ATRANSACTION (ZCONTEXTNAMETS)",
        "CREATE INDEX ATRANSACTION_ZPROCESSIDTS_INDEX ON ATRANSACTION (ZPROCESSIDTS)",
        "CREATE INDEX Z_TRANSACTION_TransactionAuthorIndex ON ATRANSACTION (ZAUTHOR COLLATE BINARY ASC)",
        "CREATE INDEX Z_TRANSACTION_TransactionTimestampIndex ON ATRANSACTION (ZTIMESTAMP COLLATE BINARY ASC)",
        "CREATE UNIQUE INDEX Z_TRANSACTIONSTRING_UNIQUE_NAME ON ATRANSACTIONSTRING (ZNAME COLLATE BINARY ASC)",
      ])
  }

  @Test func `records of a mirrored store name the transactions of its history`() throws {
    let model = try Self.model()
    _ = try StoreGenerator(
      model: model, rows: 900, seed: 5, isMirrored: true,
      history: HistorySize(transactions: 6, changes: 200)
    ).generate(to: store)
    #expect(try faults(model) == [:])
    for column in ["ZLASTEXPORTEDTRANSACTIONNUMBER", "ZPENDINGEXPORTTRANSACTIONNUMBER"] {
      #expect(try count("ANSCKRECORDMETADATA WHERE \(column) IS NOT NULL") > 0)
      #expect(
        try count(
          "ANSCKRECORDMETADATA WHERE \(column) NOT IN (SELECT Z_PK FROM ATRANSACTION)") == 0)
    }
    #expect(try count("ATRANSACTION") == 6)
    #expect(try count("Z_PRIMARYKEY WHERE Z_ENT BETWEEN 16001 AND 16003") == 3)
  }

  @Test func `a seed makes the same history again, another seed makes another`() throws {
    let folder = ScratchFolder.current
    func bytes(_ name: String, seed: UInt64) throws -> [UInt8] {
      let path = folder.appending(name)
      try generate(
        Self.model(), rows: 200, transactions: 40, changes: 700, seed: seed, to: path)
      return try Files.readFile(path, limit: 1 << 30)
    }
    let first = try bytes("first.sqlite", seed: 1)
    #expect(try bytes("again.sqlite", seed: 1) == first)
    #expect(try bytes("other.sqlite", seed: 2) != first)
  }

  @Test func `without history, a store is what it was`() throws {
    #expect(HistorySize(transactions: nil, changes: nil) == nil)
    try generate(Self.model(), rows: 20, transactions: nil, changes: nil)
    #expect(try StoreReader(immutable: store).catalog().tables["ACHANGE"] == nil)
  }

  @Test func `one of the two numbers tells the other`() {
    #expect(HistorySize(transactions: 5, changes: nil)?.changes == 40)
    #expect(HistorySize(transactions: nil, changes: 41)?.transactions == 6)
    #expect(HistorySize(transactions: 0, changes: nil)?.changes == 0)
  }

  @Test(
    arguments: [
      (-1, nil), (nil, -1), (0, 1), (.max, nil), (nil, .max), (.max, .max), (.min, .min),
      (1, 1 << 32),
    ] as [(Int64?, Int64?)])
  func `a history that cannot be is refused`(transactions: Int64?, changes: Int64?) throws {
    let error = #expect(throws: GenerationError.self) {
      try generate(Self.model(), rows: 20, transactions: transactions, changes: changes)
    }
    guard case .historyOutOfRange? = error?.problem else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `keys and times of a very long history are made as they are asked for`() throws {
    let model = try Self.model()
    let size = try #require(
      HistorySize(transactions: HistorySize.maximum, changes: HistorySize.maximum))
    let allocation = KeyAllocation(
      schema: try StoreSchema(model), names: Set(model.entities.map(\.name)),
      rows: KeyAllocation.maximumRows, seed: 1)
    let plan = HistoryPlan(size: size, allocation: allocation, seed: 1)
    var last = (change: Int64(0), time: 0.0)
    for number in stride(from: Int64(0), through: HistorySize.maximum - 1, by: 9_999_991) {
      let next = (
        change: plan.firstChange(ofTransaction: number), time: plan.time(ofTransaction: number)
      )
      #expect(next.change >= last.change && next.time > last.time)
      #expect(plan.change(number).key > 0)
      last = next
    }
    #expect(plan.firstChange(ofTransaction: HistorySize.maximum) == HistorySize.maximum)
  }
}
