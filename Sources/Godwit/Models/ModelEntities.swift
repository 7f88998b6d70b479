import Expressions
import Mapping
import ObjectModel

extension ModelInspection.Version {
  /// An entity of the version, with what it declares itself.
  public struct Entity: Hashable, Sendable, Encodable {
    /// An attribute.
    public struct Attribute: Hashable, Sendable, Encodable {
      /// The name.
      public var name: String
      /// The type; of a composite with its elements.
      public var type: String
      /// Whether an object may be without a value.
      public var isOptional: Bool
      /// Whether no store keeps it.
      public var isTransient: Bool
      /// The value that new objects have, as the format language writes it, decimal numbers in
      /// digits; nil for none.
      public var defaultValue: String?
      /// How it is derived from others; nil where it is set by hand.
      public var derivation: String?
      /// Whether values may lie in files of their own.
      public var isStoredExternally: Bool
      /// The transformer of a transformable, nil for Core Data's own.
      public var transformer: String?
      /// The name in an earlier version that it continues; nil means its own.
      public var renamingIdentifier: String?
    }

    /// A relationship.
    public struct Relationship: Hashable, Sendable, Encodable {
      /// The name.
      public var name: String
      /// The entity that it leads to.
      public var destination: String
      /// Whether an object may have several.
      public var isToMany: Bool
      /// Whether the objects have an order.
      public var isOrdered: Bool
      /// Whether an object may be without any.
      public var isOptional: Bool
      /// Whether no store keeps it.
      public var isTransient: Bool
      /// The relationship that leads back; nil where there is none.
      public var inverse: String?
      /// What becomes of its objects with the owner: `No Action`, `Nullify`, `Cascade` or `Deny`.
      public var deleteRule: String
      /// The least and the largest number of objects; 0 is no limit.
      public var minimum, maximum: Int64
      /// The name in an earlier version that it continues; nil means its own.
      public var renamingIdentifier: String?
    }

    /// A fetch index.
    public struct Index: Hashable, Sendable, Encodable {
      /// The name.
      public var name: String
      /// What is indexed, in words, with its condition.
      public var elements: String
    }

    /// The name of the entity.
    public var name: String
    /// The superentity, nil for a root entity.
    public var superentity: String?
    /// Whether it has no objects of its own.
    public var isAbstract: Bool
    /// The class of its objects; nil means `NSManagedObject`.
    public var className: String?
    /// The name in an earlier version that it continues; nil means its own.
    public var renamingIdentifier: String?
    /// The attributes that it declares, in the order of the model's file.
    public var attributes: [Attribute]
    /// The relationships that it declares, in the order of the model's file.
    public var relationships: [Relationship]
    /// The names of the fetched properties that it declares.
    public var fetchedProperties: [String]
    /// The fetch indexes that it declares.
    public var indexes: [Index]
    /// The property names of each uniqueness constraint that it declares.
    public var uniquenessConstraints: [[String]]
    /// Its version hash in hexadecimal digits; nil if it is not known how Core Data computes it.
    public var versionHash: String?
    /// Why the hash is not known, nil if it is.
    public var versionHashUnknown: String?
  }
}

// MARK: From the model

extension ModelInspection.Version.Entity {
  init(entity: ObjectModel.Entity, in model: ManagedObjectModel) {
    name = entity.name
    superentity = entity.superentityName
    isAbstract = entity.isAbstract
    className = entity.className
    renamingIdentifier = entity.renamingIdentifier
    attributes = entity.attributes.map { Attribute($0) }
    relationships = entity.relationships.map { Relationship($0) }
    fetchedProperties = entity.fetchedProperties.map(\.name)
    indexes = entity.fetchIndexes.map { Index(name: $0.name, elements: $0.words) }
    uniquenessConstraints = entity.uniquenessConstraints
    do {
      versionHash = try model.versionHash(of: entity).hexadecimal
    } catch {
      versionHashUnknown =
        "\([error.entity, error.property].compactMap(\.self).joined(separator: ".")): \(error.reason)"
    }
  }
}

