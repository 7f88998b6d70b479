package import ObjectMigration
package import Planning

/// The options of a request on which the result depends, besides the store, the models and the
/// mapping models.
///
/// Interrupted work and finished outputs are taken over only under equal rules, so an option that
/// changes the result is a property here and is named nowhere else.
package struct ResultRules: Hashable, Codable, Sendable {
  /// What becomes of persistent history.
  package enum History: String, Hashable, Codable, Sendable, CaseIterable {
    /// It stays, unless objects are made one by one: then that is a loss, which needs consent.
    case keep
    /// Its tables are emptied.
    case drop
  }

  /// What becomes of CloudKit mirroring.
  package enum CloudKit: String, Hashable, Codable, Sendable, CaseIterable {
    /// A store that is mirrored is refused.
    case refuse
    /// Its tables are carried over, with the entity numbers of the new model.
    case carry
  }

  /// What becomes of tables with rows that the model does not know.
  package enum ExtraTables: String, Hashable, Codable, Sendable, CaseIterable {
    /// A store with such tables, or with unknown columns, views and triggers, is refused.
    case refuse
    /// The tables are copied whole; all else is refused.
    case keep
    /// They are left behind, and so is all else.
    case drop
  }

  /// How to treat objects that violate the destination model's validation rules.
  package var validation = ValidationMode.strict
  /// Expressions for attributes, each `Entity.property=EXPRESSION`, which replace those of the
  /// mapping.
  package var settings: [String] = []
  /// For pairs of inverse relationships of an entity with itself: the one after which the join
  /// table is named, as `Entity.relationship`.
  package var joinTables: [String] = []
  /// What is done about what is wrong with the store.
  package var defectChoices = DefectChoices()
  /// Whether what can be read of a damaged store is taken, and what is lost is listed.
  package var salvages = false
  /// What becomes of persistent history.
  package var history = History.keep
  /// What becomes of CloudKit mirroring.
  package var cloudKit = CloudKit.refuse
  /// What becomes of tables with rows that the model does not know.
  package var extraTables = ExtraTables.refuse
  /// Whether the result gets an identifier of its own, `Z_UUID`, instead of that of the store.
  package var givesNewUUID = false

  /// Creates the default rules.
  package init() {}

  // The names of the tool's options.
  private enum CodingKeys: String, CodingKey {
    case validation
    case settings = "set"
    case joinTables = "join-table"
    case defectChoices = "on"
    case salvages = "salvage"
    case history
    case cloudKit = "cloudkit"
    case extraTables = "extra-tables"
    case givesNewUUID = "new-uuid"
  }
}

/// The options of a request on which the division of the work depends, and not the result.
package struct DivisionRules: Hashable, Codable, Sendable {
  /// The engine to prefer wherever it covers a stage; nil takes the fastest.
  package var engine: EngineName?
  /// Cuts every table into ranges of this many rows; nil cuts by size.
  package var rangeRows: Int64?
  /// Whether each step is a stage with a store of its own, even if steps could be combined.
  package var isStepwise = false
  /// Whether workers are started by a command, maybe on other machines.
  package var usesLauncher = false

  /// Creates the default rules.
  package init() {}

  // The names of the tool's options.
  private enum CodingKeys: String, CodingKey {
    case engine
    case rangeRows = "range-rows"
    case isStepwise = "stepwise"
    case usesLauncher = "launcher"
  }
}
