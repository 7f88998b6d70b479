// The elements of composite attributes have a column each. Whatever works with columns takes an
// attribute's leaves; whatever hashes or writes models takes the attribute itself.
extension Attribute {
  /// The attributes that have a column each: the attribute itself or, of a composite one, its
  /// elements in declared order, under names like `author.id`.
  ///
  /// An element without a value is as one of an object without the composite: a store does not
  /// distinguish the two, so each may be without a value where the composite may.
  package var leaves: [Attribute] {
    guard type == .composite, !elements.isEmpty else { return [self] }
    // SwiftData gives the one element of an enumeration the name of its property, so it has another
    // name wherever the property has.
    let isEnumeration = elements.count == 1 && elements[0].name == name
    let before = isEnumeration ? renamingIdentifier : nil
    return elements.map { element in
      var leaf = element
      leaf.name = "\(name).\(element.name)"
      leaf.isOptional = isOptional || element.isOptional
      leaf.isTransient = isTransient || element.isTransient
      if renamingIdentifier != nil || element.renamingIdentifier != nil {
        leaf.renamingIdentifier =
          "\(renamingIdentifier ?? name).\(element.renamingIdentifier ?? before ?? element.name)"
      }
      leaf.unread += unread
      return leaf
    }
  }

  /// Whether it is an element of a composite attribute, as `leaves` names it.
  package var isElement: Bool { Self.isElement(name: name) }

  /// The name of the composite whose element it is, or its own.
  package var compositeOrOwnName: String { Self.compositeOrOwnName(of: name) }

  /// The name of the composite whose element has this name, or the name itself.
  package static func compositeOrOwnName(of name: String) -> String {
    String(name.prefix { $0 != "." })
  }

  /// Whether an attribute of that name is an element of a composite one: no other has a dot.
  package static func isElement(name: String) -> Bool { name.utf8.contains(UInt8(ascii: ".")) }
}

extension Entity {
  /// Its attributes, with composite ones replaced by their elements.
  package var leafAttributes: [Attribute] {
    hasComposites ? attributes.flatMap(\.leaves) : attributes
  }

  private var hasComposites: Bool {
    attributes.contains { $0.type == .composite && !$0.elements.isEmpty }
  }
}

extension ManagedObjectModel {
  /// Own and inherited attributes, with composite ones replaced by their elements.
  package func allLeafAttributes(of entity: Entity) -> [Attribute] {
    let lineage = lineage(of: entity)
    guard redeclares(lineage) else { return lineage.flatMap(\.leafAttributes) }
    var seen: Set<String> = []
    return allAttributes(of: entity).flatMap(\.leaves).filter { seen.insert($0.name).inserted }
  }

  /// The attribute of that name among `allLeafAttributes`, found without making the others.
  package func leafAttribute(named name: String, of entity: Entity) -> Attribute? {
    let declared = Attribute.compositeOrOwnName(of: name)
    var level: Entity? = entity
    while let current = level {
      if let attribute = current.attributes.first(where: { $0.name == declared }) {
        return attribute.leaves.first { $0.name == name }
      }
      level = current.superentityName.flatMap { self.entity(name: $0) }
    }
    return nil
  }
}
