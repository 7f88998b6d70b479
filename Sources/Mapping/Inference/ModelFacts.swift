import Expressions
package import ObjectModel

/// One property of a model, in words; two lists of one kind have the same aspects.
struct ModelFact: Hashable {
  let aspect: String
  /// The value; nil for nothing.
  let value: String?

  init(_ aspect: String, _ value: String?) { (self.aspect, self.value) = (aspect, value) }
  init(_ aspect: String, _ flag: Bool) { self.init(aspect, flag ? "yes" : Self.no) }
  init(_ aspect: String, _ number: Int64?) { self.init(aspect, number.map { "\($0)" }) }

  /// The value of flags that are not set.
  static let no = "no"

  /// What differs; an empty list stands for nothing.
  static func changes(_ old: [ModelFact], _ new: [ModelFact]) -> [ModelComparison.Change] {
    let before = Dictionary(old.map { ($0.aspect, $0.value) }, uniquingKeysWith: { $1 })
    let after = Dictionary(new.map { ($0.aspect, $0.value) }, uniquingKeysWith: { $1 })
    let aspects = (new.isEmpty ? old : new).map(\.aspect)
    return aspects.compactMap { aspect in
      let (one, other) = (before[aspect] ?? nil, after[aspect] ?? nil)
      return one == other ? nil : .init(aspect: aspect, old: one, new: other)
    }
  }
}

extension ModelFact {
  static func facts(of model: ManagedObjectModel) -> [ModelFact] {
    let configurations = model.configurations.sorted { $0.key < $1.key }.map {
      "\($0.key) (\($0.value.sorted().joined(separator: ", ")))"
    }
    let templates = model.fetchRequestTemplates.sorted { $0.key < $1.key }.map {
      "\($0.key) (\(words($0.value)))"
    }
    return [
      .init("version identifiers", list(model.versionIdentifiers)),
      .init("configurations", list(configurations)),
      .init("fetch request templates", list(templates)),
    ]
  }

  static func facts(of entity: Entity) -> [ModelFact] {
    [
      .init("superentity", entity.superentityName), .init("abstract", entity.isAbstract),
      .init("class", entity.className),
      .init("renaming identifier", entity.renamingIdentifier),
      .init("version hash modifier", entity.versionHashModifier),
      .init("compound indexes", list(entity.compoundIndexes.map { $0.joined(separator: "+") })),
      .init("user info", userInfo(entity.userInfo, entity.opaqueUserInfo)),
    ]
  }

  static func facts(of attribute: Attribute) -> [ModelFact] {
    let limits = attribute.limits
    let elements = attribute.elements.map { "\($0.name) \($0.type.name)" }
    return [
      .init("type", attribute.type.name), .init("elements", list(elements)),
      .init("optional", attribute.isOptional), .init("transient", attribute.isTransient),
      .init("default", attribute.defaultWords),
      .init("derivation", attribute.derivation.map(words)),
      .init("external storage", attribute.storesBinaryDataExternally),
      .init("kept after deletion", attribute.preservesValueAfterDeletion),
      .init("minimum", limits.minimum?.formatText), .init("maximum", limits.maximum?.formatText),
      .init("minimum length", limits.minimumLength), .init("maximum length", limits.maximumLength),
      .init("pattern", limits.pattern), .init("validation", list(limits.others.map { "\($0)" })),
      .init("transformer", attribute.valueTransformerName),
      .init("class", attribute.valueClassName), .init("indexed", attribute.isIndexed),
      .init("indexed by Spotlight", attribute.isIndexedBySpotlight),
      .init("encrypted in iCloud", attribute.allowsCloudEncryption),
      .init("composite", attribute.compositeName),
      .init("renaming identifier", attribute.renamingIdentifier),
      .init("version hash modifier", attribute.versionHashModifier),
      .init("user info", userInfo(attribute.userInfo, attribute.opaqueUserInfo)),
    ]
  }

