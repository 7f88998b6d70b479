package import SystemPackage

/// What is wrong with a store, where, and by what cause.
package struct StoreError: Error, Sendable {
  package enum Problem: Hashable, Sendable {
    case notFound
    case isFolder
    case empty
    /// Core Data's XML store type, which is another format.
    case xmlStore
    case text
    /// Neither SQLite nor text: encrypted, or something else.
    case unrecognized
    /// The header promises more bytes than there are.
    case truncated(expected: Int64, actual: Int64)
    /// SQLite found the file damaged.
    case damaged
    case notCoreData
    case metadataUnreadable
    /// Version hashes of a kind that is not known here; the known one is 3.
    case hashVersionUnknown(Int64)
    case modelCacheUnreadable
    /// Somebody holds a lock that keeps readers or the swap away.
    case inUse
    case cannotRead
    case cannotWrite
    /// The file cannot be opened or written for a lack of permissions.
    case notPermitted
    case diskFull
    case outOfMemory
    /// Columns that the model asks for and the store lacks.
    case columnsMissing([String])
    case changedDuringMigration
  }

  package var problem: Problem
  package var store: FilePath
  package var cause: (any Error)?

  package init(problem: Problem, store: FilePath, cause: (any Error)? = nil) {
    self.problem = problem
    self.store = store
    self.cause = cause
  }
}
