import Mapping
import ObjectModel
import Planning
import TestSupport
import Testing

/// What keeps a step from being inferred, as far as the models show it.
struct InferredStepTests {
  private func refusals(_ source: Entity..., to destination: Entity...) throws -> [Refusal] {
    InferredStep.refusals(
      from: try ManagedObjectModel(entities: source),
      to: try ManagedObjectModel(entities: destination))
  }

  @Test func `a table of more columns than SQLite allows is refused before there is a store`()
    throws
  {
    let many = (1...2_100).map { Attribute.optional("a\($0)") }
    let found = try refusals(Entity("Note", [many[0]]), to: Entity("Note", many))
    #expect(found == [Refusal(reason: .tableTooWide(columns: 2_103), entity: "Note")])
  }

  @Test func `entities whose names differ by case alone are refused before there is a store`()
    throws
  {
    let (note, other) = (Entity("Note", [.optional("a")]), Entity("NOTE", [.optional("a")]))
    let found = try refusals(note, to: note, other)
    #expect(
      found == [Refusal(reason: .tableNameTaken("ZNOTE", by: ["NOTE", "Note"]), entity: "NOTE")])
  }
}