  static func facts(of relationship: Relationship) -> [ModelFact] {
    [
      .init("destination", relationship.destinationEntityName),
      .init("to many", relationship.isToMany), .init("ordered", relationship.isOrdered),
      .init("inverse", relationship.inverseName),
      .init("delete rule", relationship.deleteRule.words),
      .init("optional", relationship.isOptional), .init("transient", relationship.isTransient),
      .init("minimum count", relationship.minCount), .init("maximum count", relationship.maxCount),
      .init("indexed", relationship.isIndexed),
      .init("indexed by Spotlight", relationship.isIndexedBySpotlight),
      .init("renaming identifier", relationship.renamingIdentifier),
      .init("version hash modifier", relationship.versionHashModifier),
      .init("user info", userInfo(relationship.userInfo, relationship.opaqueUserInfo)),
    ]
  }

  static func facts(of property: FetchedProperty) -> [ModelFact] {
    [
      .init("request", words(property.request)), .init("optional", property.isOptional),
      .init("renaming identifier", property.renamingIdentifier),
      .init("version hash modifier", property.versionHashModifier),
      .init("user info", userInfo(property.userInfo, property.opaqueUserInfo)),
    ]
  }

  static func facts(of index: FetchIndex) -> [ModelFact] { [.init("elements", index.words)] }

  /// The constraints that an entity itself declares.
  static func constraints(of entity: Entity) -> [String] {
    entity.uniquenessConstraints.map { $0.joined(separator: ", ") }
  }

  private static func list(_ words: [String]) -> String? {
    words.isEmpty ? nil : words.joined(separator: ", ")
  }

  private static func words(_ derivation: Attribute.Derivation) -> String {
    "\(derivation.expression)" + (derivation.filter.map { " where \($0)" } ?? "")
  }

  private static func words(_ request: FetchRequest) -> String {
    let filter =
      request.predicate.map { " where \($0)" }
      ?? request.opaquePredicate.map { " where \(archive($0))" } ?? ""
    let flags = [
      request.resultType, request.fetchLimit, request.batchSize,
      request.includesSubentities ? 1 : 0, request.includesPropertyValues ? 1 : 0,
      request.includesPendingChanges ? 1 : 0, request.returnsObjectsAsFaults ? 1 : 0,
      request.returnsDistinctResults ? 1 : 0,
    ]
    let isPlain = flags == [0, 0, 0, 1, 1, 1, 1, 0]
    let settings = isPlain ? "" : ", settings \(flags.map { "\($0)" }.joined(separator: " "))"
    return "\(request.entityName ?? "no entity")\(filter)\(settings)"
  }

  private static func userInfo(_ texts: [String: String], _ others: [String: [UInt8]]) -> String? {
    let pairs =
      texts.map { ($0.key, "\($0.key) = \($0.value)") }
      + others.map { ($0.key, "\($0.key) = \(archive($0.value))") }
    return list(pairs.sorted { $0.0 < $1.0 }.map(\.1))
  }

  /// A description of an archive that is not decoded, different for different archives.
  static func archive(_ bytes: [UInt8]) -> String {
    // FNV-1a, which is enough to distinguish two archives.
    let sum = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return "an archive of \(bytes.count) bytes (\(String(sum, radix: 16)))"
  }
}

extension Attribute {
  /// The default value as the format language writes it, decimal numbers in digits; nil where
  /// there is none.
  package var defaultWords: String? {
    if let opaqueDefault { return ModelFact.archive(opaqueDefault) }
    switch defaultValue {
    case .null: return nil
    case .decimal(let digits): return digits
    default: return defaultValue.formatText
    }
  }
}

extension DeleteRule {
  /// The name that Xcode shows.
  package var words: String {
    switch self {
    case .noAction: "No Action"
    case .nullify: "Nullify"
    case .cascade: "Cascade"
    case .deny: "Deny"
    }
  }
}

extension FetchIndex {
  /// Its elements with their directions, and its condition.
  package var words: String {
    let parts = elements.map { element in
      let what = element.propertyName ?? element.expression.map { "\($0)" } ?? "nothing"
      let kind = element.kind == .rTree ? " in an R-tree" : ""
      return "\(what)\(kind)\(element.isAscending ? "" : " descending")"
    }
    let condition =
      partialPredicate.map { " where \($0)" }
      ?? opaquePredicate.map { " where \(ModelFact.archive($0))" } ?? ""
    return parts.joined(separator: ", ") + condition
  }
}
