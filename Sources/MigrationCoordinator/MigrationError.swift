package import Mapping
package import ModelFiles
package import ObjectModel
package import Planning
package import Survey
package import SystemPackage

/// Why a migration did not happen or did not finish.
///
/// Faults of one store are `StoreError`s, faults of a model file `ModelFileError`s; these concern
/// the migration as a whole.
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
  /// The models, the mapping or the data rule the migration out.
  case impossible(store: FilePath, [Refusal])
  /// One of several steps is ruled out; the names of its versions.
  case stepImpossible(store: FilePath, from: [String], to: [String], [Refusal])
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
  /// The consent names entities or properties that no version has; the names that were possible.
  case consentUnknown([String], known: [String])
  /// The two models have no entity in common (Core Data's 134100); their hashes.
  case foreignModel(
    store: FilePath, [String: VersionHash], target: [FilePath], [String: VersionHash])
  /// The numbers of rows read, written and lost do not add up.
  case accountsDiffer([AccountMismatch])
  /// Another process migrates to the same destination, and holds this lock.
  case alreadyRunning(store: FilePath, lock: FilePath)
  /// A file is in the way of the output, or of a log or an external file next to it.
  case outputExists(FilePath)
  /// The name of the destination is longer than so many bytes, which leaves no room for the names
  /// that are made from it.
  case nameTooLong(FilePath, most: Int)
  /// The list of kept stores is somebody else's file, or damaged.
  case keptListUnreadable(FilePath)
  /// No old store is kept next to the store.
  case nothingKept(store: FilePath, as: FilePath?)
  /// A kept store is not the one that was kept.
  case keptChanged(FilePath)
  /// A kept store is not where it was kept; a file elsewhere that has its bytes.
  case keptMissing(FilePath, found: FilePath?)
  /// A file has the name of a kept store, and the list of these does not have it.
  case keptUnlisted(FilePath, list: FilePath)
  /// An interrupted run has left work that was made for something else.
  case otherRun(work: FilePath, [RunDifference])
  /// The work folder cannot be created in this folder.
  case folderNotWritable(FilePath, cause: any Error)
  /// The work folder was not made by Godwit, or not for this migration.
  case workFolderForeign(FilePath, WorkFolderFault)
  /// File systems have too little free space.
  case diskFull([DiskShortage])
  /// A work order failed for good: in an error that would recur, or in its last attempt.
  case workOrderFailed(order: Int, attempts: Int, WorkerLifecycle.Reason)
  /// The system started no worker process.
  case workerNotStarted(cause: any Error)
  /// The launcher started another program as a worker, or another build of this one.
  case workerForeign(host: String, version: String)
  /// The launcher started several workers for one work order.
  case workersDoubled
  /// The launcher passes on what no worker has written: a line without an end.
  case outputEndless
  /// A worker completed a shard, and this machine does not see the file.
  case shardUnseen(FilePath)
  /// A manifest is not of this plan, of its order or of its pieces.
  case manifestForeign(FilePath)
  /// A manifest is not JSON of this version.
  case manifestUnreadable(FilePath)
  /// A table of the result has other rows than the shards.
  case verificationFailed(table: String, expectedRows: Int64, rows: Int64)
  /// SQLite's check of the result found these errors.
  case resultDamaged([String])
  /// The migration was cancelled; the work folder allows to resume it.
  case interrupted(work: FilePath)
}
