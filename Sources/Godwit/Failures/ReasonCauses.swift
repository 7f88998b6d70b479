import Mapping
import MigrationCoordinator
import ObjectModel
import Survey

extension MigrationFailure.Reason {
  init(_ feature: UnsupportedFeature) {
    let known: Feature =
      switch feature {
      case .persistentHistory: .persistentHistory
      case .deferredMigration: .deferredMigration
      case .historyOfOtherModel: .historyOfOtherModel
      case .cloudKitMirroring: .cloudKitMirroring
      }
    self.init(cause: .unsupported(known), description: feature.sentence)
  }

  init(_ extra: ExtraEntry) {
    self.init(
      cause: .unsupported(.extraTables), count: extra.rows > 0 ? extra.rows : nil,
      advice: extra.explanation.advice, description: extra.sentence)
  }

  init(_ loss: StoreMigration.Loss) {
    self.init(
      cause: .loss(loss), entity: loss.entity, property: loss.property, count: loss.count,
      keys: loss.keys, advice: loss.advice,
      description: loss.description)
  }

  /// A loss without consent, listed with refusals.
  init(refused loss: Loss) {
    self.init(StoreMigration.Loss(loss))
    coreDataCode = CoreDataCode.migration.rawValue
    description = loss.codedSentence
  }

  init(_ core: Violation) {
    let violation = StoreMigration.Violation(core)
    self.init(
      cause: .violation(violation), entity: core.entity, property: core.property, count: 1,
      keys: [core.key], coreDataCode: core.code, description: violation.description)
  }

  init(_ shortage: DiskShortage) {
    self.init(
      cause: .diskShortage(needed: shortage.needed, available: shortage.available),
      description: shortage.sentence)
  }

  init(_ refusal: Refusal) {
    self.init(
      cause: .init(refusal.reason), entity: refusal.entity, property: refusal.property,
      coreDataCode: refusal.code.rawValue, advice: refusal.explanation.advice,
      description: refusal.sentence)
    switch refusal.reason {
    case .condition(_, let count, let keys), .externalFiles(_, let count, let keys, _):
      (self.count, self.keys) = (count, keys)
    default: break
    }
  }

  init(mapping sentence: String, entity: String? = nil, property: String? = nil) {
    self.init(
      cause: .mapping, entity: entity, property: property, coreDataCode: 134140,
      description: sentence)
  }
}

extension MigrationFailure.Reason.Cause {
  fileprivate init(_ reason: Refusal.Reason) {
    self =
      switch reason {
      case .incompatibleTypes(let source, let destination):
        .incompatibleTypes(source: source, destination: destination)
      case .attributeBecameRelationship: .attributeBecameRelationship
      case .relationshipBecameAttribute: .relationshipBecameAttribute
      case .destinationEntityChanged(let source, let destination):
        .destinationEntityChanged(source: source, destination: destination)
      case .hierarchiesMerged(let roots): .hierarchiesMerged(roots: roots)
      case .derivationCannotBeComputed, .derivedValueNotKept: .derivationNotComputed
      case .triggerCannotBeKept(let name): .triggerNotKept(name)
      case .storedFormUnknown(let form): .storedFormUnknown(form)
      case .renamingAmbiguous(let identifier, let sources, let destinations):
        .renamingAmbiguous(
          identifier: identifier, sources: sources, destinations: destinations)
      case .tableTooWide(let columns): .tableTooWide(columns: columns)
      case .tableNameTaken(let table, let owners): .tableNameTaken(table, by: owners)
      case .relationshipForm: .relationshipForm
      case .condition(let demand, _, _): .init(demand)
      case .externalFiles(.missing, _, _, let names): .externalFilesMissing(names)
      case .externalFiles(.shared, _, _, let names): .externalFilesShared(names)
      case .externalFiles(.foreign, _, _, let names), .externalFiles(.unreadable, _, _, let names):
        .externalFilesUnreadable(names)
      case .mirroring: .cloudKit
      }
  }

  fileprivate init(_ demand: Condition.Demand) {
    self =
      switch demand {
      case .noObjects, .noObjectsLeftNil: .mandatoryWithoutDefault
      case .noObjectsForDefault(let form): .defaultNotStorable(form)
      case .noObjectsOfAbstract: .entityBecameAbstract
      case .noMissingValues: .valuesMissing
      case .noMissingReferences: .referencesMissing
      case .valuesFit(_, let type): .valuesDoNotFit(type: type)
      case .unique(let properties), .defaultsDiffer(let properties, _):
        .notUnique(properties: properties)
      case .singleObject: .toManyBecameToOne
      case .singleOwner(let relationship): .ownerShared(relationship: relationship)
      }
  }
}
