import Mapping
import ObjectModel

/// Which mapping models lead from which version to which, in running order.
struct AssignedMappings {
  private var steps: [RouteSearch.Edge: [RouteMapping]] = [:]
  private let mappings: [RouteMapping]
  private let order: VersionOrder
  /// Why a mapping model has no place in any step.
  private var reasons: [String: MigrationRoute.Unused.Reason] = [:]
  /// The step that each mapping model names by its two versions.
  private var exactEdges: [String: RouteSearch.Edge] = [:]

  var edges: [RouteSearch.Edge] { Array(steps.keys) }

  subscript(_ edge: RouteSearch.Edge) -> [RouteMapping]? { steps[edge] }

  /// - Parameter canInfer: called for each step that has only partial mapping models.
  init(
    mappings: [RouteMapping], order: VersionOrder,
    canInfer: (RouteVersion, RouteVersion) -> Bool
  ) throws(RouteError) {
    self.mappings = mappings
    self.order = order
    exactEdges = Self.exactEdges(of: mappings, order: order)
    var candidates: [RouteSearch.Edge: [RouteMapping]] = [:]
    for mapping in mappings {
      let edges = self.edges(of: mapping)
      if edges.isEmpty {
        if mapping.standing == .named { throw .mappingFitsNothing(mapping.name) }
        reasons[mapping.name] = reasonOfNone(mapping)
      }
      for edge in edges { candidates[edge, default: []].append(mapping) }
    }
    for (edge, mappings) in candidates { choose(among: mappings, for: edge, canInfer: canInfer) }
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

  /// The steps that mapping models name by their two versions, where both versions are known.
  private static func exactEdges(
    of mappings: [RouteMapping], order: VersionOrder
  ) -> [String: RouteSearch.Edge] {
    guard mappings.contains(where: { $0.madeFor != nil }) else { return [:] }
    let checksums = order.versions.map(\.hashes.checksum)
    var result: [String: RouteSearch.Edge] = [:]
    for mapping in mappings {
      guard let pair = mapping.madeFor, let from = checksums.firstIndex(of: pair.source),
        let to = checksums.firstIndex(of: pair.destination)
      else { continue }
      result[mapping.name] = .init(from: from, to: to)
    }
    return result
  }

  /// The steps that a mapping model was made for: those that its file names, else as the hashes of
  /// its entities allow.
  ///
  /// One that the user named for other versions than those of the way is used where it fits.
  private func edges(of mapping: RouteMapping) -> [RouteSearch.Edge] {
    let exact = exactEdges[mapping.name]
    if let exact, exact.from == exact.to { return [] }
    if let exact, mapping.standing != .named || isOnTheWay(exact) { return [exact] }
    let fitting = fittingEdges(of: mapping)
    return fitting.isEmpty ? [exact].compactMap(\.self) : fitting
  }

  private func isOnTheWay(_ edge: RouteSearch.Edge) -> Bool {
    guard let first = order.link(version: edge.from), let last = order.link(version: edge.to)
    else { return false }
    return first < last
  }

  private func fittingEdges(of mapping: RouteMapping) -> [RouteSearch.Edge] {
    let sources = fitting(mapping, side: .source)
    let destinations = fitting(mapping, side: .destination)
    let all = sources.flatMap { from in
      destinations.compactMap { from == $0 ? nil : RouteSearch.Edge(from: from, to: $0) }
    }
    // Without hashes it may fit backward and elsewhere as well, even better than on the way.
    let onTheWay = all.filter(isOnTheWay)
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
  private mutating func choose(
    among candidates: [RouteMapping], for edge: RouteSearch.Edge,
    canInfer: (RouteVersion, RouteVersion) -> Bool
  ) {
    let named = candidates.filter { $0.standing == .named }
    guard named.isEmpty else {
      steps[edge] = named
      for other in candidates where other.standing != .named {
        note(other, reason: .overlaps(with: named[0].name))
      }
      return
    }
    // The largest first, so that a part never keeps the whole out.
    let sorted = exactFirst(candidates, for: edge).sorted {
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
    } else if taken.allSatisfy({
      $0.standing == .found && !$0.isOutline && exactEdges[$0.name] != edge
    }),
      let loss = furtherLoss(of: taken, edge: edge),
      canInfer(order.versions[edge.from], order.versions[edge.to])
    {
      for mapping in taken { note(mapping, reason: .losesMore(loss)) }
    } else {
      steps[edge] = runningOrder(taken, edge: edge)
    }
  }

  /// Leaves out what was found and fits a step by its entities only, where another mapping model
  /// names the two versions of the step.
  private mutating func exactFirst(
    _ candidates: [RouteMapping], for edge: RouteSearch.Edge
  ) -> [RouteMapping] {
    guard let exact = candidates.first(where: { exactEdges[$0.name] == edge }) else {
      return candidates
    }
    return candidates.filter { mapping in
      if mapping.standing != .found || exactEdges[mapping.name] == edge { return true }
      note(mapping, reason: .lessExact(than: exact.name))
      return false
    }
  }

  /// The first entity or property that mapping models lose and inference keeps, where they leave
  /// out an entity; nil where they leave out none.
  private func furtherLoss(of mappings: [RouteMapping], edge: RouteSearch.Edge) -> String? {
    let (source, destination) = (order.versions[edge.from].model, order.versions[edge.to].model)
    let losses = MappingLosses(
      models: mappings.map {
        $0.mapping.expandingComposites(from: source, to: destination)
          .completingCopies(from: source, to: destination)
      }, source: source, destination: destination
    ).possible
    let leavesOut =
      missing(mappings: mappings, edge: edge) != nil
      || losses.contains { $0.cause == .unmappedEntity }
    guard leavesOut else { return nil }
    let inferred = Set(
      MappingInference(from: source, to: destination).possibleLosses.map(\.name))
    return losses.map(\.name).first { !inferred.contains($0) }
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
