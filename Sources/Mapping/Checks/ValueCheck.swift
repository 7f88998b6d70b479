import Expressions
import ObjectModel

/// Finds value expressions that cannot give any object a value, before an object is read.
struct ValueCheck {
  /// The model of the source.
  let model: ManagedObjectModel
  /// The entity of `$source`.
  let entity: Entity

  /// What is wrong with the expression of an attribute.
  ///
  /// An expression that cannot be evaluated is reported by its error; `MappingCheck` reports keys
  /// that lead nowhere.
  func problems(
    of expression: ValueExpression, for attribute: Attribute, in new: Entity
  ) -> [MappingProblem.Reason] {
    let paths = expression.pathsFromNothing
    guard paths.isEmpty else { return paths.map { .pathFromNothing($0) } }
    // No value of it is kept.
    if attribute.isTransient { return [] }
    let casts = impossibleCasts(in: expression)
    guard casts.isEmpty else { return casts }
    let methods = unknownMethods(in: expression)
    guard methods.isEmpty else { return methods }
    return ends(of: expression).compactMap { end in
      if end.isConstant { return constantProblem(end, attribute: attribute, in: new) }
      if let kind = kindOfObjects(end) {
        return .notOneValue(kind, entity: new.name, type: attribute.type)
      }
      guard let example = example(of: end) else { return nil }
      do throws(UnfitValue) {
        _ = try attribute.type.fitted(example)
        return nil
      } catch {
        // An example shows the kind of the values, not their size.
        guard error == .kind else { return nil }
        return .kindRefused(example, entity: new.name, type: attribute.type)
      }
    }
  }

  /// What is wrong with the expression of a relationship.
  func problems(
    of expression: ValueExpression, for relationship: Relationship
  ) -> [MappingProblem.Reason] {
    let paths = expression.pathsFromNothing
    guard paths.isEmpty else { return paths.map { .pathFromNothing($0) } }
    return ends(of: expression).compactMap { end in
      guard end.isConstant else { return nil }
      do {
        guard case .scalar(let value) = try Self.value(of: end), value != .null else { return nil }
        return .constantForObjects(value, destination: relationship.destinationEntityName)
      } catch let error as EvaluationError {
        return .valueless(error)
      } catch {
        return nil
      }
    }
  }

  /// The expressions whose values an expression may yield: of a choice both.
  private func ends(of expression: ValueExpression) -> [ValueExpression] {
    switch expression {
    case .ternary(.always(let holds), let value, let otherwise):
      ends(of: holds ? value : otherwise)
    case .ternary(_, let value, let otherwise): ends(of: value) + ends(of: otherwise)
    case .builtIn(BuiltInFunction.noIndex.rawValue, let arguments) where arguments.count == 1:
      ends(of: arguments[0])
    default: [expression]
    }
  }

  /// Casts to classes in which no value of that kind has a form.
  private func impossibleCasts(in expression: ValueExpression) -> [MappingProblem.Reason] {
    let inner = expression.parts.flatMap(impossibleCasts)
    guard case .builtIn(BuiltInFunction.cast.rawValue, let arguments) = expression,
      arguments.count == 2, !arguments[0].isConstant,
      case .constant(.string(let name)) = arguments[1],
      BuiltInFunction.castClasses.contains(name), let example = example(of: arguments[0]),
      !example.canBeCast(to: name)
    else { return inner }
    return inner + [.castRefused(example, to: name)]
  }

  /// What an expression yields instead of one value, in words; nil where it may yield one.
  private func kindOfObjects(_ expression: ValueExpression) -> String? {
    guard case .keyPath(.variable("source")?, let path) = expression else { return nil }
    return switch model.end(ofPath: path, from: entity) {
    case .object(let entity): entity
    case .collection: "a collection"
    case .missing, .noSuchValue, .value, .open: nil
    }
  }

