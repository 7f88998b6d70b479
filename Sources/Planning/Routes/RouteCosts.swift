/// What a step costs.
struct RouteCosts {
  let order: VersionOrder
  let assigned: AssignedMappings
  let isProgressive: Bool

  func cost(edge: RouteSearch.Edge) -> RouteSearch.Cost? {
    isProgressive ? progressive(edge) : shortest(edge)
  }

  /// Versions that are left out cost most.
  private func progressive(_ edge: RouteSearch.Edge) -> RouteSearch.Cost? {
    guard let first = order.link(version: edge.from), let last = order.link(version: edge.to),
      first < last
    else {
      return nil
    }
    return .init(passedBy: last - first - 1, inferred: assigned[edge] == nil ? 1 : 0)
  }

  /// Mapping models that are passed by cost most, then versions that are inferred over.
  private func shortest(_ edge: RouteSearch.Edge) -> RouteSearch.Cost? {
    if assigned[edge] != nil { return .init() }
    guard order.leads(from: edge.from, to: edge.to) else { return nil }
    let distance: Int
    if let first = order.link(version: edge.from), let last = order.link(version: edge.to) {
      distance = last - first
    } else {
      distance = abs(order.places[edge.to] - order.places[edge.from])
    }
    return .init(passedBy: assigned.edges.count { isPassedBy($0, by: edge) }, inferred: distance)
  }

  /// Whether a mapping model lies on the stretch over which the step infers, or leads from its
  /// start aside.
  private func isPassedBy(_ given: RouteSearch.Edge, by edge: RouteSearch.Edge) -> Bool {
    guard let first = order.link(version: edge.from), let last = order.link(version: edge.to),
      let begin = order.link(version: given.from)
    else { return false }
    guard let end = order.link(version: given.to) else {
      return given.from == edge.from && order.leads(from: given.to, to: order.end)
    }
    return first <= begin && begin < end && end <= last
  }
}
