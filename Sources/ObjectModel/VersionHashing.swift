import Digests
import Expressions

// An entity's hash covers what a store must know: names, types, optionality, relationships,
// inherited properties, constraints. How it is put together, and what it leaves out, is with
// its evidence in docs/reference/model-format.md, "Version hashes".

extension ManagedObjectModel {
  /// The version hash that Core Data gives the entity in this model.
  package func versionHash(of entity: Entity) throws(UnknownVersionHash) -> VersionHash {
    var hasher = VersionHasher(model: self)
    return try hasher.hash(of: entity)
  }

  /// The version hash of every entity, or of the entities of a named configuration.
  package func versionHashes(
    configuration: String? = nil
  ) throws(UnknownVersionHash) -> [String: VersionHash] {
    var hasher = VersionHasher(model: self)
    var result: [String: VersionHash] = [:]
    for entity in entities(ofConfiguration: configuration) {
      result[entity.name] = try hasher.hash(of: entity)
    }
    return result
  }

  /// The version hashes that are known, of every entity or of those of a named configuration.
  package func knownVersionHashes(configuration: String? = nil) -> [String: VersionHash] {
    var hasher = VersionHasher(model: self)
    var result: [String: VersionHash] = [:]
    for entity in entities(ofConfiguration: configuration) {
      result[entity.name] = try? hasher.hash(of: entity)
    }
    return result
  }

  /// The entities of a named configuration, or all; none where no configuration has that name.
  package func entities(ofConfiguration name: String?) -> [Entity] {
    guard let name else { return entities }
    let members = Set(configurations[name] ?? [])
    return entities.filter { members.contains($0.name) }
  }
}

/// Why the version hash of an entity is not known: no real file has shown how this form is hashed.
package struct UnknownVersionHash: Error, Hashable, Sendable {
  /// The form that no file has shown, or that could not be read.
  package enum Reason: Hashable, Sendable {
    /// A composite attribute whose elements are not known.
    case compositeAttribute
    /// An attribute for identifiers of objects.
    case objectIDAttribute
    /// An attribute with both flags that a hash covers, external storage and preservation.
    case externalStorageAndPreservation
    /// A derived attribute with a filter.
    case filteredDerivation
    /// A derived attribute whose expression has another form than those seen, as text.
    case derivation(String)
    /// A composite within a composite, or elements whose order depends on upper and lower case.
    case compositeElements
    /// A part that a hash covers could not be read.
    case unread(UnreadPart)
  }

  /// The entity whose hash is not known, or an ancestor of it.
  package var entity: String
  /// The property with the form; nil where the entity itself has it.
  package var property: String?
  /// What is not known.
  package var reason: Reason

  /// Makes an error with its place.
  package init(entity: String, property: String? = nil, reason: Reason) {
    self.entity = entity
    self.property = property
    self.reason = reason
  }
}

extension [String: VersionHash] {
  /// What metadata keeps as `NSStoreModelVersionHashesDigest`.
  package var digest: String {
    var input: [UInt8] = []
    for (name, version) in sorted(by: { Entity.utf8Before($0.key, $1.key) }) {
      input += name.utf8
      input += version.bytes
    }
    return Base64.encode(SecureHash.sha512.digest(of: input))
  }

  /// What metadata keeps as `NSStoreModelVersionChecksumKey`, and a bundle's version information.
  package var checksum: String {
    var input: [UInt8] = []
    for (_, version) in sorted(by: { Entity.utf8Before($0.key, $1.key) }) {
      input += version.bytes
    }
    return Base64.encode(SecureHash.sha256.digest(of: input))
  }
}

extension Entity {
  /// The literal order of names that hashes are made in.
  static func utf8Before(_ first: String, _ second: String) -> Bool {
    first.utf8.lexicographicallyPrecedes(second.utf8)
  }
}

/// Computes hashes, each entity and each property once.
private struct VersionHasher {
  let model: ManagedObjectModel
  private var hashes: [String: [UInt8]] = [:]
  /// The property hashes of an entity, inherited ones included, by name.
  private var properties: [String: [String: [UInt8]]] = [:]

  init(model: ManagedObjectModel) { self.model = model }

  mutating func hash(of entity: Entity) throws(UnknownVersionHash) -> VersionHash {
    for ancestor in model.lineage(of: entity).reversed() where hashes[ancestor.name] == nil {
      hashes[ancestor.name] = try computed(ancestor)
    }
    guard let bytes = hashes[entity.name], let hash = VersionHash(bytes: bytes) else {
      preconditionFailure("a lineage ends with its entity, and SHA-256 has 32 bytes")
    }
    return hash
  }

  /// The superentity's hash is there already.
  private mutating func computed(_ entity: Entity) throws(UnknownVersionHash) -> [UInt8] {
    var all = entity.superentityName.flatMap { properties[$0] } ?? [:]
    for attribute in entity.attributes {
      all[attribute.name] = attribute.isTransient ? nil : try hash(attribute: attribute, of: entity)
    }
    for relationship in entity.relationships {
      all[relationship.name] =
        relationship.isTransient ? nil : try hash(relationship: relationship, of: entity)
    }
    properties[entity.name] = all
    try check(entity.unread, of: entity)
    var input = Array(entity.name.utf8)
    input.append(entity.isAbstract ? 1 : 0)
    if let parent = entity.superentityName { input += hashes[parent] ?? [] }
    for (_, bytes) in all.sorted(by: { Entity.utf8Before($0.key, $1.key) }) {
      input += bytes
    }
    if let modifier = entity.versionHashModifier { input += modifier.utf8 }
    let constraints = entity.uniquenessConstraints.map { $0.joined(separator: ".") }
    for constraint in constraints.sorted(by: Entity.utf8Before) { input += constraint.utf8 }
    return SecureHash.sha256.digest(of: input)
  }

