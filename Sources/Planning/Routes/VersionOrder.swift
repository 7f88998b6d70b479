import ObjectModel

/// The versions that are known, those that hash alike as one, and the order in which they followed
/// each other.
struct VersionOrder {
  private(set) var versions: [RouteVersion] = []
  /// The versions between the store's and the target's, both included, each once.
  private(set) var chain: [Int] = []
  /// For each version the place of its last appearance in the order; of the start the place from
  /// which the chain begins.
  private(set) var places: [Int] = []
  let start: Int
  let end: Int
  /// Whether the target is known to be the older one.
  let isDowngrade: Bool

  /// How the order of the bundle with both ends is known; of several bundles the weakest evidence.
  let evidence: VersionNumbering.Evidence

  /// Takes the versions of each bundle, the store's and the target's among them or not.
  ///
  /// - Parameter targetName: the name of the target among versions that hash alike.
  init(
    store: RouteVersion, target: RouteVersion, bundles: [VersionNumbering],
    targetName: String? = nil
  ) {
    var order: [Int] = []
    var found: [RouteVersion] = []
    func note(_ version: RouteVersion) -> Int {
      if let index = found.firstIndex(where: { $0.hashes == version.hashes }) {
        found[index].names += version.names.filter { !found[index].names.contains($0) }
        return index
      }
      found.append(version)
      return found.count - 1
    }
    start = note(store)
    end = note(target)
    var named: Int?
    for version in bundles.flatMap(\.versions) {
      let index = note(version)
      if index == end, let targetName, version.names.contains(targetName) { named = order.count }
      order.append(index)
    }
    let hasBoth = order.contains(start) && order.contains(end)
    if !order.contains(start) {
      order.insert(start, at: 0)
      named = named.map { $0 + 1 }
    }
    if !order.contains(end) { order.append(end) }
    versions = found
    places = found.indices.map { order.lastIndex(of: $0) ?? 0 }
    if let named { places[end] = named }
    // A version that came back after the target may be the one before it just as well.
    if let before = order[..<places[end]].lastIndex(of: start) { places[start] = before }
    chain = Self.chain(order: order, from: start, to: end, at: places)
    let isKnown = bundles.allSatisfy { $0.evidence != .none || $0.versions.count < 2 }
    evidence = isKnown ? bundles.first?.evidence ?? .none : .none
    isDowngrade =
      hasBoth && bundles.count == 1 && evidence != .none && places[end] < places[start]
  }

  /// What lies between two appearances of one version was taken back, so it is left out.
  private static func chain(
    order: [Int], from start: Int, to end: Int, at places: [Int]
  ) -> [Int] {
    let (first, last) = (places[start], places[end])
    if first == last { return [start] }
    let range = first < last ? Array(order[first...last]) : order[last...first].reversed()
    var result: [Int] = []
    var index = 0
    while index < range.count {
      let version = range[index]
      result.append(version)
      index = (range.lastIndex(of: version) ?? index) + 1
    }
    return result
  }

  /// The place of a version in the chain.
  func link(version: Int) -> Int? { chain.firstIndex(of: version) }

  /// Whether the order leads from the one to the other.
  func leads(from first: Int, to second: Int) -> Bool {
    if let one = link(version: first), let other = link(version: second) { return one < other }
    return places[start] <= places[end]
      ? places[first] < places[second] : places[first] > places[second]
  }
}