extension ModelInspection.Version.Entity.Attribute {
  fileprivate init(_ attribute: ObjectModel.Attribute) {
    name = attribute.name
    type = attribute.typeWords
    isOptional = attribute.isOptional
    isTransient = attribute.isTransient
    defaultValue = attribute.defaultWords
    derivation = attribute.derivation.map {
      "\($0.expression)" + ($0.filter.map { " where \($0)" } ?? "")
    }
    isStoredExternally = attribute.storesBinaryDataExternally
    transformer = attribute.valueTransformerName
    renamingIdentifier = attribute.renamingIdentifier
  }
}

extension ModelInspection.Version.Entity.Relationship {
  fileprivate init(_ relationship: ObjectModel.Relationship) {
    name = relationship.name
    destination = relationship.destinationEntityName
    (isToMany, isOrdered) = (relationship.isToMany, relationship.isOrdered)
    (isOptional, isTransient) = (relationship.isOptional, relationship.isTransient)
    inverse = relationship.inverseName
    deleteRule = relationship.deleteRule.words
    (minimum, maximum) = (relationship.minCount, relationship.maxCount)
    renamingIdentifier = relationship.renamingIdentifier
  }
}

// MARK: For people

extension ModelInspection.Version.Entity {
  /// One line for the entity.
  var heading: String {
    let parent = superentity.map { ": \($0)" } ?? ""
    let hash = versionHash.map { String($0.prefix(16)) } ?? "hash unknown"
    return "\(name)\(parent)  \(hash)  \(CountText(attributes.count, "attribute")), "
      + "\(CountText(relationships.count, "relationship"))"
  }

  /// A line for each thing that it declares.
  var lines: [String] {
    let own = [
      isAbstract ? "abstract" : nil, className.map { "class \($0)" },
      renamingIdentifier.map { "renaming identifier \($0)" },
    ].compactMap(\.self)
    let names = attributes.map(\.name) + relationships.map(\.name) + fetchedProperties
    let width = min(40, names.map(\.count).max() ?? 0)
    func line(_ name: String, _ words: [String?]) -> String {
      let gap = String(repeating: " ", count: max(0, width - name.count))
      return "\(name)\(gap)  \(words.compactMap(\.self).joined(separator: ", "))"
    }
    return (own.isEmpty ? [] : ["(\(own.joined(separator: ", ")))"])
      + attributes.map { line($0.name, $0.words) } + relationships.map { line($0.name, $0.words) }
      + fetchedProperties.map { line($0, ["fetched property"]) }
      + indexes.map { "index \($0.name): \($0.elements)" }
      + uniquenessConstraints.map { "unique: \($0.joined(separator: ", "))" }
  }
}

extension ModelInspection.Version.Entity.Attribute {
  fileprivate var words: [String?] {
    [
      type, isOptional ? "optional" : nil, isTransient ? "transient" : nil,
      defaultValue.map { "default \($0)" }, derivation.map { "derived: \($0)" },
      isStoredExternally ? "may lie in files" : nil, transformer.map { "by \($0)" },
      renamingIdentifier.map { "renaming identifier \($0)" },
    ]
  }
}

extension ModelInspection.Version.Entity.Relationship {
  fileprivate var words: [String?] {
    let limits =
      isToMany && (minimum > 0 || maximum > 0)
      ? "\(minimum) to \(maximum > 0 ? "\(maximum)" : "any number")" : nil
    return [
      "\(isToMany ? isOrdered ? "ordered to many" : "to many" : "to one") \(destination)",
      isOptional ? "optional" : nil, isTransient ? "transient" : nil, limits,
      inverse.map { "inverse \($0)" } ?? "no inverse", "delete rule \(deleteRule)",
      renamingIdentifier.map { "renaming identifier \($0)" },
    ]
  }
}

extension ObjectModel.Attribute {
  /// The name of its type, with the elements of a composite in their order.
  fileprivate var typeWords: String {
    elements.isEmpty ? type.name : "\(type.name) (\(elementWords))"
  }

  /// The elements of a composite with their types, in declared order.
  fileprivate var elementWords: String {
    elements.map { "\($0.name) \($0.type.name)" }.joined(separator: ", ")
  }
}

extension ManagedObjectModel {
  /// What each composite attribute consists of, as `Entity.attribute`.
  var compositeWords: [String: String] {
    var result: [String: String] = [:]
    for entity in entities {
      for attribute in entity.attributes where attribute.type == .composite {
        result["\(entity.name).\(attribute.name)"] = attribute.elementWords
      }
    }
    return result
  }
}
