/// Finds the cheapest way through versions whose steps are costly to check.
///
/// Steps count as sound until they lie on the cheapest way; only then they are checked, so of all
/// steps that would be possible few have to be.
struct RouteSearch {
  /// What a step costs; the first number that differs decides.
  struct Cost: Comparable {
    /// Mapping models that the step passes by.
    var passedBy = 0
    /// Versions between which the step infers.
    var inferred = 0
    var steps = 1

    static func < (first: Self, second: Self) -> Bool {
      (first.passedBy, first.inferred, first.steps)
        < (second.passedBy, second.inferred, second.steps)
    }

    static func + (first: Self, second: Self) -> Self {
      Self(
        passedBy: first.passedBy + second.passedBy, inferred: first.inferred + second.inferred,
        steps: first.steps + second.steps)
    }
  }

  struct Edge: Hashable {
    var from: Int
    var to: Int
  }

  /// Versions are numbered from 0.
  let count: Int
  /// nil where there is no such step.
  let cost: (Edge) -> Cost?

  /// The cheapest way whose steps are all sound, as the versions that it visits.
  ///
  /// Where there is none, the steps of the way that would have been the best, as far as they are
  /// not sound.
  func way(
    from start: Int, to end: Int, avoiding: Set<Int> = [], isSound: (Edge) -> Bool
  ) -> (way: [Int]?, missing: [Edge]) {
    var closed: Set<Edge> = []
    var checked: Set<Edge> = []
    var wanted: [Edge]?
    while let way = cheapest(from: start, to: end, closed: closed, avoided: avoiding) {
      let edges = zip(way, way.dropFirst()).map { Edge(from: $0, to: $1) }
      for edge in edges where checked.insert(edge).inserted && !isSound(edge) {
        closed.insert(edge)
      }
      let broken = edges.filter { closed.contains($0) }
      if broken.isEmpty { return (way, []) }
      if wanted == nil { wanted = broken }
    }
    return (nil, wanted ?? [])
  }

  /// Of ways that cost the same, the one over the lower numbers.
  private func cheapest(
    from start: Int, to end: Int, closed: Set<Edge>, avoided: Set<Int>
  ) -> [Int]? {
    var costs = [Cost?](repeating: nil, count: count)
    var before = [Int](repeating: -1, count: count)
    var settled = [Bool](repeating: false, count: count)
    costs[start] = Cost(steps: 0)
    while true {
      var nearest: (node: Int, cost: Cost)?
      for node in 0..<count where !settled[node] {
        guard let cost = costs[node], nearest.map({ cost < $0.cost }) ?? true else { continue }
        nearest = (node, cost)
      }
      guard let (node, sum) = nearest else { return nil }
      if node == end { break }
      settled[node] = true
      for next in 0..<count where !settled[next] && !avoided.contains(next) {
        let edge = Edge(from: node, to: next)
        guard !closed.contains(edge), let cost = cost(edge) else { continue }
        if costs[next].map({ sum + cost < $0 }) ?? true {
          costs[next] = sum + cost
          before[next] = node
        }
      }
    }
    var way = [end]
    while let last = way.last, last != start { way.append(before[last]) }
    return way.reversed()
  }
}
