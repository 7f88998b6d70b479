import ObjectModel
import Testing

@testable import Mapping

@Suite struct RecentPairsTests {
  private func model(_ name: String) throws -> ManagedObjectModel {
    try ManagedObjectModel(entities: [Entity(name)])
  }

  @Test func `what was computed of a pair is computed once, and of another pair again`() throws {
    let pairs = RecentPairs<String>()
    var computed: [String] = []
    func value(_ source: String, _ destination: String) throws -> String {
      pairs.value(from: try model(source), to: try model(destination)) {
        computed.append(source + destination)
        return source + destination
      }
    }
    for _ in 1...2 {
      #expect(try value("A", "B") == "AB")
      #expect(try value("B", "A") == "BA")
    }
    #expect(computed == ["AB", "BA"])
  }

  @Test func `the pairs that were asked for last are kept`() throws {
    let pairs = RecentPairs<Int>()
    var count = 0
    func ask(_ name: String) throws -> Int {
      pairs.value(from: try model(name), to: try model("Z")) {
        count += 1
        return count
      }
    }
    for name in ["A", "B", "C", "D", "A", "E"] { _ = try ask(name) }
    #expect(count == 5)
    #expect(try ask("A") == 1)
    #expect(try ask("B") == 6)
  }

  @Test func `models that differ in anything but their entities are another pair`() throws {
    let pairs = RecentPairs<Int>()
    var other = try model("A")
    other.versionIdentifiers = ["2"]
    #expect(pairs.value(from: try model("A"), to: other) { 1 } == 1)
    #expect(pairs.value(from: other, to: other) { 2 } == 2)
  }

  @Test func `all pairs are kept while somebody wants them, and the last ones afterwards`() throws {
    let pairs = RecentPairs<Int>()
    let models = try (0..<40).map { try model("E\($0)") }
    var count = 0
    func askAll() {
      for (old, new) in zip(models, models.dropFirst()) {
        _ = pairs.value(from: old, to: new) {
          count += 1
          return count
        }
      }
    }
    pairs.keeping {
      askAll()
      pairs.keeping { askAll() }
      askAll()
    }
    #expect(count == 39)
    // The last ones were asked for after all others, which are computed again.
    askAll()
    #expect(count == 39 + 39)
    #expect(pairs.value(from: models[38], to: models[39]) { 0 } > 0)
  }
}
