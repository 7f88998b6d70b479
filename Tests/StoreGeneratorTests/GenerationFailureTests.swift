import ObjectModel
import Schema
import StoreGenerator
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct GenerationFailureTests {
  private var store: FilePath { ScratchFolder.current.appending("Made.sqlite") }

  private func generator(rows: Int64 = 5_000) throws -> StoreGenerator {
    try StoreGenerator(model: SampleModels.attributes(), rows: rows, seed: 1)
  }

  private func problem(_ body: () throws -> Void) -> GenerationError.Problem? {
    do { try body() } catch { return (error as? GenerationError)?.problem }
    return nil
  }

  @Test(arguments: ["Made.sqlite", "Made.sqlite-wal", ".Made_SUPPORT"])
  func `nothing that is there already is touched`(name: String) throws {
    let path = ScratchFolder.current.appending(name)
    try Files.writeFileAtomically(Array("mine".utf8), to: path)
    let generator = try generator()
    #expect(problem { _ = try generator.generate(to: store) } == .outputExists)
    #expect(try Files.readFile(path, limit: 100) == Array("mine".utf8))
    #expect(try Files.listDirectory(ScratchFolder.current).map(\.string) == [name])
  }

  @Test func `a store that appears meanwhile is kept`() throws {
    let generator = try generator(rows: 100)
    let store = store
    #expect(
      problem {
        _ = try generator.generate(to: store) { _, _ in
          try Files.writeFileAtomically(Array("mine".utf8), to: store)
        }
      } == .outputExists)
    #expect(try Files.listDirectory(ScratchFolder.current).map(\.string) == ["Made.sqlite"])
    #expect(try Files.readFile(store, limit: 100) == Array("mine".utf8))
  }

  @Test(arguments: [0, 4096, 5_000] as [Int64])
  func `giving up leaves nothing behind`(after: Int64) throws {
    struct Enough: Error {}
    let generator = try generator()
    var totals: Set<Int64> = []
    let found = problem {
      _ = try generator.generate(to: store) { done, total in
        totals.insert(total)
        if done >= after { throw Enough() }
      }
    }
    #expect(found == .interrupted)
    #expect(totals == [5_000])
    #expect(try Files.listDirectory(ScratchFolder.current).isEmpty)
  }

  @Test func `a missing folder and a bad number of rows are named`() throws {
    let generator = try generator()
    let missing = ScratchFolder.current.appending("none/Made.sqlite")
    #expect(problem { _ = try generator.generate(to: missing) } == .folderMissing)
    #expect(problem { _ = try self.generator(rows: -1) } == .rowsOutOfRange(-1))
    #expect(problem { _ = try self.generator(rows: .max) } == .rowsOutOfRange(.max))
  }

  @Test func `a model without concrete entities has no objects`() throws {
    var entity = Entity("Nothing")
    entity.isAbstract = true
    let model = try ManagedObjectModel(entities: [entity])
    #expect(
      problem { _ = try StoreGenerator(model: model, rows: 1, seed: 1) } == .noConcreteEntity)
    _ = try StoreGenerator(model: model, rows: 0, seed: 1).generate(to: store)
  }

  @Test func `what has no known hash or column is refused`() throws {
    var entity = Entity("Place")
    entity.attributes = [Attribute(name: "position", type: .composite)]
    let model = try ManagedObjectModel(entities: [entity])
    let found = problem { _ = try StoreGenerator(model: model, rows: 1, seed: 1) }
    guard case .schemaNotSupported(let error)? = found else {
      Issue.record("a composite has no known column")
      return
    }
    #expect(error.places.map(\.property) == ["position"])
  }

  @Test func `a constraint without enough values is refused`() throws {
    var entity = Entity("Switch")
    entity.attributes = [Attribute(name: "isOn", type: .boolean)]
    entity.uniquenessConstraints = [["isOn"]]
    let model = try ManagedObjectModel(entities: [entity])
    _ = try StoreGenerator(model: model, rows: 2, seed: 1).generate(to: store)
    #expect(
      problem { _ = try StoreGenerator(model: model, rows: 3, seed: 1) }
        == .constraintCannotHold(index: "Z_Switch_UNIQUE_isOn"))
  }

  @Test func `a configuration has objects of its entities only`() throws {
    var model = try SampleModels.oneToOnes()
    model.configurations = ["People": ["Child", "Person"]]
    let report = try StoreGenerator(model: model, rows: 9, seed: 1, configuration: "People")
      .generate(to: store)
    #expect(report.entities.map(\.name) == ["Person", "Child"])
    #expect(report.entities.map(\.rows) == [5, 4])
    #expect(
      problem {
        _ = try StoreGenerator(model: model, rows: 9, seed: 1, configuration: "None")
      } == .configurationUnknown("None"))
  }
}
