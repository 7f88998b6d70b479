import Foundation

/// Works out which share of the creation and the relation of objects is done.
///
/// Objects of one mapping take about the same; those of another, and their relation, may take ten
/// times as long. Work that has not begun is expected to cost what `ObjectCosts` estimates, scaled
/// by measurements. It has no clock of its own.
struct PassForecast {
  enum Pass: Int, Comparable {
    case creation, relation

    static func < (one: Pass, other: Pass) -> Bool { one.rawValue < other.rawValue }
  }

  /// What was measured of a pass: the time, and what it was expected to be.
  private struct Measured {
    var seconds = 0.0
    var expected = 0.0
  }

  private let costs: [ObjectCosts]
  /// The mapping at work in its pass, since when, and since when its objects are.
  private var current: (pass: Pass, index: Int, since: Double, first: Double?)?
  private var measured = [Measured(), Measured()]
  private var spent: Double

  /// Takes the costs of the mappings, in the order in which each pass goes over them, and the time
  /// that is over before the first one.
  init(_ costs: [ObjectCosts], spent: Double = 0) { (self.costs, self.spent) = (costs, spent) }

  /// Takes that a pass begins with a mapping.
  mutating func begin(_ pass: Pass, mapping index: Int, at now: Double) {
    current = (pass, index, now, nil)
  }

  /// Takes that what comes before the objects of the mapping at work, such as indexes, is done.
  mutating func reachObjects(at now: Double) { current?.first = now }

  /// Records that the current mapping is done, with its number of objects.
  mutating func end(objects: Int64, at now: Double) {
    guard let current else { return }
    spent += now - current.since
    measured[current.pass.rawValue].seconds += now - (current.first ?? now)
    measured[current.pass.rawValue].expected +=
      Double(objects) * cost(of: current.index, in: current.pass)
    self.current = nil
  }

  /// The share of the time that is over.
  ///
  /// - Parameters:
  ///   - done: how many objects of the mapping at work are done.
  ///   - expected: how many each mapping has.
  func share(done: Int64, expected: [Int64], at now: Double) -> Double {
    guard let (pass, index, since, first) = current else { return 0 }
    let own = max(0, now - (first ?? now))
    let prior = cost(of: index, in: pass) * scale(of: pass, own: own, done: done)
    let trust = done > 0 ? min(1, own / Self.trusted) : 0
    let each = trust * own / Double(max(1, done)) + (1 - trust) * prior
    var left = Double(max(0, expected[index] - done)) * each
    for later in [Pass.creation, .relation] {
      let scale = scale(of: later, own: own, done: done)
      for place in expected.indices where (later, place) > (pass, index) {
        left += Double(expected[place]) * cost(of: place, in: later) * scale
      }
    }
    let over = spent + max(0, now - since)
    return over + left > 0 ? over / (over + left) : 0
  }

  /// Seconds after which what was measured of a mapping is all that counts.
  private static let trusted = 0.3

  private func cost(of index: Int, in pass: Pass) -> Double {
    1e-9 * (pass == .creation ? costs[index].creation : costs[index].relation)
  }

  /// Seconds that a second of expected costs takes in a pass.
  ///
  /// A creation that takes longer than expected means a slow machine or a slow policy, and which
  /// one is unknown.
  private func scale(of pass: Pass, own: Double, done: Int64) -> Double {
    var pair = measured[pass.rawValue]
    if let current, current.pass == pass {
      pair.seconds += own
      pair.expected += Double(done) * cost(of: current.index, in: pass)
    }
    if pair.seconds > 0.1, pair.expected > 0 { return pair.seconds / pair.expected }
    guard pass == .relation else { return 1 }
    let before = measured[Pass.creation.rawValue]
    return before.expected > 0 ? pow(before.seconds / before.expected, 0.35) : 1
  }
}
