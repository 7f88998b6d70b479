import Expressions
import GRDB
import Mapping
import ObjectMigration
import ObjectModel
import Schema
import TestSupport
import Testing

/// Filters in SQL against the evaluator.
struct FilterSurveyTests {
  private static let predicates = [
    "n == 5", "n != 5", "n > 5", "n <= 5.5", "n == nil", "n != nil", "NOT (n > 5)",
    "n IN {1, 5, 7}", "n BETWEEN {2, 6}", "n > 5 AND x < 3", "n > 5 OR x < 3",
    "x > 2", "x == 2.5", "x IN {2.5, 7}", "x BETWEEN {1, 2.5}", "flag == YES", "flag != YES",
    "flag == 1", "word == 'é'", "word != 'b'", "word IN {'a', 'é'}", "word < 'b'",
    "word BEGINSWITH 'a'", "word ==[c] 'A'", "word == nil OR n == 5", "at > CAST(10, 'NSDate')",
    "at != nil AND NOT (flag == YES)", "n != nil OR TRUEPREDICATE", "FALSEPREDICATE",
    "NOT (n IN {5})",
    "word == 'a' AND flag == NO AND n != nil", "data != nil", "n == 9007199254740993",
    "x == 9007199254740992",
  ]

  private func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      Entity(
        "Item",
        [
          .optional("n", .integer64), .optional("x", .double), .optional("flag", .boolean),
          .optional("at", .date), .optional("word"), .optional("data", .binary),
        ]))
  }

  private func outcomes(
    _ filters: [String], rows: [String]
  ) throws -> (FilterSurvey.Outcome?, FilterSurvey.Outcome?, [Int64]) {
    let schema = try StoreSchema(model())
    let queue = try DatabaseQueue()
    return try queue.writeWithoutTransaction { db in
      for table in schema.tables { try db.execute(sql: table.createStatement) }
      for (place, row) in rows.enumerated() {
        try db.execute(
          sql: """
            INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZN, ZX, ZFLAG, ZAT, ZWORD, ZDATA)
            VALUES (\(place * 5000 - 10000), 1, 1, \(row))
            """)
      }
      func outcome(bySQL: Bool, keys: inout [Int64]) throws -> FilterSurvey.Outcome? {
        var survey = FilterSurvey(db: db, schema: schema, support: nil, now: 0)
        survey.asksSQLite = bySQL
        defer { survey.close() }
        let mappings = filters.enumerated().map { place, filter in
          var mapping = EntityMapping(
            name: "Item\(place)", kind: .transform, source: "Item", destination: "Item")
          mapping.sourceExpression = .sourceObjects(of: "Item", where: filter)
          mapping.attributeMappings =
            place == 0 ? [] : [PropertyMapping(name: "n", valueExpression: .source(name: "n"))]
          return mapping
        }
        let losses = MappingLosses(
          models: [MappingModel(entityMappings: mappings)], source: schema.model,
          destination: schema.model)
        let division = try #require(losses.divisions.first)
        #expect(division.mappings == mappings.map(\.name))
        let question = FilterSurvey.Question(untaken: [Array(filters.indices)])
        return try survey.outcome(division: division, asking: question) { keys += $0.keys[0] }
      }
      var keys: [Int64] = []
      var others: [Int64] = []
      let first = try outcome(bySQL: true, keys: &keys)
      let second = try outcome(bySQL: false, keys: &others)
      #expect(keys == others, "\(filters)")
      return (first, second, keys)
    }
  }

  @Test(arguments: predicates)
  func `SQL and the evaluator take the same objects`(predicate: String) throws {
    let numbers = ["NULL", "5", "-5", "7", "9007199254740993", "9223372036854775807"]
    let reals = ["NULL", "2.5", "-0.0", "7", "9007199254740993", "1e300", "9e999"]
    let words = ["NULL", "'a'", "'A'", "'b'", "'é'", "'e' || char(769)", "''"]
    var rows: [String] = []
    for place in 0..<42 {
      rows.append(
        [
          numbers[place % 6], reals[place % 7], ["NULL", "0", "1", "2"][place % 4],
          ["NULL", "11", "9.5"][place % 3], words[place / 6 % 7], ["NULL", "x'01'"][place % 2],
        ].joined(separator: ", "))
    }
    let (first, second, keys) = try outcomes([predicate], rows: rows)
    #expect(first == second)
    #expect(keys.count == Int(first?.untaken ?? -1))
    #expect(first?.left == [first?.untaken ?? -1])
    #expect(predicate == "FALSEPREDICATE" || keys.count < rows.count)
    let (one, other, rest) = try outcomes([predicate, "n > 5"], rows: rows)
    #expect(one == other)
    #expect(rest.count <= keys.count)
    #expect(one?.left.first == first?.untaken)
    #expect(one?.left.count == 2)
  }

  @Test(arguments: ["n == 5", "n != 5", "n == nil", "x == 2.5", "flag != YES", "word == 'a'"])
  func `odd values are the evaluator's`(predicate: String) throws {
    let rows = [
      "'abc', 'abc', 'abc', 'abc', 5, 5", "2.5, x'00', 1.5, x'01', x'61', 'x'",
      "'5', '2.5', '1', '11', CAST(x'ff61' AS TEXT), NULL", "5, 2.5, 1, 11, 'a', NULL",
      "x'05', NULL, x'01', NULL, 2.5, NULL",
    ]
    for filters in [[predicate], [predicate, "n == nil"]] {
      let (first, second, _) = try outcomes(filters, rows: rows)
      #expect(first == second)
    }
  }

  @Test func `what has no value is told with its key`() throws {
    let error = #expect(throws: ObjectMigrationError.self) {
      try outcomes(["n > 5"], rows: ["7, 1, 1, 1, 'a', NULL", "'abc', 1, 1, 1, 'a', NULL"])
    }
    #expect(error?.entity == "Item")
    #expect(error?.key == -5000)
  }
}
