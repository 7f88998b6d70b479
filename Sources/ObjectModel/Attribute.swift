package import Expressions

/// The description of one attribute in a managed object model.
package struct Attribute: Hashable, Sendable, Codable {
  // Models are copied again and again, and all of these fields refer to a dozen objects: copies
  // share one until one of them is changed.
  private var shared: Shared

  private final class Shared: @unchecked Sendable {
    // @unchecked: only who alone refers to the object changes it.
    @exclusivity(unchecked) var fields: Fields

    init(_ fields: Fields) { self.fields = fields }
  }

  /// The name, by which mappings, predicates and the column refer to the attribute.
  package var name: String {
    get { shared.fields.name }
    set { change { $0.name = newValue } }
  }
  /// The type, which decides the column's type and is part of the version hash.
  package var type: AttributeType {
    get { shared.fields.type }
    set { change { $0.type = newValue } }
  }
  /// Whether an object may be without a value; otherwise validation requires one.
  package var isOptional: Bool {
    get { shared.fields.isOptional }
    set { change { $0.isOptional = newValue } }
  }
  /// Whether the value is never stored: the attribute has no column, and no version hash covers it.
  package var isTransient: Bool {
    get { shared.fields.isTransient }
    set { change { $0.isTransient = newValue } }
  }
  /// What new objects have, and what fills an attribute that a migration adds.
  package var defaultValue: AttributeValue {
    get { shared.fields.defaultValue }
    set { change { $0.defaultValue = newValue } }
  }
  /// A default value of a class that is not known, as the keyed archive that it came in.
  package var opaqueDefault: [UInt8]? {
    get { shared.fields.opaqueDefault }
    set { change { $0.opaqueDefault = newValue } }
  }
  /// The indexed flag of models before fetch indexes; it requires an index of this attribute alone.
  package var isIndexed: Bool {
    get { shared.fields.isIndexed }
    set { change { $0.isIndexed = newValue } }
  }
  /// Whether Spotlight indexes the values; kept for the model cache only.
  package var isIndexedBySpotlight: Bool {
    get { shared.fields.isIndexedBySpotlight }
    set { change { $0.isIndexedBySpotlight = newValue } }
  }
  /// Whether values may lie in files of their own, so that the stored ones begin with a tag byte
  /// (docs/reference/store-format.md, "External binary data").
  package var storesBinaryDataExternally: Bool {
    get { shared.fields.storesBinaryDataExternally }
    set { change { $0.storesBinaryDataExternally = newValue } }
  }
  /// Whether the value outlives its object in persistent history; part of the version hash.
  package var preservesValueAfterDeletion: Bool {
    get { shared.fields.preservesValueAfterDeletion }
    set { change { $0.preservesValueAfterDeletion = newValue } }
  }
  /// Whether CloudKit may encrypt the value; kept for the model cache only.
  package var allowsCloudEncryption: Bool {
    get { shared.fields.allowsCloudEncryption }
    set { change { $0.allowsCloudEncryption = newValue } }
  }
  /// The transformer between a transformable value and its bytes; nil means Core Data's default.
  package var valueTransformerName: String? {
    get { shared.fields.valueTransformerName }
    set { change { $0.valueTransformerName = newValue } }
  }
  /// The class of the values where the model names one, such as `NSArray` for a transformable.
  package var valueClassName: String? {
    get { shared.fields.valueClassName }
    set { change { $0.valueClassName = newValue } }
  }
  /// How the value is derived from others; nil where it is set by hand.
  package var derivation: Derivation? {
    get { shared.fields.derivation }
    set { change { $0.derivation = newValue } }
  }
  /// The name of the composite whose elements this attribute holds.
  package var compositeName: String? {
    get { shared.fields.compositeName }
    set { change { $0.compositeName = newValue } }
  }
  /// The attributes that a composite one consists of, in declared order; empty where not known.
  package var elements: [Attribute] {
    get { shared.fields.elements }
    set { change { $0.elements = newValue } }
  }
  /// The rules of validation for a value.
  package var limits: ValidationLimits {
    get { shared.fields.limits }
    set { change { $0.limits = newValue } }
  }
  /// A text that changes the version hash where nothing else does; nil for none.
  package var versionHashModifier: String? {
    get { shared.fields.versionHashModifier }
    set { change { $0.versionHashModifier = newValue } }
  }
  /// The name in an earlier version that this attribute continues; nil means its own.
  package var renamingIdentifier: String? {
    get { shared.fields.renamingIdentifier }
    set { change { $0.renamingIdentifier = newValue } }
  }
  /// The texts of the user info, by their keys.
  package var userInfo: [String: String] {
    get { shared.fields.userInfo }
    set { change { $0.userInfo = newValue } }
  }
  /// Other values of the user info, each as the keyed archive that it came in.
  package var opaqueUserInfo: [String: [UInt8]] {
    get { shared.fields.opaqueUserInfo }
    set { change { $0.opaqueUserInfo = newValue } }
  }
  /// The attributes that the user info lists under `coordinatesKey`, where it has a list there.
  package var listedCoordinates: [String] {
    get { shared.fields.listedCoordinates }
    set { change { $0.listedCoordinates = newValue } }
  }
  /// Parts of the attribute that could not be read.
  package var unread: [UnreadPart] {
    get { shared.fields.unread }
    set { change { $0.unread = newValue } }
  }

  private struct Fields: Hashable, Sendable, Codable {
    var name: String
    var type: AttributeType
    var isOptional = false
    var isTransient = false
    var defaultValue: AttributeValue = .null
    var opaqueDefault: [UInt8]?
    var isIndexed = false
    var isIndexedBySpotlight = false
    var storesBinaryDataExternally = false
    var preservesValueAfterDeletion = false
    var allowsCloudEncryption = false
    var valueTransformerName: String?
    var valueClassName: String?
    var derivation: Derivation?
    var compositeName: String?
    var elements: [Attribute] = []
    var limits = ValidationLimits()
    var versionHashModifier: String?
    var renamingIdentifier: String?
    var userInfo: [String: String] = [:]
    var opaqueUserInfo: [String: [UInt8]] = [:]
    var listedCoordinates: [String] = []
    var unread: [UnreadPart] = []
  }

  /// Makes an attribute that is mandatory, and has no default value.
  package init(name: String, type: AttributeType) {
    shared = Shared(Fields(name: name, type: type))
  }

  package init(from decoder: any Decoder) throws { shared = Shared(try Fields(from: decoder)) }

  package func encode(to encoder: any Encoder) throws { try shared.fields.encode(to: encoder) }

  package static func == (one: Self, other: Self) -> Bool {
    one.shared === other.shared || one.shared.fields == other.shared.fields
  }

  package func hash(into hasher: inout Hasher) { shared.fields.hash(into: &hasher) }

  private mutating func change(_ body: (inout Fields) -> Void) {
    if !isKnownUniquelyReferenced(&shared) { shared = Shared(shared.fields) }
    body(&shared.fields)
  }

  /// The key of the user info under which a transient attribute names the attributes of a point,
  /// which requires an R-tree.
  package static let coordinatesKey = "_NSLocationAttributeDerivedComponents"

  /// The attributes of the point that an R-tree has of each object; nil if none is required.
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
  }
}
