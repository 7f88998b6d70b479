import Foundation
import FoundationXML
import Synchronization
import SystemPackage
import Testing

@testable import Godwit

@Suite struct StoreCheckTests {
  private func report(
    _ given: GivenStore, of places: [URL], to target: URL? = nil, migrating: Bool = true
  ) async throws -> CheckReport {
    var migration = given.migration(to: target)
    migration.output = nil
    var check = try StoreCheck(of: migration)
    check.migratesCopies = migrating
    let search = StoreSearch(places.map { FilePath($0.path) })
    return CheckReport(await check.run(search.entries), by: check, in: search)
  }

  @Test func `every store of a folder is migrated, compared and left as it is`() async throws {
    let given = try GivenStore(Model.note + Model.tag, Model.longNote)
    let newest = given.folder.appending(path: "Newest.sqlite")
    try given.makeStore(of: "2", objects: 9, at: newest)
    try Data("SQLite format 3\0".utf8).write(to: given.folder.appending(path: "Cut.sqlite"))
    let before = try (Data(contentsOf: given.store), given.names)
    let report = try await report(given, of: [given.folder])
    #expect(report.findings.map(\.exitStatus) == [65, 0, 0])
    #expect(report.exitStatus == 65)
    let summary = report.summary
    #expect((summary.current, summary.migratable) == (1, 1))
    #expect((summary.failed, summary.impossible, summary.withLosses) == (1, 0, 1))
    let migrated = report.findings[2]
    #expect(migrated.trial == .init(rows: 30, isCompared: true))
    #expect(migrated.losses.map(\.name) == ["Tag"])
    #expect(report.passedOverLines.allSatisfy { $0.hasPrefix("passed over: ") })
    let page = report.page.lowercased()
    #expect(page.components(separatedBy: "passed over").count == 2)
    let after = try (Data(contentsOf: given.store), given.names)
    #expect(before == after)
  }

  @Test func `findings come in the order of the stores, and progress never falls`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    for number in 1...12 {
      let copy = given.folder.appending(path: "Copy\(number).sqlite")
      if number.isMultiple(of: 5) {
        try Data("SQLite format 3\0".utf8).write(to: copy)
      } else {
        let version = number.isMultiple(of: 2) ? "1" : "2"
        try given.makeStore(of: version, objects: Int64(number), at: copy)
      }
    }
    var check = try StoreCheck(of: given.migration())
    check.migratesCopies = true
    let entries = StoreSearch([FilePath(given.folder.path)]).entries
    let told = Mutex<[(share: Double, done: Int)]>([])
    let findings = await check.run(entries) { share, _, done in
      told.withLock { $0.append((share, done)) }
    }
    #expect(findings.map(\.store) == entries.map(\.path.string))
    for finding in findings {
      let name = FilePath(finding.store).stem ?? ""
      let number = Int(name.drop { !$0.isNumber })
      let isCut = number.map { $0.isMultiple(of: 5) } ?? false
      let isOld = number.map { $0.isMultiple(of: 2) } ?? true
      #expect(finding.isPossible == !isCut)
      if !isCut { #expect((finding.trial != nil) == isOld) }
    }
    told.withLock { told in
      #expect(told.last?.done == entries.count)
      #expect(abs((told.last?.share ?? 0) - 1) < 1e-9)
      #expect(zip(told, told.dropFirst()).allSatisfy { $0.share <= $1.share && $0.done <= $1.done })
    }
  }

