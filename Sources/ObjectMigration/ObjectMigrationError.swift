package import Expressions
import Mapping
package import ObjectModel

/// Why a migration of objects failed, and at which mapping, property and object.
package struct ObjectMigrationError: Error {
  /// What failed.
  package enum Problem: Hashable, Sendable, Codable {
    /// Mapping models name these policies, which are not registered.
    case policiesNotRegistered([String])
    /// The migration has policies of these names, and a worker process does not.
    case policiesNotInWorker([String])
    /// A hook of a policy threw; the cause is its error.
    case policyFailed(hook: String)
    /// A policy made an object of its mapping's entity without associating it with a source object.
    case notAssociated
    /// A policy whose objects are migrated one at a time uses another one; what it does, in words.
    case notIndependent(String)
    /// A new object needs a key above the highest that there is.
    case keysExhausted(table: String)
    /// A value expression or a filter has no value; the cause is the reason.
    case expressionFailed
    /// A value is of another class than its attribute's; what it is, in words.
    case valueRefused(type: AttributeType, found: String)
    /// A number has no place in its attribute's type.
    case valueOutOfRange(type: AttributeType)
    /// A relationship was to hold something that is no object of its destination entity.
    case wrongObject(expected: String, found: String)
    /// The model has no entity of that name.
    case unknownEntity(String)
    /// The entity has no property of that name, but these.
    case unknownProperty(String, known: [String])
    /// The mapping model has no entity mapping of that name.
    case unknownEntityMapping(String)
    /// A policy or a mapping makes an object of an abstract entity.
    case abstractEntity(String)
    /// The source expression of a mapping yields no objects of its source entity.
    case wrongSource(found: String)
    /// A policy sets something of a source object.
    case readOnly
    /// A policy called it off; the cause is the error that it gave.
    case cancelled
    /// Objects break rules of the destination model; how many violations there are.
    case invalid(violations: Int)
    /// Objects have equal values under a uniqueness constraint.
    case notUnique(violations: Int)
    /// A file that holds an external value cannot be read; its path.
    case externalFileUnreadable(String)
    /// A policy or an expression wants what another group of mappings makes.
    case beyondGroup(String)
  }

  /// What failed.
  package var problem: Problem
  /// The name of the entity mapping, as far as it is known.
  package var mapping: String?
  /// The entity of the object, of either side.
  package var entity: String?
  /// The property, of that entity.
  package var property: String?
  /// The key of the object, on the side of the entity.
  package var key: Int64?
  /// The method of a policy that was running, nil where none was.
  package var hook: String?
  /// The value that was refused, where one was.
  package var value: AttributeValue?
  /// What a policy or an expression threw; from a worker only its text, unless Godwit threw it.
  package var cause: (any Error)?
  /// The rules that are broken, where that is the problem: the first of them.
  package var violations: [Violation] = []

  /// Makes an error; places that are not known yet are added further up.
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
    case .policiesNotRegistered, .policiesNotInWorker, .policyFailed, .notAssociated,
      .notIndependent:
      134170
    case .invalid: 1560
    case .notUnique: 134111
    default: 134110
    }
  }

  /// The same error, in the method of a policy where the mapping has one.
  func under(_ mapping: EntityMapping, hook: String) -> Self {
    var result = self
    if mapping.ownPolicyClassName != nil { result.hook = hook }
    return result
  }

  /// The same error with the places that are still open filled in; a key comes with its entity.
  func at(
    mapping: String? = nil, property: String? = nil, entity: String? = nil, key: Int64? = nil
  ) -> Self {
    var result = self
    result.mapping = self.mapping ?? mapping
    result.property = self.property ?? property
    if self.key == nil, let key {
      result.key = key
      result.entity = entity ?? self.entity
    }
    return result
  }
}

extension ObjectMigrationError: Codable {
  private enum CodingKeys: CodingKey {
    case problem, mapping, entity, property, key, hook, value, cause, violations
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

  /// Decodes an error that a worker printed.
  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      try values.decode(Problem.self, forKey: .problem),
      mapping: try values.decodeIfPresent(String.self, forKey: .mapping),
      entity: try values.decodeIfPresent(String.self, forKey: .entity),
      property: try values.decodeIfPresent(String.self, forKey: .property),
      key: try values.decodeIfPresent(Int64.self, forKey: .key),
      cause: try values.decodeIfPresent(Cause.self, forKey: .cause)?.error)
    hook = try values.decodeIfPresent(String.self, forKey: .hook)
    value = try values.decodeIfPresent(AttributeValue.self, forKey: .value)
    violations = try values.decodeIfPresent([Violation].self, forKey: .violations) ?? []
  }

  /// Encodes the error with its cause, of other types as text.
  package func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(problem, forKey: .problem)
    try values.encodeIfPresent(mapping, forKey: .mapping)
    try values.encodeIfPresent(entity, forKey: .entity)
    try values.encodeIfPresent(property, forKey: .property)
    try values.encodeIfPresent(key, forKey: .key)
    try values.encodeIfPresent(hook, forKey: .hook)
    try values.encodeIfPresent(value, forKey: .value)
    try values.encodeIfPresent(cause.map(Cause.init), forKey: .cause)
    if !violations.isEmpty { try values.encode(violations, forKey: .violations) }
  }
}

/// An error of a policy in a worker process; only its text is left.
package struct ReportedError: Error, Hashable, CustomStringConvertible {
  /// The description of the error, cut to 4096 characters.
  package var description: String
}
