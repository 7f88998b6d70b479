package import ObjectModel

/// A version of a model as it was released: its version hashes, and in words what they cover.
package struct LockedVersion: Hashable, Codable, Sendable {
  /// An entity of a version.
  package struct Entity: Hashable, Codable, Sendable {
    /// The version hash in hexadecimal digits; nil where it is not known how Core Data computes it.
    package var hash: String?
    /// What the hash covers of the entity itself, such as `abstract, in Person`.
    package var facts: String
    /// What the hash covers of each property that the entity declares, by name.
    package var properties: [String: String]

    /// Describes an entity.
    package init(hash: String?, facts: String, properties: [String: String]) {
      (self.hash, self.facts, self.properties) = (hash, facts, properties)
    }
  }

  /// An edit of a version after its release.
  package enum Edit: Hashable, Sendable {
    /// An entity that is not there any more.
    case entityGone(String)
    /// An entity that was not there.
    case entityNew(String)
    /// A property of an entity itself, in words; empty if only the hash shows the difference.
    case entity(String, old: String, new: String)
    /// A property that is not there any more.
    case propertyGone(entity: String, String)
    /// A property that was not there, in words.
    case propertyNew(entity: String, String, String)
    /// A property that has another name, and is the same otherwise.
    case propertyRenamed(entity: String, String, to: String)
    /// A property of the same name that is another one, in words.
    case property(entity: String, String, old: String, new: String)
    /// A renaming identifier that is gone or another one, of an entity or its property.
    case identifier(entity: String, String?, old: String, new: String?)

    /// The entity and the property, as the edited version names them.
    package var place: (entity: String, property: String?) {
      switch self {
      case .entityGone(let name), .entityNew(let name), .entity(let name, _, _): (name, nil)
      case .propertyGone(let entity, let name), .propertyNew(let entity, let name, _),
        .propertyRenamed(let entity, _, to: let name), .property(let entity, let name, _, _):
        (entity, name)
      case .identifier(let entity, let name, _, _): (entity, name)
      }
    }
  }

  /// The name of the version.
  package var name: String
  /// The entities by name.
  package var entities: [String: Entity]
  /// The renaming identifiers by `Entity` or `Entity.property`, which no hash covers.
  ///
  /// nil in locks that were written without them.
  package var renamingIdentifiers: [String: String]?

  /// Describes a version.
  package init(
    name: String, entities: [String: Entity], renamingIdentifiers: [String: String]? = nil
  ) {
    (self.name, self.entities) = (name, entities)
    self.renamingIdentifiers = renamingIdentifiers
  }

  /// Describes a version by its model.
  package init(name: String, model: ManagedObjectModel) {
    let hashes = model.knownVersionHashes()
    self.init(
      name: name,
      entities: Dictionary(
        model.entities.map { entity in
          (
            entity.name,
            Entity(
              hash: hashes[entity.name]?.hexadecimal, facts: entity.lockedWords,
              properties: entity.lockedProperties)
          )
        }, uniquingKeysWith: { $1 }),
      renamingIdentifiers: Dictionary(
        model.entities.flatMap(\.lockedIdentifiers), uniquingKeysWith: { $1 }))
  }

  /// The version hashes; nil where one of them is not known.
  package var hashes: [String: String]? {
    let known = entities.compactMapValues(\.hash)
    return known.count == entities.count ? known : nil
  }

  /// Whether stores of both need no migration from one to the other.
  package func hashes(like other: LockedVersion) -> Bool {
    hashes.map { $0 == other.hashes } ?? (entities == other.entities)
  }

  /// What differs in another form of this version, by entity and property.
  package func edits(to now: LockedVersion) -> [Edit] {
    Set(entities.keys).union(now.entities.keys).sorted().flatMap { name -> [Edit] in
      guard let old = entities[name] else { return [.entityNew(name)] }
      guard let new = now.entities[name] else { return [.entityGone(name)] }
      if let hash = old.hash, hash == new.hash { return [] }
      var edits = Self.edits(of: name, from: old.properties, to: new.properties)
      if old.facts != new.facts { edits.append(.entity(name, old: old.facts, new: new.facts)) }
      // A superentity that was edited changes the hashes of all below it.
      let isInherited = edits.isEmpty && old.facts.contains(Entity.parentMark)
      if edits.isEmpty, old.hash != new.hash, !isInherited {
        edits.append(.entity(name, old: "", new: ""))
      }
      return edits
    }
  }

  /// Renaming identifiers that are gone or other ones in another form of this version; none if one
  /// of both has none locked.
  package func identifierEdits(to now: LockedVersion) -> [Edit] {
    guard let old = renamingIdentifiers, let new = now.renamingIdentifiers else { return [] }
    return old.sorted { $0.key < $1.key }.compactMap { name, identifier in
      let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
      guard new[name] != identifier, let entity = now.entities[parts[0]] else { return nil }
      let property = parts.count > 1 ? parts[1] : nil
      // One that is gone itself is another edit.
      guard property.map({ entity.properties[$0] != nil }) ?? true else { return nil }
      return .identifier(entity: parts[0], property, old: identifier, new: new[name])
    }
  }

  private static func edits(
    of entity: String, from old: [String: String], to new: [String: String]
  ) -> [Edit] {
    var gone = old.keys.filter { new[$0] == nil }.sorted()
    var added = new.keys.filter { old[$0] == nil }.sorted()
    var edits: [Edit] = []
    for name in gone {
      // One that is gone and one that is new belong together if no other could be meant.
      let likely = added.filter { new[$0] == old[name] }
      let rivals = gone.filter { old[$0] == old[name] }
      guard likely.count == 1, rivals.count == 1 else { continue }
      edits.append(.propertyRenamed(entity: entity, name, to: likely[0]))
      gone.removeAll { $0 == name }
      added.removeAll { $0 == likely[0] }
    }
    edits += gone.map { .propertyGone(entity: entity, $0) }
    edits += added.map { .propertyNew(entity: entity, $0, new[$0] ?? "") }
    for (name, before) in old.sorted(by: { $0.key < $1.key }) {
      guard let after = new[name], before != after else { continue }
      edits.append(.property(entity: entity, name, old: before, new: after))
    }
    return edits
  }
}

