import Foundation
import SystemPackage
import Testing

@testable import Godwit

@Suite struct MigrationSuggestionTests {
  private static let heading = Model.entity(
    "Note",
    "\n" + Model.attribute("heading", "String") + "\n" + Model.attribute("pages", "Integer 16"))

  private func suggestion(_ given: GivenStore) async throws -> MigrationSuggestion {
    try await given.migration().suggestion()
  }

  @Test func `a renamed attribute is found, patched and tried`() async throws {
    let given = try GivenStore(Model.note, Self.heading)
    let found = try await suggestion(given)
    #expect(found.renamings.map(\.name) == ["Note.heading"])
    #expect(found.renamings.map(\.oldName) == ["Note.title"])
    #expect((found.renamings[0].values ?? 0) > 0 && found.renamings[0].objects == 60)
    #expect(found.choices.isEmpty)
    #expect(
      found.trial == .init(isPossible: true, rows: 60, isCompared: true, losses: [], reasons: []))
    #expect(found.patch?.contains("+<attribute name=\"heading\" elementID=\"title\"") == true)
    let source = try String(
      contentsOf: given.version("2").appending(path: "contents"), encoding: .utf8)
    #expect(!source.contains("elementID"))
  }

  @Test(arguments: [("\n", ""), ("\n", "\n"), ("\r\n", "\r\n"), (" ", "")])
  func `the patch keeps how the lines of the source end`(
    newline: String, end: String
  ) async throws {
    let given = try GivenStore(Model.note, Self.heading)
    let source = given.version("2").appending(path: "contents")
    let text = try String(contentsOf: source, encoding: .utf8)
    try (text.replacing("\n", with: newline) + end).write(
      to: source, atomically: true, encoding: .utf8)
    let patch = Array(try #require(try await suggestion(given).patch).utf8)
    let lines = patch.split(separator: UInt8(ascii: "\n")).map {
      String(decoding: $0, as: UTF8.self)
    }
    #expect(lines.contains { $0.hasPrefix("+") && $0.contains("elementID=\"title\"") })
    #expect(lines.contains { $0.hasPrefix("-") && $0.contains("name=\"heading\"") })
    // Of a changed last line without a newline both the old and the new one say so.
    let marks = lines.count { $0.hasPrefix("\\") }
    #expect(marks == (newline == " " ? 2 : end.isEmpty ? 1 : 0))
    #expect(lines.contains { $0.hasPrefix(" ") && $0.utf8.last == 13 } == (newline == "\r\n"))
  }

  @Test func `values and choices are collected until the migration is possible`() async throws {
    let given = try GivenStore(
      Model.note,
      Model.entity(
        "Note",
        Model.attribute("title", "String", "") + Model.attribute("pages", "Integer 16")
          + Model.attribute("code", "String", "")
      ).replacing(
        "</entity>",
        with: "<uniquenessConstraints><uniquenessConstraint><constraint value=\"code\"/>"
          + "</uniquenessConstraint></uniquenessConstraints></entity>"))
    let found = try await suggestion(given)
    #expect(found.trial.isPossible)
    let words = found.choices.flatMap(\.words)
    #expect(words.contains("Note.code=CAST(uuid(), \"NSString\")"))
    #expect(words.contains("Note.title=TERNARY($source.title == nil, \"\", $source.title)"))
    #expect(found.command.starts(with: ["godwit", "migrate"]))
    let mapping = try #require(found.mapping)
    #expect(mapping.contains("CAST(uuid(), \\\"NSString\\\")"))
  }

  @Test func `types convert, and values that do not fit become nil`() async throws {
    let given = try GivenStore(
      Model.note,
      Model.entity("Note", Model.attribute("title", "String") + Model.attribute("pages", "String")))
    let found = try await suggestion(given)
    #expect(
      found.choices.flatMap(\.words) == ["--set", "Note.pages=CAST($source.pages, \"NSString\")"])
    #expect(found.trial.isPossible)
  }

  @Test func `values that a suggested choice empties are among the losses`() async throws {
    let short = Model.attribute("pages", "Integer 16")
    let given = try GivenStore(
      Model.entity("Note", Model.attribute("pages", "Integer 64")), Model.entity("Note", short))
    try given.change(
      "UPDATE ZNOTE SET ZPAGES = CASE WHEN Z_PK <= 3 THEN 1 << 40 ELSE Z_PK END", in: given.store)
    let found = try await suggestion(given)
    #expect(found.choices.flatMap(\.words) == ["--on-value", "null"])
    #expect(found.trial.isPossible)
    #expect(
      found.trial.losses == [
        "Note.pages: 3 values (Z_PK 1, 2, 3) changed to nil or the default value, for lack of an "
          + "equal one in the new type."
      ])
    #expect(found.lines.contains { $0.hasSuffix(". It loses:") })
  }

  @Test func `values that a suggested choice empties in a later stage are among the losses`()
    async throws
  {
    func model(_ type: String, _ more: String = "") -> String {
      Model.entity("Note", Model.attribute("pages", type) + more)
    }
    let title = Model.attribute("title", "String")
    let given = try GivenStore(
      model("Integer 64"), model("Integer 64", title), model("Integer 16", title))
    try given.change(
      "UPDATE ZNOTE SET ZPAGES = CASE WHEN Z_PK <= 3 THEN 1 << 40 ELSE Z_PK END", in: given.store)
    var migration = given.migration()
    (migration.routing.isProgressive, migration.routing.isStepwise) = (true, true)
    let found = try await migration.suggestion()
    #expect(found.choices.flatMap(\.words) == ["--on-value", "null"])
    #expect(found.trial.losses.map { $0.prefix(21) } == ["Note.pages: 3 values "])
  }

  @Test(arguments: [
    ("Date", "'2024-02-' || (10 + Z_PK % 10)", "date($source.title, \"yyyy-MM-dd\")"),
    ("Date", "'some words ' || Z_PK", nil), ("Date", "'2024-13-01'", nil),
    ("Integer 32", "'' || Z_PK", "CAST($source.title, \"NSNumber\")"),
    ("Integer 32", "CASE Z_PK WHEN 7 THEN 'seven' ELSE '1' END", nil),
    ("Integer 16", "CASE Z_PK WHEN 60 THEN '5.7' ELSE '-1' END", nil),
    ("Integer 16", "CASE Z_PK WHEN 60 THEN '1e2' ELSE '1' END", nil),
    ("Integer 16", "CASE Z_PK WHEN 60 THEN '0x10' ELSE '1' END", nil),
    ("Integer 16", "CASE Z_PK WHEN 60 THEN '+7' ELSE '1' END", nil),
    ("Integer 16", "CASE Z_PK WHEN 60 THEN '007' ELSE '1' END", nil),
    ("Integer 16", "CASE Z_PK WHEN 60 THEN '32768' ELSE '1' END", nil),
    ("Double", "Z_PK || '.25'", "CAST($source.title, \"NSNumber\")"),
    ("Double", "CASE Z_PK WHEN 60 THEN '0.1234567890123456789' ELSE '1' END", nil),
    ("Date", "'2023-02-29'", nil),
  ])
  func `texts are converted where they are values of the type`(
    type: String, sql: String, expression: String?
  ) async throws {
    let pages = Model.attribute("pages", "Integer 16")
    let given = try GivenStore(
      Model.note, Model.entity("Note", Model.attribute("title", type) + pages))
    try given.change("UPDATE ZNOTE SET ZTITLE = \(sql)", in: given.store)
    let found = try await suggestion(given)
    #expect(
      found.choices.flatMap(\.words) == (expression.map { ["--set", "Note.title=\($0)"] } ?? []))
    #expect(found.trial.isPossible == (expression != nil))
  }

  @Test func `a patch continues the renaming identifier of an attribute`() async throws {
    let street = Model.attribute("street", "String", "optional=\"YES\" elementID=\"road\"")
    let given = try GivenStore(
      Model.entity("Note", street),
      Model.entity("Note", "\n" + Model.attribute("address", "String")))
    let found = try await suggestion(given)
    #expect(found.renamings.map(\.oldName) == ["Note.street"])
    #expect(found.patch?.contains("name=\"address\" elementID=\"road\"") == true)
    #expect(found.trial.isPossible && found.trial.losses.isEmpty)
  }

  @Test func `merged duplicates keep the first of several objects`() async throws {
    func model(_ cars: String, _ more: String) -> String {
      Model.entity(
        "Person",
        Model.attribute("email", "String")
          + "<relationship name=\"cars\" optional=\"YES\" \(cars) destinationEntity=\"Car\" "
          + "inverseName=\"owner\" inverseEntity=\"Person\"/>" + more)
        + Model.entity(
          "Car",
          "<relationship name=\"owner\" optional=\"YES\" maxCount=\"1\" "
            + "destinationEntity=\"Person\" inverseName=\"cars\" inverseEntity=\"Person\"/>")
    }
    let unique =
      "<uniquenessConstraints><uniquenessConstraint><constraint value=\"email\"/>"
      + "</uniquenessConstraint></uniquenessConstraints>"
    let given = try GivenStore(model("toMany=\"YES\"", ""), model("maxCount=\"1\"", unique))
    // Only the merge gives a person two cars; another one has two before.
    try given.change(
      "UPDATE ZPERSON SET ZEMAIL = CASE Z_PK WHEN 2 THEN 'p1' ELSE 'p' || Z_PK END; "
        + "UPDATE ZCAR SET ZOWNER = CASE Z_PK WHEN 1 THEN 2 WHEN 2 THEN 1 WHEN 3 THEN 3 "
        + "WHEN 4 THEN 3 END", in: given.store)
    let found = try await suggestion(given)
    #expect(
      Set(found.choices.flatMap(\.words))
        == ["--on-many", "first", "--on-duplicate", "merge"])
    #expect(found.trial.isPossible && found.trial.rows != nil)
  }

  @Test func `what only the author of the model knows is told with its candidates`() async throws {
    let words = ["alpha", "beta"].map { Model.attribute($0, "String") }.joined()
    let given = try GivenStore(
      Model.entity("Note", words),
      Model.entity("Note", ["one", "two"].map { Model.attribute($0, "String") }.joined()))
    let found = try await suggestion(given)
    #expect(found.renamings.isEmpty)
    #expect(found.unclear.map(\.names) == [["Note.one", "Note.two"]])
    #expect(found.unclear.map(\.oldNames) == [["Note.alpha", "Note.beta"]])
    #expect(found.lines.contains { $0.contains("Note.one and Note.two are new") })
    #expect(found.lines.contains { $0.contains("elementID=\"alpha\"") })
  }

  @Test func `what a choice answers is said in words`() async throws {
    let given = try GivenStore(
      Model.note,
      Model.entity(
        "Note", Model.attribute("title", "String", "") + Model.attribute("pages", "Integer 16")))
    let found = try await suggestion(given)
    #expect(found.choices.map(\.answers) == ["Note.title: objects have no value"])
  }

  @Test(arguments: [
    ("CREATE TABLE Own (a); INSERT INTO Own VALUES (1)", "keep"),
    ("CREATE TRIGGER own AFTER DELETE ON ZNOTE BEGIN SELECT 1; END", "drop"),
  ])
  func `what is not of the model is kept, or left behind`(sql: String, choice: String) async throws
  {
    let given = try GivenStore(Model.note, Model.longNote)
    try given.change(sql, in: given.store)
    let found = try await suggestion(given)
    #expect(found.choices.map(\.words) == [["--extra-tables", choice]])
    #expect(found.trial.isPossible)
  }

  @Test func `the command has the choices that were made already`() async throws {
    let given = try GivenStore(
      Model.note,
      Model.entity(
        "Note", Model.attribute("title", "String", "") + Model.attribute("pages", "Integer 16")))
    var migration = given.migration()
    migration.choices.history = .drop
    migration.choices.extraTables = .keep
    migration.choices.allowedLoss = .init(of: ["Note.pages", "Note.title"])
    let command = try await migration.suggestion().command.joined(separator: " ")
    for words in [
      "--history drop", "--extra-tables keep", "--allow-loss Note.pages",
      "--allow-loss Note.title",
    ] { #expect(command.contains(words), "\(command)") }
  }

  @Test func `a loss that nothing saves is named`() async throws {
    let given = try GivenStore(Model.note, Model.note + Model.tag)
    var migration = given.migration()
    migration.choices.failsOnLoss = true
    try given.write(Model.entity("Note", Model.attribute("title", "String")), as: "2")
    let found = try await migration.suggestion()
    #expect(found.choices.flatMap(\.words) == ["--allow-loss", "Note.pages"])
    #expect(found.trial.isPossible && found.trial.losses.count == 1)
  }

  @Test func `a possible migration gets no suggestion, nor one that nothing helps`() async throws {
    let possible = try await suggestion(try GivenStore(Model.note, Model.longNote))
    #expect(possible.isEmpty && possible.trial.isPossible)
    #expect(possible.lines.count == 1)
    let binary = Model.entity("Note", Model.attribute("title", "Binary"))
    let found = try await suggestion(
      try GivenStore(Model.entity("Note", Model.attribute("title", "Transformable")), binary))
    #expect(found.isEmpty && !found.trial.isPossible && !found.trial.reasons.isEmpty)
  }

  @Test func `a suggestion is written over an earlier one alone`() async throws {
    let given = try GivenStore(Model.note, Self.heading)
    let found = try await suggestion(given)
    let folder = FilePath(given.folder.appending(path: "cure").path)
    for _ in 1...2 {
      let files = try SuggestionFolder(folder).write(found)
      #expect(files.map { $0.lastComponent?.string } == ["rename.patch", "migrate.sh"])
    }
    try Data("mine".utf8).write(to: URL(filePath: folder.appending("migrate.sh").string))
    #expect(throws: MigrationFailure.self) { try SuggestionFolder(folder).write(found) }
  }

  @Test func `words are quoted as a shell takes them`() {
    #expect(
      MigrationSuggestion.text(["a-b", "x y", "it's", "", "$s"]) == "a-b 'x y' 'it'\\''s' '' '$s'")
  }
}
