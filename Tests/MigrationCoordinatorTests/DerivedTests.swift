import Expressions
import GRDB
import Mapping
import ModelFiles
import ObjectModel
import Planning
import Schema
import StoreFormat
import StoreGenerator
import Survey
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Migrations of stores with derived attributes and R-trees.
@Suite(.scratchFolder) struct DerivedTests {
  private struct Form {
    var count = true
    var title = true
    var now = false
    var place = true
    var added: [Attribute] = []
    var dropsPages = false
  }

  /// Books with pages, an author and a place; `Aisle` comes first where a model has it.
  private static func model(_ form: Form, isNew: Bool = false) throws -> ManagedObjectModel {
    var book: [Attribute] = [
      .optional("latitude", .double), .optional("longitude", .double), .optional("title"),
    ]
    if form.count { book.append(try .derived("pagesCount", from: "pages.@count")) }
    if form.title { book.append(try .derived("authorName", .string, from: "author.name")) }
    if form.now { book.append(try .derived("changed", .date, from: "now()")) }
    if form.place {
      var point = Attribute.optional("place", .undefined)
      point.isTransient = true
      point.userInfo = [Attribute.coordinatesKey: "latitude, longitude"]
      book.append(point)
    }
    let page = Entity("Page", [.optional("text")], [.toOne("book", "Book", inverse: "pages")])
    var entities = [
      Entity("Author", [.optional("name")], [.toMany("books", "Book", inverse: "author")]),
      Entity(
        "Book", book + form.added,
        [.toOne("author", "Author", inverse: "books"), .toMany("pages", "Page", inverse: "book")]),
      page,
      Entity("Draft", in: "Page", [.optional("note")]),
    ]
    if form.dropsPages { entities.removeLast() }
    if isNew { entities.append(Entity("Aisle", [.optional("name")])) }
    return try ManagedObjectModel(entities: entities)
  }

  private func given(from old: Form, to new: Form, rows: Int64 = 200) throws -> GivenMigration {
    try GivenMigration(
      from: Self.model(old), to: Self.model(new, isNew: true), rows: rows)
  }

  private func read<Result>(
    _ store: FilePath, _ body: (Database) throws -> Result
  ) throws -> Result {
    try StoreReader(immutable: store).connection.run(body)
  }

  private static let wrong = """
    SELECT count(*) FROM ZBOOK AS b
    WHERE ZPAGESCOUNT IS NOT (SELECT count(*) FROM ZPAGE WHERE ZBOOK = b.Z_PK)
      OR ZAUTHORNAME IS NOT (SELECT ZNAME FROM ZAUTHOR WHERE Z_PK = b.ZAUTHOR)
    """

  @Test(arguments: [EngineName.sql, .pages], [true, false])
  func `values are right and triggers work, whether the attributes are new or not`(
    engine: EngineName, isNew: Bool
  ) async throws {
    let old = Form(count: !isNew, title: !isNew, place: !isNew)
    let given = try given(from: old, to: Form(added: [.optional("note")]))
    var request = given.request()
    request.engine = engine
    let report = try await given.run(request)
    #expect(report.engine == engine)
    let schema = try StoreSchema(Self.model(Form(added: [.optional("note")]), isNew: true))
    let (triggers, wrong, filled) = try read(given.store) { db in
      (
        try String.fetchAll(
          db, sql: "SELECT sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid"),
        try Int.fetchOne(db, sql: Self.wrong),
        try Int.fetchOne(db, sql: "SELECT count(*) FROM ZBOOK WHERE ZPAGESCOUNT > 0")
      )
    }
    #expect(triggers == schema.triggers.map(\.statement))
    #expect(wrong == 0)
    #expect(filled ?? 0 > 0)
    try change(given.store)
  }

