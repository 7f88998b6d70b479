/// What is done about what is wrong with a store before it is migrated.
package struct DefectChoices: Hashable, Sendable {
  /// What is done about objects that a uniqueness constraint forbids.
  package enum Duplicates: String, Sendable, CaseIterable {
    /// They are refused.
    case fail
    /// Of objects that agree, the one with the lowest key stays.
    case keepFirst = "keep-first"
    /// Of objects that agree, the one with the highest key stays.
    case keepLast = "keep-last"
  }

  /// What is done about references to objects that are not there.
  package enum Dangling: String, Sendable, CaseIterable {
    /// They are carried over as they are, as Core Data does.
    case keep
    /// They are refused.
    case fail
    /// They become nil.
    case nullify
  }

  /// What is done about values that the new type has no equal for.
  package enum Values: String, Sendable, CaseIterable {
    /// They are refused.
    case fail
    /// They become the nearest value, where there is one.
    case convert
    /// They become nil, or the default value where the attribute is mandatory.
    case null
  }

  /// What is done about objects that a uniqueness constraint forbids.
  package var duplicates = Duplicates.fail
  /// What is done about references to objects that are not there.
  package var dangling = Dangling.keep
  /// What is done about values that the new type has no equal for.
  package var values = Values.fail

  /// Refuses what cannot be migrated, and keeps the rest as it is.
  package init() {}

  /// Whether a store with defects is mended in a copy first.
  var mends: Bool { duplicates != .fail || dangling == .nullify || values == .null }

  /// The options that change or remove rows beforehand.
  var mendingOptions: [String] {
    var found: [String] = []
    if duplicates != .fail { found.append("--on-duplicate \(duplicates.rawValue)") }
    if dangling == .nullify { found.append("--on-dangling nullify") }
    if values == .null { found.append("--on-value null") }
    return found
  }

  /// The choices as the options of the tool, by name.
  var options: [String: String] {
    [
      "--on-duplicate": duplicates == .fail ? "" : duplicates.rawValue,
      "--on-dangling": dangling == .keep ? "" : dangling.rawValue,
      "--on-value": values == .fail ? "" : values.rawValue,
    ]
  }

  /// Takes a choice by the option of the tool; false where there is no such option or word.
  mutating func take(_ option: String, _ word: String) -> Bool {
    switch option {
    case "--on-duplicate": Duplicates(rawValue: word).map { duplicates = $0 } != nil
    case "--on-dangling": Dangling(rawValue: word).map { dangling = $0 } != nil
    case "--on-value": Values(rawValue: word).map { values = $0 } != nil
    default: false
    }
  }
}

/// Something that is wrong with rows of a store, and what became of them.
package struct Defect: Hashable, Codable, Sendable {
  /// What is wrong.
  package enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
    /// Other objects agree in the attributes of a uniqueness constraint.
    case duplicate
    /// References lead to objects that are not there.
    case dangling
    /// References led to an object that was removed as a duplicate.
    case removedTarget
    /// The entity numbers beside references are of no entity that the relationship leads to.
    case unknownReference
    /// References of one-to-one relationships lead to objects that lead elsewhere.
    case oneSided
    /// Places in ordered relationships are missing, taken twice or no whole numbers.
    case order
    /// A mandatory attribute has no value.
    case missingValue
    /// Values have no equal in the new type.
    case value
    /// The external files of values are not there.
    case missingFile
  }

  /// What becomes of it in the new store.
  package enum Fate: String, Hashable, Codable, Sendable, CaseIterable {
    /// It is as it was.
    case kept
    /// Values or references become nil.
    case nullified
    /// Objects or pairs are not in the new store.
    case removed
    /// Objects were made one by one, so that both ends of a relationship agree.
    case aligned
    /// Objects were made one by one, with new places in the order that there was.
    case renumbered
  }

  /// What is wrong.
  package var kind: Kind
  /// The entity that declares the property.
  package var entity: String
  /// The property; several of one constraint have commas between them.
  package var property: String
  /// How many rows.
  package var count: Int64
  /// Their primary keys, the lowest first: all of those that a choice touched, some of others.
  package var keys: [Int64]
  /// What becomes of it.
  package var fate: Fate
  /// The number of the stage in whose store it is, from 1.
  package var stage = 1
  /// Removed objects, by the entity that they are of.
  var removed: [String: Int64] = [:]
}
