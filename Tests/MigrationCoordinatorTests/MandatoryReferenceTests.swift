import Expressions
import GRDB
import Godwit
import Mapping
import MappingFiles
import ModelFiles
import ObjectMigration
import ObjectModel
import Planning
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Objects that would lack a mandatory to-one relationship, whatever empties it, and those that
/// lacked it before.
@Suite(.scratchFolder) struct MandatoryReferenceTests {
  /// A child whose relationship to a parent is mandatory in the store's model, in the target's, or
  /// in both.
  private static func model(
    isMandatory: Bool, isLater: Bool, unique: Bool = false, hasToys: Bool = false,
    more: [Entity] = []
  ) throws -> ManagedObjectModel {
    var toys = Relationship.toMany("toys", "Toy", inverse: nil)
    toys.isOptional = !hasToys
    return try ManagedObjectModel(
      entities: (isLater ? [Entity("Added", [.optional("snout")])] : []) + more + [
        Entity(
          "Child", [.optional("name")],
          [
            .toOne("parent", "Parent", inverse: "children", isOptional: !isMandatory), toys,
          ]),
        Entity(
          "Parent", [.optional("code")], [.toMany("children", "Child", inverse: "parent")],
          unique: unique ? [["code"]] : []),
        Entity("Toy", [.optional("name")]),
      ])
  }

  private func given(
    mandatoryBefore: Bool, unique: Bool = false, _ changes: String
  ) throws -> GivenMigration {
    let given = try GivenMigration(
      from: Self.model(isMandatory: mandatoryBefore, isLater: false),
      to: Self.model(isMandatory: true, isLater: true, unique: unique), rows: 40)
    try given.change("UPDATE ZCHILD SET ZPARENT = 1; UPDATE ZPARENT SET ZCODE = 'c' || Z_PK")
    try given.change(changes)
    return given
  }

  private func refused(
    _ given: GivenMigration, _ request: MigrationRequest
  ) async throws -> [Refusal] {
    let bytes = try given.bytes(given.store)
    let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
    #expect(try given.bytes(given.store) == bytes)
    switch error {
    case .impossible(_, let found, _), .stepImpossible(_, _, _, let found, _): return found
    default: return []
    }
  }

  private func refusal(_ keys: [Int64], before: String?) -> Refusal {
    Refusal(
      reason: .condition(
        .noMissingReferences(before: before), count: Int64(keys.count), keys: keys),
      entity: "Child", property: "parent")
  }

  @Test func `references to dropped objects need consent of their own beside duplicates`()
    async throws
  {
    let note = Entity("Note", [.optional("name")], [.toOne("child", "Child", inverse: nil)])
    let given = try GivenMigration(
      from: Self.model(isMandatory: false, isLater: false, more: [note]),
      to: Self.model(isMandatory: true, isLater: true, unique: true, more: [note]), rows: 40)
    try given.change(
      """
      UPDATE ZCHILD SET ZPARENT = 1; UPDATE ZCHILD SET ZPARENT = NULL WHERE Z_PK = 5;
      UPDATE ZPARENT SET ZCODE = 'c' || Z_PK; UPDATE ZPARENT SET ZCODE = 'same' WHERE Z_PK IN (2, 3);
      UPDATE ZNOTE SET ZCHILD = 7; UPDATE ZNOTE SET ZCHILD = 5 WHERE Z_PK IN (1, 2)
      """)
    var request = given.request()
    request.defectChoices.duplicates = .keepFirst
    request.defectChoices.missing = .drop
    request.lossConsent = .some(["Child"])
    let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
    guard case .losses(_, let refusal)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(refusal.refused.map(\.name) == ["Note.child"])
    #expect(refusal.refused.map(\.cause) == [.missingReference])
    #expect(refusal.refused.map(\.keys) == [[1, 2]])
    request.lossConsent = .some(["Child", "Note.child"])
    request.restarts = true
    let report = try await given.run(request)
    #expect(report.losses.first { $0.name == "Note.child" }?.count == 2)
    #expect(report.losses.allSatisfy { $0.cause == .missingReference })
  }

  static let engines = [EngineName.sql, .pages, .clone, .objects]

