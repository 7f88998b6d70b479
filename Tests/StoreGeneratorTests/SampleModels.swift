import Expressions
import ObjectModel

/// Small models that between them have every form of attribute and relationship.
enum SampleModels {
  static func attribute(
    _ name: String, _ type: AttributeType, optional: Bool = false,
    _ change: (inout Attribute) -> Void = { _ in }
  ) -> Attribute {
    var attribute = Attribute(name: name, type: type)
    attribute.isOptional = optional
    change(&attribute)
    return attribute
  }

  static func relationship(
    _ name: String, to destination: String, inverse: String?, many: Bool = false,
    ordered: Bool = false, optional: Bool = true, _ change: (inout Relationship) -> Void = { _ in }
  ) -> Relationship {
    var relationship = Relationship(name: name, to: destination, inverse: inverse, isToMany: many)
    relationship.isOrdered = ordered
    relationship.isOptional = optional
    change(&relationship)
    return relationship
  }

  /// Every attribute type, mandatory and optional, with and without limits.
  static func attributes() throws -> ManagedObjectModel {
    var thing = Entity("Thing")
    let types: [AttributeType] = [
      .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date,
      .binary, .uuid, .uri, .transformable,
    ]
    for type in types {
      let name = type.name.filter { $0 != " " }.lowercased()
      thing.attributes.append(attribute(name, type))
      thing.attributes.append(attribute("optional" + name, type, optional: true))
    }
    thing.attributes += [
      attribute("photo", .binary, optional: true) { $0.storesBinaryDataExternally = true },
      attribute("scan", .binary) { $0.storesBinaryDataExternally = true },
      attribute("shown", .string) { $0.isTransient = true },
      attribute("rating", .integer16) {
        $0.limits.minimum = .integer(1)
        $0.limits.maximum = .integer(5)
      },
      attribute("share", .double) {
        $0.limits.minimum = .real(0.25)
        $0.limits.maximum = .real(0.75)
      },
      attribute("code", .string) {
        $0.limits.minimumLength = 4
        $0.limits.maximumLength = 9
      },
      attribute("zip", .string) {
        $0.limits.pattern = "[0-9]{5}"
        $0.defaultValue = .string("12345")
      },
    ]
    return try ManagedObjectModel(entities: [thing])
  }

  /// One-to-many, ordered and not, with subentities on both sides, with limits, without inverse.
  static func toOnes() throws -> ManagedObjectModel {
    var shelf = Entity("Shelf")
    shelf.isAbstract = true
    shelf.relationships = [
      relationship("books", to: "Book", inverse: "shelf", many: true, ordered: true),
      relationship("pins", to: "Book", inverse: nil, many: true),
      relationship("rankings", to: "Book", inverse: nil, many: true, ordered: true),
    ]
    var wall = Entity("Wall")
    wall.superentityName = "Shelf"
    var floor = Entity("floorShelf")
    floor.superentityName = "Shelf"
    floor.attributes = [attribute("legs", .integer16)]
    var book = Entity("Book")
    book.relationships = [
      relationship("shelf", to: "Shelf", inverse: "books"),
      relationship("publisher", to: "Publisher", inverse: "books", optional: false),
      relationship("seller", to: "Publisher", inverse: "offers"),
      relationship("lastReader", to: "Publisher", inverse: nil),
      relationship("sequelOf", to: "Book", inverse: "sequels"),
      relationship("sequels", to: "Book", inverse: "sequelOf", many: true, ordered: true),
    ]
    var comic = Entity("Comic")
    comic.superentityName = "Book"
    comic.attributes = [attribute("pages", .integer32)]
    var publisher = Entity("Publisher")
    publisher.relationships = [
      relationship("books", to: "Book", inverse: "publisher", many: true, optional: false),
      relationship("offers", to: "Book", inverse: "seller", many: true) {
        $0.minCount = 1
        $0.maxCount = 2
      },
    ]
    return try ManagedObjectModel(entities: [shelf, wall, floor, book, comic, publisher])
  }

  /// One-to-one between entities, within one, and with itself.
  static func oneToOnes() throws -> ManagedObjectModel {
    var person = Entity("Person")
    person.relationships = [
      relationship("passport", to: "Passport", inverse: "holder"),
      relationship("spouse", to: "Person", inverse: "spouse"),
      relationship("next", to: "Person", inverse: "previous"),
      relationship("previous", to: "Person", inverse: "next"),
    ]
    var child = Entity("Child")
    child.superentityName = "Person"
    var passport = Entity("Passport")
    passport.relationships = [
      relationship("holder", to: "Person", inverse: "passport", optional: false)
    ]
    return try ManagedObjectModel(entities: [person, child, passport])
  }

