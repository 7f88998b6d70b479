public import SystemPackage

/// By which mapping models and over which versions a store gets to the target.
public struct MigrationRouting: Sendable {
  /// Mapping models (`.xcmappingmodel`, `.cdm`, `.json`) to migrate by, of one step or several;
  /// those for one pair of versions run in this order.
  public var mappings: [FilePath] = []
  /// Folders with mapping models, each of which is used where it fits; the folders of the models
  /// are looked through as well.
  public var mappingFolders: [FilePath] = []
  /// Whether to go version by version.
  public var isProgressive = false
  /// Whether to use no mapping models and infer what becomes of the data.
  public var infersOnly = false
  /// Whether a step without a mapping model may be inferred.
  public var infers = true
  /// The names of the model's versions in the order in which they followed each other; empty where
  /// their identifiers or names tell it.
  public var versionOrder: [String] = []
  /// The relationships that name the tables which join their entities with themselves, each as
  /// `Entity.relationship`, where Core Data has named them so.
  public var joinTables: [String] = []
  /// Whether to make a store of every version on the way, even where steps could run at once.
  public var isStepwise = false

  /// The newest version at once, by mapping models where they fit and by inference elsewhere.
  public init() {}
}

/// How a store keeps its journal.
public enum JournalMode: String, Hashable, Sendable, CaseIterable {
  /// A write-ahead log, as Core Data has it.
  case wal
  /// A rollback journal that is deleted after each transaction.
  case delete
}
