import Mapping
import MigrationCoordinator

extension StoreMigration {
  /// Data of a store that the result will not have.
  public struct Loss: Hashable, Sendable, Codable, CustomStringConvertible {
    /// What is lost.
    public enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
      /// Objects.
      case entity
      /// Values that are not nil.
      case attribute
      /// References of a relationship.
      case relationship
      /// Places in an ordered relationship.
      case order
      /// Rows whose entity or keys the model does not know.
      case row
      /// Indexes.
      case index
    }

    /// Why it is lost.
    public enum Cause: String, Hashable, Sendable, Codable, CaseIterable {
      /// The new model does not have the entity or property.
      case removed
      /// No mapping's filter predicate accepts the objects.
      case filter
      /// A policy makes no object from them.
      case policy
      /// The new model has the entity, and no mapping migrates its objects.
      case unmappedEntity
      /// The new model has the entity, and the chosen configuration leaves it out.
      case outsideConfiguration
      /// The new model has the property, and no mapping reads it.
      case unmappedProperty
      /// Mappings make objects of other pairs of the relationship, and of none of these.
      case unmappedPair
      /// The new model has the ordered relationship, and mappings read its inverse alone.
      case order
      /// The objects that references lead to become ones that the relationship cannot hold.
      case elsewhere
      /// Several references come to one place, and one of them stays.
      case collision
      /// Values change in the new type.
      case conversion
      /// The rows belong to no entity of the store's model.
      case unknownEntity
      /// The store's model does not have the table or column, and `extraTables` leaves it out.
      case outsideModel
      /// The entity numbers next to references are of no entity that the relationship can lead to.
      case unknownReference
      /// The references lead to objects that are not there, and `danglingReferences` refuses them.
      case dangling
      /// The objects duplicate one that stays, by `duplicates`.
      case duplicate
      /// The objects would lack a mandatory to-one relationship, by `missingReferences`.
      case missingReference
      /// A relationship is to-one now and keeps the first object, by `severalObjects`.
      case severalObjects
      /// The rows of a join table lack one of their two keys.
      case missingKey
      /// Persistent history is dropped, and tokens of it expire.
      case history
      /// The new model requires an index in a form that only Core Data can make.
      case index
      /// Rows of CloudKit's record metadata are dropped, whose entity the new model lacks.
      case cloudKit
      /// The new model removes everything that the store contains.
      case allObjects
      /// A version on the way lacks what the versions at both ends have.
      case detour
      /// An older version lacks what the store has.
      case downgrade
      /// The new model removes it, and the store that has it is removed too.
      case lastCopy
    }

    /// What is lost.
    public var kind: Kind
    /// Why it is lost.
    public var cause: Cause
    /// The entity, by its name in the store; the table of a loss with the cause `outsideModel`.
    public var entity: String
    /// The property, nil if whole objects or rows are lost.
    public var property: String?
    /// How many objects, values, references or rows are lost.
    public var count: Int64
    /// Some of the lowest primary keys (`Z_PK`) of what is lost; empty where they are not known.
    public var keys: [Int64]
    /// The end of the sentence about an index that cannot be made, or about what a choice emptied;
    /// nil where the cause gives it.
    public var reason: String?

    /// The name in ``StoreMigration/AllowedLoss``: `Entity` or `Entity.property`.
    public var name: String { property.map { "\(entity).\($0)" } ?? entity }

    /// The loss and its cause, as a sentence.
    public var description: String { core.sentence }

    /// How to permit the loss, or what else to choose.
    var advice: String {
      cause == .dangling
        ? "use \(choice: .onDangling(.keep)) or \(value: StoreMigration.DanglingChoice.nullify)"
        : "use \(option: .allowLoss, name) if it may be lost"
    }

    init(_ core: MigrationCoordinator.Loss) {
      kind = Kind(mirroring: core.kind)
      cause = Cause(core.cause)
      (entity, property, count, keys) = (core.entity, core.property, core.count, core.keys)
      reason = core.reason
    }

    private var core: MigrationCoordinator.Loss {
      var core = MigrationCoordinator.Loss(
        kind: .init(mirroring: kind),
        cause: .init(mirroring: cause), entity: entity, property: property,
        count: count, keys: keys)
      core.reason = reason
      return core
    }
  }

  /// The objects of one source entity; `objectsIn` is `objectsOut` plus all of `dropped`.
  public struct Account: Hashable, Sendable {
    /// The entity, by its name in the store.
    public var entity: String
    /// Objects in the store.
    public var objectsIn: Int64
    /// Those from which at least one object of the result was made.
    public var objectsOut: Int64
    /// The others, by cause.
    public var dropped: [Loss.Cause: Int64]
    /// The number of the stage, from 1.
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
      case .outsideConfiguration: .outsideConfiguration
      case .unmappedProperty: .unmappedProperty
      case .unmappedPair: .unmappedPair
      case .order: .order
      case .elsewhere: .elsewhere
      case .collision: .collision
      case .conversion: .conversion
      case .unknownEntity: .unknownEntity
      case .outsideModel: .outsideModel
      case .unknownReference: .unknownReference
      case .dangling: .dangling
      case .duplicate: .duplicate
      case .missingReference: .missingReference
      case .severalObjects: .severalObjects
      case .missingKey: .missingKey
      case .history: .history
      case .index: .index
      case .cloudKit: .cloudKit
      case .allObjects: .allObjects
      case .detour: .detour
      case .downgrade: .downgrade
      case .lastCopy: .lastCopy
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
