/// A rule of the model that an object of the result breaks.
package struct Violation: Hashable, Sendable, Codable {
  package enum Rule: String, Hashable, Sendable, Codable {
    case mandatory, tooFew, tooMany, tooSmall, tooLarge, tooEarly, tooLate, tooShort, tooLong
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

  package var entity: String
  package var key: Int64
  package var property: String
  package var rule: Rule
  package var code: Int { rule.code }

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

  package private(set) var count = 0
  /// Those of uniqueness constraints, which no store can hold.
  package private(set) var notUniqueCount = 0
  package private(set) var first: [Violation] = []

  package init() {}

  package mutating func add(_ violation: Violation) {
    count += 1
    if violation.rule == .notUnique { notUniqueCount += 1 }
    if first.count < Self.limit { first.append(violation) }
  }

  package mutating func add(_ other: ViolationList) {
    count += other.count
    notUniqueCount += other.notUniqueCount
    first += other.first.prefix(Self.limit - first.count)
  }
}
