import ObjectModel

// Sources, compiled models and model caches say the same of indexes in different words. This is the
// form that all readers produce, so that models from different files can be compared:
//
// - Properties are sorted by name; archives keep them in hash order.
// - An attribute is indexed where it has the flag or is the only element of a fetch index: the
// model
//   compiler sets the flag for those.
// - `fetchIndexes` holds those that the model names itself. What the framework derives from the
// flag
//   (`name`) or from a compound index (`one_two`) is left out, and so are compound indexes that the
//   compiler derives from fetch indexes.
//
// The evidence is in docs/model-format.md, "Indexes".
extension Entity {
  mutating func normalize() {
    attributes.sort { $0.name < $1.name }
    relationships.sort { $0.name < $1.name }
    fetchedProperties.sort { $0.name < $1.name }
    markIndexedAttributes()
    foldDerivedIndexes()
  }

  private mutating func markIndexedAttributes() {
    for index in fetchIndexes where index.elements.count == 1 && index.isPlain {
      for position in attributes.indices
      where attributes[position].name == index.elements[0].propertyName {
        attributes[position].isIndexed = true
      }
    }
  }

  private mutating func foldDerivedIndexes() {
    var named: [FetchIndex] = []
    var compound: [[String]] = []
    for index in fetchIndexes {
      let names = index.elements.compactMap(\.propertyName)
      if index.isPlain && index.name == names.joined(separator: "_") {
        // The flag stands for one of a single attribute.
        if names.count > 1 { compound.append(names) }
      } else {
        named.append(index)
      }
    }
    let covered = named.filter(\.isPlain).map { $0.elements.compactMap(\.propertyName) }
    for names in compoundIndexes where !compound.contains(names) && !covered.contains(names) {
      compound.append(names)
    }
    fetchIndexes = named
    compoundIndexes = compound
  }
}

extension FetchIndex {
  /// Whether it is a plain ascending index of properties, as older models could ask for.
  fileprivate var isPlain: Bool {
    partialPredicate == nil
      && elements.allSatisfy { $0.propertyName != nil && $0.kind == .binary && $0.isAscending }
  }
}

/// The class names that archives spell out though models need not.
enum ClassNames {
  /// The class that an entity names itself, or nil for the default.
  static func own(_ name: String?) -> String? {
    guard let name, !name.isEmpty, name != "NSManagedObject" else { return nil }
    return name
  }

  /// The class of the values of an attribute whose model names none.
  static func ofValues(_ type: AttributeType) -> String? {
    switch type {
    case .integer16, .integer32, .integer64, .double, .float, .boolean: "NSNumber"
    case .decimal: "NSDecimalNumber"
    case .string: "NSString"
    case .date: "NSDate"
    case .binary: "NSData"
    case .uuid: "NSUUID"
    case .uri: "NSURL"
    case .undefined, .transformable, .objectID, .composite: nil
    }
  }
}
