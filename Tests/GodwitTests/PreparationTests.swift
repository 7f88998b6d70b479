import Foundation
import Godwit
import Testing

@Suite struct PreparationTests {
  @Test func `a preparation tells what the migration would do, and writes nothing`() async throws {
    let given = try GivenStore(Model.note + Model.tag, Model.longNote + Model.tag)
    let before = try given.names
    let found = try await given.migration().prepare()
    #expect(found.isNeeded && found.isPossible && found.refusal == nil)
    #expect(found.objects == ["Note": 30, "Tag": 30])
    #expect((found.from, found.to) == (["1"], ["2"]))
    #expect(found.steps.map(\.stage) == [1] && found.stageCount == 1)
    #expect(found.steps.first?.mappings == [] && found.stepsNotSurveyed == 0)
    #expect(found.engine == .pages && found.engineReason == "that is the fastest")
    #expect(found.rows == 60 && found.bytes > 0 && found.diskNeeded > found.bytes)
    #expect(try #require(found.expectedDuration) > .zero)
    // Two that nothing connects, and that are too small for a worker each.
    #expect(found.partitions.map(\.tables) == [["ZNOTE", "ZTAG"]])
    let tables = found.workOrders.flatMap(\.pieces).map(\.table)
    #expect(Set(tables) == ["ZNOTE", "ZTAG"])
    #expect(try given.names == before)
  }

  @Test func `a preparation lists all that is in the way`() async throws {
    let mandatory = Model.attribute("must", "String", "")
    let given = try GivenStore(
      Model.note,
      Model.entity(
        "Note", Model.attribute("title", "Binary") + Model.attribute("pages", "Integer 16"))
        + Model.entity("Tag", mandatory))
    let found = try await given.migration().prepareOrFailure()
    let failure = try #require(found.failure)
    #expect(failure.kind == .mappingModelMissing || failure.kind == .notMigratable)
    let reason = try #require(failure.reasons.first)
    #expect(reason.cause == .incompatibleTypes(source: "String", destination: "Binary"))
    #expect((reason.entity, reason.property) == ("Note", "title"))
    #expect(reason.coreDataCode == 134190)
  }

  @Test func `a mandatory attribute without a default is refused with its objects`() async throws {
    let given = try GivenStore(
      Model.note,
      Model.entity(
        "Note",
        Model.attribute("title", "String") + Model.attribute("pages", "Integer 16")
          + Model.attribute("must", "String", "")))
    let found = try await given.migration().prepare()
    let refusal = try #require(found.refusal)
    #expect(!found.isPossible && found.isNeeded)
    #expect(refusal.kind == .notMigratable && refusal.coreDataCode == 1570)
    let reason = try #require(refusal.reasons.first)
    #expect(reason.cause == .mandatoryWithoutDefault && reason.count == 60)
    #expect((reason.entity, reason.property) == ("Note", "must"))
    #expect(try await given.failure(of: given.migration()).reasons == refusal.reasons)
  }

  @Test func `every engine is known by the name that the tool takes`() {
    let engines = StoreMigration.Engine.allCases
    #expect(engines == [.automatic, .sql, .pages, .clone, .edit, .objects])
    #expect(engines.map(\.rawValue) == ["auto", "sql", "pages", "clone", "edit", "objects"])
    #expect(engines.map { StoreMigration.Engine(rawValue: $0.rawValue) } == engines)
    #expect(StoreMigration.Engine(rawValue: "none") == nil)
  }

  @Test func `a store that has the model needs nothing`() async throws {
    let given = try GivenStore(Model.note)
    let target = try MigrationTarget([given.model])
    let found = try await given.migration().prepare(for: target)
    #expect(!found.isNeeded && found.isPossible && found.engine == nil)
    #expect(found.steps == [] && found.diskNeeded == 0 && found.expectedDuration == nil)
  }
}

extension StoreMigration {
  /// What is found out, or why nothing is.
  fileprivate func prepareOrFailure() async throws -> (
    found: Preparation?, failure: MigrationFailure?
  ) {
    do {
      let found = try await prepare()
      return (found, found.refusal)
    } catch {
      return (nil, error)
    }
  }
}
