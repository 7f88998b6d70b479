/// What an expression can yield: a value of an attribute, an object, or several of them.
package enum ObjectValue {
  /// A value of an attribute, or nil.
  case scalar(AttributeValue)
  /// An object of a store, or one that a migration answers for, such as `$manager`.
  case object(any EvaluatedObject)
  /// Several values.
  case collection(ValueCollection)

  /// Nil.
  package static var null: Self { .scalar(.null) }

  /// Whether it is nil; an empty collection is not.
  package var isNull: Bool {
    if case .scalar(.null) = self { return true }
    return false
  }

  /// An array of objects.
  package static func objects(_ objects: [any EvaluatedObject]) -> Self {
    .collection(ValueCollection(kind: .array, members: objects.map { .object($0) }))
  }

  /// Makes a Boolean.
  package static func boolean(value: Bool) -> Self { .scalar(.boolean(value)) }
  /// Makes a whole number.
  package static func integer(value: Int64) -> Self { .scalar(.integer(value)) }
  /// Makes a text.
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
  /// Whether equal members occur once, and whether the order counts.
  package enum Kind { case array, set, orderedSet }

  /// Whether it is an array or a set.
  package private(set) var kind: Kind
  /// The members, of a set in the order in which they came.
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
  /// The value of a property.
  ///
  /// - Throws: `EvaluationError` where the object has no such property.
  func value(forKey key: String) throws -> ObjectValue
  /// Answers `FUNCTION(object, "selector", …)`.
  func perform(_ selector: String, arguments: [ObjectValue]) throws -> ObjectValue
  /// The URI of the object, whatever properties it has; nil where it is no object of a store.
  ///
  /// - Throws: `EvaluationError` where the object was not saved yet.
  func uniformIdentifier() throws -> String?
}

extension EvaluatedObject {
  /// Has no URI: for what is no object of a store.
  package func uniformIdentifier() throws -> String? { nil }

  /// Answers nothing: for objects without selectors of their own.
  ///
  /// - Throws: `EvaluationError` for every selector.
  package func perform(_ selector: String, arguments: [ObjectValue]) throws -> ObjectValue {
    throw EvaluationError(.unknownSelector(selector, of: typeName))
  }

  /// Evaluates a selector without arguments as the key of its name, as key-value coding calls a
  /// getter.
  ///
  /// - Throws: `EvaluationError` where there is no such key.
  package func answer(_ selector: String) throws -> ObjectValue {
    do {
      return try value(forKey: selector)
    } catch let error as EvaluationError where error.problem == .unknownKey(selector, of: typeName)
    {
      throw EvaluationError(.unknownSelector(selector, of: typeName))
    }
  }
}

extension AttributeValue {
  /// What it is, in a word, for messages.
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

  /// The value itself with its kind, for messages; long texts are cut.
  package var shown: String {
    switch self {
    case .null: "nil"
    case .boolean(let flag): "the Boolean \(flag ? "TRUE" : "FALSE")"
    case .integer(let number): "the number \(number)"
    case .real(let number): "the number \(number)"
    case .decimal(let digits): "the number \(digits)"
    case .string(let text): "the text \(Self.cut(text))"
    case .date: "the date \(Casting.text(value: self) ?? formatText)"
    case .data(let bytes): "data of \(bytes.count) byte\(bytes.count == 1 ? "" : "s")"
    case .uuid(let bytes): "the UUID \(Self.uuidText(bytes: bytes))"
    case .uri(let text): "the URI \(Self.cut(text))"
    }
  }

  private static func cut(_ text: String) -> String {
    let most = 100
    let start = text.prefix(most)
    return "\"\(start)\"\(start.endIndex < text.endIndex ? "…" : "")"
  }
}

/// A value under the equality of the format language, as a member of a hashed set.
package struct DistinctValue: Hashable {
  /// The value.
  package let value: ObjectValue

  /// Takes a value as it is.
  package init(_ value: ObjectValue) { self.value = value }

  /// Whether `==` of the format language holds.
  package static func == (a: Self, b: Self) -> Bool { a.value.isEqual(to: b.value) }

  /// Hashes equal values alike: numbers by value, objects by identity.
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
