import Expressions
import Foundation
import GRDB
import Godwit
import Mapping
import MappingFiles
import ObjectModel
import Planning
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Constants of every kind in attributes of every type: every engine makes the same of one, or none
/// does, and `verify` agrees.
@Suite(.scratchFolder) struct ConstantValueTests {
  static let types: [AttributeType] = [
    .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date,
    .binary, .uuid, .uri, .transformable,
  ]

  /// A constant expression, and what it is.
  struct Constant: Sendable, CustomTestStringConvertible {
    enum Meaning: Sendable {
      case missing, text, date, data, uuid, uri
      case number(Double)
      /// It has no value at all.
      case none
    }

    var text: String
    var meaning: Meaning
    var testDescription: String { text }

    init(_ text: String, _ meaning: Meaning) { (self.text, self.meaning) = (text, meaning) }

    /// Whether an attribute of a type can have it: Core Data raises where the class is another, and
    /// a number has to be in the range of the type once its fraction is cut.
    func fits(_ type: AttributeType) -> Bool {
      switch (meaning, type) {
      case (.none, _): false
      case (.missing, _), (.text, .string), (.date, .date), (.data, .binary),
        (.data, .transformable), (.uuid, .uuid), (.uri, .uri):
        true
      case (.number(let number), .integer16): abs(number) < 32768
      case (.number(let number), .integer32): abs(number) < 2_147_483_648
      case (.number(let number), .integer64): abs(number) < 9.3e18
      case (.number(let number), .float): abs(number) < 3.41e38
      case (.number, .decimal), (.number, .double), (.number, .boolean): true
      default: false
      }
    }

    /// The cell of a number, as SQLite tells it.
    func cell(of type: AttributeType) -> String? {
      guard case .number(let number) = meaning else { return nil }
      return switch type {
      case .boolean: "integer \(number == 0 ? 0 : 1)"
      case .integer16, .integer32: "integer \(Int(number))"
      case .double, .float: "real"
      case .decimal: number == number.rounded() && abs(number) < 9.3e18 ? "integer" : "real"
      default: nil
      }
    }
  }

  static let constants = [
    Constant("\"abc\"", .text), Constant("\"5\"", .text), Constant("\"\"", .text),
    Constant("0", .number(0)), Constant("5", .number(5)), Constant("-1", .number(-1)),
    Constant("40000", .number(40000)), Constant("3000000000", .number(3_000_000_000)),
    Constant("9223372036854775807", .number(9.2e18)), Constant("1.5", .number(1.5)),
    Constant("-0.5", .number(-0.5)), Constant("1e300", .number(1e300)),
    Constant("TRUE", .number(1)), Constant("FALSE", .number(0)), Constant("nil", .missing),
    Constant("CAST(5, \"NSDate\")", .date),
    Constant("CAST(\"12.50\", \"NSDecimalNumber\")", .number(12.5)),
    Constant("CAST(\"44420DEE-7C50-4E26-AAF4-933AAFCB3A7D\", \"NSUUID\")", .uuid),
    Constant("CAST(\"https://example.org\", \"NSURL\")", .uri),
    Constant("CAST(\"0aff\", \"NSData\")", .data),
    Constant("2 + 3", .number(5)), Constant("uppercase(\"abc\")", .text),
    Constant("CAST(\"7\", \"NSNumber\")", .number(7)),
    Constant("date(\"2014-01-16\", \"yyyy-MM-dd\")", .date),
    Constant("TERNARY(1 == 1, \"abc\", \"def\")", .text),
    Constant("1 / 0", .none), Constant("CAST(\"abc\", \"NSDate\")", .none),
  ]

  private static func name(_ type: AttributeType) -> String {
    "x\(type.name.filter { $0 != " " })"
  }

