package import ObjectModel

/// An entity or a property of a model that may continue one of another name, without a renaming
/// identifier.
package struct RenamingProposal: Hashable, Sendable {
  /// What it is.
  package enum Kind: String, Hashable, Sendable {
    case entity, attribute, relationship
  }

  /// What it is.
  package var kind: Kind
  /// The entity in the new model that declares the property, or the entity itself.
  package var entity: String
  /// The entity in the old model.
  package var oldEntity: String
  /// The name in the new model.
  package var name: String
  /// The name in the old model.
  package var oldName: String
  /// The renaming identifier that the new one needs: that of the old one, or its name without one.
  package var identifier: String
  /// What both are, such as `String`.
  package var words: String
  /// Whether no other one of its entity that is gone or new could be meant.
  package var isSole: Bool

  /// Removed names and new names that cannot be paired.
  package struct Unclear: Hashable, Sendable {
    /// What they are.
    package var kind: Kind
    /// The entity in the new model that declares the properties; nil for entities.
    package var entity: String?
    /// The entity in the old model; nil for entities.
    package var oldEntity: String?
    /// The names that are new.
    package var names: [String]
    /// The names that are gone.
    package var oldNames: [String]
    /// The renaming identifiers of those that are gone, or their names without one.
    package var identifiers: [String]
    /// What all of them are, such as `String`.
    package var words: String
  }

  /// The proposals for two models: entities first, then properties of entities that belong
  /// together.
  package static func all(
    from old: ManagedObjectModel, to new: ManagedObjectModel
  ) -> [RenamingProposal] { found(from: old, to: new).proposals }

  /// What could continue what, where no name is more alike than the others.
  package static func unclear(
    from old: ManagedObjectModel, to new: ManagedObjectModel
  ) -> [Unclear] { found(from: old, to: new).unclear }

  private typealias Found = (proposals: [RenamingProposal], unclear: [Unclear])

  private static func found(
    from old: ManagedObjectModel, to new: ManagedObjectModel
  ) -> Found {
    let parts = ModelComparison(from: old, to: new).entities
    let entities = EntityProposals(
      gone: parts.filter { $0.fate == .lost }.compactMap { old.entity(name: $0.name) },
      new: parts.filter { $0.fate == .new }.compactMap { new.entity(name: $0.name) }
    )
    var names = Dictionary(
      parts.compactMap { part in part.oldName.map { ($0, part.name) } }, uniquingKeysWith: { $1 })
    for proposal in entities.proposals { names[proposal.oldName] = proposal.name }
    let pairs =
      parts.filter { $0.fate == .changed || $0.fate == .renamed }
      .map { ($0.oldName ?? $0.name, $0.name) } + entities.proposals.map { ($0.oldName, $0.name) }
    let properties = pairs.compactMap { oldName, name -> PropertyProposals? in
      guard let one = old.entity(name: oldName), let other = new.entity(name: name) else {
        return nil
      }
      return PropertyProposals(old: one, new: other, names: names)
    }
    return (
      entities.proposals + properties.flatMap(\.proposals),
      entities.unclear + properties.flatMap(\.unclear)
    )
  }
}

/// Pairs what is gone with what is new.
private struct Matching {
  /// The pairs by their places, and whether no other one was possible.
  private(set) var pairs: [(gone: Int, new: Int, isSole: Bool)] = []
  /// Those that are in no pair and could belong together, in groups that share none.
  private(set) var unclear: [(gone: [Int], new: [Int])] = []

  /// The least likeness of two that are not the only ones.
  private static let least = 0.5

