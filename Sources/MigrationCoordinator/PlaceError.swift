package import SystemPackage

/// Why a command cannot write to a file or folder.
package enum PlaceError: Error, Sendable {
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
  /// The last migration of a store has discarded its old store; the last one of those before it.
  case oldStoreDiscarded(FilePath, earlier: FilePath)
  /// A kept store is not the one that was kept.
  case keptChanged(FilePath)
  /// A kept store is not where it was kept; a file elsewhere that has its bytes.
  case keptMissing(FilePath, found: FilePath?)
  /// A file has the name of a kept store, and the list of these does not have it.
  case keptUnlisted(FilePath, list: FilePath)
  /// A migration would replace a store that is kept as the old one of another.
  case keptInPlace(FilePath, of: FilePath)
  /// The list of kept stores came with a renamed store, and a file that it names did not.
  case keptRenamed(list: FilePath, from: String, missing: FilePath)
  /// An interrupted run has left work that was made for something else.
  case otherRun(work: FilePath, [RunDifference])
  /// The work folder cannot be created in this folder.
  case folderNotWritable(FilePath, cause: any Error)
  /// Another user owns a store and its folder, which reserves renaming it for the owners.
  case storeReserved(FilePath)
  /// The work folder was not made by Godwit, or not for this migration.
  case workFolderForeign(FilePath, WorkFolderFault)
  /// File systems have too little free space.
  case diskFull([DiskShortage])
}

extension PlaceError {
  /// Whether no kept store is the one that was requested.
  var statesNothingKept: Bool {
    switch self {
    case .nothingKept, .oldStoreDiscarded: true
    default: false
    }
  }
}
