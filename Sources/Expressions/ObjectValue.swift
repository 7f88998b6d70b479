/// What an expression can yield: a value of an attribute, an object, or several of them.
package enum ObjectValue {
  case scalar(AttributeValue)
  case object(any EvaluatedObject)
  case collection(ValueCollection)

  package static var null: Self { .scalar(.null) }

  package var isNull: Bool {
    if case .scalar(.null) = self { return true }
    return false
  }

  /// An array of objects.
  package static func objects(_ objects: [any EvaluatedObject]) -> Self {
    .collection(ValueCollection(kind: .array, members: objects.map { .object($0) }))
  }

  package static func boolean(value: Bool) -> Self { .scalar(.boolean(value)) }
  package static func integer(value: Int64) -> Self { .scalar(.integer(value)) }
  package static func string(value: String) -> Self { .scalar(.string(value)) }

  /// The objects in it: of a collection its members, of nil none.
  package var objects: [any EvaluatedObject] {
    switch self {
    case .scalar: []
    case .object(let object): [object]
    case .collection(let collection): collection.members.flatMap(\.objects)
    }
  }

  /// What it is, in a word, for messages.
  package var kindName: String {
    switch self {
    case .scalar(let value): value.kindName
    case .object(let object): object.typeName
    case .collection: "a collection"
    }
  }
}

/// Several values: an array, a set, or an ordered set.
package struct ValueCollection {
  package enum Kind { case array, set, orderedSet }

  package private(set) var kind: Kind
  package private(set) var members: [ObjectValue]

  /// Keeps the first of equal members, unless it is an array.
  package init(kind: Kind, members: [ObjectValue]) {
    self.kind = kind
    guard kind != .array else {
      self.members = members
      return
    }
    var seen: Set<DistinctValue> = []
    self.members = members.filter { seen.insert(DistinctValue($0)).inserted }
  }
}

/// An object whose properties an expression reads.
package protocol EvaluatedObject: AnyObject {
  /// Equal for two references to one object.
  var identity: AnyHashable { get }
  /// What it is, for messages: the name of its entity, or "the migration manager".
  var typeName: String { get }
  func value(forKey key: String) throws -> ObjectValue
  /// Answers `FUNCTION(object, "selector", …)`.
  func perform(_ selector: String, arguments: [ObjectValue]) throws -> ObjectValue
}

extension EvaluatedObject {
  package func perform(_ selector: String, arguments: [ObjectValue]) throws -> ObjectValue {
    throw EvaluationError(.unknownSelector(selector, of: typeName))
  }
}

extension AttributeValue {
  package var kindName: String {
    switch self {
    case .null: "nil"
    case .boolean: "a Boolean"
    case .integer, .real, .decimal: "a number"
    case .string: "a text"
    case .date: "a date"
    case .data: "data"
    case .uuid: "a UUID"
    case .uri: "a URI"
    }
  }
}

/// A value under the equality of the format language, as a member of a hashed set.
package struct DistinctValue: Hashable {
  package let value: ObjectValue

  package init(_ value: ObjectValue) { self.value = value }

  package static func == (a: Self, b: Self) -> Bool { a.value.isEqual(to: b.value) }

  package func hash(into hasher: inout Hasher) {
    switch value {
    case .object(let object): hasher.combine(object.identity)
    case .collection(let collection): hasher.combine(collection.members.count)
    case .scalar(let scalar):
      if let number = Number(scalar) {
        hasher.combine(number.double)
      } else {
        hasher.combine(scalar)
      }
    }
  }
}

extension ObjectValue {
  /// Numbers of any type are equal by value, texts by their characters, collections by members.
  package func isEqual(to other: ObjectValue) -> Bool {
    switch (self, other) {
    case (.object(let a), .object(let b)): return a.identity == b.identity
    case (.scalar(let a), .scalar(let b)):
      if let a = Number(a), let b = Number(b) { return a.compare(b) == .equal }
      if case .string(let a) = a, case .string(let b) = b {
        // Not Swift's equality, which takes composed and decomposed characters for one.
        return a.utf8.elementsEqual(b.utf8)
      }
      return a == b
    case (.collection(let a), .collection(let b)):
      guard a.members.count == b.members.count else { return false }
      if a.kind == .set || b.kind == .set {
        return Set(a.members.map { DistinctValue($0) }) == Set(b.members.map { DistinctValue($0) })
      }
      return zip(a.members, b.members).allSatisfy { $0.isEqual(to: $1) }
    default: return false
    }
  }
}