  /// Many-to-many, ordered on no side, one side and both, with itself and its own inverse.
  static func manyToManys() throws -> ManagedObjectModel {
    var person = Entity("Person")
    person.relationships = [
      relationship("tags", to: "Tag", inverse: "people", many: true),
      relationship("playlist", to: "Tag", inverse: "listeners", many: true, ordered: true),
      relationship("places", to: "Tag", inverse: "guests", many: true, ordered: true) {
        $0.maxCount = 3
      },
      relationship("friends", to: "Person", inverse: "friends", many: true, ordered: true),
      relationship("partners", to: "Person", inverse: "partners", many: true) { $0.maxCount = 1 },
      relationship("follows", to: "Person", inverse: "followers", many: true, ordered: true),
      relationship("followers", to: "Person", inverse: "follows", many: true),
    ]
    var tag = Entity("Tag")
    tag.relationships = [
      relationship("people", to: "Person", inverse: "tags", many: true, optional: false),
      relationship("listeners", to: "Person", inverse: "playlist", many: true),
      relationship("guests", to: "Person", inverse: "places", many: true, ordered: true),
    ]
    var big = Entity("BigTag")
    big.superentityName = "Tag"
    return try ManagedObjectModel(entities: [person, tag, big])
  }

  /// Constraints of each kind; a subentity shares the table, and adds a constraint of its own.
  static func constraints() throws -> ManagedObjectModel {
    var account = Entity("Account")
    account.attributes = [
      attribute("identifier", .uuid), attribute("mail", .string, optional: true),
      attribute("number", .integer32), attribute("flag", .boolean), attribute("level", .integer16),
      attribute("letter", .string) { $0.limits.maximumLength = 1 },
      attribute("since", .date), attribute("price", .decimal), attribute("weight", .float),
      attribute("link", .uri), attribute("key", .binary),
      attribute("only", .boolean, optional: true),
    ]
    account.relationships = [
      relationship("owner", to: "Owner", inverse: "accounts"),
      relationship("badge", to: "Owner", inverse: nil),
    ]
    account.uniquenessConstraints = [
      ["identifier"], ["mail"], ["flag", "number"], ["flag", "letter", "level"], ["since"],
      ["price"], ["weight"], ["link"], ["key"], ["only"], ["badge"], ["owner", "badge"],
    ]
    var special = Entity("Special")
    special.superentityName = "Account"
    special.attributes = [attribute("serial", .integer64)]
    special.uniquenessConstraints = [["serial"]]
    var owner = Entity("Owner")
    owner.relationships = [
      relationship("accounts", to: "Account", inverse: "owner", many: true)
    ]
    return try ManagedObjectModel(entities: [account, special, owner])
  }

  /// Attributes that are derived from others.
  static func derived() throws -> ManagedObjectModel {
    var chat = Entity("Chat")
    chat.attributes = [
      attribute("title", .string, optional: true),
      derived("searchTitle", .string, .builtIn(name: "canonical:", [path("title")])),
      derived("length", .integer64, .builtIn(name: "count:", [path("messages")])),
      derived("labelCount", .integer64, .builtIn(name: "count:", [path("labels")])),
      derived("changed", .date, .builtIn(name: "now", [])),
      derived("lastTitle", .string, path("messages.chatTitle")),
    ]
    chat.relationships = [
      relationship("messages", to: "Message", inverse: "chat", many: true),
      relationship("labels", to: "Label", inverse: "chats", many: true),
    ]
    var message = Entity("Message")
    message.attributes = [derived("chatTitle", .string, path("chat.title"))]
    message.relationships = [relationship("chat", to: "Chat", inverse: "messages")]
    var label = Entity("Label")
    label.relationships = [relationship("chats", to: "Chat", inverse: "labels", many: true)]
    return try ManagedObjectModel(entities: [chat, message, label])
  }

  private static func path(_ path: String) -> ValueExpression {
    .keyPath(operand: nil, path)
  }

  private static func derived(
    _ name: String, _ type: AttributeType, _ expression: ValueExpression
  ) -> Attribute {
    attribute(name, type, optional: true) { $0.derivation = .init(expression: expression) }
  }

  /// All of them, by name.
  static let all: [String: @Sendable () throws -> ManagedObjectModel] = [
    "attributes": { try attributes() }, "toOnes": { try toOnes() },
    "oneToOnes": { try oneToOnes() }, "manyToManys": { try manyToManys() },
    "constraints": { try constraints() }, "derived": { try derived() },
  ]
}