  private func check(
    _ unread: [UnreadPart], of entity: Entity, property: String? = nil
  ) throws(UnknownVersionHash) {
    if let part = unread.first(where: { $0.part.isHashed }) {
      throw UnknownVersionHash(entity: entity.name, property: property, reason: .unread(part))
    }
  }

  private func hash(
    attribute: Attribute, of entity: Entity
  ) throws(UnknownVersionHash) -> [UInt8] {
    try check(attribute.unread, of: entity, property: attribute.name)
    func unknown(_ reason: UnknownVersionHash.Reason) -> UnknownVersionHash {
      UnknownVersionHash(entity: entity.name, property: attribute.name, reason: reason)
    }
    if let derivation = attribute.derivation {
      guard derivation.filter == nil else { throw unknown(.filteredDerivation) }
      guard derivation.expression.hasKnownHash else {
        throw unknown(.derivation(derivation.expression.description))
      }
      return SecureHash.sha256.digest(of: Array(derivation.expression.description.utf8))
    }
    switch attribute.type {
    case .composite: return try hash(composite: attribute, of: entity)
    case .objectID: throw unknown(.objectIDAttribute)
    default: break
    }
    let flags = (attribute.storesBinaryDataExternally, attribute.preservesValueAfterDeletion)
    guard flags != (true, true) else { throw unknown(.externalStorageAndPreservation) }
    var input = base(
      name: attribute.name, optional: attribute.isOptional, modifier: attribute.versionHashModifier)
    append(Int32(attribute.type.rawValue), to: &input)
    if flags != (false, false) { input.append(1) }
    return SecureHash.sha256.digest(of: input)
  }

  /// The elements' hashes by name; the composite's own name and optionality do not count.
  private func hash(
    composite attribute: Attribute, of entity: Entity
  ) throws(UnknownVersionHash) -> [UInt8] {
    func unknown(_ reason: UnknownVersionHash.Reason) -> UnknownVersionHash {
      UnknownVersionHash(entity: entity.name, property: attribute.name, reason: reason)
    }
    guard !attribute.elements.isEmpty else { throw unknown(.compositeAttribute) }
    let elements = attribute.elements.sorted { Entity.utf8Before($0.name, $1.name) }
    let folded = attribute.elements.map { $0.name.lowercased() }.sorted(by: Entity.utf8Before)
    guard elements.map({ $0.name.lowercased() }) == folded,
      !elements.contains(where: { $0.type == .composite })
    else { throw unknown(.compositeElements) }
    var input: [UInt8] = []
    for element in elements { input += try hash(attribute: element, of: entity) }
    return SecureHash.sha256.digest(of: input)
  }

  /// A relationship that is its own inverse hashes as one without.
  private func hash(
    relationship: Relationship, of entity: Entity
  ) throws(UnknownVersionHash) -> [UInt8] {
    try check(relationship.unread, of: entity, property: relationship.name)
    let isReflexive =
      relationship.inverseName == relationship.name
      && model.inverseWithOwner(of: relationship)?.entity.name == entity.name
    var input = base(
      name: relationship.name, optional: relationship.isOptional,
      modifier: relationship.versionHashModifier)
    input += relationship.destinationEntityName.utf8
    input += (isReflexive ? "" : relationship.inverseName ?? "").utf8
    append(Int32(truncatingIfNeeded: relationship.maxCount), to: &input)
    append(Int32(truncatingIfNeeded: relationship.minCount), to: &input)
    if relationship.isOrdered { input += [1, 0] }
    return SecureHash.sha256.digest(of: input)
  }

  /// Transient properties are not hashed, so the flag byte is 1 for optional and 0 otherwise.
  private func base(name: String, optional: Bool, modifier: String?) -> [UInt8] {
    var input = Array(name.utf8)
    input += [optional ? 1 : 0, 0]
    if let modifier { input += modifier.utf8 }
    return SecureHash.sha256.digest(of: input)
  }

  private func append(_ value: Int32, to bytes: inout [UInt8]) {
    let bits = UInt32(bitPattern: value)
    for shift in [0, 8, 16, 24] as [UInt32] {
      bytes.append(UInt8(truncatingIfNeeded: bits >> shift))
    }
  }
}

extension ValueExpression {
  /// Whether a real file shows how a derived attribute of this form is hashed.
  fileprivate var hasKnownHash: Bool {
    switch self {
    case .keyPath(nil, let path): !path.contains("@")
    case .builtIn("now", let arguments): arguments.isEmpty
    case .builtIn("canonical:", let arguments), .builtIn("count:", let arguments):
      arguments.count == 1 && arguments[0].hasKnownHash && arguments[0].isKeyPath
    default: false
    }
  }

  private var isKeyPath: Bool { if case .keyPath = self { true } else { false } }
}

/// The alphabet and padding of RFC 4648, without Foundation.
private enum Base64 {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let count = min(3, bytes.count - start)
      var bits: UInt32 = 0
      for place in 0..<3 { bits = bits << 8 | (place < count ? UInt32(bytes[start + place]) : 0) }
      for place in 0..<4 {
        text.append(
          place > count
            ? UInt8(ascii: "=") : alphabet[Int(bits >> UInt32(18 - 6 * place) & 63)])
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
