import ObjectModel
import Schema

/// The rule by which the rows of a table refer to other objects in one to-one column.
struct Link: Sendable {
  enum Rule: Sendable {
    case distribution(Distribution)
    case second(Matching)
    case first(Matching)
    case involution(Involution)
  }

  struct Reference: Sendable {
    var key: Int64
    var number: Int64
    /// The value of the order column.
    var order: Int64
  }

  let rule: Rule
  let sources: Population
  let targets: Population

  func reference(member: Int, index: Int64) -> Reference? {
    let ordinal = sources.ordinal(member: member, index: index)
    let target: Int64?
    var rank: Int64 = 0
    switch rule {
    case .distribution(let distribution):
      let owner = distribution.owner(of: ordinal)
      target = owner?.ordinal
      rank = owner?.rank ?? 0
    case .second(let matching): target = matching.second(of: ordinal)
    case .first(let matching): target = matching.first(of: ordinal)
    case .involution(let involution): target = involution.partner(of: ordinal)
    }
    guard let target else { return nil }
    let object = targets.object(ordinal: target)
    return Reference(key: object.key, number: object.number, order: OrderValue.of(rank: rank))
  }
}

/// Values of order columns, which in real stores start at 2048 and step by 1024
/// (docs/reference/store-format.md, "Order").
enum OrderValue {
  static func of(rank: Int64) -> Int64 { 2048 + 1024 * rank }
}

/// Finds the rule of each relationship.
struct Linker {
  let schema: StoreSchema
  let allocation: KeyAllocation
  let seed: UInt64
  private(set) var notes: [GenerationReport.Note] = []

  private var model: ManagedObjectModel { schema.model }

  init(schema: StoreSchema, allocation: KeyAllocation, seed: UInt64) {
    self.schema = schema
    self.allocation = allocation
    self.seed = seed
  }

  /// The concrete entities in `family` (and in `within`) that inherit the property from `owner`.
  func population(
    family: String, property: String? = nil, of owner: String? = nil, within: String? = nil
  ) -> Population {
    let members = allocation.concretes.filter { concrete in
      guard model.isKind(concrete.name, of: family),
        within.map({ model.isKind(concrete.name, of: $0) }) ?? true
      else { return false }
      guard let property else { return true }
      return model.declarer(of: property, in: concrete.name) == owner
    }
    return Population(members: members, in: allocation)
  }

  /// The rule of a to-one relationship; if `isUnique`, no two objects refer to the same one.
  mutating func toOne(entity: String, name: String, isUnique: Bool) -> Link? {
    guard let relationship = model.relationship(name: name, of: entity) else { return nil }
    let inverse = model.inverseWithOwner(of: relationship)
    if let inverse, !inverse.relationship.isToMany, !inverse.relationship.isTransient {
      return oneToOne(relationship, of: entity, inverse: inverse)
    }
    let sources = population(family: entity, property: name, of: entity)
    let targets = population(family: relationship.destinationEntityName)
    var limits = inverse.map { Self.limits(of: $0.relationship) } ?? .init()
    if isUnique {
      limits.maximum = 1
      limits.isStrict = true
    }
    let distribution = Distribution(
      children: sources.count, owners: targets.count, isOptional: relationship.isOptional,
      limits: limits, salt: Mixing.salt(seed, parts: entity, name))
    if distribution.exceedsMaximum {
      note(entity, property: name, reason: isUnique ? .limitedByConstraint : .maximumExceeded)
    } else if !relationship.isOptional, sources.count > 0, targets.count == 0 {
      note(entity, property: name, reason: .mandatoryLeftEmpty)
    }
    return Link(rule: .distribution(distribution), sources: sources, targets: targets)
  }

  /// The rule of the column that a to-many relationship without inverse has in its destination.
  func owner(entity: String, name: String) -> Link? {
    guard let relationship = model.relationship(name: name, of: entity) else { return nil }
    let sources = population(family: relationship.destinationEntityName)
    let targets = population(family: entity, property: name, of: entity)
    let distribution = Distribution(
      children: sources.count, owners: targets.count, isOptional: true,
      limits: Self.limits(of: relationship), salt: Mixing.salt(seed, parts: entity, name))
    return Link(rule: .distribution(distribution), sources: sources, targets: targets)
  }

  private mutating func oneToOne(
    _ relationship: Relationship, of entity: String,
    inverse: (entity: Entity, relationship: Relationship)
  ) -> Link {
    let (name, other) = (relationship.name, inverse.relationship)
    let sources = population(
      family: entity, property: name, of: entity, within: other.destinationEntityName)
    if inverse.entity.name == entity, other.name == name {
      let involution = Involution(
        count: sources.count, isOptional: relationship.isOptional,
        salt: Mixing.salt(seed, parts: entity, name))
      return Link(rule: .involution(involution), sources: sources, targets: sources)
    }
    let targets = population(
      family: inverse.entity.name, property: other.name, of: inverse.entity.name,
      within: relationship.destinationEntityName)
    let isOptional = relationship.isOptional && other.isOptional
    if !relationship.isOptional, sources.count > targets.count {
      note(entity, property: name, reason: .mandatoryLeftEmpty)
    }
    // Both sides have to compute the same pairs.
    let isFirst = (entity, name) < (inverse.entity.name, other.name)
    let salt =
      isFirst
      ? Mixing.salt(seed, parts: entity, name)
      : Mixing.salt(seed, parts: inverse.entity.name, other.name)
    let matching = Matching(
      first: isFirst ? sources.count : targets.count,
      second: isFirst ? targets.count : sources.count, isOptional: isOptional, salt: salt)
    return Link(
      rule: isFirst ? .second(matching) : .first(matching), sources: sources, targets: targets)
  }

  private static func limits(of toMany: Relationship) -> Distribution.Limits {
    Distribution.Limits(
      minimum: toMany.leastCount, maximum: toMany.maxCount > 0 ? toMany.maxCount : nil)
  }

  private mutating func note(
    _ entity: String, property: String, reason: GenerationReport.Note.Reason
  ) {
    notes.append(.init(entity: entity, property: property, reason: reason))
  }
}

extension Relationship {
  /// The fewest objects of a valid to-many relationship: a mandatory one is not empty.
  var leastCount: Int64 { max(minCount, isOptional ? 0 : 1) }
}
