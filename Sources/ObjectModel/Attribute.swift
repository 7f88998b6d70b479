package import Expressions

/// What a managed object model says of one attribute.
package struct Attribute: Hashable, Sendable, Codable {
  /// The name, by which mappings, predicates and the column refer to the attribute.
  package var name: String
  /// The type, which decides the column's type and is part of the version hash.
  package var type: AttributeType
  /// Whether an object may be without a value; otherwise validation asks for one.
  package var isOptional = false
  /// Whether the value is never stored: the attribute has no column, and no version hash covers it.
  package var isTransient = false
  /// What new objects have, and what fills an attribute that a migration adds.
  package var defaultValue: AttributeValue = .null
  /// A default value of a class that is not known, as the keyed archive that it came in.
  package var opaqueDefault: [UInt8]?
  /// The indexed flag of models before fetch indexes; it asks for an index of this attribute alone.
  package var isIndexed = false
  /// Whether Spotlight indexes the values; kept for the model cache only.
  package var isIndexedBySpotlight = false
  /// Whether values may lie in files of their own, so that the stored ones begin with a tag byte
  /// (docs/store-format.md, "External binary data").
  package var storesBinaryDataExternally = false
  /// Whether the value outlives its object in persistent history; part of the version hash.
  package var preservesValueAfterDeletion = false
  /// Whether CloudKit may encrypt the value; kept for the model cache only.
  package var allowsCloudEncryption = false
  /// The transformer between a transformable value and its bytes; nil means Core Data's default.
  package var valueTransformerName: String?
  /// The class of the values where the model names one, such as `NSArray` for a transformable.
  package var valueClassName: String?
  /// How the value is derived from others; nil where it is set by hand.
  package var derivation: Derivation?
  /// The name of the composite whose elements this attribute holds.
  package var compositeName: String?
  /// The attributes that a composite one consists of, in declared order; empty where not known.
  package var elements: [Attribute] = []
  /// What validation asks of a value.
  package var limits = ValidationLimits()
  /// A text that changes the version hash where nothing else does; nil for none.
  package var versionHashModifier: String?
  /// The name in an earlier version that this attribute continues; nil means its own.
  package var renamingIdentifier: String?
  /// The texts of the user info, by their keys.
  package var userInfo: [String: String] = [:]
  /// Other values of the user info, each as the keyed archive that it came in.
  package var opaqueUserInfo: [String: [UInt8]] = [:]
  /// The attributes that the user info lists under `coordinatesKey`, where it has a list there.
  package var listedCoordinates: [String] = []
  /// Parts of the attribute that could not be read.
  package var unread: [UnreadPart] = []

  /// Makes an attribute that is mandatory, and has no default value.
  package init(name: String, type: AttributeType) {
    self.name = name
    self.type = type
  }

  /// The key of the user info under which a transient attribute names those of a point, which asks
  /// for an R-tree.
  package static let coordinatesKey = "_NSLocationAttributeDerivedComponents"

  /// The attributes of the point that an R-tree has of each object; nil where none is asked for.
  package var coordinates: [String]? {
    if !listedCoordinates.isEmpty { return listedCoordinates }
    return userInfo[Self.coordinatesKey].map { text in
      text.split(separator: ",").map { String($0.drop { $0 == " " }) }
    }
  }

  /// How a derived attribute is computed.
  package struct Derivation: Hashable, Sendable, Codable {
    /// What is computed, of the object and those that it leads to.
    package var expression: ValueExpression
    /// Which of the related objects count; nil for all of them.
    package var filter: ValuePredicate?

    /// Counts all related objects, unless a filter is given.
    package init(expression: ValueExpression, filter: ValuePredicate? = nil) {
      self.expression = expression
      self.filter = filter
    }

    /// Whether both compute the same, in whatever form their files have the expressions.
    package func isSame(as other: Derivation?) -> Bool {
      other.map { "\(expression)" == "\($0.expression)" && filter == $0.filter } ?? false
    }
  }

  /// The bounds that validation checks: of a number or date, of a text's length, a pattern.
  package struct ValidationLimits: Hashable, Sendable, Codable {
    /// The least number or the earliest date; nil for no limit.
    package var minimum: AttributeValue?
    /// The greatest number or the latest date; nil for no limit.
    package var maximum: AttributeValue?
    /// The least length of a text in UTF-16 units; nil for no limit.
    package var minimumLength: Int64?
    /// The greatest length of a text in UTF-16 units; nil for no limit.
    package var maximumLength: Int64?
    /// The regular expression that a text has to match as a whole; nil for none.
    package var pattern: String?
    /// Validation predicates of a compiled model that are none of the above.
    package var others: [ValuePredicate] = []

    /// Makes limits that every value keeps.
    package init() {}

    /// Whether every value keeps them.
    package var isEmpty: Bool { self == Self() }
  }
}
