package import Mapping
import ObjectMigration
package import ObjectModel
import Schema

/// Data of a store that the result will not have.
package struct Loss: Hashable, Codable, Sendable {
  /// What `count` counts.
  package enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
    /// Objects.
    case entity
    /// Values that are not nil.
    case attribute
    /// References or pairs.
    case relationship
    /// Places in an ordered relationship.
    case order
    /// Rows whose entity, keys or table the model does not know.
    case row
    /// Indexes.
    case index
  }

  /// What is counted.
  package var kind: Kind
  /// Why it is lost, which decides whether consent is required.
  package var cause: LossCause
  /// The source entity; for a row, the root entity of its table, or a table outside of the model.
  package var entity: String
  /// The attribute or relationship, nil if whole objects are lost.
  package var property: String?
  /// How many objects, values, references or rows are lost.
  package var count: Int64
  /// Some of the lowest primary keys of what is lost; empty where they are not known.
  package var keys: [Int64]
  /// The end of the sentence about an index that cannot be made, or about what a choice emptied;
  /// nil where the cause gives it.
  package var reason: String?

  /// Creates a loss, by default of a property or entity that the destination model lacks.
  package init(
    kind: Kind, cause: LossCause = .removed, entity: String, property: String?, count: Int64,
    keys: [Int64] = []
  ) {
    self.kind = kind
    self.cause = cause
    self.entity = entity
    self.property = property
    self.count = count
    self.keys = keys
  }

  /// The name by which consent is given: `Entity` or `Entity.property`.
  package var name: String { property.map { "\(entity).\($0)" } ?? entity }

  /// The name by which consent is given to the loss of all elements of a composite attribute.
  var compositeName: String {
    property.map { "\(entity).\($0.prefix { $0 != "." })" } ?? entity
  }
}

extension Loss {
  /// The loss with the cause that it has where the old store stays.
  var beforeDiscarding: Loss {
    var loss = self
    if cause == .lastCopy { loss.cause = .removed }
    return loss
  }

  /// An index that the result will not have.
  init(_ omission: StoreSchema.Omission) {
    self.init(
      kind: .index, cause: .index, entity: omission.entity, property: omission.index, count: 1)
    reason = omission.reason
  }

  /// The name of persistent history where an entity's is expected.
  package static let historyName = "history"

  /// The name of CloudKit's record metadata where an entity's is expected.
  package static let cloudKitName = "cloudkit"

  /// The maximum number of primary keys that are listed.
  static let keyLimit = FilterSurvey.reportedKeyLimit
}

/// Which losses the user accepts.
package enum LossConsent: Hashable, Codable, Sendable {
  /// No loss beyond what the destination model itself removes.
  case none
  /// Any loss.
  case all
  /// Any loss of these entities (`Entity`) or of these properties (`Entity.property`).
  case some(Set<String>)

  /// Whether this consent accepts a loss.
  package func covers(_ loss: Loss) -> Bool {
    [loss.entity, loss.name, loss.compositeName].contains(where: covers(name:))
  }

  /// Whether this consent names a property with the name of the one that is lost, of any entity.
  func namesProperty(of loss: Loss) -> Bool {
    guard case .some(let names) = self, let property = loss.property else { return false }
    let own = [property, String(property.prefix { $0 != "." })]
    return names.contains { name in
      name.split(separator: ".", maxSplits: 1).dropFirst().contains { own.contains(String($0)) }
    }
  }

  /// Returns this consent with further names.
  func including(_ others: Set<String>) -> LossConsent {
    guard case .some(let names) = self else { return self }
    return .some(names.union(others))
  }

  /// The properties that subentities have by those that this consent names.
  func inheritedNames(in models: [ManagedObjectModel]) -> Set<String> {
    guard case .some(let names) = self else { return [] }
    var result: Set<String> = []
    for name in names {
      let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { continue }
      for model in models {
        for entity in model.family(of: parts[0]).dropFirst() {
          result.insert("\(entity.name).\(parts[1])")
        }
      }
    }
    return result
  }

  /// Whether this consent accepts any loss of that entity or property.
  package func covers(name: String) -> Bool {
    switch self {
    case .none: false
    case .all: true
    case .some(let names): names.contains(name)
    }
  }

  /// Names in this consent that no entity or property of these models has, and the names that were
  /// possible instead: for an unknown property those of its entity.
  package func unknownNames(
    _ models: [ManagedObjectModel]
  ) -> (unknown: [String], known: [String]) {
    guard case .some(let names) = self else { return ([], []) }
    let entities = models.flatMap { model in model.entities.map { (model, $0) } }
    func members(name: String) -> [String] {
      entities.filter { $1.name == name }.flatMap { model, entity in
        var members = model.allAttributes(of: entity).map(\.name)
        members += model.allLeafAttributes(of: entity).map(\.name)
        members += model.allRelationships(of: entity).map(\.name)
        members += entity.fetchIndexes.map(\.name)
        members += entity.compoundIndexes.map { $0.joined(separator: "_") }
        return members.map { "\(name).\($0)" }
      }
    }
    var unknown: [String] = []
    var known: Set<String> = []
    for given in names.sorted() where ![Loss.historyName, Loss.cloudKitName].contains(given) {
      // `cloudkit.Entity` are the records of that entity's objects.
      let prefix = "\(Loss.cloudKitName)."
      let name = given.hasPrefix(prefix) ? String(given.dropFirst(prefix.count)) : given
      let entity = name.split(separator: ".", maxSplits: 1).first.map(String.init) ?? name
      let properties = members(name: entity)
      let isEntity = entities.contains { $1.name == entity }
      if name == entity ? isEntity : properties.contains(name) { continue }
      unknown.append(given)
      known.formUnion(isEntity ? properties : entities.map(\.1.name))
    }
    return (unknown, known.sorted())
  }
}

/// The losses that prevent a migration.
package struct LossRefusal: Hashable, Sendable {
  /// All losses, including accepted ones.
  package var losses: [Loss]
  /// The losses that are not accepted.
  package var refused: [Loss]
  /// Whether the request forbids even losses that the destination model implies.
  package var isForbidden: Bool
  /// Whether none of the losses would need consent if the request did not forbid them.
  package var isImplied: Bool
  /// If losses come from a detour over other versions: why the direct step cannot be inferred.
  package var directRefusals: [Refusal] = []
  /// The paths of the mapping models by which the way goes.
  package var mappings: [String] = []
  /// Whether a migration version by version keeps some of what the mapping models leave out.
  package var versionsBetweenKeep = false
}

/// Why a loss was allowed.
package enum LossGround: String, Hashable, Codable, Sendable, CaseIterable {
  /// `--allow-loss` names its entity or property.
  case named
  /// `--allow-loss` without a name allows any loss.
  case anything
  /// A choice about values, duplicates, several objects or history implies it.
  case choice
  /// The new model lacks what is lost, which needs no consent.
  case model
}
