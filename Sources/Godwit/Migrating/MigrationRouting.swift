public import SystemPackage

/// The mapping models and the versions by which a store gets to the target.
public struct MigrationRouting: Sendable {
  /// Mapping models (`.xcmappingmodel`, `.cdm`, `.json`) to use, of one step or several; those for
  /// one pair of versions are executed in this order.
  public var mappings: [FilePath] = []
  /// Folders with mapping models; each model is used where it fits; the folders of the models are
  /// searched too.
  public var mappingFolders: [FilePath] = []
  /// Expressions for attributes, each as `Entity.property=EXPRESSION`
  /// (docs/reference/expressions.md), which replace those in the mapping of the step.
  ///
  /// An attribute that is new, mandatory and without a default gets its values so.
  public var settings: [String] = []
  /// Whether to migrate through every version between the store's and the target's.
  public var isProgressive = false
  /// Whether to ignore all mapping models and infer every step.
  public var infersOnly = false
  /// Whether to infer steps without a mapping model.
  public var infers = true
  /// The names of the model's versions, oldest first; empty orders them by their identifiers or
  /// names.
  public var versionOrder: [String] = []
  /// For pairs of inverse relationships of an entity with itself: the one after which Core Data
  /// named the join table, as `Entity.relationship`.
  public var joinTables: [String] = []
  /// Whether to make a store of every version on the way, even if steps could be combined.
  public var isStepwise = false

  /// Migrates directly to the newest version, with mapping models where they fit and by inference
  /// elsewhere.
  public init() {}
}