extension LockedVersion.Entity {
  /// What stands before the name of a superentity.
  static let parentMark = "in "
}

extension Entity {
  /// What the version hash covers of the entity itself.
  fileprivate var lockedWords: String {
    let constraints = uniquenessConstraints.map { $0.joined(separator: ", ") }.sorted()
    let parts = [
      isAbstract ? "abstract" : nil,
      superentityName.map { "\(LockedVersion.Entity.parentMark)\($0)" },
      constraints.isEmpty ? nil : "unique (\(constraints.joined(separator: "; ")))",
      versionHashModifier.map { "hash modifier \($0)" },
    ]
    return parts.compactMap(\.self).joined(separator: ", ")
  }

  /// What the version hash covers of each property; transient ones have no part in it.
  fileprivate var lockedProperties: [String: String] {
    let stored = attributes.filter { !$0.isTransient }.map { ($0.name, $0.lockedWords) }
    let related = relationships.filter { !$0.isTransient }.map { ($0.name, $0.lockedWords) }
    return Dictionary(stored + related, uniquingKeysWith: { $1 })
  }
}

extension Entity {
  /// The renaming identifiers of the entity and its properties, by `Entity` or `Entity.property`.
  fileprivate var lockedIdentifiers: [(String, String)] {
    let all =
      [(name, name, renamingIdentifier)]
      + attributes.map { ("\(name).\($0.name)", $0.name, $0.renamingIdentifier) }
      + relationships.map { ("\(name).\($0.name)", $0.name, $0.renamingIdentifier) }
    // An identifier equal to the name is none.
    return all.compactMap { key, own, identifier in
      identifier.flatMap { $0 == own ? nil : (key, $0) }
    }
  }
}

extension Attribute {
  fileprivate var lockedWords: String {
    let elements = elements.map { "\($0.name) \($0.lockedWords)" }
    let parts = [
      type.name, elements.isEmpty ? nil : "of (\(elements.joined(separator: "; ")))",
      isOptional ? "optional" : nil,
      derivation.map { "derived by \($0.expression)" },
      storesBinaryDataExternally ? "external storage" : nil,
      preservesValueAfterDeletion ? "kept after deletion" : nil,
      versionHashModifier.map { "hash modifier \($0)" },
    ]
    return parts.compactMap(\.self).joined(separator: ", ")
  }
}

extension Relationship {
  fileprivate var lockedWords: String {
    let parts = [
      "\(isToMany ? isOrdered ? "ordered to-many" : "to-many" : "to-one") to \(destinationEntityName)",
      inverseName.map { "inverse \($0)" }, isOptional ? "optional" : nil,
      minCount == 0 ? nil : "at least \(minCount)",
      isToMany && maxCount != 0 ? "at most \(maxCount)" : nil,
      versionHashModifier.map { "hash modifier \($0)" },
    ]
    return parts.compactMap(\.self).joined(separator: ", ")
  }
}
