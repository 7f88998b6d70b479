import Mapping
import ObjectModel
import Survey

/// What is done about what is wrong with a store before it is migrated.
package struct DefectChoices: Hashable, Codable, Sendable {
  /// What is done about objects that a uniqueness constraint forbids.
  package enum Duplicates: String, Hashable, Codable, Sendable, CaseIterable {
    /// They are refused.
    case fail
    /// Of objects that agree, the one with the lowest key stays.
    case keepFirst = "keep-first"
    /// Of objects that agree, the one with the highest key stays.
    case keepLast = "keep-last"
    /// Of objects that agree, the one with the lowest key stays, and references to the others lead
    /// to it.
    case merge
  }

  /// What is done about references to objects that are not there.
  package enum Dangling: String, Hashable, Codable, Sendable, CaseIterable {
    /// They are carried over as they are, as Core Data does.
    case keep
    /// They are refused.
    case fail
    /// They become nil.
    case nullify
  }

  /// What is done about values that the new type has no equal for.
  package enum Values: String, Hashable, Codable, Sendable, CaseIterable {
    /// They are refused.
    case fail
    /// They become the nearest value, where there is one.
    case convert
    /// They become nil, or the default value where the attribute is mandatory.
    case null
  }

  /// What is done about objects that have several objects in a relationship that is to-one now.
  package enum Many: String, Hashable, Codable, Sendable, CaseIterable {
    /// They are refused.
    case fail
    /// The first object stays, by its place or its key; references to the others are given up.
    case first
  }

  /// What is done about objects that would lack a mandatory to-one relationship.
  package enum Missing: String, Hashable, Codable, Sendable, CaseIterable {
    /// They are refused.
    case fail
    /// They are dropped, which is a loss that needs consent.
    case drop
  }

  /// What is done about objects that a uniqueness constraint forbids.
  package var duplicates = Duplicates.fail
  /// What is done about references to objects that are not there.
  package var dangling = Dangling.keep
  /// What is done about values that the new type has no equal for.
  package var values = Values.fail
  /// What is done about objects that would lack a mandatory to-one relationship.
  package var missing = Missing.fail
  /// What is done about objects that have several objects in a relationship that is to-one now.
  package var many = Many.fail

  /// Refuses what cannot be migrated, and keeps the rest as it is.
  package init() {}

  // The names of the tool's options, without the `on-` of all of them.
  private enum CodingKeys: String, CodingKey {
    case duplicates = "duplicate"
    case dangling
    case values = "value"
    case missing, many
  }

  /// Whether a store with defects is first repaired in a copy.
  var repairsDefects: Bool { dangling == .nullify || asksDemands }

  /// Whether the repair depends on the conditions of the steps.
  var asksDemands: Bool {
    duplicates != .fail || values == .null || missing == .drop || many == .first
  }

  /// The options that change or remove rows beforehand.
  var repairOptions: [MigrationChoice] {
    var found: [MigrationChoice] = []
    if duplicates != .fail { found.append(.init(.onDuplicate, duplicates.rawValue)) }
    if dangling == .nullify { found.append(.init(.onDangling, dangling.rawValue)) }
    if values == .null { found.append(.init(.onValue, values.rawValue)) }
    if missing == .drop { found.append(.init(.onMissing, missing.rawValue)) }
    if many == .first { found.append(.init(.onMany, many.rawValue)) }
    return found
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
    /// Objects would lack a mandatory to-one relationship.
    case missingReference
    /// Objects have several objects in a relationship that is to-one now.
    case severalObjects
    /// References led to an object that was removed: a duplicate, or one without a mandatory
    /// relationship.
    case removedTarget
    /// The entity numbers next to references are of no entity that the relationship can lead to.
    case unknownReference
    /// References of one-to-one relationships lead to objects that lead elsewhere.
    case oneSided
    /// Places in ordered relationships are missing, taken twice or no whole numbers.
    case order
    /// A mandatory attribute has no value, or a mandatory to-one relationship leads nowhere.
    case missingValue
    /// Values, or the number of objects in a relationship, break another rule of the store's own
    /// model.
    case brokenRule
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
    /// References lead to the object that stays of several duplicates.
    case merged
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
  /// Of references to removed objects: why these were removed; else nil.
  var targetCause: LossCause?
  /// Whether objects of the entity are dropped for another cause, and what is wrong with them goes
  /// with them; nil where none is.
  package var someObjectsGo: Bool?
}

extension Defect {
  /// The defect, marked where losses drop objects of its entity for another cause.
  ///
  /// - Parameter model: the model of the store that it was found in.
  func beside(_ losses: [Loss], model: ManagedObjectModel) -> Defect {
    let drops = losses.contains {
      $0.kind == .entity && $0.property == nil && model.isKind($0.entity, of: entity)
    }
    var result = self
    if drops, fate != .removed { result.someObjectsGo = true }
    return result
  }
}

extension [Defect] {
  /// Returns these defects and those of others that are of another kind or place.
  func completed(by others: [Defect]) -> [Defect] {
    let known = Set(map { [$0.kind.rawValue, $0.entity, $0.property] })
    return self + others.filter { !known.contains([$0.kind.rawValue, $0.entity, $0.property]) }
  }
}

extension Defect {
  /// What objects broke before, and break in the result as well.
  init(_ standing: StandingViolation) {
    self.init(
      kind: standing.place.rule == .mandatory ? .missingValue : .brokenRule,
      entity: standing.place.entity, property: standing.place.property, count: standing.count,
      keys: standing.keys, fate: .kept)
  }
}

extension Defect {
  /// The cause by which removed objects are accounted for; nil where none was removed.
  var dropCause: LossCause? {
    guard fate == .removed else { return nil }
    return switch kind {
    case .duplicate: .duplicate
    case .missingReference: .missingReference
    default: nil
    }
  }
}

extension Loss {
  /// The objects that a choice dropped for lack of a mandatory relationship, one loss per entity;
  /// consent is required.
  static func dropped(by repaired: [Defect]) -> [Loss] {
    repaired.filter { $0.dropCause == .missingReference }.flatMap { defect in
      defect.removed.sorted { $0.key < $1.key }.map { entity, count in
        Loss(
          kind: .entity, cause: .missingReference, entity: entity, property: nil, count: count,
          keys: defect.removed.count > 1 ? [] : Array(defect.keys.prefix(Loss.keyLimit)))
      }
    }
  }

  /// What choices removed that is listed with the defects: objects that agree with another one,
  /// values that became nil, and references with the number of an entity that cannot be there.
  static func chosen(in repaired: [Defect]) -> [Loss] {
    repaired.flatMap { defect -> [Loss] in
      switch (defect.kind, defect.fate) {
      case (.duplicate, .removed):
        defect.removed.sorted { $0.key < $1.key }.map { entity, count in
          Loss(kind: .entity, cause: .duplicate, entity: entity, property: nil, count: count)
        }
      case (.value, .nullified):
        [
          Loss(
            defect, kind: .attribute, cause: .conversion,
            reason: "changed to nil or the default value, for lack of an equal one in the new type")
        ]
      case (.missingFile, .nullified):
        [
          Loss(
            defect, kind: .attribute, cause: .conversion,
            reason: "nil or the default value, since the external files are missing")
        ]
      case (.unknownReference, .nullified):
        [
          Loss(
            defect, kind: .relationship, cause: .unknownReference,
            reason: "nil, since the relationship cannot lead to the entity whose number is next to "
              + "the key")
        ]
      default: []
      }
    }
  }

  /// The rows of a table that a choice leaves out.
  init(table: String, rows: Int64) {
    self.init(kind: .row, cause: .outsideModel, entity: table, property: nil, count: rows)
  }

  /// The values of a column that a choice leaves out.
  ///
  /// - Parameter column: the column as `TABLE.COLUMN`.
  init(column: String, values: Int64) {
    let parts = column.split(separator: ".", maxSplits: 1).map(String.init)
    self.init(
      kind: .attribute, cause: .outsideModel, entity: parts.first ?? column,
      property: parts.dropFirst().first, count: values)
  }

  /// What a choice leaves out of a store's tables and columns that its model does not have.
  static func leftOut(_ extras: [ExtraEntry]) -> [Loss] {
    extras.filter { $0.rows > 0 }.compactMap { extra in
      switch extra.kind {
      case .table, .virtualTable: Loss(table: extra.name, rows: extra.rows)
      case .column: Loss(column: extra.name, values: extra.rows)
      case .generatedColumn, .view, .trigger, .index: nil
      }
    }
  }

  private init(_ defect: Defect, kind: Kind, cause: LossCause, reason: String? = nil) {
    self.init(
      kind: kind, cause: cause, entity: defect.entity, property: defect.property,
      count: defect.count, keys: Array(defect.keys.prefix(Loss.keyLimit)))
    self.reason = reason
  }
}
