/// A rule of the model that an object of the result breaks.
package struct Violation: Hashable, Sendable, Codable {
  /// What validation asks for.
  package enum Rule: String, Hashable, Sendable, Codable {
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

  /// Makes an empty list.
  package init() {}

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
  }
}
