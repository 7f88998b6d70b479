import GRDB
import Mapping
import ObjectModel
import Schema

/// Finds out which references of the source the result has, for relationships that policies and
/// expressions decide.
struct ReferenceTally {
  let fates: ReferenceFates
  let source: ObjectContext
  let destination: ObjectContext
  let associations: Associations
  let tally: ObjectTally
  /// The places of the mappings that this run carries out.
  let own: Set<Int>

  private typealias End = (facts: EntityFacts, key: Int64)

  /// What became of the references of each such relationship.
  func observe() throws -> [ObjectAccounts.OfReferences] {
    _ = try destination.flushed()
    return try source.schema.references(fates).filter(\.place.isOpen).map { place, kept in
      var result = ObjectAccounts.OfReferences(
        entity: place.entity, relationship: place.relationship.name)
      try observe(place, kept, in: &result)
      return result
    }
  }

  private func observe(
    _ place: ReferenceFates.Place, _ kept: ReferenceSource,
    in result: inout ObjectAccounts.OfReferences
  ) throws {
    let isOneToOne = fates.isOneToOne(place.relationship)
    let rows = try Row.fetchCursor(source.db, sql: query(place, kept))
    var links: [String: Links] = [:]
    var counted: [String: Bool] = [:]
    while let row = try rows.next() {
      let owner = end(row[0], row[1], of: place.owners)
      let target = end(row[2], row[3], of: place.targets)
      let key = Int64.fromDatabaseValue(row[4]) ?? 0
      let name = "\(owner?.facts.name ?? "") \(target?.facts.name ?? "")"
      let isCounted = counted[name] ?? isOwn(place, owner, target)
      counted[name] = isCounted
      guard isCounted else { continue }
      result.references += 1
      guard let owner, let target else {
        result.drop(.dangling)
        continue
      }
      let own = links[name] ?? Links(place, owner.facts.name, target.facts.name, fates)
      links[name] = own
      let made = (try destinations(owner), try destinations(target))
      switch fate(place, owner: owner, target: target, made: (made.0.isEmpty, made.1.isEmpty)) {
      case .gone(let cause)?: result.drop(cause)
      // What no mapping reads goes for that reason, whatever becomes of the target.
      case .lost(let cause)?
      where isRead(place, owner, target) || !fates.hasMapping(owner.facts.name):
        result.lose(cause, entity: owner.facts.name, key: key)
      default:
        if try isLinked(made.0, made.1, own) { continue }
        guard !own.isEmpty, isRead(place, owner, target) else {
          result.drop(own.isEmpty ? .removed : .unmappedProperty)
          continue
        }
        // Ends that have not agreed before are a defect, and made to agree.
        if try isOneToOne && !leadsBack(target, to: owner, by: place.relationship) {
          result.drop(.collision)
          continue
        }
        let isTaken = try isTaken(made.0, own.forward) || isTaken(made.1, own.backward)
        let cause: LossCause =
          isTaken ? .collision : fates.hasPolicy(place) ? .policy : .unmappedProperty
        result.lose(cause, entity: owner.facts.name, key: key)
      }
    }
  }

  /// Whether this run makes the objects by which it is known what became of references.
  private func isOwn(_ place: ReferenceFates.Place, _ owner: End?, _ target: End?) -> Bool {
    let accountant = fates.accountant(
      of: place, owner: owner?.facts.name, target: target?.facts.name)
    return accountant.map(own.contains) ?? false
  }

  // MARK: The source

  /// The owner, its entity number, the target, its entity number, and the key of the row.
  private func query(_ place: ReferenceFates.Place, _ kept: ReferenceSource) -> String {
    func number(_ key: String, _ entity: String) -> String {
      let table = source.schema.model.entity(name: entity).flatMap { source.schema.table(of: $0) }
      return "(SELECT x.Z_ENT FROM \(source.sqlTable(name: table?.name ?? "")) AS x "
        + "WHERE x.Z_PK = \(key))"
    }
    let target = place.relationship.destinationEntityName
    switch kept {
    case .column(let table, let column, _):
      let key = "s.\(SQL.identifier(name: column))"
      let list =
        place.form == .owner
        ? "\(key), \(number(key, place.entity)), s.Z_PK, s.Z_ENT, s.Z_PK"
        : "s.Z_PK, s.Z_ENT, \(key), \(number(key, target)), s.Z_PK"
      let numbers = (place.form == .owner ? place.targets : place.owners)
        .compactMap { source.schema.numbers[$0].map { "\($0.rawValue)" } }
      return "SELECT \(list) FROM \(source.sqlTable(name: table.name)) AS s NOT INDEXED "
        + "WHERE \(key) IS NOT NULL AND s.Z_ENT IN (\(numbers.joined(separator: ", ")))"
    case .pairs(let join):
      let keys = [join.first, join.second].map { "s.\(SQL.identifier(name: $0.keyColumn))" }
      return "SELECT \(keys[0]), \(number(keys[0], place.entity)), \(keys[1]), "
        + "\(number(keys[1], target)), \(keys[0]) FROM \(source.sqlTable(name: join.name)) AS s "
        + "WHERE \(keys[0]) IS NOT NULL AND \(keys[1]) IS NOT NULL"
    }
  }

