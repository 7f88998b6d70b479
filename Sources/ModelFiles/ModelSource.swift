import Expressions
package import ObjectModel

/// Writes models as sources: the file `contents` of an `.xcdatamodel` folder.
package enum ModelSource {
  /// A part of a model that a source has no form for.
  package struct Unsayable: Hashable, Sendable {
    /// The entity concerned, nil for the model itself.
    package var entity: String?
    /// The property concerned, nil for an entity or the model.
    package var property: String?
    /// What it is, in a few words.
    package var part: String
    /// Whether a version hash covers it, so that a source without it is one of another version.
    package var isHashed: Bool
  }

  /// A source, and the parts that it cannot express.
  package struct Encoded: Sendable {
    /// The XML document in UTF-8.
    package var bytes: [UInt8]
    /// The model of the document.
    package var model: ManagedObjectModel
    /// The parts of the given model that it does not express.
    package var unsayable: [Unsayable]
  }

  /// Writes a model in the form that `ModelDocument` reads.
  ///
  /// - Throws: `ModelFileError`, if the parts that can be expressed are not a valid model.
  package static func encode(_ model: ManagedObjectModel) throws(ModelFileError) -> Encoded {
    var sayable = SayableModel(model)
    let rest = try sayable.model()
    var writer = ModelSourceWriter(rest)
    let text = writer.document()
    return Encoded(bytes: Array(text.utf8), model: rest, unsayable: sayable.unsayable)
  }
}

/// Removes from a model what a source has no form for, and lists what that was.
private struct SayableModel {
  private let source: ManagedObjectModel
  private(set) var unsayable: [ModelSource.Unsayable] = []
  private var entity: String?
  private var property: String?

  init(_ model: ManagedObjectModel) { source = model }

  mutating func model() throws(ModelFileError) -> ManagedObjectModel {
    noteUnread()
    let entities = source.entities.map { sayable($0) }
    entity = nil
    property = nil
    var result: ManagedObjectModel
    do {
      result = try ManagedObjectModel(entities: entities)
    } catch {
      throw ModelFileError(.notAModel(error), entity: error.entity, property: error.property)
    }
    result.configurations = source.configurations
    result.versionIdentifiers = source.versionIdentifiers
    if source.versionIdentifiers.count > 1 {
      leaveOut("version identifiers but the first")
      result.versionIdentifiers = Array(source.versionIdentifiers.sorted().prefix(1))
    }
    for (name, request) in source.fetchRequestTemplates.sorted(by: { $0.key < $1.key }) {
      if let request = sayable(request) {
        result.fetchRequestTemplates[name] = request
      } else {
        leaveOut("fetch request \(name)")
      }
    }
    for text in Self.names(of: result) where !XMLText.isSayable(text) {
      leaveOut("name with characters that XML does not have", isHashed: true)
    }
    return result
  }

  private mutating func leaveOut(_ part: String, isHashed: Bool = false) {
    unsayable.append(.init(entity: entity, property: property, part: part, isHashed: isHashed))
  }

  private mutating func noteUnread() {
    for (entity, property, part) in source.unreadParts {
      unsayable.append(
        .init(
          entity: entity, property: property, part: part.words, isHashed: part.part.isHashed))
    }
  }

  private static func names(of model: ManagedObjectModel) -> [String] {
    var result = model.configurations.keys.sorted() + model.versionIdentifiers
    result += model.fetchRequestTemplates.keys.sorted()
    for entity in model.entities {
      var texts: [String?] = [
        entity.name, entity.className, entity.versionHashModifier, entity.renamingIdentifier,
      ]
      for attribute in entity.attributes.flatMap({ [$0] + $0.elements }) {
        texts += [attribute.name, attribute.versionHashModifier, attribute.renamingIdentifier]
      }
      for relationship in entity.relationships {
        texts += [
          relationship.name, relationship.versionHashModifier, relationship.renamingIdentifier,
        ]
      }
      for property in entity.fetchedProperties {
        texts += [property.name, property.versionHashModifier, property.renamingIdentifier]
      }
      texts += entity.fetchIndexes.map(\.name)
      result += texts.compactMap(\.self)
    }
    return result
  }

  // MARK: Entities

  private mutating func sayable(_ found: Entity) -> Entity {
    (entity, property) = (found.name, nil)
    var result = found
    result.unread = []
    result.userInfo = sayable(found.userInfo, others: found.opaqueUserInfo)
    result.opaqueUserInfo = [:]
    result.attributes = found.attributes.map { sayable($0) }
    result.relationships = found.relationships.map { relationship in
      property = relationship.name
      var result = relationship
      result.unread = []
      // No reader keeps it: it leaves no trace in any compiled model.
      result.isIndexed = false
      result.userInfo = sayable(relationship.userInfo, others: relationship.opaqueUserInfo)
      result.opaqueUserInfo = [:]
      return result
    }
    result.fetchedProperties = found.fetchedProperties.compactMap { sayable($0) }
    property = nil
    result.fetchIndexes = found.fetchIndexes.compactMap { sayable($0) }
    return result
  }

