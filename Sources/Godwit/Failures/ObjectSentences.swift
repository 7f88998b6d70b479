import Expressions
import Mapping
import ObjectMigration
import ObjectModel

extension MigrationFailure {
  /// The most rules that are reported, each with its objects.
  private static let reportLimit = 100

  init(_ error: ObjectMigrationError) {
    let (status, kind): (ExitStatus, Kind?) =
      switch error.problem {
      case .externalFileUnreadable: (.damaged, nil)
      case .policiesNotRegistered, .policiesNotInWorker, .policyFailed, .notAssociated,
        .notIndependent, .cancelled:
        (.impossible, .policyFailed)
      case .unknownEntity, .unknownProperty, .unknownEntityMapping, .abstractEntity, .readOnly,
        .valueRefused, .valueOutOfRange, .wrongObject:
        (.impossible, error.hook == nil ? nil : .policyFailed)
      case .invalid, .notUnique: (.impossible, .objectsInvalid)
      default: (.impossible, nil)
      }
    let rules = [Violation].sentences(error.violations)
    var sentences = [error.sentence] + rules.prefix(Self.reportLimit)
    if rules.count > Self.reportLimit {
      sentences.append("… and \(CountText(rules.count - Self.reportLimit, "more rule")).")
    }
    if case .invalid(let count) = error.problem, count > error.violations.count {
      let more = count - error.violations.count
      sentences.append("… and \(CountText(more, "more violation")).")
    }
    self.init(
      status, kind: kind, sentences, reasons: error.violations.map { Reason($0) }, code: error.code)
  }
}

extension Violation {
  /// The violated rule, as a sentence.
  package var sentence: String { "\(entity) \(key), \(property): \(text) [\(code)]." }

  fileprivate var text: String {
    switch rule {
    case .mandatory: "mandatory, and has no value"
    case .tooFew: "too few objects"
    case .tooMany: "too many objects"
    case .tooSmall: "too small a number"
    case .tooLarge: "too large a number"
    case .tooEarly: "too early a date"
    case .tooLate: "too late a date"
    case .tooShort: "too short a text"
    case .tooLong: "too long a text"
    case .pattern: "does not match its pattern"
    case .notUnique: "another object has the same value, which must be unique"
    case .custom: "breaks a rule of its policy"
    }
  }
}

extension [Violation] {
  /// The most keys of objects that break a rule.
  private static var keyLimit: Int { 10 }

  /// A sentence for each rule that objects break, in the order of the first of them.
  static func sentences(_ violations: [Violation]) -> [String] {
    var rules: [Violation.Broken] = []
    var groups: [Violation.Broken: [Violation]] = [:]
    for violation in violations {
      let rule = Violation.Broken(violation)
      if groups[rule] == nil { rules.append(rule) }
      groups[rule, default: []].append(violation)
    }
    return rules.map { rule in
      let group = groups[rule] ?? []
      guard group.count > 1 else { return group[0].sentence }
      let keys = group.prefix(keyLimit).map { "\($0.key)" }.joined(separator: ", ")
      return "\(rule.entity).\(rule.property), \(CountText(group.count, "object")) (Z_PK \(keys)"
        + "\(group.count > keyLimit ? ", …" : "")): \(group[0].text) [\(group[0].code)]."
    }
  }
}

extension Violation {
  /// A rule of a property that objects break.
  fileprivate struct Broken: Hashable {
    let entity, property: String
    let rule: Rule

    init(_ violation: Violation) {
      (entity, property, rule) = (violation.entity, violation.property, violation.rule)
    }
  }
}

extension ObjectMigrationError {
  fileprivate var sentence: String {
    let reason = causeText.map { ": \($0)" } ?? ""
    return "\(place)\(fact)\(reason)."
  }

  /// Where it happened, as far as it is known.
  private var place: String {
    // The violations have places of their own.
    guard violations.isEmpty else { return "" }
    let parts = [
      mapping.map { "entity mapping \($0)" }, property.map { "property \($0)" },
      key.map { "\(entity ?? "object") \($0)" },
    ].compactMap(\.self)
    return parts.isEmpty ? "" : parts.joined(separator: ", ") + ": "
  }

  private var causeText: String? {
    switch cause {
    case nil: nil
    case let error as EvaluationError: error.description
    case let error as FormatError: error.description
    case let error?: "\(error)"
    }
  }

  private var fact: String {
    switch problem {
    case .policiesNotRegistered(let names):
      "the mapping model names policies that are not registered: "
        + names.joined(separator: ", ")
        + "; register each under this name, in an executable that links Godwit "
        + "(docs/how-to/policies-in-your-tool.md)"
    case .policiesNotInWorker(let names):
      "a worker process has no policies \(names.joined(separator: ", ")), which the migration has: "
        + "pass the same policies to GodwitWorker.runIfRequested"
    case .policyFailed(let hook): "the policy failed in \(hook)"
    case .notAssociated:
      "the policy made an object of \(entity ?? "its entity") and did not associate it with its "
        + "source object"
    case .keysExhausted(let table):
      "an object in \(table) has the highest key that SQLite allows, so no key is left for a new "
        + "object; give that object another key first"
    case .notIndependent(let what):
      "a policy with objectsAreIndependent, and each that is a closure, cannot \(what); use a subclass "
        + "of EntityMigrationPolicy without objectsAreIndependent"
    case .expressionFailed:
      // Objects are counted, by all filters of their entity, before any mapping is at work.
      if mapping == nil, property == nil, let entity {
        "a filter of objects of \(entity) has no value"
      } else {
        "an expression has no value"
      }
    case .valueRefused(let type, let found):
      "\(value?.shown ?? found) is not a value for an attribute of type \(type.name)"
    case .valueOutOfRange(let type):
      "\(value?.shown ?? "the value") is out of range for an attribute of type \(type.name)"
    case .wrongObject(let expected, let found): "\(found) is given instead of \(expected)"
    case .unknownEntity(let name): "there is no entity \(name)"
    case .unknownProperty(let name, let known):
      known.isEmpty
        ? "there is no property \(name)"
        : "there is no property \(name), only \(ListText(known, most: 20))"
    case .unknownEntityMapping(let name): "there is no entity mapping \(name)"
    case .abstractEntity(let name): "\(name) is abstract, so it has no objects"
    case .wrongSource(let found):
      "the source expression yields \(found) instead of objects of the source store"
    case .readOnly: "an object of the source store cannot be changed"
    case .cancelled: "a policy cancelled the migration"
    case .invalid(let count):
      "\(CountText(count, "rule of the model is", "rules of the model are")) violated; list them "
        + "with \(choice: .validation(.report))"
    case .notUnique(let count):
      "\(CountText(count, "object")) would violate a uniqueness constraint"
    case .externalFileUnreadable(let name): "the external file \(name) cannot be read"
    case .beyondGroup(let name): "\(name) belongs to another worker"
    }
  }
}
