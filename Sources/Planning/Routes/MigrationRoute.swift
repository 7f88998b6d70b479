package import Mapping
import ObjectModel

/// The versions that a store goes through from its own to the target's, and by which mappings.
package struct MigrationRoute: Sendable {
  /// One migration from a version to another.
  package struct Step: Sendable {
    /// The version that the step leads from.
    package var source: RouteVersion
    /// The version that the step leads to.
    package var destination: RouteVersion
    /// In running order, all into one destination; without any, the mapping is inferred.
    package var mappings: [RouteMapping]
    /// What the step loses although the first and the last version of the route both have it.
    package var detourLosses: Set<PossibleLoss> = []
    /// The entities and properties that inferred mappings keep from version to version, and a
    /// single inferred mapping does not; empty unless the step has mapping models.
    package var keptByVersions: Set<PossibleLoss> = []
    /// Whether the step is one of a way to an older version.
    package var isDowngrade = false
    /// What is left of the inference of a step whose mapping is inferred but for some expressions;
    /// nil for any other step.
    package private(set) var inferred: Inferred?

    /// The refusals that mapping models do not lift.
    package var mappedRefusals: [Refusal] { inferred?.refusals ?? [] }

    /// What an inferred mapping demands besides what any mapping model does.
    package struct Inferred: Sendable {
      /// The expressions.
      package var settings: [ValueSetting]
      /// What keeps the rest of the step from being inferred.
      package var refusals: [Refusal]
      /// What the objects have to satisfy.
      package var conditions: [Condition]
    }

    /// Puts expressions for some attributes into the mapping, which is inferred unless mapping
    /// models are given.
    package mutating func set(_ settings: [ValueSetting]) {
      let (from, to) = (source.model, destination.model)
      guard mappings.isEmpty else {
        for index in mappings.indices {
          mappings[index].mapping = mappings[index].mapping.setting(settings, from: from, to: to)
        }
        return
      }
      let found = AnsweredInference(from: from, to: to, settings: settings)
      inferred = Inferred(
        settings: settings, refusals: found.refusals, conditions: found.conditions)
      mappings = [
        RouteMapping(name: RouteMapping.inferredName, standing: .named, mapping: found.mapping)
      ]
    }

    /// Whether the mapping of the step leaves the value of an attribute to the model, or cannot
    /// make it of what the attribute held.
    fileprivate func isOpen(_ setting: ValueSetting) -> Bool {
      let (from, to) = (source.model, destination.model)
      let models =
        mappings.isEmpty
        ? [MappingInference(from: from, to: to).mapping] : mappings.map(\.mapping)
      let makers = models.flatMap(\.entityMappings).filter {
        $0.destinationEntityName == setting.entity
      }
      return makers.contains { maker in
        let property = maker.attributeMappings.first { $0.name == setting.property }
        guard case .attribute(let name, _)? = property?.origin,
          let source = maker.sourceEntityName.flatMap({ from.entity(name: $0) }),
          let old = from.leafAttribute(named: name, of: source),
          let entity = to.entity(name: setting.entity),
          let new = to.leafAttribute(named: setting.property, of: entity)
        else { return true }
        return old.type != new.type
      }
    }

    /// Whether the models alone decide what the mapping is, but for some expressions.
    private var isInferred: Bool { mappings.isEmpty || inferred != nil }

    /// Returns the loss with its cause on this route, where the destination model implies it.
    package func marked(_ loss: PossibleLoss) -> PossibleLoss {
      guard loss.cause == .removed else { return loss }
      var marked = loss
      if isOutside(loss) {
        marked.cause = .outsideConfiguration
      } else if !isInferred {
        let lost = PossibleLoss(entity: loss.entity, kind: loss.kind)
        if keptByVersions.contains(lost) {
          marked.cause = loss.kind == .entity ? .unmappedEntity : .unmappedProperty
        }
      } else if detourLosses.contains(loss) {
        marked.cause = .detour
      } else if isDowngrade {
        marked.cause = .downgrade
      }
      return marked
    }

    private func isOutside(_ loss: PossibleLoss) -> Bool {
      loss.kind == .entity && leavesOut(loss.entity)
    }

    /// Whether the chosen configuration leaves out what an entity of the source becomes.
    package func leavesOut(_ entity: String) -> Bool {
      guard !destination.leftOut.isEmpty else { return false }
      let identifier = source.model.entity(name: entity)?.renamingIdentifier
      return destination.leftOut.contains(entity)
        || identifier.map(destination.leftOut.contains) ?? false
    }

    /// Makes a step, which is inferred unless mapping models are given.
    package init(
      from source: RouteVersion, to destination: RouteVersion, by mappings: [RouteMapping] = []
    ) {
      self.source = source
      self.destination = destination
      self.mappings = mappings.map { mapping in
        var expanded = mapping
        expanded.mapping = mapping.mapping.expandingComposites(
          from: source.model, to: destination.model)
        return expanded
      }
    }
  }

  /// A mapping model that no step uses.
  package struct Unused: Hashable, Sendable {
    /// Why no step uses it.
    package enum Reason: Hashable, Sendable {
      /// No version that is known has its entities on that side.
      case versionUnknown(MappingSide)
      /// It leads from a version to one that hashes alike.
      case leadsNowhere
      /// Another mapping model is equal.
      case same(as: String)
      /// Another mapping model takes the same objects to the same entity.
      case overlaps(with: String)
      /// With all others for its versions, it leaves out an entity of the destination.
      case incomplete(entity: String)
      /// It is for other versions than those of the route.
      case elsewhere
      /// Another mapping model names exactly the two versions of the step.
      case lessExact(than: String)
      /// It would lose the objects or values of this name, which inference keeps.
      case losesMore(String)

      /// Whether the mapping model would have been used if it lost nothing.
      package var isByLoss: Bool { if case .losesMore = self { true } else { false } }
    }

    /// Its path.
    package var name: String
    /// How it came to be known; one that the user named is an error if nothing uses it.
    package var standing: RouteMapping.Standing
    /// Why no step uses it.
    package var reason: Reason
  }

  /// The steps from the store's version to the target's, one at least.
  package private(set) var steps: [Step] = []
  /// The mapping models that no step uses, for the report.
  package private(set) var unused: [Unused] = []
  /// Why the one step from end to end cannot be inferred, where the route goes around it.
  package private(set) var directRefusals: [Refusal] = []
  /// Whether the target is an older version than the store's, as far as an order is known.
  package private(set) var isDowngrade = false
  /// How the order of the versions came to be known.
  package private(set) var orderEvidence = VersionNumbering.Evidence.none

  /// A route of steps that are known already.
  package init(steps: [Step]) { self.steps = steps }

  /// Puts each expression into the step in which its attribute is new or changes its type, or else
  /// into the last one that has it; returns those of attributes that no version on the way has.
  package mutating func set(_ settings: [ValueSetting]) -> [ValueSetting] {
    var unknown: [ValueSetting] = []
    var places: [Int: [ValueSetting]] = [:]
    for setting in settings {
      let known = steps.indices.filter { setting.isKnown(in: steps[$0].destination.model) }
      guard let last = known.last else {
        unknown.append(setting)
        continue
      }
      places[known.first { steps[$0].isOpen(setting) } ?? last, default: []].append(setting)
    }
    for (place, settings) in places { steps[place].set(settings) }
    return unknown
  }

  /// One inferred step, with the names and the order of its versions.
  package init(
    inferredFrom store: RouteVersion, to target: RouteVersion, bundles: [VersionNumbering],
    targetName: String? = nil
  ) {
    let order = VersionOrder(
      store: store, target: target, bundles: bundles, targetName: targetName)
    var step = Step(from: order.versions[order.start], to: order.versions[order.end])
    step.isDowngrade = order.isDowngrade
    steps = [step]
    isDowngrade = order.isDowngrade
    orderEvidence = order.evidence
  }

  /// Finds the route from the store's version to the target's.
  ///
  /// - Parameters:
  ///   - bundles: the versions of each bundle.
  ///   - isProgressive: goes version by version, as far as each step is possible.
  ///   - infers: whether a step without a mapping model may be inferred.
  ///   - targetName: the name of the target among versions that hash alike.
  ///   - refusals: what keeps a step from being inferred.
  package init(
    from store: RouteVersion, to target: RouteVersion, bundles: [VersionNumbering],
    mappings: [RouteMapping], isProgressive: Bool, infers: Bool = true,
    targetName: String? = nil,
    refusals: (RouteVersion, RouteVersion) -> [Refusal]
  ) throws(RouteError) {
    let order = VersionOrder(
      store: store, target: target, bundles: bundles, targetName: targetName)
    if isProgressive, order.evidence == .none, order.versions.count > 2 {
      throw .orderUnknown(order.versions.map(\.names))
    }
    let assigned = try AssignedMappings(mappings: mappings, order: order) {
      infers && refusals($0, $1).isEmpty
    }
    var found: [RouteSearch.Edge: [Refusal]] = [:]
    func refusalsOf(_ edge: RouteSearch.Edge) -> [Refusal] {
      if let known = found[edge] { return known }
      let new = refusals(order.versions[edge.from], order.versions[edge.to])
      found[edge] = new
      return new
    }
    let costs = RouteCosts(order: order, assigned: assigned, isProgressive: isProgressive)
    let search = RouteSearch(count: order.versions.count, cost: costs.cost)
    func isSound(_ edge: RouteSearch.Edge) -> Bool {
      assigned[edge] != nil || (infers && refusalsOf(edge).isEmpty)
    }
    let direct = RouteSearch.Edge(from: order.start, to: order.end)
    let (sound, missing) = search.way(from: direct.from, to: direct.to, isSound: isSound)
    // A single step that is impossible is left to its assessment, which reads the rows too.
    let alone = infers && missing == [direct] ? [direct.from, direct.to] : nil
    guard let cheapest = sound ?? alone else {
      throw .mappingsMissing(
        missing.map {
          RouteError.Gap(
            source: order.versions[$0.from].labels, destination: order.versions[$0.to].labels,
            refusals: infers ? refusalsOf($0) : [])
        }, unknown: assigned.unused(besides: []).filter(\.isUnknown), infers: infers)
    }
    var detours = Detours(versions: order.versions, assigned: assigned)
    var (way, losses) = Self.leastLossy(cheapest, detours: &detours) { avoided in
      search.way(from: direct.from, to: direct.to, avoiding: avoided, isSound: isSound).way
    }
    if way == [direct.from, direct.to], assigned[direct] == nil, order.chain.count > 2,
      Self.mayNeedChain(order, detours: &detours)
    {
      let chain = Self.chain(order, assigned: assigned, detours: &detours, isSound: isSound)
      if chain.count > 2, Self.needsChain(chain, in: order, detours: &detours) {
        (way, losses) = (chain, detours.losses(on: chain))
      }
    }
    let edges = zip(way, way.dropFirst()).map { RouteSearch.Edge(from: $0, to: $1) }
    for (edge, losses) in zip(edges, losses) {
      var step = Step(
        from: order.versions[edge.from], to: order.versions[edge.to], by: assigned[edge] ?? [])
      step.detourLosses = losses
      step.isDowngrade = order.isDowngrade
      steps.append(step)
    }
    noteKeptByVersions(edges.map { assigned[$0] == nil ? nil : $0 }, of: order)
    if steps.count > 1, infers, assigned[direct] == nil { directRefusals = refusalsOf(direct) }
    isDowngrade = order.isDowngrade
    orderEvidence = order.evidence
    let unreadable = steps.flatMap(\.mappings).filter(\.isOutline)
    if !unreadable.isEmpty { throw .mappingsUnreadable(unreadable.map(\.name)) }
    unused = assigned.unused(besides: steps.flatMap(\.mappings).map(\.name))
    let named = mappings.filter { $0.standing == .named }.map(\.name)
    if let first = named.first, Set(unused.map(\.name)).isSuperset(of: named) {
      throw .mappingFitsNothing(first)
    }
  }

  /// Notes in steps what inferred mappings keep over the versions between, and a single inferred
  /// mapping does not.
  ///
  /// - Parameter edges: the edge of each step; nil for one without mapping models.
  private mutating func noteKeptByVersions(_ edges: [RouteSearch.Edge?], of order: VersionOrder) {
    var detours = Detours(versions: order.versions, assigned: nil)
    for (index, edge) in edges.enumerated() {
      guard let edge, let first = order.link(version: edge.from),
        let last = order.link(version: edge.to), last - first > 1
      else { continue }
      steps[index].keptByVersions = detours.keptOnly(on: Array(order.chain[first...last]))
    }
  }

  /// The way that a migration version by version takes: around versions that cannot be reached, or
  /// at which more is lost; none where no such way is sound.
  private static func chain(
    _ order: VersionOrder, assigned: AssignedMappings, detours: inout Detours,
    isSound: (RouteSearch.Edge) -> Bool
  ) -> [Int] {
    if order.evidence == .none {
      let edges = zip(order.chain, order.chain.dropFirst())
      return edges.allSatisfy { isSound(.init(from: $0, to: $1)) } ? order.chain : []
    }
    let costs = RouteCosts(order: order, assigned: assigned, isProgressive: true)
    let search = RouteSearch(count: order.versions.count, cost: costs.cost)
    func way(avoiding avoided: Set<Int>) -> [Int]? {
      search.way(from: order.start, to: order.end, avoiding: avoided, isSound: isSound).way
    }
    guard let found = way(avoiding: []) else { return [] }
    return leastLossy(found, detours: &detours, around: way).way
  }

  /// Whether the versions between may pair names otherwise than one step from end to end, which is
  /// found out at little cost.
  private static func mayNeedChain(_ order: VersionOrder, detours: inout Detours) -> Bool {
    order.evidence != .none && order.versions[order.end].model.reusesRenamedName
      || detours.mayKeepMore(on: order.chain)
  }

  /// Whether the versions between pair names otherwise than one step from end to end.
  ///
  /// A name that changed twice is found again only from version to version. A name that was used
  /// again for another property goes to itself in one step, and the versions between show whether
  /// it was renamed before.
  private static func needsChain(
    _ chain: [Int], in order: VersionOrder, detours: inout Detours
  ) -> Bool {
    let ends = [order.start, order.end]
    if detours.mayKeepMore(on: chain), detours.keptCount(on: chain) > detours.keptCount(on: ends) {
      return true
    }
    return order.evidence != .none && order.versions[order.end].model.reusesRenamedName
      && detours.disagree(chain, with: ends)
  }

  /// The way that keeps most: versions at which something is lost are gone around as far as a sound
  /// way leads around them.
  private static func leastLossy(
    _ cheapest: [Int], detours: inout Detours, around: (Set<Int>) -> [Int]?
  ) -> (way: [Int], losses: [Set<PossibleLoss>]) {
    func count(losses: [Set<PossibleLoss>]) -> Int { losses.reduce(0) { $0 + $1.count } }
    var best = (way: cheapest, losses: detours.losses(on: cheapest))
    var current = best
    var avoided: Set<Int> = []
    while let step = current.losses.firstIndex(where: { !$0.isEmpty }) {
      // What the last step loses the version before it no longer has under the right name.
      let isLast = step == current.losses.count - 1
      avoided.insert(current.way[isLast ? step : step + 1])
      guard let way = around(avoided) else { break }
      current = (way, detours.losses(on: way))
      if count(losses: current.losses) < count(losses: best.losses) { best = current }
    }
    return best
  }
}

extension MigrationRoute.Unused {
  /// Whether a model is missing without which the mapping model cannot be placed.
  fileprivate var isUnknown: Bool { if case .versionUnknown = reason { true } else { false } }
}
