package import ObjectMigration
import Planning
import StoreFormat
import SystemCalls
package import SystemPackage

/// What a migration is asked to do.
package struct MigrationRequest: Sendable {
  /// How the result keeps its journal.
  package enum JournalMode: String, Sendable, CaseIterable { case wal, delete }

  /// What writes the rows of the result.
  package enum Engine: String, Codable, Sendable, CaseIterable {
    /// Pages where that is known to work and pays, else SQL.
    case auto
    case sql
    /// Pages wherever that is known to work.
    case pages
    /// Mapping models object by object, even where rows would do.
    case objects

    /// The engine to take wherever it can make a stage; nil leaves it to the size of the store.
    var wish: EngineName? {
      switch self {
      case .auto: nil
      case .sql, .pages, .objects: EngineName(rawValue: rawValue)
      }
    }
  }

  package var store: FilePath
  /// Bundles, versions, folders or stores with the model to migrate to; several are merged.
  package var target: [FilePath]
  package var configuration: String?
  /// Where the result goes; nil puts it in the place of the store.
  package var output: FilePath?
  /// A folder below which the work folder is made; nil has it beside the destination.
  package var work: FilePath?
  /// Where else to look for the store's own model.
  package var models: [FilePath] = []
  package var workers: Int
  /// Bytes for all processes together.
  package var memory: Int64
  /// Cuts every table into ranges of so many rows.
  package var rangeRows: Int64?
  /// nil keeps the mode of the store.
  package var journalMode: JournalMode?
  package var verifiesFully = false
  /// Whether nothing may be lost but what the consent names, not even what goes with the model.
  package var failsOnLoss = false
  /// What may be lost besides what goes with the model.
  package var lossConsent = LossConsent.none
  /// Whether the output is the store of a stage, which the next stage takes.
  var isIntermediate = false
  package var discardsOld = false
  package var logsSQL = false
  package var engine = Engine.auto
  /// Leaves a small record of the outcome beside the store.
  package var keepsRecord = false

  /// Mapping models to migrate by, of one step or several; those of one step in running order.
  package var mappings: [FilePath] = []
  /// Folders in which mapping models are looked for.
  package var mappingFolders: [FilePath] = []
  /// Goes version by version.
  package var isProgressive = false
  /// Uses no mapping models at all.
  package var infersOnly = false
  /// Infers steps that have no mapping model.
  package var infers = true
  /// The names of versions in the order in which they followed each other; empty has the versions'
  /// identifiers or names tell it.
  package var versionOrder: [String] = []
  /// Finds out the names of versions, which takes a look at all of them.
  package var namesVersions = false
  /// Copies a store that has the model already to the output, which else stays away.
  package var copiesIfCurrent = false
  /// The relationships that name the tables which join their entities with themselves, each as
  /// `Entity.relationship`.
  package var joinTables: [String] = []
  /// Makes a store of every version on the way, even where steps could run at once.
  package var isStepwise = false
  package var validation = ValidationMode.strict
  /// Makes the policy of a class name that a mapping model holds.
  package var policies: [String: @Sendable () -> any MigrationPolicy] = [:]

  package init(store: FilePath, target: [FilePath], workers: Int, memory: Int64) {
    self.store = store
    self.target = target
    self.workers = workers
    self.memory = memory
  }

  package var destination: FilePath { output ?? store }

  /// The same request with the paths of store, output and work folder absolute and without links.
  ///
  /// What belongs to a store lies beside the file itself, so its path is resolved once, before
  /// anything is looked for beside it. Throws `StoreError` where there is no store.
  package func resolved() throws -> MigrationRequest {
    _ = try StoreHeader(of: store)
    var request = self
    request.store = try Files.resolved(store)
    request.output = try output.map { try Files.resolvedFolder(of: $0) }
    request.work = try work.map { folder in
      try Files.fileStatusIfPresent(folder) == nil
        ? Files.resolvedFolder(of: folder) : Files.resolved(folder)
    }
    return request
  }

  /// All that the result depends on besides the store, as far as the request names it.
  var resultOptions: [String] {
    var options = target.map(\.string) + [configuration ?? "", "models"]
    options += models.map(\.string) + ["mappings"]
    options += (mappings + mappingFolders).map(\.string) + ["versions"] + versionOrder
    options += [
      "\(isProgressive) \(infersOnly) \(infers)", journalMode?.rawValue ?? "",
      validation.rawValue,
    ]
    return options
  }

  /// Every path of the migration; the request has to be resolved.
  var paths: MigrationPaths { MigrationPaths(destination: destination, below: work) }

  /// The class names of policies that declare their objects independent; nil where mapping models
  /// are to be carried out object by object in any case.
  var independentPolicies: Set<String>? {
    engine == .objects ? nil : Set(policies.filter { $0.value().objectsAreIndependent }.keys)
  }
}
