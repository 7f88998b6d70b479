package import SystemCalls
package import SystemPackage

/// What is wrong with a store, and why.
package struct StoreError: Error, Sendable {
  /// What is wrong, apart from the place.
  package enum Problem: Hashable, Sendable {
    /// No file has the path.
    case notFound
    /// The path is that of a folder.
    case isFolder
    /// The file has no bytes.
    case empty
    /// The file is a store of Core Data's XML type.
    case xmlStore
    /// The file is text of some other kind.
    case text
    /// The file is neither an SQLite database nor text; it may be encrypted.
    case unrecognized
    /// The file is shorter than its header states.
    case truncated(expected: Int64, actual: Int64)
    /// SQLite found the file damaged.
    case damaged
    /// Nothing can be salvaged without these tables, which cannot be read at all.
    case notSalvageable([String])
    /// The database lacks `Z_METADATA` or `Z_PRIMARYKEY`.
    case notCoreData
    /// `Z_METADATA` has no row, or its property list cannot be decoded.
    case metadataUnreadable
    /// `NSStoreModelVersionHashesVersion` is this number instead of 3.
    case hashVersionUnknown(Int64)
    /// The model in `Z_MODELCACHE` cannot be decoded.
    case modelCacheUnreadable
    /// Another connection holds a lock that excludes reading or the swap.
    case inUse
    /// Processes have it open and hold no lock now.
    case openForWriting(by: [Int32])
    /// Opening or reading failed for another reason.
    case cannotRead
    /// SQLite reported an I/O error.
    case cannotWrite
    /// A device failed to read.
    case deviceFailed
    /// Permissions do not allow to open or write the file.
    case notPermitted
    /// The file system of the store is full.
    case diskFull
    /// SQLite had no memory.
    case outOfMemory
    /// A row takes more memory than a process may occupy; which one, if it was found.
    case rowTooLong(LongRow?)
    /// Tables that the model requires and the store lacks.
    case tablesMissing([String])
    /// The store lacks these columns of its model, each as `TABLE.COLUMN`.
    case columnsMissing([String])
    /// The store lacks the columns of these derived attributes of its model, and no others.
    ///
    /// A version hash does not cover the names of derived attributes, so that another model has it.
    case derivedColumnsMissing([String])
    /// Entities with one number in `Z_PRIMARYKEY` and another one by the model.
    case numbersContradict([NumberContradiction])
    /// The file has the header of an SQLite database and is encrypted behind it.
    case encrypted
    /// Tables whose rows are not kept by their primary keys, so that these may be anything.
    case keysMissing([String])
    /// Tables whose entity numbers are texts: what compares like a number is none.
    case numbersAsTexts([String])
    /// Join tables declared WITHOUT ROWID: Core Data's have row numbers, by which they are divided.
    case rowNumbersMissing([String])
    /// The store was written to after the survey.
    case changedDuringMigration
    /// A new file would have a name that belongs to this store.
    case companionName(of: FilePath)
    /// The file would undo an edit of this store, which has been written to since.
    case editOutdated(of: FilePath)
    /// What a value names as its external file is a link, or no regular file.
    case externalFileForeign
  }

  /// An entity with two numbers.
  package struct NumberContradiction: Hashable, Sendable {
    /// The entity.
    package var entity: String
    /// Its number in `Z_PRIMARYKEY`.
    package var recorded: Int64
    /// Its number by the model.
    package var expected: Int64

    /// Creates a contradiction.
    package init(entity: String, recorded: Int64, expected: Int64) {
      (self.entity, self.recorded, self.expected) = (entity, recorded, expected)
    }
  }

  /// What is wrong.
  package var problem: Problem
  /// The path of the store, or of a copy that was read in its place.
  package var store: FilePath
  /// The error of SQLite or of the system, nil if there is none.
  package var cause: (any Error)?

  /// Creates an error about a store.
  package init(problem: Problem, store: FilePath, cause: (any Error)? = nil) {
    self.problem = problem
    self.store = store
    self.cause = cause
  }
}

extension StoreError {
  /// An error of the system that keeps a store from being read.
  package init(reading store: FilePath, cause: any Error) {
    let errno = (cause as? SystemCallError)?.errno ?? cause as? Errno
    self.init(
      problem: errno.map { Self.problem(reading: $0) } ?? .cannotRead, store: store,
      cause: errno.map { $0 as any Error } ?? cause)
  }

  /// What an error of the system means for a store that is read.
  static func problem(reading errno: Errno) -> Problem {
    if errno.isOfDevice { return .deviceFailed }
    // Opened for reading, a result of pages over a file takes room for what is written later.
    if errno.isOfFullDisk { return .diskFull }
    return errno.disposition.contains(.retryable) ? .outOfMemory : .cannotRead
  }
}

extension StoreError: DisposedError {
  /// How the error affects work that is already done.
  package var disposition: ErrorDisposition {
    switch problem {
    case .damaged: .damage
    case .outOfMemory: [.workReusable, .retryable]
    case .deviceFailed, .cannotWrite: .device
    case .diskFull: .noSpace
    case .inUse, .openForWriting, .rowTooLong: .system
    case .notFound, .isFolder, .cannotRead, .notPermitted, .companionName, .hashVersionUnknown,
      .editOutdated, .derivedColumnsMissing:
      .refusal
    case .changedDuringMigration, .empty, .xmlStore, .text, .unrecognized, .truncated,
      .notSalvageable, .notCoreData, .metadataUnreadable, .modelCacheUnreadable, .tablesMissing,
      .columnsMissing, .keysMissing, .numbersAsTexts, .numbersContradict, .encrypted,
      .rowNumbersMissing, .externalFileForeign:
      [.workSuspect]
    }
  }
}

extension StoreError {
  /// The disposition of any error, also of one of SQLite's that no connection has converted.
  package static func disposition(of error: any Error) -> ErrorDisposition {
    if let error = StoreError(ofSQLite: error) { return error.disposition }
    return error.knownDisposition
  }
}
