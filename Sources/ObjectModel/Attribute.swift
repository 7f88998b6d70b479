package import Expressions

/// What a managed object model says of one attribute.
package struct Attribute: Hashable, Sendable, Codable {
  package var name: String
  package var type: AttributeType
  package var isOptional = false
  package var isTransient = false
  package var defaultValue: AttributeValue = .null
  /// A default value of a class that is not known, as the keyed archive that it came in.
  package var opaqueDefault: [UInt8]?
  /// The indexed flag of models before fetch indexes; it asks for an index of this attribute alone.
  package var isIndexed = false
  package var isIndexedBySpotlight = false
  package var storesBinaryDataExternally = false
  package var preservesValueAfterDeletion = false
  package var allowsCloudEncryption = false
  package var valueTransformerName: String?
  /// The class of the values where the model names one, such as `NSArray` for a transformable.
  package var valueClassName: String?
  package var derivation: Derivation?
  /// The name of the composite whose elements this attribute holds.
  package var compositeName: String?
  /// The attributes that a composite one consists of, in declared order; empty where not known.
  package var elements: [Attribute] = []
  package var limits = ValidationLimits()
  package var versionHashModifier: String?
  /// The name in an earlier version that this attribute continues; nil means its own.
  package var renamingIdentifier: String?
  package var userInfo: [String: String] = [:]
  /// Other values of the user info, each as the keyed archive that it came in.
  package var opaqueUserInfo: [String: [UInt8]] = [:]
  package var unread: [UnreadPart] = []

  package init(name: String, type: AttributeType) {
    self.name = name
    self.type = type
  }

  /// How a derived attribute is computed.
  package struct Derivation: Hashable, Sendable, Codable {
    package var expression: ValueExpression
    package var filter: ValuePredicate?

    package init(expression: ValueExpression, filter: ValuePredicate? = nil) {
      self.expression = expression
      self.filter = filter
    }
  }

  /// The bounds that validation checks: of a number or date, of a text's length, a pattern.
  package struct ValidationLimits: Hashable, Sendable, Codable {
    package var minimum: AttributeValue?
    package var maximum: AttributeValue?
    package var minimumLength: Int64?
    package var maximumLength: Int64?
    package var pattern: String?
    /// Validation predicates of a compiled model that are none of the above.
    package var others: [ValuePredicate] = []

    package init() {}

    package var isEmpty: Bool { self == Self() }
  }
}