  private mutating func sayable(_ fetched: FetchedProperty) -> FetchedProperty? {
    property = fetched.name
    guard let request = sayable(fetched.request) else {
      leaveOut("fetched property")
      return nil
    }
    var result = fetched
    result.request = request
    result.unread = []
    result.userInfo = sayable(fetched.userInfo, others: fetched.opaqueUserInfo)
    result.opaqueUserInfo = [:]
    return result
  }

  /// An index whose condition and expressions come back from their texts.
  private mutating func sayable(_ index: FetchIndex) -> FetchIndex? {
    let areSayable = index.elements.allSatisfy { element in
      element.expression.map {
        XMLText.isSayable($0.description) && ValueExpression(parsing: $0.description) == $0
      } ?? true
    }
    guard areSayable, index.partialPredicate.map({ self.isSayable($0) }) ?? true else {
      leaveOut("fetch index \(index.name)")
      return nil
    }
    var result = index
    result.opaquePredicate = nil
    return result
  }

  private func sayable(_ request: FetchRequest) -> FetchRequest? {
    guard request.predicate.map({ isSayable($0) }) ?? true else { return nil }
    var result = request
    result.opaquePredicate = nil
    return result
  }

  private func isSayable(_ predicate: ValuePredicate) -> Bool {
    if case .unparsed = predicate { return false }
    let text = predicate.description
    return XMLText.isSayable(text) && ValuePredicate(parsing: text) == predicate
  }

  private mutating func sayable(
    _ texts: [String: String], others: [String: [UInt8]]
  ) -> [String: String] {
    for key in others.keys.sorted() { leaveOut("user info \(key), which is no text") }
    return texts.filter { key, value in
      if XMLText.isSayable(key), XMLText.isSayable(value) { return true }
      leaveOut("user info \(key)")
      return false
    }
  }

  // MARK: Attributes

  private mutating func sayable(_ attribute: Attribute, of composite: String? = nil) -> Attribute {
    property = composite.map { "\($0).\(attribute.name)" } ?? attribute.name
    var result = attribute
    result.unread = []
    var others = attribute.opaqueUserInfo
    if !attribute.listedCoordinates.isEmpty {
      // Newer models have the same as a text.
      others[Attribute.coordinatesKey] = nil
      result.userInfo[Attribute.coordinatesKey] = attribute.listedCoordinates.joined(
        separator: ", ")
      result.listedCoordinates = []
    }
    result.userInfo = sayable(result.userInfo, others: others)
    result.opaqueUserInfo = [:]
    let saysNothing = attribute.type == .composite && attribute.unreadDefault == nil
    if attribute.opaqueDefault != nil {
      // An empty dictionary of a composite has no meaning; unread parts are already recorded.
      if !saysNothing && attribute.unreadDefault == nil { leaveOut("default value") }
      result.opaqueDefault = nil
    }
    let value = attribute.defaultValue
    if value != .null, !isSayable(value, for: attribute.type) {
      leaveOut("default value")
      result.defaultValue = .null
    }
    if !attribute.limits.others.isEmpty {
      leaveOut("validation predicate")
      result.limits.others = []
    }
    for text in [
      attribute.limits.pattern, attribute.valueClassName, attribute.valueTransformerName,
    ]
    where !XMLText.isSayable(text ?? "") {
      leaveOut("text with characters that XML does not have")
    }
    if let derivation = attribute.derivation, !isSayable(derivation) {
      leaveOut("derivation", isHashed: true)
    }
    if attribute.type == .composite, composite != nil || attribute.elements.isEmpty {
      leaveOut("composite without elements, or within another", isHashed: true)
    }
    result.elements = attribute.elements.map { sayable($0, of: attribute.name) }
    // The name is the source's own business.
    result.compositeName = nil
    return result
  }

  private func isSayable(_ value: AttributeValue, for type: AttributeType) -> Bool {
    guard let text = value.sourceText, XMLText.isSayable(text) else { return false }
    return AttributeText.value(text: text, for: type) == value
  }

  private func isSayable(_ derivation: Attribute.Derivation) -> Bool {
    let text = derivation.expression.description
    return derivation.filter == nil && XMLText.isSayable(text)
      && ValueExpression(parsingDerivation: text) == derivation.expression
  }
}

extension AttributeValue {
  /// The value as model sources write it, nil where they have no form for it.
  var sourceText: String? {
    switch self {
    case .null, .data: nil
    case .boolean(let flag): flag ? "YES" : "NO"
    case .integer(let number): "\(number)"
    case .real(let number), .date(let number): "\(number)"
    case .decimal(let text), .string(let text), .uri(let text): text
    case .uuid(let bytes): AttributeValue.uuidText(bytes: bytes)
    }
  }
}

/// Texts in XML documents.
enum XMLText {
  /// Whether XML 1.0 has a form for every character of the text.
  static func isSayable(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { scalar in
      switch scalar.value {
      case 0x9, 0xA, 0xD, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF: true
      default: false
      }
    }
  }

  /// The text as the value of an attribute in double quotes.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      // A parser takes them for spaces otherwise.
      case "\t", "\n", "\r": result += "&#\(scalar.value);"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
