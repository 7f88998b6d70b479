public import SystemPackage

extension StoreMigration {
  /// What is checked before and after.
  public struct Checks: Sendable {
    /// How far the store is checked before anything is made of it.
    public var source = SourceCheck.quick
    /// How objects that violate validation rules of the model are treated by mapping models.
    public var validation = Validation.strict
    /// How the result is verified before it replaces the store.
    public var result = Verification.quick

    /// Checks what makes a wrong result impossible.
    public init() {}
  }

  /// The processes, the memory, the pace and the places of the work.
  public struct Resources: Sendable {
    /// How many workers may run at once: 1 to 256.
    public static let workerRange = 1...256
    /// The least memory for all processes together, in bytes: 64 MiB.
    public static let leastMemory = Int64(64 << 20)

    /// How many workers run at once, within ``workerRange``.
    public var workers = 2
    /// The memory for all processes together in bytes, at least ``leastMemory``.
    public var memory: Int64 = 256 << 20
    /// Source bytes per second that all workers together may read, nil for no limit.
    public var bytesPerSecond: Int64?
    /// Cuts every table into ranges of this many rows, nil for a suitable number.
    public var rowsPerRange: Int64?
    /// The folder in which the work folder is created, nil for that of the result.
    public var workFolder: FilePath?
    /// The executable of the workers, nil for the running one.
    ///
    /// It has to call `GodwitWorker.runIfRequested(policies:)` first, as `godwit` itself does.
    public var executable: FilePath?
    /// The words of a command that starts workers, such as `["srun", "-N1", "-n1"]`; empty to start
    /// them as child processes.
    ///
    /// It is followed by the executable and its arguments, and has to pass standard input and
    /// standard output through. Store, work folder and executable have to be at the same paths
    /// wherever it starts workers (docs/how-to/nodes.md).
    public var launcher: [String] = []

    /// Two workers of the running executable.
    public init() {}
  }

  /// What becomes of the new store, and of the old one once the new one has replaced it.
  public struct Handover: Sendable {
    /// The journal mode of the new store, nil for that of the old one.
    public var journalMode: JournalMode?
    /// Whether the new store gets an identifier of its own (`NSStoreUUIDKey`), as one of several
    /// stores that are made of one needs.
    ///
    /// Nothing that Core Data wrote about the old store is about it then, such as tokens of
    /// history.
    public var givesNewUUID = false
    /// Whether a store that has the target's model is copied to the output; otherwise there is no
    /// output.
    public var copiesIfCurrent = false
    /// Whether the old store is removed once the new one has replaced it.
    public var discardsOld = false
    /// Whether a record of the outcome stays next to the store that is made, where
    /// ``MigrationMonitor`` finds it and the next run knows its output by it; a migration that is
    /// refused leaves none.
    public var keepsRecord = false
    /// While there is a file of this name, the finished result waits for its swap; it is created
    /// empty at the start if it is not there.
    public var swapFile: FilePath?

    /// Replaces the old store, and keeps it.
    public init() {}
  }

  /// How objects that violate validation rules of the model are treated.
  public enum Validation: String, Hashable, Sendable, CaseIterable {
    /// They end the migration.
    case strict
    /// They are reported, and the migration succeeds.
    case report
    /// They are not looked for.
    case off
  }

  /// How far a store is checked beforehand.
  public enum SourceCheck: String, Hashable, Sendable, CaseIterable {
    /// Small stores as a whole, others while their rows are read.
    case quick
    /// Every page of every store, by SQLite's `integrity_check`.
    case full
    /// Uses what SQLite reads of the tables, whatever indexes contain.
    case off
  }

  /// How a result is verified.
  public enum Verification: String, Hashable, Sendable, CaseIterable {
    /// By digests of all rows and SQLite's `quick_check`.
    case quick
    /// By reading the finished store again, and SQLite's `integrity_check` of every index.
    case full
  }
}

/// The journal mode of a store.
public enum JournalMode: String, Hashable, Sendable, CaseIterable {
  /// A write-ahead log, Core Data's default.
  case wal
  /// A rollback journal that is deleted after each transaction.
  case delete
}
