import Mapping
import Testing

@testable import ObjectMigration

/// Passes that never were: what each mapping's objects take, and what comes before them.
private struct MadeUpPasses {
  /// How many objects each mapping has, and the seconds of creating and relating one of them.
  var mappings: [(objects: Int64, creation: Double, relation: Double)]
  /// Seconds before the first object of the first relation, such as of making indexes.
  var indexes = 0.0
  var costs: [ObjectCosts]

  /// What the forecast says at each hundredth of a mapping, and what is true.
  func told() -> [(share: Double, truth: Double)] {
    let total = mappings.reduce(indexes) { $0 + Double($1.objects) * ($1.creation + $1.relation) }
    var forecast = PassForecast(costs)
    var time = 0.0
    var result: [(Double, Double)] = []
    for pass in [PassForecast.Pass.creation, .relation] {
      for (index, mapping) in mappings.enumerated() {
        forecast.begin(pass, mapping: index, at: time)
        if pass == .relation, index == 0 { time += indexes }
        forecast.reachObjects(at: time)
        let each = pass == .creation ? mapping.creation : mapping.relation
        for done in stride(from: mapping.objects / 100, through: mapping.objects, by: 1000) {
          let now = time + Double(done) * each
          let share = forecast.share(done: done, expected: mappings.map(\.objects), at: now)
          result.append((share, now / total))
        }
        time += Double(mapping.objects) * each
        forecast.end(objects: mapping.objects, at: time)
      }
    }
    return result
  }

  /// How far the time left is off at the worst, from a tenth of the time on.
  func worst(from tenth: Double = 0.1) -> Double {
    told().filter { $0.truth > tenth && $0.truth < 0.95 }.map { share, truth in
      abs((1 - share) / share * truth / (1 - truth) - 1)
    }.max() ?? 1
  }
}

@Suite struct PassForecastTests {
  private func costs(attributes: Int, relationships: Int, pairs: Double = 0) -> ObjectCosts {
    var mapping = EntityMapping(name: "AToA", kind: .transform, source: "A", destination: "A")
    mapping.attributeMappings = (0..<attributes).map {
      PropertyMapping(name: "a\($0)", valueExpression: nil)
    }
    mapping.relationshipMappings = (0..<relationships).map {
      PropertyMapping(name: "r\($0)", valueExpression: nil)
    }
    return ObjectCosts(of: mapping, pairs: pairs)
  }

  @Test func `tells the share of passes that take what they should on a slow machine`() {
    let few = costs(attributes: 2, relationships: 1)
    let many = costs(attributes: 9, relationships: 4, pairs: 3)
    #expect(many.relation > 5 * few.relation)
    let passes = MadeUpPasses(
      mappings: [few, many].map { (100_000, 3e-9 * $0.creation, 3e-9 * $0.relation) },
      costs: [few, many])
    // How slow the relation is shows when it begins.
    #expect(passes.worst() < 0.6)
    #expect(passes.worst(from: 0.35) < 0.1)
  }

  @Test func `relation that costs five times as much as expected is told once it has begun`() {
    let one = costs(attributes: 5, relationships: 2)
    let passes = MadeUpPasses(
      mappings: [(200_000, 5e-6, 40e-6), (100_000, 5e-6, 35e-6)], costs: [one, one])
    #expect(passes.worst(from: 0.2) < 0.3)
  }

  @Test func `what comes before the objects of a mapping is not taken for their cost`() {
    let one = costs(attributes: 5, relationships: 2)
    var passes = MadeUpPasses(
      mappings: [(300_000, 5e-6, 8e-6)], costs: [one])
    passes.indexes = 1
    let told = passes.told().filter { $0.truth > 0.6 }
    #expect(told.allSatisfy { abs($0.share - $0.truth) < 0.1 }, "\(told)")
  }

  @Test func `costs that are wrong by twenty times are found out`() {
    let cheap = costs(attributes: 0, relationships: 0)
    let dear = costs(attributes: 9, relationships: 9, pairs: 9)
    let passes = MadeUpPasses(
      mappings: [(100_000, 20e-6, 1e-6), (100_000, 1e-6, 20e-6)], costs: [dear, cheap])
    #expect(passes.worst() > 0.3, "the judge of these tests finds nothing")
  }
}