  @Test(arguments: engines)
  func `nil is refused where the relationship was optional`(engine: EngineName) async throws {
    let given = try given(
      mandatoryBefore: false, "UPDATE ZCHILD SET ZPARENT = NULL WHERE Z_PK IN (3, 5)")
    var request = given.request()
    request.engine = engine
    #expect(try await refused(given, request) == [refusal([3, 5], before: nil)])
  }

  @Test(arguments: engines)
  func `nil of a relationship that was mandatory before is told and carried`(
    engine: EngineName
  ) async throws {
    let given = try given(
      mandatoryBefore: true, "UPDATE ZCHILD SET ZPARENT = NULL WHERE Z_PK IN (3, 5)")
    var request = given.request()
    request.engine = engine
    let report = try await given.run(request)
    #expect(
      report.defects == [
        Defect(
          kind: .missingValue, entity: "Child", property: "parent", count: 2, keys: [3, 5],
          fate: .kept)
      ])
  }

  @Test func `a reference that a choice makes nil is new, one that was nil is not`() async throws {
    let given = try given(
      mandatoryBefore: true,
      """
      UPDATE ZCHILD SET ZPARENT = NULL WHERE Z_PK = 3;
      UPDATE ZCHILD SET ZPARENT = 9000 WHERE Z_PK IN (5, 6)
      """)
    var request = given.request()
    request.defectChoices.dangling = .nullify
    #expect(try await refused(given, request) == [refusal([5, 6], before: "parent")])
    request.defectChoices.dangling = .keep
    _ = try await given.run(request)
  }

  @Test(arguments: [false, true])
  func `a removed duplicate leaves no mandatory reference empty`(isBefore: Bool) async throws {
    let given = try given(
      mandatoryBefore: isBefore, unique: true,
      """
      UPDATE ZPARENT SET ZCODE = 'same' WHERE Z_PK IN (1, 2);
      UPDATE ZCHILD SET ZPARENT = 2 WHERE Z_PK IN (4, 7)
      """)
    var request = given.request()
    request.defectChoices.duplicates = .keepFirst
    #expect(
      try await refused(given, request) == [refusal([4, 7], before: isBefore ? "parent" : nil)])
  }

  @Test func `a mapping file is refused as inference is, unless violations are reported`()
    async throws
  {
    let given = try given(
      mandatoryBefore: false, "UPDATE ZCHILD SET ZPARENT = NULL WHERE Z_PK IN (3, 5)")
    let (old, new) = (
      try Self.model(isMandatory: false, isLater: false),
      try Self.model(isMandatory: true, isLater: true)
    )
    let mapping = MappingModel.inferred(
      MappingInference(from: old, to: new), source: old, destination: new)
    let file = given.folder.appending("Map.json")
    try Files.writeFileAtomically(Array(MappingText.text(mapping: mapping).utf8), to: file)
    var request = given.request(output: given.folder.appending("New.sqlite"))
    request.mappings = [file]
    #expect(try await refused(given, request) == [refusal([3, 5], before: nil)])
    request.validation = .report
    let report = try await given.run(request)
    #expect(report.firstViolations.map(\.key) == [3, 5])
  }

  @Test(arguments: [EngineName.sql, .objects])
  func `a mapping file refuses no violation that the object had before`(
    engine: EngineName
  ) async throws {
    let old = try Self.model(isMandatory: true, isLater: false, hasToys: true)
    let new = try Self.model(isMandatory: true, isLater: true, hasToys: true)
    let given = try GivenMigration(from: old, to: new, rows: 40)
    try given.change(
      """
      DELETE FROM ZCHILD WHERE Z_PK > 8;
      UPDATE ZCHILD SET ZPARENT = 1; UPDATE ZCHILD SET ZPARENT = NULL WHERE Z_PK = 3;
      UPDATE ZTOY SET Z1TOYS = CASE WHEN Z_PK <= 8 AND Z_PK NOT IN (2, 6) THEN Z_PK ELSE 1 END
      """)
    let mapping = MappingModel.inferred(
      MappingInference(from: old, to: new), source: old, destination: new)
    let file = given.folder.appending("Map.json")
    try Files.writeFileAtomically(Array(MappingText.text(mapping: mapping).utf8), to: file)
    var request = given.request(output: given.folder.appending("New.sqlite"))
    (request.mappings, request.engine) = ([file], engine)
    let report = try await given.run(request)
    #expect(report.violations == 0)
    #expect(
      Set(report.defects.map { "\($0.kind) \($0.entity).\($0.property) \($0.keys)" }) == [
        "missingValue Child.parent [3]", "brokenRule Child.toys [2, 6]",
      ])
  }

  @Test(arguments: engines)
  func `objects that lack it are dropped where that is chosen and allowed`(
    engine: EngineName
  ) async throws {
    let given = try given(
      mandatoryBefore: false, "UPDATE ZCHILD SET ZPARENT = NULL WHERE Z_PK IN (3, 5)")
    var request = given.request(output: given.folder.appending("New.sqlite"))
    (request.engine, request.defectChoices.missing) = (engine, .drop)
    let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
    guard case .losses(_, let refusal)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    let loss = Loss(
      kind: .entity, cause: .missingReference, entity: "Child", property: nil, count: 2,
      keys: [3, 5])
    #expect(refusal.refused.contains(loss))
    request.lossConsent = .some(["Child", "Child.toys"])
    let report = try await given.run(request)
    #expect(report.losses.contains(loss))
    #expect(Set(report.losses.map(\.cause)) == [.missingReference])
    let account = try #require(report.accounts[0].entities.first { $0.entity == "Child" })
    #expect(account.dropped == [.init(cause: .missingReference, objects: 2)])
    #expect(account.rowsIn == account.rowsOut + 2)
    let reader = try StoreReader(immutable: request.destination)
    #expect(try reader.number(sql: "SELECT count(*) FROM ZCHILD WHERE Z_PK IN (3, 5)") == 0)
    #expect(try reader.number(sql: "SELECT count(*) FROM ZCHILD WHERE ZPARENT IS NULL") == 0)
  }

  @Test(arguments: [false, true])
  func `what leads to dropped objects alone is dropped with them`(isBefore: Bool) async throws {
    func model(isLater: Bool) throws -> ManagedObjectModel {
      let isMandatory = isBefore || isLater
      return try ManagedObjectModel(
        entities: (isLater ? [Entity("Added", [.optional("snout")])] : []) + [
          Entity(
            "Link", [],
            [
              .toOne("next", "Link", inverse: "before", isOptional: !isMandatory),
              .toMany("before", "Link", inverse: "next"),
            ])
        ])
    }
    let given = try GivenMigration(from: model(isLater: false), to: model(isLater: true), rows: 9)
    // 4, 5 and 6 lead on to one that is not there; 7 was nil already; others lead to themselves.
    try given.change(
      """
      UPDATE ZLINK SET ZNEXT = Z_PK; UPDATE ZLINK SET ZNEXT = Z_PK + 1 WHERE Z_PK IN (4, 5);
      UPDATE ZLINK SET ZNEXT = 900 WHERE Z_PK = 6; UPDATE ZLINK SET ZNEXT = NULL WHERE Z_PK = 7
      """)
    var request = given.request()
    (request.defectChoices.missing, request.defectChoices.dangling) = (.drop, .nullify)
    request.lossConsent = .all
    let report = try await given.run(request)
    let dropped = try #require(report.defects.first { $0.kind == .missingReference })
    #expect(dropped.keys == (isBefore ? [4, 5, 6] : [4, 5, 6, 7]))
    #expect(dropped.count == Int64(dropped.keys.count))
    let left = try StoreReader(immutable: given.store)
      .number(sql: "SELECT count(*) FROM ZLINK WHERE ZNEXT IS NULL")
    #expect(left == (isBefore ? 1 : 0))
  }

  @Test func `each step of a chain is looked at, in one pass as version by version`() async throws {
    let given = try given(
      mandatoryBefore: false, "UPDATE ZCHILD SET ZPARENT = NULL WHERE Z_PK IN (3, 5)")
    let bundle = try given.bundle(of: [
      try Self.model(isMandatory: false, isLater: false),
      try Self.model(isMandatory: true, isLater: true),
      try Self.model(
        isMandatory: true, isLater: true, more: [Entity("More", [.optional("x")])]),
    ])
    for isStepwise in [false, true] {
      var request = given.request(output: given.folder.appending("New.sqlite"))
      request.target = [bundle.appending("Shop 3.mom")]
      request.models = [bundle]
      (request.isProgressive, request.isStepwise) = (true, isStepwise)
      #expect(try await refused(given, request) == [refusal([3, 5], before: nil)])
    }
  }
}