  private func end(
    _ key: DatabaseValue, _ number: DatabaseValue, of entities: [String]
  ) -> End? {
    guard let key = Int64.fromDatabaseValue(key), let number = Int64.fromDatabaseValue(number),
      let facts = source.facts(number: number), entities.contains(facts.name)
    else { return nil }
    return (facts, key)
  }

  /// Whether the other end of a relationship has the owner.
  private func leadsBack(
    _ target: End, to owner: End, by relationship: Relationship
  ) throws -> Bool {
    guard let name = fates.inverse(of: relationship),
      let facts = target.facts.relationships[name]
    else { return true }
    let place = ObjectPlace(facts: target.facts, key: target.key)
    return try source.places(of: place, facts: facts).contains { $0.key == owner.key }
  }

  private func destinations(_ end: End) throws -> [ObjectPlace] {
    let place = Associations.Place(table: Int64(end.facts.tableIndex), key: end.key)
    return try associations.destinations(of: place, mapping: nil).compactMap { found in
      destination.facts(number: found.number).map { ObjectPlace(facts: $0, key: found.place.key) }
    }
  }

  /// The result for a reference without one of its objects.
  private func fate(
    _ place: ReferenceFates.Place, owner: End, target: End, made: (Bool, Bool)
  ) -> ReferenceFates.Fate? {
    func cause(_ end: End) -> LossCause {
      tally.isTaken(end.key, of: end.facts.name) ? .policy : fates.cause(of: end.facts.name)
    }
    switch (place.form, made.0, made.1) {
    case (.toOne, true, _), (.pair, true, true): return .gone(cause(owner))
    case (.owner, _, true): return .gone(cause(target))
    case (.owner, true, _), (.pair, true, false): return .lost(cause(owner))
    case (.toOne, _, true), (.pair, false, true): return .lost(cause(target))
    case (_, false, false): return nil
    }
  }

  private func isRead(_ place: ReferenceFates.Place, _ owner: End, _ target: End) -> Bool {
    let read = source.propertiesRead
    let name = place.relationship.name
    let inverse = source.schema.model.inverse(of: place.relationship)?.name
    // Objects that no mapping makes are lost with what leads to them, unless nothing reads it.
    let others = fates.hasMapping(target.facts.name) ? [target.facts.name] : place.targets
    return fates.isRead(name, of: owner.facts.name) || read.contains(name, of: owner.facts.name)
      || inverse.map { name in
        others.contains { fates.isRead(name, of: $0) || read.contains(name, of: $0) }
      } ?? false
  }

  // MARK: The result

  /// The destination relationships that may continue one, from both ends.
  private struct Links {
    var forward: Set<String>
    var backward: Set<String>
    var isEmpty: Bool { forward.isEmpty && backward.isEmpty }

    init(
      _ place: ReferenceFates.Place, _ owner: String, _ target: String, _ fates: ReferenceFates
    ) {
      forward = fates.continuations(of: place.relationship.name, in: owner)
      let inverse = fates.inverse(of: place.relationship)
      backward = inverse.map { fates.continuations(of: $0, in: target) } ?? []
    }
  }

  private func isLinked(
    _ owners: [ObjectPlace], _ targets: [ObjectPlace], _ links: Links
  ) throws -> Bool {
    for (some, others, names) in [
      (targets, owners, links.backward), (owners, targets, links.forward),
    ] {
      for one in some {
        for name in names {
          guard let facts = one.facts.relationships[name] else { continue }
          let found = try destination.places(of: one, facts: facts)
          if found.contains(where: { place in
            others.contains { $0.facts === place.facts && $0.key == place.key }
          }) {
            return true
          }
        }
      }
    }
    return false
  }

  /// Whether an object has another one in a to-one relationship.
  private func isTaken(_ objects: [ObjectPlace], _ names: Set<String>) throws -> Bool {
    try objects.contains { object in
      try names.contains { name in
        guard let facts = object.facts.relationships[name], !facts.relationship.isToMany else {
          return false
        }
        return try !destination.places(of: object, facts: facts).isEmpty
      }
    }
  }
}