  private static func model(_ types: [AttributeType]) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      Entity("E", [.optional("n")] + types.map { .optional(name($0), $0) }))
  }

  private static func mapping(
    _ text: String, types: [AttributeType], to file: FilePath
  ) throws -> MappingModel {
    var mapping = EntityMapping(name: "E", kind: .transform, source: "E", destination: "E")
    let expression = try ValueExpression(format: text)
    mapping.attributeMappings =
      [PropertyMapping(name: "n", valueExpression: .source(name: "n"))]
      + types.map { PropertyMapping(name: name($0), valueExpression: expression) }
    let model = MappingModel(entityMappings: [mapping])
    try Files.writeFileAtomically(Array(MappingText.text(mapping: model).utf8), to: file)
    return model
  }

  private func cells(_ store: FilePath, _ types: [AttributeType]) throws -> [String] {
    let list = types.map { type in
      let column = "Z\(Self.name(type).uppercased())"
      return "typeof(\(column)) || ' ' || quote(\(column))"
    }
    let queue = try DatabaseQueue(path: "file:\(store)?immutable=1")
    return try queue.read { db in
      let sql = "SELECT \(list.joined(separator: ", ")) FROM ZE LIMIT 1"
      let row = try #require(try Row.fetchOne(db, sql: sql))
      return types.indices.map { String.fromDatabaseValue(row[$0]) ?? "" }
    }
  }

  @Test(arguments: constants)
  func `every engine takes or refuses a constant, and verify agrees`(
    constant: Constant
  ) async throws {
    let given = try GivenMigration(
      from: try Self.model([]), to: try Self.model(Self.types), rows: 3)
    let file = given.folder.appending("Map.json")
    let refused = Self.types.filter { !constant.fits($0) }
    if !refused.isEmpty {
      _ = try Self.mapping(constant.text, types: Self.types, to: file)
      var request = given.request(output: given.folder.appending("Refused.sqlite"))
      request.mappings = [file]
      let refusal = await #expect(throws: MigrationError.self) { try await given.run(request) }
      guard case .mappingProblems(_, let problems)? = refusal else {
        Issue.record("\(String(describing: refusal))")
        return
      }
      #expect(problems.map(\.property).uniqued() == refused.map { Self.name($0) })
    }
    let taken = Self.types.filter(constant.fits)
    guard !taken.isEmpty else { return }
    _ = try Self.mapping(constant.text, types: taken, to: file)
    var first: [String]?
    for engine in [nil, EngineName.sql, .pages, .objects] {
      let output = given.folder.appending("\(engine?.rawValue ?? "auto").sqlite")
      var request = given.request(output: output)
      request.mappings = [file]
      request.engine = engine
      _ = try await given.run(request)
      let cells = try cells(output, taken)
      #expect(first.map { $0 == cells } ?? true, "\(engine?.rawValue ?? "auto")")
      first = first ?? cells
      var verification = StoreVerification(of: output, madeFrom: given.store)
      verification.target = [given.target]
      verification.routing.mappings = [file]
      let report = try await verification.run()
      #expect(report.isAlike, "\(engine?.rawValue ?? "auto"): \(report.differences)")
    }
    for (type, cell) in zip(taken, first ?? []) {
      if let expected = constant.cell(of: type) {
        #expect(cell.hasPrefix(expected), "\(type.name): \(cell)")
      }
    }
  }

  @Test func `a constant in the place of nil is held to the same rule`() async throws {
    let old = try ManagedObjectModel(Entity("E", [.optional("n", .integer16)]))
    let new = try ManagedObjectModel(
      Entity("E", [.optional("n", .integer16), .optional("m", .integer16)]))
    let given = try GivenMigration(from: old, to: new, rows: 3)
    let file = given.folder.appending("Map.json")
    var mapping = EntityMapping(name: "E", kind: .transform, source: "E", destination: "E")
    mapping.attributeMappings = try [("n", "\"abc\""), ("m", "40000")].map { name, value in
      PropertyMapping(
        name: name,
        valueExpression: try ValueExpression(
          format: "TERNARY($source.n == nil, \(value), $source.n)"))
    }
    let text = try MappingText.text(mapping: MappingModel(entityMappings: [mapping]))
    try Files.writeFileAtomically(Array(text.utf8), to: file)
    var request = given.request(output: given.folder.appending("New.sqlite"))
    request.mappings = [file]
    let refusal = await #expect(throws: MigrationError.self) { try await given.run(request) }
    guard case .mappingProblems(_, let problems)? = refusal else {
      Issue.record("\(String(describing: refusal))")
      return
    }
    #expect(
      problems.map(\.reason) == [
        .constantRefused(.string("abc"), entity: "E", type: .integer16, .kind),
        .constantRefused(.integer(40000), entity: "E", type: .integer16, .range),
      ])
  }
}

extension Array where Element: Equatable {
  /// The elements, each of a run of equal ones once.
  fileprivate func uniqued() -> [Element] {
    reduce(into: []) { if $0.last != $1 { $0.append($1) } }
  }
}
