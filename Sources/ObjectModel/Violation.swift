/// A rule of the model that an object of the result breaks.
package struct Violation: Hashable, Sendable, Codable {
  /// The rules of validation.
  package enum Rule: String, Hashable, Sendable, Codable, CaseIterable {
    /// A value or an object where it is mandatory; the number of objects, a number, a date and the
    /// length of a text within their limits.
    case mandatory, tooFew, tooMany, tooSmall, tooLarge, tooEarly, tooLate, tooShort, tooLong
    /// A text that matches its pattern; values that no other object of the entity has; a predicate
    /// of a model, or a check of a policy.
    case pattern, notUnique, custom

    /// Core Data's number for it in NSCocoaErrorDomain (CoreDataErrors.h).
    package var code: Int {
      switch self {
      case .custom: 1550
      case .notUnique: 1551
      case .mandatory: 1570
      case .tooFew: 1580
      case .tooMany: 1590
      case .tooLarge: 1610
      case .tooSmall: 1620
      case .tooLate: 1630
      case .tooEarly: 1640
      case .tooLong: 1660
      case .tooShort: 1670
      case .pattern: 1680
      }
    }
  }

  /// The entity of the object.
  package var entity: String
  /// The object's key, the column `Z_PK`.
  package var key: Int64
  /// The property, or the properties of a constraint.
  package var property: String
  /// What the object breaks.
  package var rule: Rule
  /// Core Data's number for it in NSCocoaErrorDomain.
  package var code: Int { rule.code }

  /// Takes the key of the object that breaks the rule.
  package init(entity: String, key: Int64, property: String, rule: Rule) {
    self.entity = entity
    self.key = key
    self.property = property
    self.rule = rule
  }
}

/// Objects that break a rule of the new model, and broke the same rule of the old one.
package struct StandingViolation: Hashable, Sendable, Codable {
  /// A property of the source, and its rule.
  package struct Place: Hashable, Sendable, Codable {
    /// The source entity that declares the property.
    package var entity: String
    /// The property of the source.
    package var property: String
    /// What its objects break.
    package var rule: Violation.Rule

    /// Names a rule of a source property.
    package init(entity: String, property: String, rule: Violation.Rule) {
      (self.entity, self.property, self.rule) = (entity, property, rule)
    }
  }

  /// The most keys that are kept.
  package static let mostKeys = 10

  /// The property of the source, and its rule.
  package var place: Place
  /// How many objects break it.
  package var count: Int64
  /// The lowest of their primary keys.
  package var keys: [Int64]
}

/// Violations, all of them counted and the first of them kept.
package struct ViolationList: Hashable, Sendable, Codable {
  /// The most that are kept.
  package static let limit = 10_000

  /// All violations, those that were not kept included.
  package private(set) var count = 0
  /// Those of uniqueness constraints, which no store can hold.
  package private(set) var notUniqueCount = 0
  /// The first of them, `limit` at most, in the order in which they were found.
  package private(set) var first: [Violation] = []

  /// What objects broke in the source too, which is none of the violations above.
  package private(set) var standing: [StandingViolation] = []

  /// Makes an empty list.
  package init() {}

  /// Counts an object of the source that broke a rule before, and breaks the same one now.
  package mutating func add(standing key: Int64, of found: StandingViolation.Place) {
    add(StandingViolation(place: found, count: 1, keys: [key]))
  }

  private mutating func add(_ other: StandingViolation) {
    guard let index = standing.firstIndex(where: { $0.place == other.place }) else {
      standing.append(other)
      return
    }
    standing[index].count += other.count
    standing[index].keys += other.keys
    standing[index].keys.sort()
    standing[index].keys.removeLast(max(0, standing[index].keys.count - StandingViolation.mostKeys))
  }

  /// Counts a violation, and keeps it while there is room.
  package mutating func add(_ violation: Violation) {
    count += 1
    if violation.rule == .notUnique { notUniqueCount += 1 }
    if first.count < Self.limit { first.append(violation) }
  }

  /// Adds the violations of another list, as of another worker.
  package mutating func add(_ other: ViolationList) {
    count += other.count
    notUniqueCount += other.notUniqueCount
    first += other.first.prefix(Self.limit - first.count)
    for one in other.standing { add(one) }
  }
}