  /// Calls of methods that no value of the kind has.
  private func unknownMethods(in expression: ValueExpression) -> [MappingProblem.Reason] {
    let inner = expression.parts.flatMap(unknownMethods)
    guard case .function(let operand, let selector, _) = expression, !operand.isConstant,
      let example = example(of: operand), !example.answers(selector)
    else { return inner }
    let error = EvaluationError(
      .unknownSelector(selector, of: ObjectValue.scalar(example).kindName),
      expression: "\(expression)")
    return inner + [.valueless(error)]
  }

  static func value(of constant: ValueExpression) throws -> ObjectValue {
    try ExpressionEvaluator(EvaluationScope()).value(of: constant)
  }

  private func constantProblem(
    _ constant: ValueExpression, attribute: Attribute, in new: Entity
  ) -> MappingProblem.Reason? {
    let found: ObjectValue
    do {
      found = try Self.value(of: constant)
    } catch let error as EvaluationError {
      return .valueless(error)
    } catch {
      return nil
    }
    guard case .scalar(let value) = found else {
      return .notOneValue(found.kindName, entity: new.name, type: attribute.type)
    }
    do throws(UnfitValue) {
      _ = try attribute.type.fitted(value)
      return nil
    } catch {
      return .constantRefused(value, entity: new.name, type: attribute.type, error)
    }
  }

  /// An example of the values of an expression; nil where their kind is not known beforehand.
  private func example(of expression: ValueExpression) -> AttributeValue? {
    switch expression {
    case .constant(let value): return value == .null ? nil : value
    case .keyPath(.variable("source")?, let path):
      guard case .value(let example) = model.end(ofPath: path, from: entity) else { return nil }
      return example
    case .builtIn(let name, let arguments):
      guard let function = BuiltInFunction(written: name, argumentCount: arguments.count) else {
        return nil
      }
      return example(of: function, arguments: arguments)
    default: return nil
    }
  }

  private func example(
    of function: BuiltInFunction, arguments: [ValueExpression]
  ) -> AttributeValue? {
    switch function {
    case .uppercase, .lowercase, .canonical: .string("")
    case .length, .count, .onesComplement, .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift,
      .rightShift:
      .integer(1)
    case .squareRoot, .logarithm, .naturalLogarithm, .exponential, .multiply, .divide, .modulus,
      .power, .ceiling, .floor, .truncate, .round, .absolute, .sum, .average, .median,
      .standardDeviation:
      .real(1)
    case .now, .dateOfText: .date(0)
    case .dataOfText: .data([])
    case .identifier, .identifierOf: AttributeType.uuid.example
    case .cast:
      if case .constant(.string(let name))? = arguments.last {
        Self.example(ofClass: name)
      } else {
        nil
      }
    // A date or a number, a member of a collection, or whatever the argument is.
    case .add, .subtract, .minimum, .maximum, .mode, .element, .noIndex: nil
    }
  }

  private static func example(ofClass name: String) -> AttributeValue? {
    switch name {
    case "NSString": .string("")
    case "NSNumber": .real(1)
    case "NSDecimalNumber": .decimal("1")
    case "NSDate": .date(0)
    case "NSUUID": AttributeType.uuid.example
    case "NSURL": .uri("")
    case "NSData": .data([])
    default: nil
    }
  }
}

extension ManagedObjectModel {
  /// The mandatory attributes of an entity that get no value in any object: the mapping omits them
  /// and they have no default, or it assigns nil.
  ///
  /// What a policy does is its own business.
  func attributesWithoutValue(
    in mapping: EntityMapping, of entity: Entity
  ) -> [Attribute] {
    guard mapping.makesObjects, mapping.ownPolicyClassName == nil, !entity.isAbstract else {
      return []
    }
    return allLeafAttributes(of: entity).filter { attribute in
      guard !attribute.isOptional, !attribute.isTransient, attribute.derivation == nil else {
        return false
      }
      if let objects = mapping.newObjects, objects.attribute == attribute.name { return false }
      guard
        let expression = mapping.attributeMappings.first(where: { $0.name == attribute.name })?
          .valueExpression
      else { return attribute.defaultValue == .null && attribute.unreadDefault == nil }
      guard expression.isConstant, case .scalar(.null)? = try? ValueCheck.value(of: expression)
      else { return false }
      return true
    }
  }
}
