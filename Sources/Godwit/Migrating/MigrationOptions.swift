import MigrationCoordinator
public import SystemPackage

extension StoreMigration {
  /// What may be lost, and what is done about objects, values and tables that do not fit.
  ///
  /// A fresh value asks about everything: the migration is refused where there is something to
  /// choose.
  public struct Choices: Sendable {
    /// The losses to accept beyond those that the model implies.
    public var allowedLoss: AllowedLoss = []
    /// Whether every loss needs consent in ``allowedLoss``, even those that the model implies.
    public var failsOnLoss = false
    /// What is done about objects that a uniqueness constraint forbids.
    public var duplicates = DuplicateChoice.fail
    /// What is done about references to objects that are not there.
    public var danglingReferences = DanglingChoice.keep
    /// What is done about values that the new type has no equal for.
    public var unfitValues = ValueChoice.fail
    /// What is done about objects that would lack a mandatory to-one relationship.
    public var missingReferences = MissingChoice.fail
    /// What is done about objects that have several objects in a relationship that is to-one now.
    public var severalObjects = ManyChoice.fail
    /// What becomes of tables with rows that the model knows nothing of.
    public var extraTables = ExtraTableChoice.refuse
    /// What becomes of persistent history.
    public var history = HistoryChoice.keep
    /// What becomes of CloudKit mirroring.
    public var cloudKit = CloudKitChoice.refuse
    /// Whether what can be read of a damaged store is taken, and what is lost is listed; otherwise
    /// a damaged store is refused.
    ///
    /// The old store is kept then, whatever ``Handover/discardsOld`` says.
    public var salvagesDamaged = false

    /// Refuses whatever has to be chosen.
    public init() {}
  }

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
    /// ``MigrationMonitor`` finds it; a migration that is refused leaves none.
    public var keepsRecord = false
    /// While there is a file of this name, the finished result waits for its swap; it is created
    /// empty at the start if it is not there.
    public var swapFile: FilePath?

    /// Replaces the old store, and keeps it.
    public init() {}
  }

  /// Which losses are accepted: ``anything``, or a list of entities (`Entity`) and properties
  /// (`Entity.property`).
  public struct AllowedLoss: Hashable, Sendable, ExpressibleByArrayLiteral {
    /// Any loss.
    public static let anything = Self(names: [], isAnything: true)

    /// The entities and properties of which any loss is accepted.
    public let names: Set<String>
    /// Whether any loss of anything is accepted.
    public let isAnything: Bool

    private init(names: Set<String>, isAnything: Bool) {
      (self.names, self.isAnything) = (names, isAnything)
    }

    /// Accepts any loss of these entities and properties; of none where there are no names.
    public init(of names: some Sequence<String>) {
      self.init(names: Set(names), isAnything: false)
    }

    var consent: LossConsent {
      isAnything ? .all : names.isEmpty ? .none : .some(names)
    }

    /// Accepts any loss of these entities and properties.
    public init(arrayLiteral names: String...) { self.init(of: names) }
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
    /// Takes what SQLite reads of the tables, whatever indexes say of it.
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
