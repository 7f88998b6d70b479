import Expressions
import ObjectModel

// Sources, compiled models and model caches describe equal indexes differently. All readers produce
// this form, so that models from different files can be compared:
//
// - Properties are sorted by name; archives keep them in hash order.
// - An attribute is indexed if it has the flag or is the only element of a fetch index: the model
//   compiler sets the flag for those.
// - `fetchIndexes` has those that the model names itself. Indexes that the framework derives from
//   the flag (`name`) or from a compound index (`one_two`) are left out, and so are the compound
//   indexes that the compiler derives from fetch indexes.
//
// The evidence is in docs/reference/model-format.md, "Indexes".
extension Entity {
  /// Brings properties and indexes into the form described above.
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
        // The attribute's flag already has the same meaning for a single one.
        if names.count > 1 { compound.append(names) }
      } else {
        named.append(index)
      }
    }
    let covered = named.map { $0.elements.compactMap(\.compoundName) }
    for names in compoundIndexes where !compound.contains(names) && !covered.contains(names) {
      compound.append(names)
    }
    fetchIndexes = named
    compoundIndexes = compound
  }
}

extension FetchIndex {
  /// Whether it is an ascending index of properties without a predicate, as older models could
  /// have.
  fileprivate var isPlain: Bool {
    partialPredicate == nil
      && elements.allSatisfy { $0.propertyName != nil && $0.kind == .binary && $0.isAscending }
  }
}

extension FetchIndex.Element {
  /// What a compound index, which knows no order and no condition, calls it.
  fileprivate var compoundName: String? {
    switch expression {
    case nil: propertyName
    case .evaluatedObject?: "self"
    case .keyPath(operand: nil, let path)?: path
    default: nil
    }
  }
}

/// Class names that archives have and model sources may leave out.
enum ClassNames {
  /// The class of an entity, nil for `NSManagedObject`.
  static func own(_ name: String?) -> String? {
    guard let name, !name.isEmpty, name != "NSManagedObject" else { return nil }
    return name
  }
}
