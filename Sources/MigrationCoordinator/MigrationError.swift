package import Mapping
package import ModelFiles
package import ObjectModel
package import Planning
package import Survey
package import SystemPackage

/// Why a migration is not possible or was not finished.
///
/// Faults of a store are `StoreError`s, those of a model file `ModelFileError`s, of places that are
/// written to `PlaceError`s, and of workers and the assembly `WorkError`s.
package enum MigrationError: Error, Sendable {
  /// No version has the hashes that the store's metadata name (Core Data's 134130).
  case sourceModelMissing(store: FilePath, searched: [FilePath], unreadable: [ModelFileError])
  /// The relationship `Entity.relationship` was named for a join table, and is not one of two
  /// inverse to-many relationships of an entity with itself.
  case joinTableUnknown(String)
  /// The text is no expression for an attribute.
  case settingUnreadable(String, ValueSetting.Problem)
  /// No version on the route has an attribute of that name; the target's model.
  case settingUnknown([String], target: ManagedObjectModel)
  /// The store has features that a migration would destroy.
  case unsupported(store: FilePath, [UnsupportedFeature], extras: [ExtraEntry] = [])
  /// The models, the mapping or the data rule the migration out; the losses lack consent, too.
  case impossible(store: FilePath, [Refusal], losses: [Loss] = [])
  /// One of several steps is ruled out; the names of its versions.
  case stepImpossible(
    store: FilePath, from: [String], to: [String], [Refusal], losses: [Loss] = [])
  /// No way leads from the store's version to the target's (Core Data's 134140).
  case routeMissing(
    store: FilePath, [RouteError.Gap], unknown: [MigrationRoute.Unused], infers: Bool)
  /// Mapping models that would have been used, or may have been, cannot be read.
  case mappingsUnreadable([UnreadableMapping])
  /// The versions to go through one by one have no known order.
  case versionOrderUnknown([[String]])
  /// The order names a version that no bundle has.
  case versionNameUnknown(String, available: [String])
  /// The folders hold mapping models, and all are for versions that are not known.
  case noMappingFits([FilePath], [MigrationRoute.Unused])
  /// A mapping model was made for other versions than those of the store and the target.
  case mappingMismatch(FilePath, [MappingMismatch])
  /// A mapping model fits versions, and the way of the migration does not go over them; the names
  /// of the versions that its file names.
  case mappingElsewhere(FilePath, from: [String], to: [String])
  /// Mapping models of one step refer to entities or properties that do not exist.
  case mappingProblems([FilePath], [MappingProblem])
  /// Several mapping models do not make one migration together.
  case mappingSet([MappingSetProblem])
  /// Data would be lost without consent.
  case losses(store: FilePath, LossRefusal)
  /// A choice leaves out rows or values that the model has no place for, and no loss is accepted.
  case extrasForbidden(store: FilePath, [ExtraEntry])
  /// The consent names entities or properties that no version has; the names that were possible.
  case consentUnknown([String], known: [String])
  /// The two models have no entity in common (Core Data's 134100); their hashes.
  case foreignModel(
    store: FilePath, [String: VersionHash], target: [FilePath], [String: VersionHash])
  /// The numbers of rows read, written and lost do not add up.
  case accountsDiffer([AccountMismatch])
  /// The migration was cancelled; the work folder allows to resume it.
  case interrupted(work: FilePath)
}
