import EngineList
import Mapping
package import ModelFiles
package import ObjectMigration
import Planning
package import StoreFormat
package import Survey
import SystemCalls
package import SystemPackage

/// What to migrate, to which model, and under which rules.
@dynamicMemberLookup
package struct MigrationRequest: Sendable {
  /// The options on which the result depends.
  package var rules = ResultRules()
  /// The options on which the division of the work depends.
  package var division = DivisionRules()

  /// An option of `rules`.
  package subscript<Value>(dynamicMember option: WritableKeyPath<ResultRules, Value>) -> Value {
    get { rules[keyPath: option] }
    set { rules[keyPath: option] = newValue }
  }

  /// An option of `division`.
  package subscript<Value>(dynamicMember option: WritableKeyPath<DivisionRules, Value>) -> Value {
    get { division[keyPath: option] }
    set { division[keyPath: option] = newValue }
  }

  /// The store to migrate.
  package var store: FilePath
  /// Bundles, versions or stores with the model to migrate to; several are merged.
  package var target: [FilePath]
  /// The model to migrate to, if it was read before; nil reads `target`.
  package var targetModel: TargetModel?
  /// The configuration of the merged model to migrate to, nil for all entities.
  package var configuration: String?
  /// Where the result is written; nil replaces the store.
  package var output: FilePath?
  /// A folder in which the work folder is created; nil creates it next to the destination.
  package var work: FilePath?
  /// More places to search for the store's own model.
  package var models: [FilePath] = []
  /// What has been read of models, which is not read again.
  package var library = ModelLibrary()
  /// The work that this migration shares with others of the same options; nil where it is alone.
  package var shared: SharedWork?
  /// How many worker processes may run at once.
  package static let workerRange = 1...256
  /// How many worker processes run at once, from 1.
  package var workers: Int
  /// The memory for all processes together, in bytes.
  package var memory: Int64
  /// The journal mode of the result, nil for that of the store.
  package var journalMode: JournalMode?
  /// Whether the finished store is read again, its digests compared and `integrity_check` run.
  package var verifiesFully = false
  /// How far the store is checked before anything is made of it.
  package var sourceCheck = SourceCheck.quick
  /// Whether every loss needs consent, even those that the destination model implies.
  package var failsOnLoss = false
  /// The losses to accept beyond those that the destination model implies.
  package var lossConsent = LossConsent.none
  /// The properties that subentities have by those that `lossConsent` names; empty until the route
  /// is known.
  var inheritedConsent: Set<String> = []
  /// Whether the output is the store between two stages, which is removed after the next one.
  var isIntermediate = false
  /// Whether a migration in place removes the old store instead of keeping it.
  package var discardsOld = false
  /// Removes what an interrupted run has done instead of taking it up.
  package var restarts = false
  /// Whether workers log their SQL statements.
  package var logsSQL = false
  /// What holds the migration or slows it down from its start.
  package var controls = MigrationControls()
  /// Whether the outcome is recorded next to the store, see docs/reference/status-file.md.
  package var keepsRecord = false

  /// Mapping models to use, of any steps; those of one step in the order of their execution.
  package var mappings: [FilePath] = []
  /// Folders to search for mapping models, with everything below them.
  package var mappingFolders: [FilePath] = []
  /// Whether to migrate through every version between the store's and the target's.
  package var isProgressive = false
  /// Whether to ignore all mapping models and infer every step.
  package var infersOnly = false
  /// Whether to infer steps without a mapping model.
  package var infers = true
  /// The names of versions, oldest first; empty orders them by their identifiers or names.
  package var versionOrder: [String] = []
  /// Whether to find the names of versions, which takes reading all of them.
  package var namesVersions = false
  /// Whether the result is thrown away: it need not outlast a crash of the system.
  package var isTrial = false
  /// Whether threads may execute small plans; otherwise, processes execute all.
  package var allowsThreads = false
  /// Whether short runs write no status and start over after an interruption.
  package var skipsStatusOfShortRuns = false
  /// Whether a store that already has the target's model is copied to the output; otherwise none is
  /// made.
  package var copiesIfCurrent = false
  /// The program that has the policies; nil where that is unknown.
  package var executable: FilePath?
  /// Creates migration policies, by the class name in mapping models.
  package var policies: [String: @Sendable () -> any MigrationPolicy] = [:]

  /// Creates a request with defaults for everything else.
  package init(store: FilePath, target: [FilePath], workers: Int, memory: Int64) {
    self.store = store
    self.target = target
    self.workers = workers
    self.memory = memory
  }

  /// How many worker processes have room in the memory, of those that may run at once.
  var workersWithRoom: Int { WaitingOrders.room(for: workers, memory: memory) }

  /// Whether the store that is made has a write-ahead log: as the source, unless it was chosen.
  func resultUsesWAL(from survey: StoreSurvey) -> Bool {
    journalMode.map { $0 == .wal } ?? survey.access.usesWAL
  }

  /// The path of the store that is made.
  package var destination: FilePath { output ?? store }

  /// Whether the old store gets another name, under which it stays.
  var keepsOld: Bool { output == nil && !discardsOld }

  /// The same request with absolute paths of store, output and work folder, without links.
  ///
  /// Files of a store are next to the file itself, so its path is resolved before any of them is
  /// searched.
  ///
  /// - Throws: `StoreError`, if there is no store.
  package func resolved() throws -> MigrationRequest {
    // Of a file that was cut short, what is left may be taken.
    _ = try rules.salvages ? StoreSalvage.header(of: store) : StoreHeader(of: store)
    var request = self
    request.store = try Files.resolved(store)
    request.output = try output.map { try Files.resolvedFolder(of: $0) }
    // With an output the old store stays.
    request.discardsOld = discardsOld && output == nil
    request.work = try work.map { folder in
      try Files.fileStatusIfPresent(folder) == nil
        ? Files.resolvedFolder(of: folder) : Files.resolved(folder)
    }
    return request
  }

  /// Checks that nothing in a store is of a kind that cannot be carried over.
  ///
  /// - Throws: `MigrationError.unsupported` with all that is.
  func requireSupported(_ survey: StoreSurvey) throws {
    let extras = survey.extras.filter { entry in
      switch rules.extraTables {
      case .refuse: true
      case .keep: !entry.isCopied
      case .drop: false
      }
    }
    // The meaning of dropped history does not matter.
    let features = survey.unsupported.filter {
      ($0 != .historyOfOtherModel || rules.history == .keep)
        && ($0 != .cloudKitMirroring || rules.cloudKit == .refuse)
    }
    guard features.isEmpty, extras.isEmpty else {
      throw MigrationError.unsupported(store: store, features, extras: extras)
    }
    let lost = survey.extras.filter { $0.rows > 0 }
    if rules.extraTables == .drop, failsOnLoss, lossConsent != .all, !lost.isEmpty {
      throw MigrationError.extrasForbidden(store: store, lost)
    }
  }

  /// Requested options that remove what CloudKit mirroring relies on.
  var mirroringRefusals: [Refusal] {
    var options = rules.defectChoices.repairsDefects ? rules.defectChoices.repairOptions : []
    if rules.history == .drop { options.append(.init(.history, rules.history.rawValue)) }
    if rules.salvages { options.append(.init(.salvage)) }
    if rules.givesNewUUID { options.append(.init(.newUUID)) }
    return options.map {
      Refusal(reason: .mirroring(.option($0)), entity: "CloudKit")
    }
  }

  /// The paths of the migration.
  ///
  /// - Precondition: the request is resolved.
  var paths: MigrationPaths { MigrationPaths(destination: destination, below: work) }

  /// The class names of policies that declare their objects independent; nil if mapping models are
  /// always executed object by object.
  var independentPolicies: Set<String>? {
    EngineList.makesObjects(wish: division.engine)
      ? nil : Set(policies.filter { $0.value().objectsAreIndependent }.keys)
  }
}