  /// - Parameter likeness: 0...1, or nil for two that cannot belong together.
  init(gone: Int, new: Int, likeness: (Int, Int) -> Double?) {
    var candidates: [(gone: Int, new: Int, likeness: Double)] = []
    for one in 0..<gone {
      for other in 0..<new {
        if let likeness = likeness(one, other) { candidates.append((one, other, likeness)) }
      }
    }
    for candidate in candidates {
      let rivals = candidates.filter { rival in
        (rival.gone == candidate.gone) != (rival.new == candidate.new)
      }
      let isClear = rivals.allSatisfy { $0.likeness < candidate.likeness }
      guard rivals.isEmpty || (isClear && candidate.likeness >= Self.least) else { continue }
      pairs.append((candidate.gone, candidate.new, rivals.isEmpty))
    }
    for candidate in candidates {
      let isTaken = pairs.contains { $0.gone == candidate.gone || $0.new == candidate.new }
      if !isTaken { join(candidate.gone, candidate.new) }
    }
  }

  /// Puts two into one group, with all that either is in a group with.
  private mutating func join(_ one: Int, _ other: Int) {
    let isJoined = { (group: (gone: [Int], new: [Int])) in
      group.gone.contains(one) || group.new.contains(other)
    }
    let joined = unclear.filter(isJoined)
    unclear.removeAll(where: isJoined)
    unclear.append(
      (
        gone: Set(joined.flatMap(\.gone) + [one]).sorted(),
        new: Set(joined.flatMap(\.new) + [other]).sorted()
      ))
  }
}

private struct EntityProposals {
  let gone: [Entity]
  let new: [Entity]

  private let matching: Matching

  /// The least share of properties that both have, and how many at least: one name and its type
  /// are no evidence.
  private static let (least, fewest) = (0.5, 2)

  init(gone: [Entity], new: [Entity]) {
    (self.gone, self.new) = (gone, new)
    matching = Matching(gone: gone.count, new: new.count) { one, other in
      let share = Self.share(gone[one], new[other])
      return share >= Self.least ? share : nil
    }
  }

  var unclear: [RenamingProposal.Unclear] {
    matching.unclear.map { group in
      .init(
        kind: .entity, names: group.new.map { new[$0].name },
        oldNames: group.gone.map { gone[$0].name },
        identifiers: group.gone.map { gone[$0].renamingIdentifier ?? gone[$0].name },
        words: "alike in half of their properties")
    }
  }

  var proposals: [RenamingProposal] {
    matching.pairs.map { pair in
      let (one, other) = (gone[pair.gone], new[pair.new])
      let both = Self.facts(one).intersection(Self.facts(other)).count
      return RenamingProposal(
        kind: .entity, entity: other.name, oldEntity: one.name, name: other.name,
        oldName: one.name, identifier: one.renamingIdentifier ?? one.name,
        words: "\(both) of \(Self.facts(one).count) properties",
        isSole: pair.isSole)
    }
  }

  /// The share of the properties of both that are the same.
  private static func share(_ one: Entity, _ other: Entity) -> Double {
    guard one.isAbstract == other.isAbstract else { return 0 }
    let (first, second) = (facts(one), facts(other))
    let both = first.intersection(second).count
    return both < fewest ? 0 : Double(both) / Double(first.union(second).count)
  }

  private static func facts(_ entity: Entity) -> Set<String> {
    Set(
      entity.attributes.filter { !$0.isTransient }.map { "\($0.name): \($0.type.name)" }
        + entity.relationships.filter { !$0.isTransient }
        .map { "\($0.name): \($0.isToMany ? "to-many" : "to-one")" })
  }
}

private struct PropertyProposals {
  let old: Entity
  let new: Entity
  /// The new names of entities by their old ones, where they differ.
  let names: [String: String]

  var proposals: [RenamingProposal] { attributes.proposals + relationships.proposals }
  var unclear: [RenamingProposal.Unclear] { attributes.unclear + relationships.unclear }

  private typealias Found = (
    proposals: [RenamingProposal], unclear: [RenamingProposal.Unclear]
  )

