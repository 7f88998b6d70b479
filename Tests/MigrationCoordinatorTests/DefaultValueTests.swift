import Expressions
import Foundation
import GRDB
import Godwit
import Mapping
import MappingFiles
import ModelFiles
import ObjectModel
import Planning
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Default values of every type as the sources of models write them: those that attributes can have
/// come into every result, those that none can have are refused.
@Suite(.scratchFolder) struct DefaultValueTests {
  /// What a new attribute is to have by the text of its default.
  enum Outcome: Hashable, Sendable {
    case cell(String)
    /// No value: the text means nothing.
    case nothing
    case refused
  }

  struct Case: Sendable, CustomTestStringConvertible {
    var type: AttributeType
    var text: String
    var optional: Outcome
    var mandatory: Outcome
    var testDescription: String { "\(type.name) \(text)" }

    init(_ type: AttributeType, _ text: String, _ outcome: Outcome, mandatory: Outcome? = nil) {
      (self.type, self.text, optional) = (type, text, outcome)
      self.mandatory = mandatory ?? outcome
    }
  }

  private static let numbers: [Case] = [
    AttributeType.integer16, .integer32, .integer64,
  ].flatMap { type -> [Case] in
    [
      Case(type, "5", .cell("integer 5")), Case(type, "-7", .cell("integer -7")),
      Case(type, "NO", .cell("integer 0")), Case(type, "0.0", .cell("integer 0")),
      Case(type, "abc", .refused), Case(type, "nan", .refused), Case(type, "inf", .refused),
      Case(type, "1e30", .refused), Case(type, "99999999999999999999", .refused),
    ]
  }

  static let cases: [Case] =
    numbers + [
      Case(.integer16, "32767", .cell("integer 32767")), Case(.integer16, "40000", .refused),
      Case(.integer32, "40000", .cell("integer 40000")),
      Case(.integer32, "3000000000", .refused),
      Case(.integer64, "3000000000", .cell("integer 3000000000")),
      Case(.decimal, "12.50", .cell("real 12.5")), Case(.decimal, "3", .cell("integer 3")),
      Case(.decimal, "nan", .refused), Case(.decimal, "inf", .refused),
      Case(.double, "1.5", .cell("real 1.5")), Case(.double, "0", .cell("real 0.0")),
      Case(.double, "nan", .refused), Case(.double, "-inf", .refused),
      Case(.double, "x", .refused),
      Case(.float, "0.25", .cell("real 0.25")), Case(.float, "1e300", .refused),
      Case(.float, "infinity", .refused),
      Case(.boolean, "YES", .cell("integer 1")), Case(.boolean, "NO", .cell("integer 0")),
      Case(.boolean, "0.0", .cell("integer 0")), Case(.boolean, "100", .cell("integer 1")),
      Case(.boolean, "nan", .refused), Case(.boolean, "maybe", .refused),
      Case(.date, "0", .cell("integer 0")), Case(.date, "0.5", .cell("real 0.5")),
      Case(.date, "nan", .refused),
      Case(.date, "inf", .refused), Case(.date, "yesterday", .refused),
      Case(.string, "", .cell("text ''")), Case(.string, "nan", .cell("text 'nan'")),
      Case(.uri, "", .cell("text ''")), Case(.uri, "https://a.b", .cell("text 'https://a.b'")),
      Case(
        .uuid, "44420DEE-7C50-4E26-AAF4-933AAFCB3A7D",
        .cell("blob X'44420DEE7C504E26AAF4933AAFCB3A7D'")),
      Case(.uuid, "empy", .nothing, mandatory: .refused),
      Case(.uuid, "", .nothing, mandatory: .refused),
      Case(.binary, "", .nothing, mandatory: .refused),
      Case(.binary, "abc", .nothing, mandatory: .refused),
      Case(.transformable, "#555555", .nothing, mandatory: .refused),
    ]

  private static func contents(_ attributes: String) -> String {
    """
    <?xml version="1.0"?><model type="com.apple.IDECoreDataModeler.DataModel" \
    documentVersion="1.0"><entity name="E"><attribute name="n" optional="YES" \
    attributeType="String"/>\(attributes)</entity></model>
    """
  }

  private static func attribute(_ name: String, _ item: Case, isOptional: Bool) -> String {
    let key = item.type == .date ? "defaultDateTimeInterval" : "defaultValueString"
    return """
      <attribute name="\(name)" attributeType="\(item.type.name)" \(key)="\(item.text)"\
      \(isOptional ? " optional=\"YES\"" : "")/>
      """
  }

