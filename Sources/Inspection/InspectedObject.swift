package import Expressions

/// An object of a store, with its properties as people read them.
package struct InspectedObject: Hashable, Sendable {
  /// The object's own entity, which may be a subentity of the requested one.
  package var entity: String
  /// The key of its row (`Z_PK`).
  package var key: Int64
  /// Its attributes and then its relationships, each by name; transient ones are left out.
  package var properties: [InspectedProperty]
}

/// A reference to an object.
package struct InspectedReference: Hashable, Sendable {
  /// The entity of the object; that of the relationship where its own is not known.
  package var entity: String
  /// The key of its row.
  package var key: Int64
  /// What is wrong with the reference, as a part of a sentence; nil for nothing.
  package var fault: String?

  /// Such as `Author/12`.
  package var text: String { "\(entity)/\(key)\(fault.map { " (\($0))" } ?? "")" }
}

/// A property of an object, with its value as people read it.
package struct InspectedProperty: Hashable, Sendable {
  /// The name; of an element of a composite attribute with that of the composite: `author.id`.
  package var name: String
  /// The type of an attribute, `to one`, `to many` or `ordered to many`.
  package var type: String
  /// The value, nil for nil: of texts and bytes the beginning.
  package var text: String?
  /// The value by its type; nil if it is faulty, was not read whole, or is of a relationship.
  package var value: AttributeValue?
  /// How many bytes a text or binary value has.
  package var bytes: Int64?
  /// Whether the text is the beginning of a longer one.
  package var isCut = false
  /// The name of the file that holds the value.
  package var file: String?
  /// What is wrong with the value, as a part of a sentence; nil for nothing.
  package var fault: String?
  /// How many objects a to-many relationship has.
  package var count: Int64?
  /// The object of a to-one relationship, or the first objects of a to-many.
  package var references: [InspectedReference] = []

  /// Whether the value is kept as a text, which is shown in quotes.
  var isText = false

  init(name: String, type: String) {
    self.name = name
    self.type = type
  }

  /// The whole value on one line.
  package var words: String {
    var words: String
    if let count {
      let first = references.map(\.text).joined(separator: " ")
      let rest = count > Int64(references.count) ? " …" : ""
      words = "\(count)\(count > 0 && !first.isEmpty ? ": \(first)\(rest)" : "")"
    } else if let reference = references.first {
      words = reference.text
    } else {
      words = text.map { isText ? "\"\($0)\"" : $0 } ?? "nil"
    }
    if let bytes, isCut || type == "Binary" || type == "Transformable" {
      let size = "\(bytes) bytes\(file.map { " in \($0)" } ?? "")"
      words += words.isEmpty ? size : " (\(size))"
    } else if let file {
      words += " (in \(file))"
    }
    return words + (fault.map { " — \($0)" } ?? "")
  }
}
