import GRDB
import Mapping
import ObjectModel
import Schema
import StoreFormat
import SystemPackage

/// Accounts for the references of one stage, of relationships that may lose some.
struct ReferenceAccounts {
  /// A step of the stage.
  struct Step {
    var counts: ReferenceCounts
    var mapping: MappingModel
    /// The model before the step.
    var model: ManagedObjectModel
  }

  private(set) var accounts: [StageAccounts.OfReferences] = []

  private let steps: [Step]
  /// What continues each account, and the number of the last step that counted it.
  private var ends: [(continuations: Set<ReferenceFates.Continuation>, step: Int)] = []
  /// The accounts whose references only the migration shows.
  private var open: Set<Int> = []

  /// Adds up the counts of all steps; each has the references that the steps before it have left.
  ///
  /// - Parameter observed: what the migration of the only step has shown.
  init(_ steps: [Step], observed: [ObjectAccounts.OfReferences] = []) {
    self.steps = steps
    for (number, step) in steps.enumerated() {
      for counted in step.counts.counted { add(counted, step: number) }
    }
    for shown in observed where shown.references > 0 { take(shown) }
  }

  private mutating func take(_ shown: ObjectAccounts.OfReferences) {
    var account = StageAccounts.OfReferences(
      entity: shown.entity, relationship: shown.relationship, referencesIn: shown.references,
      referencesOut: shown.references, dropped: [])
    for (cause, count) in shown.dropped.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      account.drop(count, cause: cause)
    }
    if let index = accounts.firstIndex(where: {
      $0.entity == shown.entity && $0.relationship == shown.relationship
    }) {
      accounts[index] = account
    } else {
      accounts.append(account)
      ends.append(([], 0))
      open.insert(accounts.count - 1)
    }
  }

  private mutating func add(_ counted: ReferenceCounts.Counted, step: Int) {
    let (entity, name) = origin(of: counted.place, before: step)
    let index =
      accounts.firstIndex { $0.entity == entity && $0.relationship == name } ?? accounts.count
    if index == accounts.count {
      accounts.append(
        .init(
          entity: entity, relationship: name, referencesIn: counted.all,
          referencesOut: counted.all, dropped: []))
      ends.append(([], step))
    }
    for (cause, count) in counted.dropped.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      accounts[index].drop(count, cause: cause)
    }
    if counted.place.isOpen { open.insert(index) }
    ends[index] = (Set(counted.place.continuations), step)
  }

  /// The relationship of the stage's own source that became one of a later step.
  private func origin(
    of place: ReferenceFates.Place, before step: Int
  ) -> (entity: String, relationship: String) {
    var (entity, name) = (place.entity, place.relationship.name)
    for number in (0..<step).reversed() {
      let after = steps[number + 1].model
      let found = steps[number].mapping.entityMappings.lazy
        .filter { after.isKind($0.destinationEntityName, of: entity) }
        .compactMap { Self.origin(of: name, in: $0) }.first
      guard let (owner, old) = found else { break }
      (entity, name) = (steps[number].model.declarer(of: old, in: owner) ?? owner, old)
    }
    return (entity, name)
  }

  private static func origin(
    of name: String, in mapping: EntityMapping
  ) -> (String, String)? {
    guard let source = mapping.sourceEntityName,
      let property = mapping.relationshipMappings.first(where: { $0.name == name }),
      let old = property.sourceRelationshipName
    else { return nil }
    return (source, old)
  }

  /// Compares what should be in the result with what is.
  ///
  /// A result that has more is one where other references came to the same place.
  ///
  /// - Throws: `MigrationError.accountsDiffer`.
  func requireAgreement(in result: FilePath, schema: StoreSchema) throws {
    var check = AccountCheck()
    guard accounts.indices.contains(where: { !open.contains($0) }) else { return }
    let reader = try StoreReader(immutable: result)
    for (index, account) in accounts.enumerated() where !open.contains(index) {
      let places = self.places(of: index, schema: schema)
      guard !places.isEmpty || account.referencesOut > 0 else { continue }
      let found = try places.reduce(Int64(0)) { try $0 + reader.number(sql: $1) }
      if found < account.referencesOut {
        check.expect(
          account.referencesOut, found: found, side: .reference,
          name: "\(account.entity).\(account.relationship)")
      }
    }
    try check.requireAgreement()
  }

  /// Queries for the references of each place of the result that continues an account.
  private func places(of index: Int, schema: StoreSchema) -> Set<String> {
    let step = ends[index].step
    var found = ends[index].continuations
    for later in steps[(step + 1)...] {
      var next: Set<ReferenceFates.Continuation> = []
      for one in found {
        for mapping in later.mapping.entityMappings where mapping.sourceEntityName == one.entity {
          guard let entity = mapping.destinationEntityName else { continue }
          for property in mapping.relationshipMappings
          where property.sourceRelationshipName == one.relationship {
            next.insert(.init(entity: entity, relationship: property.name))
          }
        }
      }
      found = next
    }
    return Set(found.compactMap { schema.referenceCount(of: $0.relationship, in: $0.entity) })
  }
}

extension StageAccounts.OfReferences {
  /// Moves references from those that the destination has to those that it does not.
  mutating func drop(_ count: Int64, cause: LossCause) {
    referencesOut -= count
    if let place = dropped.firstIndex(where: { $0.cause == cause }) {
      dropped[place].references += count
    } else {
      dropped.append(.init(cause: cause, references: count))
    }
  }
}

extension StoreSchema {
  /// A query for how many references a store keeps of a relationship, counted at the end that has
  /// them; nil where it keeps none.
  func referenceCount(of name: String, in entity: String) -> String? {
    guard let level = model.declarer(of: name, in: entity),
      let relationship = model.relationship(name: name, of: level)
    else { return nil }
    for join in joinTables {
      for end in [join.first, join.second]
      where end.entityName == level && end.relationshipName == name {
        return "SELECT count(*) FROM \(SQL.identifier(name: join.name))"
      }
    }
    let holder: String
    let role: Schema.Column.Role
    if !relationship.isToMany {
      (holder, role) = (level, .toOne(entity: level, name: name))
    } else if let (owner, inverse) = model.inverseWithOwner(of: relationship) {
      (holder, role) = (owner.name, .toOne(entity: owner.name, name: inverse.name))
    } else {
      (holder, role) = (relationship.destinationEntityName, .owner(entity: level, name: name))
    }
    guard let table = model.entity(name: holder).flatMap({ self.table(of: $0) }),
      let column = table.column(role: role)
    else { return nil }
    return "SELECT count(\(SQL.identifier(name: column.name))) "
      + "FROM \(SQL.identifier(name: table.name))"
  }
}