  /// Changes a migrated store as an app does, with stubs for the functions of its process.
  private func change(_ store: FilePath) throws {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      for event in ["", "Insert"] {
        db.add(
          function: DatabaseFunction(
            "NSCoreDataDATrigger\(event)UpdatedAffectedObjectValue", argumentCount: 5
          ) { _ in nil })
      }
    }
    let queue = try DatabaseQueue(path: store.string, configuration: configuration)
    try queue.write { db in
      let author = try Int64.fetchOne(db, sql: "SELECT max(Z_PK) FROM ZAUTHOR") ?? 0
      for statement in [
        "INSERT INTO ZBOOK (Z_PK, Z_ENT, ZAUTHOR, ZLATITUDE, ZLONGITUDE) VALUES (9001, 2, \(author), 1.5, 2.5)",
        "INSERT INTO ZPAGE (Z_PK, Z_ENT, ZBOOK) VALUES (9001, 4, 9001), (9002, 4, 9001)",
        "UPDATE ZPAGE SET ZBOOK = 9001 WHERE Z_PK IN (SELECT Z_PK FROM ZPAGE ORDER BY 1 LIMIT 3)",
        "DELETE FROM ZPAGE WHERE Z_PK IN (SELECT Z_PK FROM ZPAGE ORDER BY 1 LIMIT 1)",
        "UPDATE ZAUTHOR SET ZNAME = 'other'",
        "DELETE FROM ZBOOK WHERE Z_PK = (SELECT min(Z_PK) FROM ZBOOK)",
        "UPDATE ZBOOK SET ZLATITUDE = ZLATITUDE + 1 WHERE Z_PK < 20",
      ] {
        try db.execute(sql: statement)
      }
      #expect(try Int.fetchOne(db, sql: Self.wrong) == 0)
      #expect(
        try Int.fetchOne(db, sql: "SELECT ZPAGESCOUNT FROM ZBOOK WHERE Z_PK = 9001") == 4)
      let tree = try #require(StoreSchema(Self.model(Form())).spatialIndexes.first)
      #expect(try Int64.fetchAll(db, sql: tree.strayKeys) == [])
      #expect(try String.fetchOne(db, sql: "SELECT rtreecheck('Z_RT_Book_place')") == "ok")
    }
    try queue.close()
  }

  @Test(arguments: [EngineName.sql, .pages], [true, false])
  func `an untouched value is carried, and one whose parts go is computed anew`(
    engine: EngineName, dropsPages: Bool
  ) async throws {
    let given = try given(from: Form(), to: Form(dropsPages: dropsPages))
    // A value that nobody but the store itself has.
    try alter(given.store, "UPDATE ZBOOK SET ZPAGESCOUNT = 777, ZAUTHORNAME = 'stale'")
    var request = given.request()
    request.engine = engine
    request.lossConsent = .all
    _ = try await given.run(request)
    let counts = try read(given.store) {
      try Int.fetchSet($0, sql: "SELECT ZPAGESCOUNT FROM ZBOOK")
    }
    #expect(counts.contains(777) == !dropsPages)
    let names = try read(given.store) {
      try String.fetchSet($0, sql: "SELECT ZAUTHORNAME FROM ZBOOK")
    }
    #expect(names == ["stale"])
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `a value that counted rows which stay behind is computed anew`(
    engine: EngineName
  ) async throws {
    let given = try given(from: Form(), to: Form(added: [.optional("note")]))
    try alter(given.store, "UPDATE ZPAGE SET Z_ENT = 77 WHERE Z_PK % 3 = 0")
    var request = given.request()
    request.engine = engine
    request.lossConsent = .all
    _ = try await given.run(request)
    #expect(try read(given.store) { try Int.fetchOne($0, sql: Self.wrong) } == 0)
  }

  /// Changes a store without firing its triggers.
  private func alter(_ store: FilePath, _ statements: String) throws {
    let connection = try StoreConnection.writable(store)
    try connection.run { db in
      let triggers = try Row.fetchAll(
        db, sql: "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid")
      for row in triggers { try db.execute(sql: "DROP TRIGGER \(row[0] as String)") }
      try db.execute(sql: statements)
      for row in triggers { try db.execute(sql: row[1]) }
    }
    try connection.queue.close()
  }

  // MARK: Counts without an inverse

  /// `Book` counts pages that do not refer back; `Aisle` renumbers all of them where it is new.
  private static func shelf(
    counts: Bool, hasInverse: Bool = false, isNew: Bool = false
  ) throws -> ManagedObjectModel {
    let inverse = hasInverse ? "book" : nil
    var entities = [
      Entity(
        "Book",
        [.optional("title")] + (counts ? [try .derived("pagesCount", from: "pages.@count")] : []),
        [.toMany("pages", "Page", inverse: inverse)]),
      Entity("Comic", in: "Book", [.optional("ink")]),
      Entity(
        "Page", [.optional("text")], inverse.map { [.toOne($0, "Book", inverse: "pages")] } ?? []),
    ]
    if isNew { entities.append(Entity("Aisle", [.optional("name")])) }
    return try ManagedObjectModel(entities: entities)
  }

  @Test func `objects of a store with derived attributes read related objects`() async throws {
    var form = Form()
    form.added = [.optional("writer")]
    let given = try given(from: Form(), to: form)
    var request = given.request()
    request.settings = ["Book.writer=$source.author.name"]
    request.engine = .objects
    request.lossConsent = .all
    _ = try await given.run(request)
    let differing = try read(given.store) {
      try Int64.fetchOne(
        $0,
        sql: "SELECT count(*) FROM ZBOOK AS b JOIN ZAUTHOR AS a ON a.Z_PK = b.ZAUTHOR "
          + "WHERE b.ZWRITER IS NOT a.ZNAME")
    }
    #expect(differing == 0)
  }

  @Test(arguments: [EngineName.sql, .pages, .objects], [true, false])
  func `a count without an inverse keeps the form of its triggers`(
    engine: EngineName, namesNumbers: Bool
  ) async throws {
    let given = try GivenMigration(
      from: Self.shelf(counts: true), to: Self.shelf(counts: true, isNew: true), rows: 60)
    var old = try StoreSchema(Self.shelf(counts: true))
    if namesNumbers {
      let plain = old.triggers
      old.derived[0].namesNumbers = true
      let connection = try StoreConnection.writable(given.store)
      try connection.run { db in
        for trigger in plain { try db.execute(sql: "DROP TRIGGER \(trigger.name)") }
        for trigger in old.triggers { try db.execute(sql: trigger.statement) }
      }
      try connection.queue.close()
    }
    var request = given.request()
    request.engine = engine
    _ = try await given.run(request)
    var new = try StoreSchema(Self.shelf(counts: true, isNew: true))
    new.derived[0].namesNumbers = namesNumbers
    let triggers = try read(given.store) {
      try String.fetchAll(
        $0, sql: "SELECT sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid")
    }
    #expect(triggers == new.triggers.map(\.statement))
    #expect(triggers.last?.contains("2 <= NEW.Z_ENT AND NEW.Z_ENT <= 3") == namesNumbers)
  }

  @Test(arguments: [
    (counts: false, hasInverse: false), (counts: false, hasInverse: true),
    (counts: true, hasInverse: true),
  ])
  func `a new count without an inverse is refused by name`(
    counts: Bool, hasInverse: Bool
  ) async throws {
    let given = try GivenMigration(
      from: Self.shelf(counts: counts, hasInverse: hasInverse),
      to: Self.shelf(counts: true, isNew: true), rows: 60)
    let refusal = Refusal(
      reason: .derivationCannotBeComputed, entity: "Book", property: "pagesCount")
    #expect(try await refusals(given, consent: .all)?.contains(refusal) == true)
  }

  // MARK: Forms that no store shows

  private static let touched =
    "CREATE TRIGGER Z_DA_ZBOOK_Book_changed_UPDATE AFTER UPDATE OF Z_OPT ON ZBOOK FOR EACH ROW "
    + "BEGIN UPDATE ZBOOK SET ZCHANGED = NSCoreDataNow() WHERE Z_PK = NEW.Z_PK; "
    + "SELECT NSTold('ZBOOK', Z_ENT, Z_PK, 'changed', ZCHANGED) FROM ZBOOK "
    + "WHERE Z_PK = NEW.Z_PK; END"

  @Test(arguments: [EngineName.sql, .pages])
  func `an unknown trigger is carried where nothing that it names changes`(
    engine: EngineName
  ) async throws {
    let given = try given(from: Form(now: true), to: Form(now: true, added: [.optional("note")]))
    try alter(given.store, Self.touched)
    var request = given.request()
    request.engine = engine
    _ = try await given.run(request)
    let found = try read(given.store) {
      try String.fetchAll($0, sql: "SELECT sql FROM sqlite_schema WHERE name GLOB '*changed*'")
    }
    #expect(found == [Self.touched])
  }

  @Test func `an unknown trigger that names entity numbers is refused`() async throws {
    let given = try given(from: Form(now: true), to: Form(now: true, added: [.optional("note")]))
    try alter(
      given.store, Self.touched.replacing("; END", with: " AND 1 <= Z_ENT AND Z_ENT <= 2; END"))
    #expect(
      try await refusals(given) == [
        Refusal(
          reason: .triggerCannotBeKept("Z_DA_ZBOOK_Book_changed_UPDATE"), entity: "Book",
          property: "changed")
      ])
  }

  @Test func `an unknown trigger is refused where rows that it names stay behind`() async throws {
    let given = try given(from: Form(now: true), to: Form(now: true, added: [.optional("note")]))
    try alter(given.store, Self.touched)
    try alter(given.store, "UPDATE ZBOOK SET Z_ENT = 77 WHERE Z_PK < 9")
    let told = [
      Refusal(
        reason: .triggerCannotBeKept("Z_DA_ZBOOK_Book_changed_UPDATE"), entity: "Book",
        property: "changed")
    ]
    #expect(try await refusals(given, consent: .all) == told)
    try alter(given.store, "UPDATE ZBOOK SET Z_ENT = 2, ZAUTHOR = 5000 WHERE Z_PK < 9")
    #expect(try await refusals(given, consent: .all, dangling: .nullify) == told)
  }

  @Test func `a new attribute of an unknown form is refused`() async throws {
    let given = try given(from: Form(), to: Form(now: true))
    #expect(
      try await refusals(given) == [
        Refusal(reason: .derivationCannotBeComputed, entity: "Book", property: "changed")
      ])
  }

  @Test(arguments: [
    "CREATE TRIGGER Z_DA_ZBOOK_Book_pagesCount_OTHER AFTER INSERT ON ZBOOK BEGIN SELECT 1; END",
    "CREATE TRIGGER Z_RT_Book_place_OTHER AFTER INSERT ON ZBOOK BEGIN SELECT 1; END",
    "CREATE TRIGGER ZT_ZBOOK AFTER INSERT ON ZBOOK BEGIN SELECT 1; END",
  ])
  func `any other trigger is refused by name`(statement: String) async throws {
    let given = try given(from: Form(), to: Form(added: [.optional("note")]))
    try alter(given.store, statement)
    await #expect {
      _ = try await given.run(given.request())
    } throws: { error in
      guard case MigrationError.unsupported(_, let features, let extras) = error else {
        return false
      }
      return features.isEmpty && extras.map(\.kind) == [.trigger]
    }
  }

  private func refusals(
    _ given: GivenMigration, consent: LossConsent = .none,
    dangling: DefectChoices.Dangling = .keep
  ) async throws -> [Refusal]? {
    var request = given.request()
    request.lossConsent = consent
    request.defectChoices.dangling = dangling
    do {
      _ = try await given.run(request)
      return nil
    } catch MigrationError.impossible(_, let refusals, _) {
      return refusals
    }
  }

  // MARK: Other roads

  @Test func `a repaired store has values of what is left`() async throws {
    let given = try given(from: Form(), to: Form(added: [.optional("note")]))
    try alter(given.store, "UPDATE ZPAGE SET ZBOOK = 5000 WHERE Z_PK < 20")
    var request = given.request()
    request.defectChoices.dangling = .nullify
    request.lossConsent = .all
    _ = try await given.run(request)
    #expect(try read(given.store) { try Int.fetchOne($0, sql: Self.wrong) } == 0)
  }

  @Test func `a stage of its own is made where a step reads what the one before derives`()
    throws
  {
    var form = Form(count: false, title: false, place: false)
    let first = try Self.model(form)
    form.count = true
    let second = try Self.model(form, isNew: true)
    // What was derived is a plain attribute from then on.
    form.count = false
    form.added = [.optional("pagesCount", .integer64)]
    let third = try Self.model(form, isNew: true)
    let versions = try [first, second, third].enumerated().map { index, model in
      try RouteVersion(names: ["V\(index + 1)"], model: model, hashes: model.versionHashes())
    }
    let route = MigrationRoute(steps: [
      .init(from: versions[0], to: versions[1]), .init(from: versions[1], to: versions[2]),
    ])
    let planner = try StagePlanner(
      route: route, source: StoreSchema(first), isStepwise: false, independentPolicies: [],
      allowsFilters: true, joins: .none)
    #expect(planner.stages.map(\.cut) == [nil, .notComposable])
  }
}
