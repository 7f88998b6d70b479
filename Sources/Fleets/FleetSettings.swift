import Foundation
import Planning

/// The options of a fleet's migrations, under the names that they have in `fleet.json`; nil stands
/// for the default of `godwit migrate`.
package struct FleetSettings: Codable, Hashable, Sendable {
  /// The models to migrate to; several are merged.
  package var to: [String]?
  /// The configuration of the model.
  package var configuration: String?
  /// More places to search for the stores' own models.
  package var models: [String]?
  /// Mapping models.
  package var mapping: [String]?
  /// Folders with mapping models.
  package var mappings: [String]?
  /// Values for attributes, `Entity.property=EXPRESSION`.
  package var set: [String]?
  /// Whether to go version by version.
  package var progressive: Bool?
  /// Whether to use no mapping models.
  package var inferOnly: Bool?
  /// Whether every step needs a mapping model.
  package var noInfer: Bool?
  /// The names of versions, oldest first.
  package var order: [String]?
  /// Relationships that name join tables.
  package var joinTable: [String]?
  /// The journal mode of new stores: `wal` or `delete`.
  package var journalMode: String?
  /// How results are verified: `quick` or `full`.
  package var verify: String?
  /// How far stores are checked first: `quick`, `full` or `off`.
  package var checkSource: String?
  /// Whether damaged stores are salvaged.
  package var salvage: Bool?
  /// Whether every loss needs consent.
  package var failOnLoss: Bool?
  /// Entities and properties that may be lost; `*` is anything.
  package var allowLoss: [String]?
  /// The choice for objects that a uniqueness constraint forbids.
  package var onDuplicate: String?
  /// The choice for references to missing objects.
  package var onDangling: String?
  /// The choice for values that do not fit the new type.
  package var onValue: String?
  /// The choice for objects that lack a mandatory relationship.
  package var onMissing: String?
  /// The choice for several objects in a relationship that is to-one now.
  package var onMany: String?
  /// The choice for tables that the model does not know.
  package var extraTables: String?
  /// The choice for persistent history.
  package var history: String?
  /// The choice for CloudKit mirroring.
  package var cloudkit: String?
  /// How violations of the model are treated: `strict`, `report` or `off`.
  package var validation: String?
  /// Whether old stores are removed once they are replaced.
  package var discardOld: Bool?
  /// Whether stores with the target's model are copied to their outputs.
  package var copyIfCurrent: Bool?
  /// The engine that makes the new stores.
  package var engine: String?
  /// Whether no record of the outcome is left next to the stores.
  package var noRecord: Bool?
  /// Whether new stores get identifiers of their own.
  package var newUUID: Bool?
  /// Whether a store is made of every version on the way.
  package var stepwise: Bool?
  /// The rows of the ranges into which every table is cut.
  package var rangeRows: Int64?
  /// The folder in which work folders are created.
  package var work: String?

  /// Creates settings that are all defaults.
  package init() {}

  /// The names of all settings.
  package static var names: Set<String> {
    Set(Mirror(reflecting: FleetSettings()).children.compactMap(\.label))
  }

  /// These settings, with those that `other` states in their place.
  package func overridden(by other: FleetSettings) throws -> FleetSettings {
    let encoder = JSONEncoder()
    let decoder = JSONDecoder()
    func fields(_ settings: FleetSettings) throws -> [String: OptionValue] {
      try decoder.decode([String: OptionValue].self, from: encoder.encode(settings))
    }
    let merged = try fields(self).merging(fields(other)) { _, new in new }
    return try decoder.decode(FleetSettings.self, from: encoder.encode(merged))
  }
}