  private func given(_ attributes: String) throws -> GivenMigration {
    let old = try ManagedObjectModel(Entity("E", [.optional("n")]))
    let new = try ModelDocument.model(decoding: Array(Self.contents(attributes).utf8))
    let given = try GivenMigration(from: old, to: old, rows: 3)
    try Files.remove(given.target)
    let target = given.folder.appending("New.xcdatamodel")
    try Files.createDirectory(target)
    try Files.writeFileAtomically(
      Array(Self.contents(attributes).utf8), to: target.appending("contents"))
    #expect(new.entity(name: "E") != nil)
    return given
  }

  private func request(_ given: GivenMigration, _ engine: EngineName?) -> MigrationRequest {
    var request = given.request(
      output: given.folder.appending("\(engine?.rawValue ?? "auto").sqlite"))
    request.target = [given.folder.appending("New.xcdatamodel")]
    request.engine = engine
    return request
  }

  @Test func `defaults that attributes can have come into every result alike`() async throws {
    var items: [(name: String, item: Case, isOptional: Bool, cell: Outcome)] = []
    for (place, item) in Self.cases.enumerated() {
      for (isOptional, outcome) in [(true, item.optional), (false, item.mandatory)]
      where outcome != .refused {
        items.append((isOptional ? "o\(place)" : "m\(place)", item, isOptional, outcome))
      }
    }
    let given = try given(
      items.map { Self.attribute($0.name, $0.item, isOptional: $0.isOptional) }.joined())
    let count = items.count
    let list = items.map { item in
      let column = "Z\(item.name.uppercased())"
      return "typeof(\(column)) || ' ' || quote(\(column))"
    }
    // The objects engine takes mapping models alone.
    let file = given.folder.appending("Map.json")
    try Files.writeFileAtomically(
      Array(
        """
        {"format": "godwit mapping model", "version": 1,
        "mappings": [{"source": "E", "destination": "E", "attributes": {"n": "$source.n"}}]}
        """.utf8), to: file)
    for engine in [nil, EngineName.sql, .pages, .objects] {
      for isMapped in engine == .objects ? [true] : [false, true] {
        var request = request(given, engine)
        if isMapped { request.mappings = [file] }
        request.output = given.folder.appending("\(engine?.rawValue ?? "auto")-\(isMapped).sqlite")
        _ = try await given.run(request)
        let output = try #require(request.output)
        let queue = try DatabaseQueue(path: "file:\(output)?immutable=1")
        let cells = try await queue.read { db in
          let sql = "SELECT \(list.joined(separator: ", ")) FROM ZE LIMIT 1"
          let row = try #require(try Row.fetchOne(db, sql: sql))
          return (0..<count).map { String.fromDatabaseValue(row[$0]) ?? "" }
        }
        for (item, cell) in zip(items, cells) {
          let expected: Outcome = cell == "null NULL" ? .nothing : .cell(cell)
          #expect(item.cell == expected, "\(item.item.testDescription)")
        }
        var verification = StoreVerification(of: output, madeFrom: given.store)
        verification.target = request.target
        verification.routing.mappings = request.mappings
        let report = try await verification.run()
        #expect(report.isAlike, "\(report.differences)")
      }
    }
  }

  @Test(arguments: cases)
  func `a default that no attribute can have is refused, by inference and by mapping models`(
    item: Case
  ) async throws {
    for (isOptional, outcome) in [(true, item.optional), (false, item.mandatory)]
    where outcome == .refused {
      let given = try given(Self.attribute("x", item, isOptional: isOptional))
      let file = given.folder.appending("Map.json")
      try Files.writeFileAtomically(
        Array(
          """
          {"format": "godwit mapping model", "version": 1,
          "mappings": [{"source": "E", "destination": "E", "attributes": {"n": "$source.n"}}]}
          """.utf8), to: file)
      for engine in [nil, EngineName.objects] {
        for mappings in [[], [file]] {
          var request = request(given, engine)
          request.mappings = mappings
          let refusal = await #expect(throws: MigrationError.self) {
            try await given.run(request)
          }
          guard case .impossible(_, let reasons, _)? = refusal else {
            Issue.record("\(String(describing: refusal))")
            continue
          }
          #expect(reasons.map(\.property) == ["x"])
        }
      }
      try FileManager.default.removeItem(atPath: given.folder.string)
    }
  }
}
