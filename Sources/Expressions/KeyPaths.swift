import Foundation

extension ExpressionEvaluator {
  /// The value at the end of a key path; nil anywhere on the way is nil at its end.
  package static func follow(_ path: String, from value: ObjectValue) throws -> ObjectValue {
    // Most paths are one key.
    if !path.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "@") }) {
      return value.isNull ? .null : try self.value(ofKey: path, of: value)
    }
    return try follow(
      path.split(separator: ".", omittingEmptySubsequences: false)[...], from: value)
  }

  private static func follow(
    _ keys: ArraySlice<Substring>, from start: ObjectValue
  ) throws -> ObjectValue {
    var value = start
    var rest = keys
    while let key = rest.popFirst() {
      if value.isNull { return .null }
      if key.hasPrefix("@") {
        return try apply(String(key), to: try collection(value: value, of: String(key)), rest: rest)
      }
      value = try self.value(ofKey: String(key), of: value)
    }
    return value
  }

  private static func value(ofKey key: String, of value: ObjectValue) throws -> ObjectValue {
    switch value {
    case .object(let object): return key == "self" ? value : try object.value(forKey: key)
    case .scalar(let scalar): return try ScalarMessages.value(ofKey: key, of: scalar)
    case .collection(let collection):
      let values = try collection.members.map { member in
        member.isNull ? .null : try self.value(ofKey: key, of: member)
      }
      // A set leaves nil values out, an array keeps them (NSSet and NSArray, valueForKey:).
      return .collection(
        ValueCollection(
          kind: collection.kind,
          members: collection.kind == .set ? values.filter { !$0.isNull } : values))
    }
  }

  /// Applies a collection operator to what the rest of the key path yields for each member.
  private static func apply(
    _ name: String, to collection: ValueCollection, rest: ArraySlice<Substring>
  ) throws -> ObjectValue {
    if name == "@count" {
      return try follow(rest, from: .integer(value: Int64(collection.members.count)))
    }
    let values = try collection.members.map { try follow(rest, from: $0) }
    switch name {
    case "@sum": return try sum(values: values, of: name)
    case "@avg": return try average(values: values, of: name)
    case "@min": return try extreme(values, of: name, keeping: .less)
    case "@max": return try extreme(values, of: name, keeping: .greater)
    case "@unionOfObjects":
      return .collection(.init(kind: .array, members: try withoutNil(values, name: name)))
    case "@distinctUnionOfObjects":
      return .collection(.init(kind: .orderedSet, members: try withoutNil(values, name: name)))
    case "@unionOfArrays":
      return .collection(.init(kind: .array, members: try flattened(values, name: name)))
    case "@distinctUnionOfArrays", "@distinctUnionOfSets", "@unionOfSets":
      return .collection(
        .init(
          kind: name.hasSuffix("Sets") ? .set : .orderedSet,
          members: try flattened(values, name: name)))
    default: throw EvaluationError(.unknownOperator(name))
    }
  }

  private static func withoutNil(_ values: [ObjectValue], name: String) throws -> [ObjectValue] {
    guard !values.contains(where: \.isNull) else { throw EvaluationError(.nilInUnion(of: name)) }
    return values
  }

  private static func flattened(_ values: [ObjectValue], name: String) throws -> [ObjectValue] {
    try withoutNil(values, name: name).flatMap { try collection(value: $0, of: name).members }
  }

  /// The sum with nil as zero, as key-value coding has it.
  private static func sum(values: [ObjectValue], of name: String) throws -> ObjectValue {
    .scalar(try total(values: values, of: name).value)
  }

  private static func average(values: [ObjectValue], of name: String) throws -> ObjectValue {
    guard !values.isEmpty else { return .null }
    return .scalar(Self.mean(try total(values: values, of: name), count: values.count).value)
  }

  private static func total(values: [ObjectValue], of name: String) throws -> Number {
    try values.reduce(.integer(0)) { sum, value in
      value.isNull ? sum : try sum.adding(try number(value: value, of: name))
    }
  }

  /// Of whole numbers too the mean is a real number.
  static func mean(_ total: Number, count: Int) -> Number {
    if case .decimal(let sum) = total {
      return .decimal(sum / Number.integer(Int64(count)).decimal)
    }
    return .real(total.double / Double(count))
  }

  /// The smallest or largest value; nil ones are left out.
  static func extreme(
    _ values: [ObjectValue], of name: String, keeping order: Number.Order
  ) throws -> ObjectValue {
    var best = ObjectValue.null
    for value in values where !value.isNull {
      if best.isNull {
        best = value
      } else if try compare(value, best) == order {
        best = value
      }
    }
    return best
  }

  static func number(value: ObjectValue, of function: String) throws -> Number {
    guard case .scalar(let scalar) = value, let number = Number(scalar) else {
      throw EvaluationError(
        .wrongArgument(of: function, expected: "a number", found: value.kindName))
    }
    return number
  }
}
