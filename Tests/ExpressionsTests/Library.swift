import Expressions

/// An object with the properties that a test gives it.
final class SampleObject: EvaluatedObject {
  let typeName: String
  var values: [String: ObjectValue]

  init(_ typeName: String, _ values: [String: ObjectValue] = [:]) {
    self.typeName = typeName
    self.values = values
  }

  var identity: AnyHashable { ObjectIdentifier(self) }

  /// A book is saved, a tome is new; others are in no store.
  func uniformIdentifier() throws -> String? {
    switch typeName {
    case "Book": "x-coredata://STORE/Book/p1"
    case "Tome": throw EvaluationError(.notYetKnown("objectID", of: typeName))
    default: nil
    }
  }

  func value(forKey key: String) throws -> ObjectValue {
    guard let value = values[key] else { throw EvaluationError(.unknownKey(key, of: typeName)) }
    return value
  }
}

/// A policy with one function of its own.
final class SamplePolicy: EvaluatedObject {
  var identity: AnyHashable { ObjectIdentifier(self) }
  var typeName: String { "the policy" }

  func value(forKey key: String) throws -> ObjectValue {
    throw EvaluationError(.unknownKey(key, of: typeName))
  }

  func perform(_ selector: String, arguments: [ObjectValue]) throws -> ObjectValue {
    switch selector {
    case "shout:": return arguments[0].isNull ? .string(value: "silence") : arguments[0]
    case "first:second:": return arguments[0].isNull ? arguments[1] : arguments[0]
    case "constant": return .integer(value: 42)
    default: throw EvaluationError(.unknownSelector(selector, of: typeName))
    }
  }
}

/// Answers for a migration in which book became tome, and every tag a label.
final class SampleLookups: MigrationLookups {
  let pairs: [(mapping: String, source: SampleObject, destination: SampleObject)]

  init(_ pairs: [(mapping: String, source: SampleObject, destination: SampleObject)]) {
    self.pairs = pairs
  }

  func destinations(
    mapping: String, of sources: [any EvaluatedObject]?
  ) throws -> [any EvaluatedObject] {
    guard pairs.contains(where: { $0.mapping == mapping }) else {
      throw EvaluationError(.unknownEntityMapping(mapping))
    }
    return (sources ?? []).flatMap { source in
      pairs.filter { $0.mapping == mapping && $0.source === source }.map(\.destination)
    }
  }

  func sources(
    mapping: String, of destinations: [any EvaluatedObject]?
  ) throws -> [any EvaluatedObject] {
    (destinations ?? []).flatMap { destination in
      pairs.filter { $0.mapping == mapping && $0.destination === destination }.map(\.source)
    }
  }

  func destinations(of sources: [any EvaluatedObject]) throws -> [any EvaluatedObject] {
    sources.flatMap { source in pairs.filter { $0.source === source }.map(\.destination) }
  }

  func managerValue(forKey key: String) throws -> ObjectValue {
    guard key == "sourceContext" else {
      throw EvaluationError(.unknownKey(key, of: "the migration manager"))
    }
    return .object(SampleContext(pairs.map(\.source)))
  }

  func performOther(_ selector: String, arguments: [ObjectValue]) throws -> ObjectValue? { nil }
}

final class SampleContext: EvaluatedContext {
  let objects: [SampleObject]
  init(_ objects: [SampleObject]) { self.objects = objects }

  var identity: AnyHashable { ObjectIdentifier(self) }
  var typeName: String { "a context" }

  func value(forKey key: String) throws -> ObjectValue {
    throw EvaluationError(.unknownKey(key, of: typeName))
  }

  func fetch(_ request: FetchRequestValue) throws -> [any EvaluatedObject] {
    try objects.filter { object in
      guard object.typeName == request.entityName else { return false }
      return try ExpressionEvaluator(EvaluationScope(object: .object(object)))
        .isTrue(request.predicate)
    }
  }
}

/// The objects that the tables speak of, and what an expression yields with them.
enum Library {
  enum Result: CustomStringConvertible {
    case value(String)
    case failure(String)

    func matches(_ expected: String) -> Bool {
      switch self {
      case .value(let text): text == expected
      case .failure(let text):
        expected.hasPrefix("! ") && text.contains(expected.dropFirst(2))
      }
    }

    var description: String {
      switch self {
      case .value(let text): text
      case .failure(let text): "! " + text
      }
    }
  }