  @Test func `stores that a cancelled check has not reached are told as interrupted`() async throws
  {
    let given = try GivenStore(Model.note, Model.longNote)
    let check = try StoreCheck(of: given.migration())
    let entries = StoreSearch([FilePath(given.folder.path)]).entries
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return await check.run(entries)
    }
    task.cancel()
    #expect(await task.value.map(\.exitStatus) == [75])
  }

  @Test func `small orders of a trial need no process, and those of a migration do`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    var migration = given.migration()
    migration.resources.executable = "/nonexistent/worker"
    await #expect(throws: MigrationFailure.self) { try await migration.run() }
    migration.executesSmallOrders = true
    #expect(try await migration.run().outcome == .migrated)
  }

  @Test(arguments: [StoreMigration.Engine.sql, .pages])
  func `larger stores are migrated by processes, whatever the engine`(
    engine: StoreMigration.Engine
  ) async throws {
    let given = try GivenStore(Model.note, Model.longNote, objects: 200_000)
    let bytes = try FileManager.default.attributesOfItem(atPath: given.store.path)[.size] as? Int
    #expect(try #require(bytes) > 16 << 20)
    var migration = given.migration()
    migration.resources.executable = "/nonexistent/worker"
    migration.executesSmallOrders = true
    migration.engine = engine
    await #expect(throws: MigrationFailure.self) { try await migration.run() }
  }

  @Test func `a trial fails as its migration does, whoever executes its orders`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    var bytes = try Data(contentsOf: given.store)
    // Leaves with many rows are those of notes; no page is of their type.
    for page in stride(from: 4096, to: bytes.count, by: 4096)
    where bytes[page] == 0x0D && bytes[page + 4] > 9 {
      bytes[page] = 0x77
    }
    try bytes.write(to: given.store)
    var migration = given.migration()
    var failures: [MigrationFailure] = []
    for isTrial in [true, false] {
      migration.executesSmallOrders = isTrial
      do {
        try await migration.run()
      } catch {
        failures.append(error)
      }
    }
    try #require(failures.count == 2)
    #expect(failures[0].sentences == failures[1].sentences)
    #expect(failures.allSatisfy { $0.exitStatus == .damaged })
  }

  @Test func `a store that cannot be migrated has all its reasons, and hides no other`()
    async throws
  {
    let mandatory = Model.entity(
      "Note",
      Model.attribute("title", "String") + Model.attribute("one", "String", "")
        + Model.attribute("two", "String", ""))
    let given = try GivenStore(Model.note, mandatory)
    let other = given.folder.appending(path: "Zero.sqlite")
    try given.makeStore(of: "2", objects: 0, at: other)
    let report = try await report(given, of: [given.folder])
    #expect(report.findings.map(\.exitStatus) == [78, 0])
    #expect(report.findings[0].reasons.count == 4)
    #expect(report.findings[0].reasons[3].contains("`MappingModelFile`"))
    #expect(report.findings[0].trial == nil)
    #expect(report.verdict.contains("1 cannot be migrated"))
  }

  @Test func `a loss that a policy of losses refuses is told for its store`() async throws {
    let given = try GivenStore(Model.note + Model.tag, Model.note)
    var migration = given.migration()
    migration.choices.failsOnLoss = true
    let check = try StoreCheck(of: migration)
    let finding = try await check.run(
      StoreSearch([FilePath(given.store.path)]).entries[0])
    #expect(finding.exitStatus == 78 && !finding.isPossible && finding.isNeeded == true)
    #expect(finding.reasons.contains { $0.contains("Tag") })
  }

  @Test(arguments: [
    ("a<b>&\"'c", "a&lt;b&gt;&amp;&quot;&apos;c"),
    ("]]>", "]]&gt;"),
    ("\u{1B}[31m\n\t\u{0}", "\\u{1B}[31m\\n\\t\\u{0}"),
    ("\u{FFFE}\u{FFFF}\u{85}\u{2028}\u{202E}", "\\u{FFFE}\\u{FFFF}\\u{85}\\u{2028}\\u{202E}"),
    ("größer 🜚", "größer 🜚"),
  ])
  func `a text stands in XML as it is, but for what XML cannot hold`(text: String, xml: String) {
    #expect(JUnitText.content(text) == xml)
  }

  @Test func `every text in the file of JUnit is read back by a parser`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let name = "we<i>rd & \"quoted\" 'name' ]]> \u{1}\u{FFFF}.sqlite"
    try FileManager.default.moveItem(
      at: given.store, to: given.folder.appending(path: name))
    let report = try await report(given, of: [given.folder], migrating: false)
    let reader = AttributeReader()
    let parser = XMLParser(data: Data(JUnitText(report).text.utf8))
    parser.delegate = reader
    #expect(parser.parse())
    let read = try #require(reader.cases.first?["name"])
    #expect(read.hasSuffix("we<i>rd & \"quoted\" 'name' ]]> \\u{1}\\u{FFFF}.sqlite"))
    #expect(reader.cases.count == 1)
  }

  @Test func `a file of JUnit replaces an earlier one and nothing else`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let report = try await report(given, of: [given.store], migrating: false)
    let path = FilePath(given.folder.appending(path: "check.xml").path)
    let store = FilePath(given.store.path)
    for _ in 0..<2 { try JUnitReportFile(path, besides: [store]).write(report) }
    #expect(throws: MigrationFailure.self) { try JUnitReportFile(store, besides: [store]) }
    #expect(throws: MigrationFailure.self) {
      try JUnitReportFile(FilePath("\(store)-wal"), besides: [store])
    }
    #expect(throws: MigrationFailure.self) {
      try JUnitReportFile(FilePath(given.folder.path), besides: [store])
    }
    try Data("<?xml version=\"1.0\"?><other/>".utf8)
      .write(to: given.folder.appending(path: "other.xml"))
    #expect(throws: MigrationFailure.self) {
      try JUnitReportFile(
        FilePath(given.folder.appending(path: "other.xml").path), besides: [store])
    }
    #expect(
      try given.names.filter { $0.hasSuffix(".tmp") }.isEmpty)
  }
}

/// Collects the attributes of test cases.
private final class AttributeReader: NSObject, XMLParserDelegate {
  private(set) var cases: [[String: String]] = []

  func parser(
    _ parser: XMLParser, didStartElement element: String, namespaceURI: String?,
    qualifiedName: String?, attributes: [String: String]
  ) {
    if element == "testcase" { cases.append(attributes) }
  }
}
