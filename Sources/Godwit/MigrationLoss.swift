import Mapping
import MigrationCoordinator

extension StoreMigration {
  /// Data of a store that have no place in the result.
  public struct Loss: Hashable, Sendable, Codable, CustomStringConvertible {
    /// What is lost.
    public enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
      /// Objects.
      case entity
      /// Values that are not nil.
      case attribute
      /// References of a relationship.
      case relationship
      /// Rows that stand for nothing that the model knows.
      case row
    }

    /// Why it is lost.
    public enum Cause: String, Hashable, Sendable, Codable, CaseIterable {
      /// The new model has no such entity or property any more.
      case removed
      /// No mapping's filter takes the objects.
      case filter
      /// A policy makes nothing of the objects.
      case policy
      /// The new model has the entity, and no mapping takes its objects.
      case unmappedEntity
      /// The new model has the property, and no mapping reads it.
      case unmappedProperty
      /// The values become others that are less.
      case conversion
      /// The rows are of no entity of the store's model.
      case unknownEntity
      /// The rows of a join table lack one of their two keys.
      case missingKey
      /// The new model removes everything that the store holds.
      case allObjects
      /// A version on the way lacks what both ends of the way have.
      case detour
      /// An older version lacks what the store has.
      case downgrade
      /// The new model removes it, and the store that has it is removed as well.
      case lastCopy
    }

    /// What is lost.
    public var kind: Kind
    /// Why it is lost.
    public var cause: Cause
    /// The entity, by the name that it has in the store.
    public var entity: String
    /// The property, unless whole objects or rows are lost.
    public var property: String?
    /// How many objects, values, references or rows.
    public var count: Int64
    /// Some keys (`Z_PK`) of what is lost, the lowest first, where they are known.
    public var keys: [Int64]

    /// What `AllowedLoss.some` calls it: `Entity` or `Entity.property`.
    public var name: String { property.map { "\(entity).\($0)" } ?? entity }

    /// One sentence for people.
    public var description: String { core.sentence }

    init(_ core: MigrationCoordinator.Loss) {
      kind = Kind(rawValue: core.kind.rawValue) ?? .row
      cause = Cause(core.cause)
      (entity, property, count, keys) = (core.entity, core.property, core.count, core.keys)
    }

    private var core: MigrationCoordinator.Loss {
      MigrationCoordinator.Loss(
        kind: .init(rawValue: kind.rawValue) ?? .row,
        cause: .init(rawValue: cause.rawValue) ?? .removed, entity: entity, property: property,
        count: count, keys: keys)
    }
  }

  /// Where the objects of one source entity went; those in are those out and those dropped.
  public struct Account: Hashable, Sendable {
    /// The entity, by the name that it has in the store.
    public var entity: String
    /// Objects that the store had.
    public var objectsIn: Int64
    /// Of those, the ones of which something was made.
    public var objectsOut: Int64
    /// Objects dropped, by cause.
    public var dropped: [Loss.Cause: Int64]
    /// Which stage of the migration it is of, from 1, where the store goes over others.
    public var stage: Int
  }
}

extension StoreMigration.Loss.Cause {
  init(_ core: LossCause) {
    self =
      switch core {
      case .removed: .removed
      case .filter: .filter
      case .policy: .policy
      case .unmappedEntity: .unmappedEntity
      case .unmappedProperty: .unmappedProperty
      case .conversion: .conversion
      case .unknownEntity: .unknownEntity
      case .missingKey: .missingKey
      case .allObjects: .allObjects
      case .detour: .detour
      case .downgrade: .downgrade
      case .lastCopy: .lastCopy
      }
  }
}

extension StoreMigration.AllowedLoss {
  var consent: LossConsent {
    switch self {
    case .none: .none
    case .all: .all
    case .some(let names): .some(names)
    }
  }
}

extension [StoreMigration.Account] {
  init(_ stages: [StageAccounts]) {
    self = stages.flatMap { stage in
      stage.entities.map { entity in
        StoreMigration.Account(
          entity: entity.entity, objectsIn: entity.rowsIn, objectsOut: entity.rowsOut,
          dropped: Dictionary(
            entity.dropped.map { (.init($0.cause), $0.objects) }, uniquingKeysWith: +),
          stage: stage.stage)
      }
    }
  }
}
