import Expressions
package import ObjectModel

/// A mapping model in independent pieces: no relationship crosses from one to another.
package struct MappingSplit {
  /// In the order of their first mappings; one piece where everything is related.
  package private(set) var pieces: [MappingModel] = []
  /// What keeps mappings of one piece together.
  package let links: [MappingLink]

  /// Splits a mapping model between the entities of two models.
  package init(
    mapping: MappingModel, source: ManagedObjectModel, destination: ManagedObjectModel
  ) {
    links =
      MappingLinks(mappings: mapping.entityMappings, source: source, destination: destination).links
    var groups = DisjointSets(mapping.entityMappings.map(\.name))
    for link in links { groups.join(link.mapping, with: link.other) }
    // A mapping that makes no objects needs no pass of its own.
    let idle = mapping.entityMappings.filter { mapping in
      !links.contains { $0.mapping == mapping.name || $0.other == mapping.name }
        && mapping.migrationPolicyClassName == nil
        && (mapping.sourceEntityName == nil || mapping.destinationEntityName == nil)
    }
    let busy = mapping.entityMappings.first { entityMapping in
      !idle.contains { $0.name == entityMapping.name }
    }
    for other in idle { groups.join(busy?.name ?? idle[0].name, with: other.name) }
    pieces = groups.sets().map { names in
      let names = Set(names)
      return MappingModel(
        entityMappings: mapping.entityMappings.filter { names.contains($0.name) })
    }
  }
}

/// Why several mapping models cannot be run one after another as one migration.
package struct MappingSetProblem: Error, Hashable, Sendable {
  /// What is wrong with the set.
  package enum Reason: Hashable, Sendable {
    /// No mapping of the set mentions the entity.
    case notCovered(MappingSide, entity: String)
    /// No mapping of the set mentions the source entity, which the destination model lacks.
    case removed(entity: String)
    /// Another mapping model of the set, or the same one, takes the same objects to the same
    /// entity.
    case coveredTwice(mapping: String, otherPiece: String, otherMapping: String)
    /// A mapping makes objects of the pairs of a relationship, and none does so for an entity that
    /// has the relationship too.
    case pairsLeftOut(mapping: String, entity: String, relationship: String)
    /// A value expression refers to objects of a mapping in another piece, which are no longer
    /// known.
    case related(MappingLink, otherPiece: String)
    /// A value expression names a mapping that no mapping model of the set has.
    case mappingMissing(MappingLink)
  }

  /// The name under which the mapping model was given; nil for a problem of the set.
  package var piece: String?
  /// What is wrong.
  package var reason: Reason

  /// Takes the mapping model at fault by its name; without one the whole set is.
  package init(_ reason: Reason, piece: String? = nil) {
    self.reason = reason
    self.piece = piece
  }
}

