package import Mapping
package import ModelFiles
package import ObjectModel
package import Planning
package import Survey
package import SystemPackage

/// Why a migration did not happen or did not end.
///
/// A fault of one store is a `StoreError`, one of a model's file a `ModelFileError`; these are the
/// faults that lie between them.
package enum MigrationError: Error, Sendable {
  /// No version has the hashes that the store's metadata name (Core Data's 134130).
  case sourceModelMissing(store: FilePath, searched: [FilePath], unreadable: [ModelFileError])
  /// `Entity.relationship` is none of two that join an entity with itself, of which one names the
  /// table.
  case joinTableUnknown(String)
  /// The store holds what migrating would destroy.
  case unsupported(store: FilePath, [UnsupportedFeature])
  case impossible(store: FilePath, [Refusal])
  /// A step of several cannot be done; the names of its versions.
  case stepImpossible(store: FilePath, from: [String], to: [String], [Refusal])
  /// No way leads from the store's version to the target's (Core Data's 134140).
  case routeMissing(
    store: FilePath, [RouteError.Gap], unknown: [MigrationRoute.Unused], infers: Bool)
  /// Mapping models that would have been used, or may have been, cannot be read.
  case mappingsUnreadable([UnreadableMapping])
  /// Nothing tells the order of the versions that were to be gone through one by one.
  case versionOrderUnknown([[String]])
  /// The order names a version that no bundle has.
  case versionNameUnknown(String, available: [String])
  /// The folders hold mapping models, and all are for versions that are not known.
  case noMappingFits([FilePath], [MigrationRoute.Unused])
  /// A mapping model was made for other versions than those of the store and the target.
  case mappingMismatch(FilePath, [MappingMismatch])
  /// Mapping models of one step name what there is not.
  case mappingProblems([FilePath], [MappingProblem])
  /// Several mapping models do not make one migration together.
  case mappingSet([MappingSetProblem])
  /// Data would be lost that nobody has allowed to be lost.
  case losses(store: FilePath, LossRefusal)
  /// A consent names what none of the versions has; those that there are.
  case consentUnknown([String], known: [String])
  /// The two models have no entity in common (Core Data's 134100); their hashes.
  case foreignModel(
    store: FilePath, [String: VersionHash], target: [FilePath], [String: VersionHash])
  /// Rows that were read and rows that were written and lost do not add up.
  case accountsDiffer([AccountMismatch])
  case alreadyRunning(store: FilePath, lock: FilePath)
  case outputExists(FilePath)
  case folderNotWritable(FilePath, cause: any Error)
  /// The folder to work in is not one that Godwit made.
  case workFolderForeign(FilePath, WorkFolderFault)
  /// File systems with too little room for what is to be written.
  case diskFull([DiskShortage])
  case workOrderFailed(order: Int, attempts: Int, WorkerLifecycle.Reason)
  /// The system starts no process.
  case workerNotStarted(cause: any Error)
  case manifestForeign(FilePath)
  case manifestUnreadable(FilePath)
  case verificationFailed(table: String, expectedRows: Int64, rows: Int64)
  case resultDamaged([String])
  case interrupted(work: FilePath)
}
