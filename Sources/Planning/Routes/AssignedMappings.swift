import Mapping
import ObjectModel

/// Which mapping models lead from which version to which, in running order.
struct AssignedMappings {
  private var steps: [RouteSearch.Edge: [RouteMapping]] = [:]
  private let mappings: [RouteMapping]
  private let order: VersionOrder
  /// Why a mapping model has no place in any step.
  private var reasons: [String: MigrationRoute.Unused.Reason] = [:]

  var edges: [RouteSearch.Edge] { Array(steps.keys) }

  subscript(_ edge: RouteSearch.Edge) -> [RouteMapping]? { steps[edge] }

  init(mappings: [RouteMapping], order: VersionOrder) throws(RouteError) {
    self.mappings = mappings
    self.order = order
    var candidates: [RouteSearch.Edge: [RouteMapping]] = [:]
    for mapping in mappings {
      let edges = self.edges(of: mapping)
      if edges.isEmpty {
        if mapping.standing == .named { throw .mappingFitsNothing(mapping.name) }
        reasons[mapping.name] = reasonOfNone(mapping)
      }
      for edge in edges { candidates[edge, default: []].append(mapping) }
    }
    for (edge, mappings) in candidates { choose(among: mappings, for: edge) }
    let listed = unused(besides: steps.values.flatMap { $0 }.map(\.name)).filter {
      $0.standing == .listed
    }
    if !listed.isEmpty, listed.count == mappings.count, listed.allSatisfy(\.reason.fitsNothing) {
      throw .noMappingFits(listed)
    }
  }

  /// What is not used, and why.
  func unused(besides used: [String]) -> [MigrationRoute.Unused] {
    mappings.filter { !used.contains($0.name) }.map {
      .init(name: $0.name, standing: $0.standing, reason: reasons[$0.name] ?? .elsewhere)
    }
  }

  // MARK: Versions

  /// The steps that a mapping model was made for: as the models in its file say, else as the hashes
  /// of its entities allow.
  private func edges(of mapping: RouteMapping) -> [RouteSearch.Edge] {
    if let madeFor = mapping.madeFor,
      let from = order.versions.firstIndex(where: { $0.hashes == madeFor.source }),
      let to = order.versions.firstIndex(where: { $0.hashes == madeFor.destination })
    {
      return from == to ? [] : [.init(from: from, to: to)]
    }
    let sources = fitting(mapping, side: .source)
    let destinations = fitting(mapping, side: .destination)
    let all = sources.flatMap { from in
      destinations.compactMap { from == $0 ? nil : RouteSearch.Edge(from: from, to: $0) }
    }
    // Without hashes it may fit backward and elsewhere as well, even better than on the way.
    let onTheWay = all.filter { edge in
      guard let first = order.link(version: edge.from), let last = order.link(version: edge.to)
      else { return false }
      return first < last
    }
    let usable = onTheWay.isEmpty ? all : onTheWay
    let whole = usable.filter { missing(mappings: [mapping], edge: $0) == nil }
    return whole.isEmpty ? partial(mapping, all: usable) : whole
  }

  /// A mapping model for a part of the entities may fit many pairs of versions.
  private func partial(
    _ mapping: RouteMapping, all: [RouteSearch.Edge]
  ) -> [RouteSearch.Edge] {
    guard mapping.standing == .named || mapping.mapping.hasAllHashes else { return all }
    let direct = RouteSearch.Edge(from: order.start, to: order.end)
    if all.contains(direct) { return [direct] }
    func span(_ edge: RouteSearch.Edge) -> Int? {
      guard let first = order.link(version: edge.from), let last = order.link(version: edge.to),
        first < last
      else {
        return nil
      }
      return last - first
    }
    let least = all.compactMap(span).min()
    return least == nil ? all : all.filter { span($0) == least }
  }

  private func fitting(_ mapping: RouteMapping, side: MappingSide) -> [Int] {
    order.versions.indices.filter { mapping.mapping.fits(side, hashes: order.versions[$0].hashes) }
  }

  private func reasonOfNone(_ mapping: RouteMapping) -> MigrationRoute.Unused.Reason {
    for side in [MappingSide.source, .destination] where fitting(mapping, side: side).isEmpty {
      return .versionUnknown(side)
    }
    return .leadsNowhere
  }

