import Expressions
import Foundation
import GRDB
import Godwit
import Mapping
import ObjectModel
import Planning
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Expressions for attributes on top of what is inferred.
@Suite(.scratchFolder) struct ValueSettingTests {
  private static let engines: [EngineName?] = [nil, .sql, .pages, .objects]

  private func reminders(
    _ id: Attribute, unique: [[String]] = [["id"]], rows: Int64 = 50
  ) throws -> GivenMigration {
    let title = Attribute.mandatory("title", default: .string(""))
    return try GivenMigration(
      from: ManagedObjectModel(Entity("Reminder", [title])),
      to: ManagedObjectModel(Entity("Reminder", [title, id], unique: unique)), rows: rows)
  }

  private func migrate(
    _ given: GivenMigration, _ settings: [String], engine: EngineName? = nil, workers: Int = 1
  ) async throws -> FilePath {
    let output = given.folder.appending("\(engine?.rawValue ?? "auto")-\(workers).sqlite")
    var request = given.request(
      workers: workers, rangeRows: workers > 1 ? 7 : nil, output: output)
    request.settings = settings
    request.engine = engine
    _ = try await given.run(request)
    var verification = StoreVerification(of: output, madeFrom: given.store)
    verification.target = [given.target]
    verification.routing.settings = settings
    let report = try await verification.run()
    #expect(report.isAlike, "\(engine?.rawValue ?? "auto"): \(report.differences)")
    return output
  }

  private func refusal(
    _ given: GivenMigration, _ settings: [String], engine: EngineName? = nil
  ) async throws -> any Error {
    var request = given.request(output: given.folder.appending("Refused.sqlite"))
    request.settings = settings
    request.engine = engine
    return try #require(await #expect(throws: (any Error).self) { try await given.run(request) })
  }

  private func rows<Value: DatabaseValueConvertible & Sendable>(
    _ store: FilePath, _ sql: String
  ) throws -> [Value] {
    try DatabaseQueue(path: "file:\(store)?immutable=1").read { try Value.fetchAll($0, sql: sql) }
  }