  static func result(of text: String) -> Result {
    let world = World()
    let evaluator = ExpressionEvaluator(world.scope)
    do {
      if text.hasPrefix("? ") {
        let predicate = try ValuePredicate(format: String(text.dropFirst(2)))
        return .value(try evaluator.isTrue(predicate) ? "TRUE" : "FALSE")
      }
      return .value(shown(try evaluator.value(of: try ValueExpression(format: text))))
    } catch let error as EvaluationError {
      return .failure(error.description)
    } catch {
      return .failure("\(error)")
    }
  }

  static func shown(_ value: ObjectValue) -> String {
    switch value {
    case .scalar(let scalar): return scalar.formatText
    case .object(let object):
      let name = try? object.value(forKey: "name")
      return name.map { "<\(shown($0).filter { $0 != "\"" })>" } ?? "<\(object.typeName)>"
    case .collection(let collection):
      let members = collection.members.map(shown)
      switch collection.kind {
      case .array: return "{\(members.joined(separator: ", "))}"
      case .set: return "set {\(members.sorted().joined(separator: ", "))}"
      case .orderedSet: return "ordered {\(members.joined(separator: ", "))}"
      }
    }
  }

  static func array(_ members: [AttributeValue]) -> ObjectValue {
    .collection(ValueCollection(kind: .array, members: members.map { .scalar($0) }))
  }
}

final class World {
  let book: SampleObject
  let manager: ManagerObject
  let policy = SamplePolicy()
  private let lookups: SampleLookups

  init() {
    func tag(_ name: String, _ weight: AttributeValue, _ notes: [String]) -> SampleObject {
      SampleObject(
        "Tag",
        [
          "name": .string(value: name), "weight": .scalar(weight),
          "notes": .collection(
            ValueCollection(kind: .set, members: notes.map { .string(value: $0) })),
          "list": .collection(
            ValueCollection(kind: .array, members: notes.map { .string(value: $0) })),
        ])
    }
    let tags = [
      tag("a", .integer(1), ["x", "y"]), tag("b", .integer(2), ["y"]), tag("c", .null, ["x", "x"]),
    ]
    let author = SampleObject(
      "Author",
      ["name": .string(value: "Rousseau"), "born": .integer(value: 1712), "editor": .null])
    book = SampleObject("Book", Self.values(author, tags))
    author.values["books"] = .collection(ValueCollection(kind: .set, members: [.object(book)]))
    lookups = SampleLookups(
      [("BookToTome", book, SampleObject("Tome", ["name": .string(value: "tome")]))]
        + tags.map { tag in
          let name = Library.shown(tag.values["name"] ?? .null).filter { $0 != "\"" }
          return (
            "TagToLabel", tag, SampleObject("Label", ["name": .string(value: "label " + name)])
          )
        })
    manager = ManagerObject(lookups)
  }

  private static func values(
    _ author: SampleObject, _ tags: [SampleObject]
  ) -> [String: ObjectValue] {
    let objects = tags.map { ObjectValue.object($0) }
    return [
      "name": .string(value: "book"), "title": .string(value: "Émile"),
      "pages": .integer(value: 300),
      "price": .scalar(.real(9.5)), "cost": .scalar(.decimal("12.50")), "rating": .null,
      "published": .scalar(.date(100)), "sold": .boolean(value: true), "author": .object(author),
      "nobody": .null, "path": .string(value: "/a/b.txt"), "code": .scalar(.data([1, 2, 3])),
      "link": .scalar(.uri("https://x.org/p/q.html")),
      "number": .scalar(.uuid(Array(0..<16))),
      "tags": .collection(ValueCollection(kind: .array, members: objects)),
      "labels": .collection(ValueCollection(kind: .set, members: objects)),
      "numbers": Library.array([.integer(3), .integer(1), .integer(2)]),
      "twice": Library.array([.integer(1), .integer(1), .integer(2)]),
      "holes": Library.array([.integer(1), .null, .integer(3)]),
      "none": Library.array([]), "in": .string(value: "keyword"),
    ]
  }

  var scope: EvaluationScope {
    EvaluationScope(
      object: .object(book),
      variables: [
        "source": .object(book), "n": .integer(value: 5), "empty": .null,
        "manager": .object(manager),
        "entityPolicy": .object(policy), "destination": .object(SampleObject("Tome")),
      ],
      now: 1000)
  }
}