/// Mapping models that are to do one migration together, each in a run of its own.
package struct MappingSet {
  /// One mapping model of the set.
  package struct Piece {
    /// The name under which it was given, as a path.
    package var name: String
    /// The mapping model.
    package var mapping: MappingModel

    /// Takes a mapping model under the name that messages have for it.
    package init(name: String, mapping: MappingModel) {
      self.name = name
      self.mapping = mapping
    }
  }

  /// What must be repaired before the set can run.
  package private(set) var problems: [MappingSetProblem] = []
  /// Relationships across pieces that a policy must fill by keys that the objects store.
  package private(set) var storedKeyLinks: [MappingLink] = []

  /// Entities that a mapping model on its own leaves out, and entities whose pairs become no
  /// objects: those of the source are dropped, which its author may have meant.
  package private(set) var leftOut: [MappingSetProblem] = []
  /// Mappings of one model that make the same objects again.
  package private(set) var repeated: [MappingSetProblem] = []

  private let pieces: [Piece]

  /// Checks mapping models in the order in which they are to run.
  package init(
    pieces: [Piece], source: ManagedObjectModel, destination: ManagedObjectModel
  ) {
    self.pieces = pieces
    let continued = RenamingMatch.entities(from: source, to: destination).sourceByDestination
    checkCoverage(.source, entities: source.entities) { continued.values.contains($0) }
    checkCoverage(.destination, entities: destination.entities) { _ in true }
    checkPairs(source)
    checkOverlaps()
    checkLinks(source, destination: destination)
  }

  /// - Parameter isKept: called with the name of an entity, whether the other model has it too.
  private mutating func checkCoverage(
    _ side: MappingSide, entities: [Entity], isKept: (String) -> Bool
  ) {
    let covered = Set(
      pieces.flatMap { $0.mapping.entityMappings.compactMap { $0.entityName(side: side) } })
    for entity in entities where !entity.isAbstract && !covered.contains(entity.name) {
      guard isKept(entity.name) else {
        leftOut.append(MappingSetProblem(.removed(entity: entity.name)))
        continue
      }
      let problem = MappingSetProblem(.notCovered(side, entity: entity.name))
      if pieces.count == 1 { leftOut.append(problem) } else { problems.append(problem) }
    }
  }

  /// A mapping takes the objects of one entity, and subentities have the relationship too.
  private mutating func checkPairs(_ source: ManagedObjectModel) {
    let mappings = pieces.flatMap(\.mapping.entityMappings)
    var read = PropertiesRead()
    for mapping in mappings { read.add(PropertiesRead(mapping: mapping, source: source)) }
    var noted: Set<[String]> = []
    for mapping in mappings {
      guard let name = mapping.newObjects?.pairRelationship,
        let entity = mapping.sourceEntityName.flatMap({ source.entity(name: $0) }),
        let owner = source.lineage(of: entity).last(where: {
          $0.relationships.contains { $0.name == name }
        }), let relationship = owner.relationships.first(where: { $0.name == name })
      else { continue }
      let inverse = source.inverse(of: relationship)?.name
      let others = source.family(of: relationship.destinationEntityName).filter { !$0.isAbstract }
      // The other end has all pairs.
      if let inverse, others.allSatisfy({ read.contains(inverse, of: $0.name) }) { continue }
      for other in source.family(of: owner.name)
      where !other.isAbstract && !read.contains(name, of: other.name)
        && mappings.contains(where: { $0.makesObjects && $0.sourceEntityName == other.name })
        && !mappings.contains(where: {
          $0.newObjects?.pairRelationship == name && $0.sourceEntityName == other.name
        })
      {
        guard noted.insert([other.name, name]).inserted else { continue }
        leftOut.append(
          MappingSetProblem(
            .pairsLeftOut(mapping: mapping.name, entity: other.name, relationship: name)))
      }
    }
  }

  /// Two mappings of one source entity are sound only if their filters keep them apart, which
  /// cannot be decided in general; what can be is that one has no filter or that both have the
  /// same.
  private mutating func checkOverlaps() {
    var seen: [String: [(piece: String, mapping: EntityMapping)]] = [:]
    for piece in pieces {
      for mapping in piece.mapping.entityMappings {
        let key = "\(mapping.sourceEntityName ?? "") \(mapping.destinationEntityName ?? "")"
        for earlier in seen[key] ?? [] where Self.overlap(earlier.mapping, mapping) {
          let problem = MappingSetProblem(
            .coveredTwice(
              mapping: mapping.name, otherPiece: earlier.piece,
              otherMapping: earlier.mapping.name), piece: piece.name)
          // Two mappings of one model make two objects, as in Core Data.
          if earlier.piece == piece.name {
            repeated.append(problem)
          } else {
            problems.append(problem)
          }
        }
        seen[key, default: []].append((piece.name, mapping))
      }
    }
  }

  private static func overlap(_ first: EntityMapping, _ second: EntityMapping) -> Bool {
    // New objects take nothing from others.
    if first.newObjects != nil || second.newObjects != nil { return false }
    let everything = ValueExpression.everything
    return first.sourceExpression == second.sourceExpression || first.filter == everything
      || second.filter == everything
  }

  private mutating func checkLinks(
    _ source: ManagedObjectModel, destination: ManagedObjectModel
  ) {
    var pieceByMapping: [String: String] = [:]
    for piece in pieces {
      for mapping in piece.mapping.entityMappings { pieceByMapping[mapping.name] = piece.name }
    }
    let found = MappingLinks(
      mappings: pieces.flatMap(\.mapping.entityMappings), source: source, destination: destination)
    for link in found.links {
      guard let piece = pieceByMapping[link.mapping], let other = pieceByMapping[link.other],
        piece != other
      else { continue }
      if link.cause == .association {
        problems.append(MappingSetProblem(.related(link, otherPiece: other), piece: piece))
      } else if link.cause == .policy {
        storedKeyLinks.append(link)
      }
    }
    for link in found.missing {
      problems.append(
        MappingSetProblem(.mappingMissing(link), piece: pieceByMapping[link.mapping]))
    }
  }
}