  @Test func `a property has one expression, however often it is given`() throws {
    #expect(try ValueSetting.read(["A.x=1", "A.y=1", "A.x=1"]).map(\.name) == ["A.x", "A.y"])
    #expect {
      try ValueSetting.read(["A.x=1", "A.x=2"])
    } throws: { error in
      guard case .settingUnreadable("A.x=2", .repeated)? = error as? MigrationError else {
        return false
      }
      return true
    }
  }

  @Test(arguments: [false, true])
  func `every object gets a UUID of its own, the same by every engine and in every run`(
    isUnique: Bool
  ) async throws {
    let given = try reminders(.mandatory("id", .uuid), unique: isUnique ? [["id"]] : [])
    let evaluator = ExpressionEvaluator(EvaluationScope())
    let store: [String] = try rows(given.store, "SELECT Z_UUID FROM Z_METADATA")
    // What a text has for its UUID is compared with Python's in the tables of functions.
    let keys: [Int64] = try rows(given.store, "SELECT Z_PK FROM ZREMINDER ORDER BY Z_PK")
    let expected = try keys.map { key in
      let uri = "x-coredata://\(store[0])/Reminder/p\(key)"
      let value = try evaluator.value(of: try ValueExpression(format: "uuid(\"\(uri)\")"))
      guard case .scalar(.uuid(let bytes)) = value else { return Data() }
      return Data(bytes)
    }
    for engine in Self.engines {
      for workers in [1, 3] {
        let output = try await migrate(
          given, ["Reminder.id=uuid()"], engine: engine, workers: workers)
        let found: [Data] = try rows(output, "SELECT ZID FROM ZREMINDER ORDER BY Z_PK")
        #expect(found == expected, "\(engine?.rawValue ?? "auto") \(workers)")
      }
    }
  }

  @Test func `one default for all is told as the reason why they are not unique`() async throws {
    let value = AttributeValue.uuid(Array(0..<16))
    let given = try reminders(.mandatory("id", .uuid, default: value))
    let error = try await refusal(given, [])
    guard case MigrationError.impossible(_, let reasons, _) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(
      reasons.map(\.reason) == [
        .condition(.defaultsDiffer(properties: ["id"]), count: 50, keys: [1])
      ])
    #expect(
      reasons[0].sentence
        == "Reminder: 50 objects would get the same value of id, and it must be unique; "
        + "give each its own value: use routing.settings = [\"Reminder.id=EXPRESSION\"], such as "
        + "uuid() for a UUID and CAST(uuid(), \"NSString\") for a text. [134111]"
    )
    _ = try await migrate(given, ["Reminder.id=uuid()"])
  }

  @Test func `a mandatory attribute without a default gets its values`() async throws {
    let given = try reminders(.mandatory("id"), unique: [])
    let error = try await refusal(given, [])
    guard case MigrationError.impossible(_, let reasons, _) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(reasons.map(\.property) == ["id"])
    #expect(reasons[0].sentence.contains("use routing.settings = [\"Reminder.id=EXPRESSION\"]"))
    for engine in Self.engines {
      let output = try await migrate(
        given, ["Reminder.id=uppercase($source.title)"], engine: engine)
      let titles: [String] = try rows(output, "SELECT ZTITLE FROM ZREMINDER ORDER BY Z_PK")
      let found: [String] = try rows(output, "SELECT ZID FROM ZREMINDER ORDER BY Z_PK")
      #expect(found == titles.map { $0.uppercased() }, "\(engine?.rawValue ?? "auto")")
    }
  }

  @Test(arguments: engines)
  func `a setting that yields nil for a mandatory attribute is refused`(
    engine: EngineName?
  ) async throws {
    let given = try GivenMigration(
      from: ManagedObjectModel(Entity("A", [.optional("name")])),
      to: ManagedObjectModel(Entity("A", [.optional("name"), .mandatory("code")])), rows: 5)
    try given.change("UPDATE ZA SET ZNAME = NULL WHERE Z_PK = 3")
    let error = try await refusal(given, ["A.code=$source.name"], engine: engine)
    #expect(MigrationFailure(error).exitStatus == .impossible)
    // One that yields it of every object needs none of them to be refused.
    let constant = try await refusal(given, ["A.code=nil"], engine: engine)
    guard case MigrationError.impossible(_, let reasons, _) = constant else {
      Issue.record("\(constant)")
      return
    }
    #expect(reasons.map(\.code.rawValue) == [1570])
  }

  @Test func `texts become dates in a format, and one that is none is told with its key`()
    async throws
  {
    let old = try ManagedObjectModel(Entity("Grade", [.optional("date"), .optional("n", .date)]))
    let new = try ManagedObjectModel(Entity("Grade", [.optional("date", .date), .optional("n")]))
    let given = try GivenMigration(from: old, to: new, rows: 3)
    try given.change("UPDATE ZGRADE SET ZDATE = '2014-01-16'")
    let settings = [
      "Grade.date=date($source.date, \"yyyy-MM-dd\")", "Grade.n=CAST($source.n, \"NSString\")",
    ]
    for engine in Self.engines {
      let output = try await migrate(given, settings, engine: engine)
      let dates: [Double] = try rows(output, "SELECT ZDATE FROM ZGRADE")
      #expect(dates == [411_523_200, 411_523_200, 411_523_200])
    }
    // What no setting is about stays refused, and nothing else does.
    let error = try await refusal(given, [settings[0]])
    guard case MigrationError.impossible(_, let reasons, _) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(
      reasons.map(\.reason) == [.incompatibleTypes(source: "Date", destination: "String")])
    #expect(reasons.map(\.property) == ["n"])
    try given.change(
      "UPDATE ZGRADE SET ZDATE = '16.01.2014' WHERE Z_PK = (SELECT max(Z_PK) FROM ZGRADE)")
    let last: [Int64] = try rows(given.store, "SELECT max(Z_PK) FROM ZGRADE")
    for engine in Self.engines {
      let failure = MigrationFailure(try await refusal(given, settings, engine: engine))
      #expect(failure.exitStatus == .impossible)
      let text = failure.sentences.joined(separator: " ")
      let reason = "the text \"16.01.2014\" is not a date of the form yyyy-MM-dd"
      #expect(text.contains(reason), "\(text)")
      #expect(text.contains("property date") && text.contains("Grade \(last[0])"), "\(text)")
    }
  }

  @Test func `a setting holds for subentities, and the nearer one counts`() async throws {
    let given = try GivenMigration(
      from: ManagedObjectModel(
        Entity("A", [.optional("a")]), Entity("B", in: "A"), Entity("C", in: "B")),
      to: ManagedObjectModel(
        Entity("A", [.optional("a"), .mandatory("x", .integer16)]), Entity("B", in: "A"),
        Entity("C", in: "B")), rows: 30)
    let output = try await migrate(given, ["B.x=2", "A.x=1"])
    let found: [String] = try rows(
      output, "SELECT DISTINCT Z_ENT || ' ' || ZX FROM ZA ORDER BY 1")
    #expect(found == ["1 1", "2 2", "3 2"])
  }

  @Test func `names that no version has and texts that are none are usage errors`() async throws {
    let given = try reminders(.mandatory("id", .uuid), unique: [])
    for (text, part) in [
      ("Reminder.code=uuid()", "Reminder.id, Reminder.title"), ("Note.id=uuid()", "Reminder"),
      ("id=uuid()", "Entity.property=EXPRESSION"), ("Reminder.id", "Entity.property=EXPRESSION"),
      ("Reminder.id=uuid(", "at column"), ("Reminder.id=random()", "same result"),
    ] {
      let failure = MigrationFailure(try await refusal(given, [text]))
      #expect(failure.exitStatus == .usage, "\(text)")
      #expect(failure.description.contains(part), "\(failure.description)")
    }
    let mapping = MigrationFailure(try await refusal(given, ["Reminder.id=Bob"]))
    #expect(mapping.description.contains("it reads Bob without an object"))
  }

  @Test func `an attribute that no store has a value of, or that is derived, cannot be set`()
    async throws
  {
    var fleeting = Attribute.optional("fleeting")
    fleeting.isTransient = true
    let attributes: [Attribute] = try [
      .optional("title"), fleeting, .derived("plain", .string, from: "canonical:(title)"),
    ]
    let given = try GivenMigration(
      from: ManagedObjectModel(Entity("Reminder", attributes)),
      to: ManagedObjectModel(Entity("Reminder", attributes + [.optional("note")])), rows: 10)
    for engine in Self.engines {
      for (name, part) in [("fleeting", "is transient"), ("plain", "is derived")] {
        let failure = MigrationFailure(
          try await refusal(given, ["Reminder.\(name)=\"x\""], engine: engine))
        #expect(failure.exitStatus == .usage)
        #expect(failure.description.contains(part), "\(failure.description)")
      }
    }
  }
}
