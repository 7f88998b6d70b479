import GRDB
import Mapping
import ObjectMigration
import ObjectModel
import Schema
import StoreFormat
import SystemPackage
import TestSupport
import Testing

/// Filters of a large table by ranges of keys on several connections, against one connection.
@Suite(.scratchFolder) struct SharedFilterSurveyTests {
  private var path: FilePath { ScratchFolder.current.appending("Some.sqlite") }

  private func schema() throws -> StoreSchema {
    try StoreSchema(
      ManagedObjectModel(
        entities: [
          Entity("Item", [.optional("n", .integer64), .optional("word")]),
          Entity("Other", in: "Item"), Entity("Rare", in: "Item"),
        ]))
  }

  /// Makes a store whose keys are negative, near each other, far apart and the highest there is; of
  /// one entity there are two objects.
  private func make(_ change: String = "") throws -> StoreReader {
    let schema = try schema()
    let connection = try StoreConnection.writable(path)
    try connection.run { db in
      for table in schema.tables { try db.execute(sql: table.createStatement) }
      try db.execute(
        sql: """
          CREATE TABLE Z_METADATA (x);
          CREATE TABLE Z_PRIMARYKEY (x);
          WITH RECURSIVE i(i) AS (SELECT -3000 UNION ALL SELECT i + 1 FROM i WHERE i < 3000)
          INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZN, ZWORD)
            SELECT CASE WHEN abs(i) < 2000 THEN i ELSE i * 3000000000000000 END,
              CASE WHEN i IN (-1000, 2999) THEN 3 WHEN i BETWEEN 500 AND 900 THEN 2
                ELSE 1 + (i % 5 = 0) END,
              1, CASE WHEN i % 11 <> 0 THEN i % 13 END, 'word ' || (i % 7) FROM i;
          INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZN)
            VALUES (-9223372036854775808, 1, 1, 3), (9223372036854775807, 1, 1, 3);
          \(change)
          """)
    }
    try connection.queue.close()
    return try StoreReader(immutable: path)
  }

  private func division(_ filters: [String], of entity: String) throws -> MappingLosses.Division {
    try MappingLosses.division(filters, of: entity, in: schema().model)
  }

  /// What a survey tells, as far as it gets.
  private struct Told: Equatable {
    var outcome: FilterSurvey.Outcome?
    /// Keys of objects that all mappings together do not take; then those of each.
    var keys: [[Int64]]
    var shared: [Int] = []
    var looked = 0
    var error: String?
  }

  private func told(
    _ reader: StoreReader, readers: Int, division: MappingLosses.Division
  ) throws -> Told {
    let tables = try TableDivision(reader, sharedFrom: 0, readers: readers)
    #expect(tables.scan(of: "ZITEM").ranges.count > (readers > 1 ? 20 : 0))
    let survey = SharedFilterSurvey(tables, schema: try schema(), support: nil, now: 0)
    defer { survey.close() }
    let places = division.mappings.indices
    let question = FilterSurvey.Question(
      untaken: [Array(places)] + places.map { [$0] }, exclusive: [Array(places)])
    var told = Told(keys: question.untaken.map { _ in [] })
    do {
      told.outcome = try survey.outcome(division: division, asking: question) { found in
        for (set, keys) in found.keys.enumerated() { told.keys[set] += keys }
        if let shared = found.shared, told.shared.isEmpty { told.shared = [shared.0, shared.1] }
        told.looked += found.looked
      }
    } catch {
      told.error = "\(error)"
    }
    return told
  }

  @Test(
    arguments: [
      ["n > 5"], ["n > 5", "n <= 5"], ["word BEGINSWITH 'word 3'"],
      ["word BEGINSWITH 'word -1'", "n == nil OR word ENDSWITH '2'"], ["FALSEPREDICATE"],
      ["n == 3", "n == 3", "word == 'word 1'"],
    ], ["Item", "Other", "Rare"])
  func `several connections tell the same as one`(filters: [String], entity: String) throws {
    let (reader, division) = (try make(), try division(filters, of: entity))
    let one = try told(reader, readers: 1, division: division)
    #expect(one.error == nil)
    #expect(one.outcome?.left.count == filters.count)
    #expect(one.keys == one.keys.map { $0.sorted() })
    #expect(one.keys.map(\.count) == one.outcome.map { [$0.untaken] + $0.left }?.map(Int.init))
    if filters.count == 3, entity != "Rare" { #expect(one.shared == [0, 1]) }
    if filters == ["n > 5", "n <= 5"] { #expect(one.shared.isEmpty) }
    let rows = try reader.number(
      sql:
        "SELECT count(*) FROM ZITEM WHERE Z_ENT = \(["Item", "Other", "Rare"].firstIndex(of: entity).map { $0 + 1 } ?? 0)"
    )
    if filters == ["FALSEPREDICATE"] { #expect(one.keys[0].count == Int(rows)) }
    if filters[0].contains("WITH") { #expect(one.looked == Int(rows)) }
    for readers in [2, 3, 8] {
      for _ in 0..<3 { #expect(try told(reader, readers: readers, division: division) == one) }
    }
  }

  @Test(arguments: [["n > 5"], ["n > 5", "word BEGINSWITH 'a'"]])
  func `the first object in the order of keys that has no value is told`(
    filters: [String]
  ) throws {
    let reader = try make("UPDATE ZITEM SET ZN = 'abc' WHERE Z_PK IN (1901, -1499, 1502, 77);")
    let division = try division(filters, of: "Item")
    let one = try told(reader, readers: 1, division: division)
    #expect(one.error?.contains("-1499") == true)
    for readers in [2, 3, 8] {
      for _ in 0..<5 { #expect(try told(reader, readers: readers, division: division) == one) }
    }
  }
}
