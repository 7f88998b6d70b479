package import Expressions

extension ValueExpression {
  /// What cannot have a value in the expression, whatever the objects are: casts to no class of
  /// values, and keys that an object ID, an entity or a mapping does not have.
  ///
  /// - Parameter properties: what the source entity has, which comes before what any object has.
  package func certainErrors(besides properties: Set<String>) -> [EvaluationError] {
    let inner = parts.flatMap { $0.certainErrors(besides: properties) }
    guard let problem = certainProblem(besides: properties) else { return inner }
    return [EvaluationError(problem, expression: "\(self)")] + inner
  }

  private func certainProblem(besides properties: Set<String>) -> EvaluationError.Problem? {
    switch self {
    case .builtIn(BuiltInFunction.cast.rawValue, let arguments):
      guard arguments.count == 2, case .constant(.string(let name)) = arguments[1],
        !BuiltInFunction.castClasses.contains(name)
      else { return nil }
      return .cannotCast("a value", to: name)
    case .builtIn(BuiltInFunction.dateOfText.rawValue, let arguments):
      guard case .constant(.string(let format))? = arguments.last else { return nil }
      do throws(EvaluationError) {
        _ = try DateFormat(format)
        return nil
      } catch {
        return error.problem
      }
    case .builtIn(BuiltInFunction.dataOfText.rawValue, let arguments):
      guard case .constant(.string(let name))? = arguments.last,
        DataEncoding(rawValue: name) == nil
      else { return nil }
      return .unknownEncoding(name)
    case .keyPath(let operand, let path):
      let keys = path.split(separator: ".").map(String.init)
      guard let first = keys.first, operand != .variable("source") || !properties.contains(first),
        let place = Self.place(operand: operand, keys: keys), keys.indices.contains(place.key)
      else { return nil }
      let key = keys[place.key]
      let isKnown = key == "self" || place.owner.names.contains(key)
      return isKnown ? nil : .unknownKey(key, of: place.owner.owner)
    // A mapping with a policy of its own is not checked.
    case .function(.variable("entityPolicy"), let selector, _):
      return .unknownSelector(selector, of: "the standard policy")
    case .function(.variable(let name), let selector, let arguments):
      guard arguments.isEmpty, let owner = Self.owner(variable: name),
        !owner.names.contains(selector)
      else { return nil }
      return .unknownSelector(selector, of: owner.owner)
    default: return nil
    }
  }

  /// What has the keys from a place of a key path on; nil where that is not known beforehand.
  private static func place(
    operand: ValueExpression?, keys: [String]
  ) -> (owner: KnownKeys, key: Int)? {
    if case .variable(let name)? = operand, let owner = owner(variable: name) { return (owner, 0) }
    guard operand == .variable("source"), let first = keys.first else { return nil }
    switch first {
    case "objectID": return keys.dropFirst().first == "entity" ? (.entity, 2) : (.objectID, 1)
    case "entity": return (.entity, 1)
    default: return nil
    }
  }

  private static func owner(variable: String) -> KnownKeys? {
    switch variable {
    case "entityMapping": .entityMapping
    case "propertyMapping": .propertyMapping
    default: nil
    }
  }
}