  private var attributes: Found {
    let taken = Self.taken(old.attributes.map { .init($0) }, new.attributes.map { .init($0) })
    let kept = Set(old.attributes.map(\.name))
    let gone = old.attributes.filter {
      !$0.isTransient && $0.type != .composite && !taken.contains($0.name)
    }
    let added = new.attributes.filter {
      !$0.isTransient && $0.derivation == nil && $0.type != .composite
        && $0.renamingIdentifier == nil && !kept.contains($0.name)
    }
    let matching = Matching(gone: gone.count, new: added.count) { one, other in
      gone[one].type == added[other].type
        ? NameLikeness(gone[one].name, added[other].name).share : nil
    }
    return found(
      .attribute, matching,
      gone: gone.map { ($0.name, $0.renamingIdentifier ?? $0.name, $0.type.name) },
      new: added.map(\.name))
  }

  /// The old names that continue, or could by an identifier that several have.
  private static func taken(_ old: [RenamingMatch.Name], _ new: [RenamingMatch.Name]) -> Set<String>
  {
    let match = RenamingMatch(sources: old, destinations: new)
    return Set(match.sourceByDestination.values).union(match.ambiguities.flatMap(\.sources))
  }

  private var relationships: Found {
    let taken = Self.taken(
      old.relationships.map { .init($0) }, new.relationships.map { .init($0) })
    let kept = Set(old.relationships.map(\.name))
    let gone = old.relationships.filter { !$0.isTransient && !taken.contains($0.name) }
    let added = new.relationships.filter {
      !$0.isTransient && $0.renamingIdentifier == nil && !kept.contains($0.name)
    }
    let matching = Matching(gone: gone.count, new: added.count) { one, other in
      let (before, after) = (gone[one], added[other])
      let destination = names[before.destinationEntityName] ?? before.destinationEntityName
      guard before.isToMany == after.isToMany, destination == after.destinationEntityName else {
        return nil
      }
      return NameLikeness(before.name, after.name).share
    }
    return found(
      .relationship, matching,
      gone: gone.map { before in
        (
          before.name, before.renamingIdentifier ?? before.name,
          "\(before.isToMany ? "to-many" : "to-one") to \(before.destinationEntityName)"
        )
      }, new: added.map(\.name))
  }

  private func found(
    _ kind: RenamingProposal.Kind, _ matching: Matching,
    gone: [(name: String, identifier: String, words: String)], new names: [String]
  ) -> Found {
    (
      matching.pairs.map { pair in
        RenamingProposal(
          kind: kind, entity: new.name, oldEntity: old.name, name: names[pair.new],
          oldName: gone[pair.gone].name, identifier: gone[pair.gone].identifier,
          words: gone[pair.gone].words, isSole: pair.isSole)
      },
      matching.unclear.map { group in
        .init(
          kind: kind, entity: new.name, oldEntity: old.name, names: group.new.map { names[$0] },
          oldNames: group.gone.map { gone[$0].name },
          identifiers: group.gone.map { gone[$0].identifier }, words: gone[group.gone[0]].words)
      }
    )
  }
}

/// How alike two names are, by the letters that have to change.
private struct NameLikeness {
  /// 0 for none, 1 for names that differ in case alone.
  let share: Double

  init(_ one: String, _ other: String) {
    let (first, second) = (Array(one.lowercased()), Array(other.lowercased()))
    var row = Array(0...second.count)
    for (index, letter) in first.enumerated() {
      var last = row[0]
      row[0] = index + 1
      for place in second.indices {
        let cost = letter == second[place] ? 0 : 1
        (last, row[place + 1]) = (
          row[place + 1], min(row[place + 1] + 1, row[place] + 1, last + cost)
        )
      }
    }
    let longest = max(first.count, second.count, 1)
    let edits = 1 - Double(row[second.count]) / Double(longest)
    let isPart = !first.isEmpty && !second.isEmpty && Self.contains(first, second)
    share = isPart ? max(edits, 0.6) : edits
  }

  private static func contains(_ one: [Character], _ other: [Character]) -> Bool {
    let (long, short) = one.count >= other.count ? (one, other) : (other, one)
    return String(long).contains(String(short))
  }
}
