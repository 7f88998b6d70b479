import SystemCalls
import SystemPackage

extension StoreCheck {
  /// What became known of one store.
  public struct Finding: Sendable, Encodable {
    /// What a migration of the store came to.
    public struct Trial: Hashable, Sendable, Encodable {
      /// Rows of the result, including those of join tables.
      public var rows: Int64
      /// Whether the result was compared with the store, beyond being read as a whole.
      public var isCompared = false
      /// Whether a copy was migrated in its place and taken back, byte for byte.
      public var isTakenBack = false
    }

    /// The path of the store, or of the place where there should be one.
    public var store: String
    /// Whether the store's model differs from the target's; nil where that is not known.
    public var isNeeded: Bool?
    /// Whether nothing is known that would prevent the migration; if it was tried, whether it was
    /// made and is right.
    public var isPossible = false
    /// The names of the store's version; empty where it has none, or none is known.
    public var from: [String] = []
    /// The names of the version that the store gets.
    public var to: [String] = []
    /// Later steps of the route, whose stores do not exist yet: their rows could not be checked.
    public var stepsNotLookedAt = 0
    /// Objects whose values only the migration computes, and that were not tried.
    public var untried: [StoreMigration.Preparation.Untried] = []
    /// The same in a sentence; nil where there are none.
    public var untriedNote: String?
    /// Why the store cannot be migrated or read: the lines that the tool prints, with a heading and
    /// advice where there are several reasons; empty where it can.
    public var reasons: [String] = []
    /// The reasons why it cannot be migrated, as values; empty where it cannot be read.
    public var refusals: [MigrationFailure.Reason] = []
    /// The mapping models by which the store would go and what is notable about them, one sentence
    /// each.
    public var mappingNotes: [String] = []
    /// What is lost.
    public var losses: [StoreMigration.Loss] = []
    /// The new objects that mapping models make; nil where they make none.
    public var newObjects: [StoreMigration.NewObjects]?
    /// What a salvage keeps and loses; nil if the store is not damaged, or not requested.
    public var salvage: StoreMigration.Salvage?
    /// Indexes of the model that a store of its version lacks; nil where there are none.
    public var indexes: String?
    /// What is wrong with rows of the store, and what becomes of it.
    public var defects: [StoreMigration.Defect] = []
    /// What is notable about the store itself or its new orders, a sentence each.
    public var oddities: [String] = []
    /// The version of the store, where no version of the model has its hashes; else nil.
    public var missingVersion: StoreMigration.MissingVersion?
    /// What is carried over of CloudKit mirroring; nil where nothing is.
    public var mirroring: String?
    /// Whether the store has journal mode WAL and no `-wal` file, which ``oddities`` states too.
    public var lacksLog = false
    /// The exit status for this store by itself.
    public var exitStatus: Int32 = 0
    /// The code with which Core Data fails in the same case, nil if it has none.
    public var coreDataCode: Int?
    /// The duration of the check in seconds.
    public var seconds = 0.0
    /// The migration of the store; nil where none was made.
    public var trial: Trial?

    init(store: FilePath) { self.store = "\(store)" }
  }
}

extension StoreCheck.Finding {
  /// The finding for a store that was not checked, since the check was interrupted.
  public static func interrupted(_ entry: StoreSearch.Entry) -> Self {
    var finding = Self(store: entry.path)
    finding.note(
      MigrationFailure(.interrupted, "\(entry.path): not checked, since the check was interrupted.")
    )
    return finding
  }

  mutating func note(_ found: StoreMigration.Preparation) {
    isNeeded = found.isNeeded
    (from, to, defects) = (found.from, found.to, found.defects)
    (salvage, mappingNotes) = (found.salvage, found.mappingNotes)
    (oddities, indexes) = (found.notes, found.indexNote)
    lacksLog = found.lacksLog
    missingVersion = found.missingVersion
    guard found.isPossible else { return }
    losses = found.losses
    newObjects = found.newObjects.isEmpty ? nil : found.newObjects
    mirroring = found.mirroringNote
    stepsNotLookedAt = found.stepsNotSurveyed
    (untried, untriedNote) = (found.untried, found.untriedNote)
  }

  mutating func note(_ result: StoreMigration.Result) {
    // Actual losses are known better than expected ones, and every step was checked.
    losses = result.losses
    stepsNotLookedAt = 0
    (untried, untriedNote) = ([], nil)
    trial = Trial(rows: result.rows)
  }

  mutating func note(_ failure: MigrationFailure) {
    (reasons, refusals) = (failure.sentences, failure.reasons)
    // Who names a store from the current folder on reads of it so.
    let path = FilePath(store)
    if path.isRelative, let whole = try? Files.resolved(path), whole != path {
      reasons = reasons.map { $0.replacing(whole.string, with: store) }
    }
    exitStatus = failure.exitStatus.rawValue
    coreDataCode = failure.coreDataCode
  }

  /// Remarks on the store besides whether it can be migrated, and why not.
  ///
  /// - Parameter settlesDefects: whether something is done about defects in every step.
  public func notes(settlesDefects: Bool) -> [String] {
    var notes = salvage?.notes ?? []
    if isPossible, isNeeded != true { return notes + [indexes].compactMap(\.self) }
    notes += mappingNotes
    if isPossible {
      notes += oddities
      notes += [mirroring].compactMap(\.self)
      notes += (newObjects ?? []).map { "makes \($0)" }
      notes += losses.map { "loses \($0)" }
      notes += [untriedNote].compactMap(\.self)
    }
    // It is among the oddities of a store that can be migrated.
    if !isPossible { notes += [missingVersion?.sentence].compactMap(\.self) }
    notes += defects.map { "has \($0)" }
    if isPossible, stepsNotLookedAt > 0 {
      let begin = stepsNotLookedAt == 1 ? "step begins" : "steps begin"
      notes.append(
        "\(stepsNotLookedAt) later \(begin) with a store that does not exist yet: its rows are "
          + "checked once it is made"
          + (settlesDefects ? ", and the same options decide." : "."))
    }
    return notes
  }
}
