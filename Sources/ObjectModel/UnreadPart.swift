/// A part of a model's file that could not be read; everything else of the model is there.
package struct UnreadPart: Hashable, Sendable, Codable {
  /// What it is a part of, in words.
  package enum Part: String, Hashable, Sendable, Codable {
    case defaultValue = "default value"
    case validation = "validation predicate"
    case limit = "validation limit"
    case predicate = "predicate"
    case userInfo = "user info"
    case fetchIndex = "fetch index"
    case fetchRequest = "fetch request"
    case fetchedProperty = "fetched property"
    case configuration = "configuration"
    case deleteRule = "delete rule"
    case derivation = "derivation"
    case constraint = "uniqueness constraint"
    case compoundIndex = "compound index"
    case type = "attribute type"
    case flags = "flags"
    case element = "element"

    /// Whether a version hash covers it, so that the hash is not known without it.
    package var isHashed: Bool {
      switch self {
      case .derivation, .constraint, .type, .flags, .element: true
      default: false
      }
    }
  }

  package var part: Part
  /// The name of an index, a request or a key, where the part has one.
  package var name: String?
  /// What stands there: a class, or a text.
  package var form: String

  /// The part in a few words: `fetch index byDate (NSFoo)`.
  package var words: String {
    [part.rawValue, name, "(\(form))"].compactMap(\.self).joined(separator: " ")
  }

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
  /// Every part that could not be read, and where it stands.
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
