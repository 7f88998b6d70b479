package import ObjectModel

/// An entity or a property of a model that may continue one of another name, which no renaming
/// identifier says.
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
  /// What both are, such as `String`.
  package var words: String
  /// Whether no other one of its entity that is gone or new could be meant.
  package var isSole: Bool

  /// The proposals for two models: entities first, then properties of entities that belong
  /// together.
  package static func all(
    from old: ManagedObjectModel, to new: ManagedObjectModel
  ) -> [RenamingProposal] {
    let parts = ModelComparison(from: old, to: new).entities
    let entities = EntityProposals(
      gone: parts.filter { $0.fate == .lost }.compactMap { old.entity(name: $0.name) },
      new: parts.filter { $0.fate == .new }.compactMap { new.entity(name: $0.name) }
    ).proposals
    var names = Dictionary(
      parts.compactMap { part in part.oldName.map { ($0, part.name) } }, uniquingKeysWith: { $1 })
    for proposal in entities { names[proposal.oldName] = proposal.name }
    let pairs =
      parts.filter { $0.fate == .changed || $0.fate == .renamed }
      .map { ($0.oldName ?? $0.name, $0.name) } + entities.map { ($0.oldName, $0.name) }
    return entities
      + pairs.flatMap { oldName, name -> [RenamingProposal] in
        guard let one = old.entity(name: oldName), let other = new.entity(name: name) else {
          return []
        }
        return PropertyProposals(old: one, new: other, names: names).proposals
      }
  }
}

/// Pairs what is gone with what is new.
private struct Matching {
  /// The pairs by their places, and whether no other one was possible.
  private(set) var pairs: [(gone: Int, new: Int, isSole: Bool)] = []

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
  }
}

private struct EntityProposals {
  let gone: [Entity]
  let new: [Entity]

  /// The least share of properties that both have.
  private static let least = 0.5

  var proposals: [RenamingProposal] {
    let matching = Matching(gone: gone.count, new: new.count) { one, other in
      let share = Self.share(gone[one], new[other])
      return share >= Self.least ? share : nil
    }
    return matching.pairs.map { pair in
      let (one, other) = (gone[pair.gone], new[pair.new])
      let both = Self.facts(one).intersection(Self.facts(other)).count
      return RenamingProposal(
        kind: .entity, entity: other.name, oldEntity: one.name, name: other.name,
        oldName: one.name, words: "\(both) of \(Self.facts(one).count) properties",
        isSole: pair.isSole)
    }
  }

  /// The share of the properties of both that are the same.
  private static func share(_ one: Entity, _ other: Entity) -> Double {
    guard one.isAbstract == other.isAbstract else { return 0 }
    let (first, second) = (facts(one), facts(other))
    let all = first.union(second).count
    return all == 0 ? 0 : Double(first.intersection(second).count) / Double(all)
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

  var proposals: [RenamingProposal] { attributes + relationships }

  private var attributes: [RenamingProposal] {
    let taken = Set(new.attributes.map { $0.renamingIdentifier ?? $0.name })
    let kept = Set(old.attributes.map(\.name))
    let gone = old.attributes.filter {
      !$0.isTransient && $0.type != .composite && !taken.contains($0.name)
    }
    let added = new.attributes.filter {
      !$0.isTransient && $0.derivation == nil && $0.type != .composite
        && $0.renamingIdentifier == nil && !kept.contains($0.name)
    }
    return Matching(gone: gone.count, new: added.count) { one, other in
      gone[one].type == added[other].type
        ? NameLikeness(gone[one].name, added[other].name).share : nil
    }.pairs.map { pair in
      proposal(
        .attribute, gone[pair.gone].name, added[pair.new].name,
        words: gone[pair.gone].type.name, isSole: pair.isSole)
    }
  }

  private var relationships: [RenamingProposal] {
    let taken = Set(new.relationships.map { $0.renamingIdentifier ?? $0.name })
    let kept = Set(old.relationships.map(\.name))
    let gone = old.relationships.filter { !$0.isTransient && !taken.contains($0.name) }
    let added = new.relationships.filter {
      !$0.isTransient && $0.renamingIdentifier == nil && !kept.contains($0.name)
    }
    return Matching(gone: gone.count, new: added.count) { one, other in
      let (before, after) = (gone[one], added[other])
      let destination = names[before.destinationEntityName] ?? before.destinationEntityName
      guard before.isToMany == after.isToMany, destination == after.destinationEntityName else {
        return nil
      }
      return NameLikeness(before.name, after.name).share
    }.pairs.map { pair in
      let before = gone[pair.gone]
      return proposal(
        .relationship, before.name, added[pair.new].name,
        words: "\(before.isToMany ? "to-many" : "to-one") to \(before.destinationEntityName)",
        isSole: pair.isSole)
    }
  }

  private func proposal(
    _ kind: RenamingProposal.Kind, _ oldName: String, _ name: String, words: String, isSole: Bool
  ) -> RenamingProposal {
    RenamingProposal(
      kind: kind, entity: new.name, oldEntity: old.name, name: name, oldName: oldName,
      words: words, isSole: isSole)
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