  /// A concrete entity of the destination that none of the mapping models mentions.
  private func missing(mappings: [RouteMapping], edge: RouteSearch.Edge) -> String? {
    let mentioned = Set(
      mappings.flatMap(\.mapping.entityMappings).compactMap(\.destinationEntityName))
    return order.versions[edge.to].model.entities.first {
      !$0.isAbstract && !mentioned.contains($0.name)
    }?.name
  }

  // MARK: Sets

  /// Takes what the user named as it was named; of others those that do not overlap.
  ///
  /// As in Core Data hashes decide: entities that none of them mentions stay empty. Those without
  /// hashes fit by name alone, so they have to leave out no entity of the destination together.
  private mutating func choose(among candidates: [RouteMapping], for edge: RouteSearch.Edge) {
    let named = candidates.filter { $0.standing == .named }
    guard named.isEmpty else {
      steps[edge] = named
      for other in candidates where other.standing != .named {
        note(other, reason: .overlaps(with: named[0].name))
      }
      return
    }
    // The largest first, so that a part never keeps the whole out.
    let sorted = candidates.sorted {
      ($0.standing, $0.isOutline ? 1 : 0, -$0.mapping.entityMappings.count, $0.name)
        < ($1.standing, $1.isOutline ? 1 : 0, -$1.mapping.entityMappings.count, $1.name)
    }
    var taken: [RouteMapping] = []
    for mapping in sorted {
      if let same = taken.first(where: { $0.mapping == mapping.mapping }) {
        note(mapping, reason: .same(as: same.name))
      } else if let other = overlap(mapping, taken: taken, edge: edge) {
        note(mapping, reason: .overlaps(with: other))
      } else {
        taken.append(mapping)
      }
    }
    if let entity = missing(mappings: taken, edge: edge), !taken.allSatisfy(\.mapping.hasAllHashes)
    {
      for mapping in taken { note(mapping, reason: .incomplete(entity: entity)) }
    } else {
      steps[edge] = runningOrder(taken, edge: edge)
    }
  }

  private mutating func note(_ mapping: RouteMapping, reason: MigrationRoute.Unused.Reason) {
    if reasons[mapping.name] == nil { reasons[mapping.name] = reason }
  }

  private func pieces(
    mappings: [RouteMapping], edge: RouteSearch.Edge
  ) -> MappingSet {
    MappingSet(
      pieces: mappings.map { .init(name: $0.name, mapping: $0.mapping) },
      source: order.versions[edge.from].model, destination: order.versions[edge.to].model)
  }

  private func overlap(
    _ mapping: RouteMapping, taken: [RouteMapping], edge: RouteSearch.Edge
  ) -> String? {
    if taken.isEmpty { return nil }
    for problem in pieces(mappings: taken + [mapping], edge: edge).problems
    where problem.piece == mapping.name {
      if case .coveredTwice(_, let other, _) = problem.reason, other != mapping.name {
        return other
      }
    }
    return nil
  }

  /// By name, but what a policy looks up in another mapping model's objects comes after them.
  private func runningOrder(
    _ mappings: [RouteMapping], edge: RouteSearch.Edge
  ) -> [RouteMapping] {
    if mappings.count < 2 { return mappings }
    var owners: [String: String] = [:]
    for mapping in mappings {
      for entityMapping in mapping.mapping.entityMappings {
        owners[entityMapping.name] = mapping.name
      }
    }
    let links = pieces(mappings: mappings, edge: edge).storedKeyLinks.map {
      (after: owners[$0.mapping], before: owners[$0.other])
    }
    var left = mappings.sorted { $0.name < $1.name }
    var result: [RouteMapping] = []
    while !left.isEmpty {
      let free = left.firstIndex { mapping in
        !links.contains { link in
          link.after == mapping.name && link.before != mapping.name
            && left.contains { $0.name == link.before }
        }
      }
      // Two that look each other up have no order; the names decide.
      result.append(left.remove(at: free ?? 0))
    }
    return result
  }
}

extension MappingModel {
  /// Whether every entity that is named is named with its version.
  fileprivate var hasAllHashes: Bool {
    entityMappings.allSatisfy { mapping in
      [MappingSide.source, .destination].allSatisfy {
        mapping.entityName(side: $0) == nil || mapping.versionHash(side: $0) != nil
      }
    }
  }
}

extension MigrationRoute.Unused.Reason {
  fileprivate var fitsNothing: Bool {
    switch self {
    case .versionUnknown, .leadsNowhere: true
    default: false
    }
  }
}
