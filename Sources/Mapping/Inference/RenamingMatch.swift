import ObjectModel

/// Pairs the names of a source with those of a destination by their renaming identifiers.
///
/// The rule with its reasons: docs/reference/migration.md, "Renaming".
struct RenamingMatch: Hashable {
  /// A name and the identifier under which it continues another one.
  struct Name: Hashable {
    var name: String
    var identifier: String?

    init(name: String, identifier: String?) { (self.name, self.identifier) = (name, identifier) }
    init(_ entity: Entity) { self.init(name: entity.name, identifier: entity.renamingIdentifier) }
    init(_ attribute: Attribute) {
      self.init(name: attribute.name, identifier: attribute.renamingIdentifier)
    }
    init(_ relationship: Relationship) {
      self.init(name: relationship.name, identifier: relationship.renamingIdentifier)
    }

    /// The name by which Core Data compares: the identifier, or the own name where there is none.
    var canonical: String { identifier ?? name }
    /// Whether no identifier leads elsewhere.
    var isPlain: Bool { identifier == nil || identifier == name }
  }

  /// Names of both sides that one identifier joins in several ways.
  struct Ambiguity: Hashable {
    var identifier: String
    var sources: [String]
    var destinations: [String]
  }

  private(set) var sourceByDestination: [String: String] = [:]
  private(set) var ambiguities: [Ambiguity] = []
  private var free: Set<String>

  /// - Parameters:
  ///   - unchanged: names that continue themselves, whatever the identifiers are.
  ///   - inherited: pairs, by destination, that decide where an identifier joins several names.
  init(
    sources: [Name], destinations: [Name], unchanged: Set<String> = [],
    inherited: [String: String] = [:]
  ) {
    free = Set(sources.map(\.name))
    if sources.allSatisfy(\.isPlain), destinations.allSatisfy(\.isPlain) {
      // What follows would come to the same, one identifier after another.
      for name in destinations.map(\.name) where free.contains(name) { take(name, for: name) }
      return
    }
    for name in destinations.map(\.name) where unchanged.contains(name) && free.contains(name) {
      take(name, for: name)
    }
    let before = Dictionary(grouping: sources.filter { free.contains($0.name) }, by: \.canonical)
    let after = Dictionary(
      grouping: destinations.filter { sourceByDestination[$0.name] == nil }, by: \.canonical)
    for identifier in before.keys.sorted() {
      guard let wanting = after[identifier] else { continue }
      join(
        identifier, sources: (before[identifier] ?? []).map(\.name),
        destinations: wanting.map(\.name),
        inherited: inherited)
    }
    let undecided = Set(ambiguities.flatMap(\.destinations))
    let rest = destinations.filter {
      sourceByDestination[$0.name] == nil && !undecided.contains($0.name)
    }
    // An identifier that names the source's present name although the source bears an older
    // identifier, and a name that both sides share although one of them dropped the identifier:
    // Core Data documents only the first rule; losing the values would be the alternative.
    for (name, wanting) in Dictionary(grouping: rest, by: \.canonical).sorted(by: {
      $0.key < $1.key
    })
    where free.contains(name) {
      join(name, sources: [name], destinations: wanting.map(\.name), inherited: inherited)
    }
    let open = undecided.union(ambiguities.flatMap(\.destinations))
    for name in rest.map(\.name)
    where sourceByDestination[name] == nil && free.contains(name) && !open.contains(name) {
      take(name, for: name)
    }
  }

  /// A name that is kept wins; then what is inherited; what is left over on both sides belongs
  /// together where it is one name each.
  private mutating func join(
    _ identifier: String, sources: [String], destinations: [String],
    inherited: [String: String]
  ) {
    if sources.count == 1 && destinations.count == 1 {
      return take(sources[0], for: destinations[0])
    }
    for name in destinations where sources.contains(name) { take(name, for: name) }
    for name in destinations where sourceByDestination[name] == nil {
      guard let source = inherited[name], sources.contains(source), free.contains(source) else {
        continue
      }
      take(source, for: name)
    }
    let left = sources.filter { free.contains($0) }.sorted()
    let wanting = destinations.filter { sourceByDestination[$0] == nil }.sorted()
    if left.count == 1 && wanting.count == 1 {
      take(left[0], for: wanting[0])
    } else if !left.isEmpty && !wanting.isEmpty {
      ambiguities.append(
        Ambiguity(identifier: identifier, sources: left, destinations: wanting))
    }
  }

  private mutating func take(_ source: String, for destination: String) {
    free.remove(source)
    sourceByDestination[destination] = source
  }
}

extension ManagedObjectModel {
  /// Whether an entity or a property continues a name under another one while something else has
  /// that name again.
  ///
  /// In one step from a version before the renaming, the name that both sides have goes to itself.
  package var reusesRenamedName: Bool {
    let entityNames = Set(entities.map(\.name))
    func reuses(_ names: [RenamingMatch.Name], _ all: Set<String>) -> Bool {
      names.contains { !$0.isPlain && all.contains($0.canonical) }
    }
    if reuses(entities.map { .init($0) }, entityNames) { return true }
    return entities.contains { entity in
      let names =
        allLeafAttributes(of: entity).map { RenamingMatch.Name($0) }
        + allRelationships(of: entity).map { RenamingMatch.Name($0) }
      return reuses(names, Set(names.map(\.name)))
    }
  }
}

extension RenamingMatch {
  /// Pairs the entities of two models; one whose version hash is equal is the same entity, always.
  static func entities(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> RenamingMatch {
    let sources = source.entities.map { Name($0) }
    let destinations = destination.entities.map { Name($0) }
    let plain = RenamingMatch(sources: sources, destinations: destinations)
    let moved = Set(sources.map(\.name)).intersection(destinations.map(\.name)).filter {
      plain.sourceByDestination[$0] != $0
    }
    let unchanged = moved.filter { name in
      guard let old = source.entity(name: name), let new = destination.entity(name: name) else {
        return false
      }
      return EntityDifference.isUnchanged(old, in: source, as: new, in: destination)
    }
    guard !unchanged.isEmpty else { return plain }
    return RenamingMatch(sources: sources, destinations: destinations, unchanged: unchanged)
  }
}
