import Mapping
import MappingFiles
import MigrationCoordinator
import ModelFiles
import ObjectMigration
import ObjectModel
import PageEngine
import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

/// The facts of an error besides its sentences.
struct FailureFacts {
  /// nil if the exit status determines it.
  var kind: MigrationFailure.Kind?
  var file: FilePath?
  var reasons: [MigrationFailure.Reason] = []

  init(_ error: any Error) {
    switch error {
    case let error as MigrationError: take(error)
    case let error as StoreError:
      file = error.store
    case let error as SourceDamage: file = error.store
    case let error as SalvageableDamage: self = FailureFacts(error.damage)
    case let error as ModelFileError: file = error.file
    case let error as MappingFileError: file = error.file
    case let error as PageError: file = error.file
    case let error as SystemCallError: take(error.errno, at: error.path)
    case let error as Errno: take(error, at: nil)
    case let error as ObjectMigrationError:
      kind = .init(error.problem)
      reasons = error.violations.map { .init($0) }
    default: break
    }
  }

  private mutating func take(_ errno: Errno, at path: FilePath?) {
    file = path
    switch errno {
    case .fileExists, .notDirectory, .isDirectory: kind = .fileExists
    default: break
    }
  }

  private mutating func take(_ error: MigrationError) {
    switch error {
    case .sourceModelMissing(let store, _, _): (kind, file) = (.sourceModelMissing, store)
    case .unsupported(let store, let features, let extras):
      (kind, file) = (.storeUnsupported, store)
      reasons = features.map { .init($0) } + extras.map { .init($0) }
    case .impossible(let store, let found), .stepImpossible(let store, _, _, let found):
      (kind, file, reasons) = (.notMigratable, store, found.map { .init($0) })
    case .routeMissing(let store, let gaps, _, _):
      (kind, file) = (.mappingModelMissing, store)
      reasons = gaps.flatMap(\.refusals).map { .init($0) }
    case .mappingMismatch(let path, let mismatches):
      (kind, file) = (.mappingModelUnusable, path)
      reasons = mismatches.map { .init(mapping: $0.sentence, entity: $0.entity) }
    case .mappingElsewhere(let path, _, _): (kind, file) = (.mappingModelUnusable, path)
    case .mappingProblems(let files, let problems):
      (kind, file) = (.mappingModelUnusable, files.first)
      reasons = problems.map { .init(mapping: $0.sentence, property: $0.property) }
    case .mappingSet(let problems):
      kind = .mappingModelUnusable
      reasons = problems.map { .init(mapping: $0.sentence) }
    case .mappingsUnreadable(let files): (kind, file) = (.mappingModelUnusable, files.first?.path)
    case .noMappingFits: kind = .mappingModelUnusable
    case .losses(let store, let refusal):
      (kind, file) = (.lossRefused, store)
      reasons = refusal.refused.map { .init(StoreMigration.Loss($0)) }
    case .foreignModel(let store, _, _, _): (kind, file) = (.modelsUnrelated, store)
    case .alreadyRunning(let store, _): file = store
    case .outputExists(let path): (kind, file) = (.fileExists, path)
    case .workFolderForeign(let path, _): (kind, file) = (.fileExists, path)
    case .nameTooLong(let path, _): file = path
    case .keptListUnreadable(let path), .keptChanged(let path): (kind, file) = (.fileExists, path)
    case .otherRun(let work, _): (kind, file) = (.otherRun, work)
    case .nothingKept(let store, _): (kind, file) = (.fileNotFound, store)
    case .keptMissing(let path, _), .keptUnlisted(_, let path):
      (kind, file) = (.fileNotFound, path)
    case .folderNotWritable(let path, _): file = path
    case .diskFull(let shortages):
      file = shortages.first?.path
      reasons = shortages.map { .init($0) }
    case .manifestForeign(let path), .manifestUnreadable(let path), .shardUnseen(let path):
      file = path
    case .settingUnreadable, .settingUnknown: break
    case .workOrderFailed(_, _, .failed(let failure)):
      (kind, file) = (.init(rawValue: failure.kind), failure.file.map { FilePath($0) })
    case .joinTableUnknown, .versionOrderUnknown, .versionNameUnknown, .consentUnknown,
      .accountsDiffer, .workOrderFailed, .workerNotStarted, .workerForeign, .workersDoubled,
      .outputEndless, .verificationFailed, .resultDamaged, .interrupted:
      break
    }
  }
}

extension MigrationFailure.Kind {
  fileprivate init?(_ problem: ObjectMigrationError.Problem) {
    switch problem {
    case .policiesNotRegistered, .policyFailed, .notAssociated, .notIndependent, .cancelled:
      self = .policyFailed
    case .invalid, .notUnique: self = .objectsInvalid
    default: return nil
    }
  }
}

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
    if let loss = Loss(refusal) {
      self.init(StoreMigration.Loss(loss))
      (coreDataCode, description) = (refusal.code.rawValue, refusal.sentence)
      return
    }
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
      case .derivationCannotBeComputed: .derivationNotComputed
      case .triggerCannotBeKept(let name): .triggerNotKept(name)
      case .storedFormUnknown(let form): .storedFormUnknown(form)
      case .renamingAmbiguous(let identifier, let sources, let destinations):
        .renamingAmbiguous(
          identifier: identifier, sources: sources, destinations: destinations)
      case .relationshipForm: .relationshipForm
      case .condition(let demand, _, _): .init(demand)
      case .externalFiles(.missing, _, _, let names): .externalFilesMissing(names)
      case .externalFiles(_, _, _, let names): .externalFilesUnreadable(names)
      case .mirroring: .cloudKit
      case .loss: .mapping
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
