import Expressions
import Mapping
package import ObjectModel

/// Why a migration of objects failed, and at which mapping, property and object.
package struct ObjectMigrationError: Error {
  package enum Problem: Hashable, Sendable, Codable {
    /// Mapping models name these policies, and nobody registered them.
    case policiesNotRegistered([String])
    /// A hook of a policy threw; the cause is its error.
    case policyFailed(hook: String)
    /// A policy made an object of its mapping's entity and never said of which source object.
    case notAssociated
    /// A policy that declares its objects independent wants more than one of them.
    case notIndependent(String)
    /// A new object needs a key above the highest that there is.
    case keysExhausted(table: String)
    /// A value expression or a filter has no value; the cause tells why.
    case expressionFailed
    case valueRefused(type: AttributeType, found: String)
    case valueOutOfRange(type: AttributeType)
    /// A relationship was to hold something that is no object of its destination entity.
    case wrongObject(expected: String, found: String)
    case unknownEntity(String)
    case unknownProperty(String)
    case unknownEntityMapping(String)
    case abstractEntity(String)
    /// The source expression of a mapping yields no objects of its source entity.
    case wrongSource(found: String)
    case readOnly
    /// A policy called it off; the cause is the error that it gave.
    case cancelled
    case invalid(violations: Int)
    /// Objects agree in what a uniqueness constraint says differs.
    case notUnique(violations: Int)
    case externalFileUnreadable(String)
    /// A policy or an expression wants what another group of mappings makes.
    case beyondGroup(String)
  }

  package var problem: Problem
  package var mapping: String?
  package var entity: String?
  package var property: String?
  /// The key of the object, on the side of the entity.
  package var key: Int64?
  package var cause: (any Error)?
  /// The rules that are broken, where that is the problem: the first of them.
  package var violations: [Violation] = []

  package init(
    _ problem: Problem, mapping: String? = nil, entity: String? = nil, property: String? = nil,
    key: Int64? = nil, cause: (any Error)? = nil
  ) {
    self.problem = problem
    self.mapping = mapping
    self.entity = entity
    self.property = property
    self.key = key
    self.cause = cause
  }

  /// Core Data's number for it in NSCocoaErrorDomain.
  package var code: Int {
    switch problem {
    case .cancelled: 134120
    case .policiesNotRegistered, .policyFailed, .notAssociated, .notIndependent: 134170
    case .invalid: 1560
    case .notUnique: 134111
    default: 134110
    }
  }

  /// The same error with the places that are still open filled in.
  func at(mapping: String? = nil, property: String? = nil, key: Int64? = nil) -> Self {
    var result = self
    result.mapping = self.mapping ?? mapping
    result.property = self.property ?? property
    result.key = self.key ?? key
    return result
  }
}

extension ObjectMigrationError: Codable {
  private enum CodingKeys: CodingKey {
    case problem, mapping, entity, property, key, cause, violations
  }

  /// A cause as it crosses from a worker to its coordinator.
  private enum Cause: Codable {
    case evaluation(EvaluationError)
    case format(FormatError)
    case described(String)

    init(_ error: any Error) {
      switch error {
      case let error as EvaluationError: self = .evaluation(error)
      case let error as FormatError: self = .format(error)
      default: self = .described(String("\(error)".prefix(4096)))
      }
    }

    var error: any Error {
      switch self {
      case .evaluation(let error): error
      case .format(let error): error
      case .described(let text): ReportedError(description: text)
      }
    }
  }

  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      try values.decode(Problem.self, forKey: .problem),
      mapping: try values.decodeIfPresent(String.self, forKey: .mapping),
      entity: try values.decodeIfPresent(String.self, forKey: .entity),
      property: try values.decodeIfPresent(String.self, forKey: .property),
      key: try values.decodeIfPresent(Int64.self, forKey: .key),
      cause: try values.decodeIfPresent(Cause.self, forKey: .cause)?.error)
    violations = try values.decodeIfPresent([Violation].self, forKey: .violations) ?? []
  }

  package func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(problem, forKey: .problem)
    try values.encodeIfPresent(mapping, forKey: .mapping)
    try values.encodeIfPresent(entity, forKey: .entity)
    try values.encodeIfPresent(property, forKey: .property)
    try values.encodeIfPresent(key, forKey: .key)
    try values.encodeIfPresent(cause.map(Cause.init), forKey: .cause)
    if !violations.isEmpty { try values.encode(violations, forKey: .violations) }
  }
}

/// An error of a policy in a worker process, of which only its text is left.
package struct ReportedError: Error, Hashable, CustomStringConvertible {
  package var description: String
}
