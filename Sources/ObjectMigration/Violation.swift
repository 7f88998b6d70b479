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

/// What becomes of violations.
package enum ValidationMode: String, Hashable, Sendable, Codable, CaseIterable {
  /// They end the migration.
  case strict
  /// They are told, and the migration succeeds.
  case report
  /// Nothing is checked.
  case off
}
