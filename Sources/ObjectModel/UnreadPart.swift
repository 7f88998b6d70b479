/// A part of a model's file that could not be read; everything else of the model is there.
package struct UnreadPart: Hashable, Sendable, Codable {
  /// What it is a part of, in words.
  package enum Part: String, Hashable, Sendable, Codable {
    /// The default value of an attribute.
    case defaultValue = "default value"
    /// A default value that the attribute had under another type, and that means nothing now.
    case leftoverDefault = "default value of another type"
    /// A predicate that validates values of an attribute.
    case validation = "validation predicate"
    /// A least or greatest value, or length, of an attribute.
    case limit = "validation limit"
    /// The predicate of a fetch request or of a partial index.
    case predicate = "predicate"
    /// A value of a user info.
    case userInfo = "user info"
    /// An index of an entity.
    case fetchIndex = "fetch index"
    /// A fetch request, of a model's templates or of a fetched property.
    case fetchRequest = "fetch request"
    /// A fetched property.
    case fetchedProperty = "fetched property"
    /// A named set of entities.
    case configuration = "configuration"
    /// The delete rule of a relationship.
    case deleteRule = "delete rule"
    /// How a derived attribute is computed.
    case derivation = "derivation"
    /// A uniqueness constraint of an entity.
    case constraint = "uniqueness constraint"
    /// An index of several properties from before fetch indexes.
    case compoundIndex = "compound index"
    /// The type of an attribute, by a number or a name that is not known.
    case type = "attribute type"
    /// Flags of an attribute that are not known.
    case flags = "flags"
    /// A setting of an entity or a property, by a name that is not known.
    case setting
    /// A property or another element of an entity.
    case element = "element"
    /// A superentity that the model does not have, by its name.
    case superentity = "superentity"
    /// The destination of a relationship, which the model does not have, by both names.
    case destination = "destination"

    /// Whether a version hash covers it, so that the hash is not known without it.
    package var isHashed: Bool {
      switch self {
      case .derivation, .constraint, .type, .flags, .element, .superentity, .destination: true
      default: false
      }
    }
  }

  /// What could not be read.
  package var part: Part
  /// The name of an index, a request or a key, where the part has one.
  package var name: String?
  /// What is there: a class, or a text.
  package var form: String

  /// The part in a few words: `fetch index byDate (NSFoo)`.
  package var words: String {
    [part.rawValue, name, isAbsent ? nil : "(\(form))"].compactMap(\.self).joined(separator: " ")
  }

  /// Whether it is something that the model names and does not have.
  private var isAbsent: Bool { part == .superentity || part == .destination }

  /// The part and why nothing is known of it: `the superentity Base is not in the model`.
  package var clause: String {
    let fate =
      part == .leftoverDefault
      ? "is left behind and means nothing"
      : isAbsent ? "is not in the model" : "cannot be read"
    return "the \(words) \(fate)"
  }

  /// Notes a part, with a name where it has one of its own.
  package init(part: Part, name: String? = nil, form: String) {
    self.part = part
    self.name = name
    self.form = form
  }
}

extension Attribute {
  /// The form of a default value that could not be read, where there is one.
  package var unreadDefault: String? { unread.first { $0.part == .defaultValue }?.form }
}

extension ManagedObjectModel {
  /// Every part that could not be read, and its place.
  package var unreadParts: [(entity: String?, property: String?, part: UnreadPart)] {
    var result: [(entity: String?, property: String?, part: UnreadPart)] = []
    for part in unread { result.append((nil, nil, part)) }
    for entity in entities {
      for part in entity.unread { result.append((entity.name, nil, part)) }
      for attribute in entity.attributes {
        for part in attribute.unread { result.append((entity.name, attribute.name, part)) }
      }
      for relationship in entity.relationships {
        for part in relationship.unread { result.append((entity.name, relationship.name, part)) }
      }
      for property in entity.fetchedProperties {
        for part in property.unread { result.append((entity.name, property.name, part)) }
      }
    }
    return result
  }
}
