/// The way by which a migration made its result, as its record states it.
///
/// `godwit verify` takes it as a hint on what to expect, and computes that from the old store.
package struct RecordedWay: Codable, Hashable, Sendable {
  /// A version that the route touches.
  package struct Version: Codable, Hashable, Sendable {
    /// What the version is called; empty where no name is known.
    package var names: [String]
    /// The checksum of its version hashes, `NSStoreModelVersionChecksumKey`.
    package var hash: String

    /// Names a version.
    package init(names: [String], hash: String) { (self.names, self.hash) = (names, hash) }
  }

  /// A mapping model of a step.
  package struct Mapping: Codable, Hashable, Sendable {
    /// The path of its file.
    package var path: String
    /// A checksum of its content, independent of the form of its file.
    package var hash: String

    /// Names a mapping model.
    package init(path: String, hash: String) { (self.path, self.hash) = (path, hash) }
  }

  /// The identifier of the store, which the result has as well.
  package var store: String
  /// The versions from the store's to the result's.
  package var versions: [Version]
  /// The mapping models of each step in their running order; none where it was inferred.
  package var mappings: [[Mapping]]
  /// The paths of the models to migrate to.
  package var target: [String]
  /// The paths of other models that the migration was given.
  package var models: [String]
  /// The configuration of the result, nil for all entities.
  package var configuration: String?
  /// The relationships of `--join-table`.
  package var joinTables: [String]
  /// The expressions of `--set`; nil where there are none.
  package var settings: [String]?
  /// The choices of the migration, by the option that names each; empty for one without a word.
  package var choices: [String: String]
  /// The value of `now()`, in seconds since 2001; nil where it is not known, or was several.
  package var now: Double?

  /// States a way.
  package init(
    store: String, versions: [Version], mappings: [[Mapping]], target: [String],
    models: [String], configuration: String?, joinTables: [String], settings: [String] = [],
    choices: [String: String]
  ) {
    self.settings = settings.isEmpty ? nil : settings
    (self.store, self.versions, self.mappings) = (store, versions, mappings)
    (self.target, self.models, self.configuration) = (target, models, configuration)
    (self.joinTables, self.choices) = (joinTables, choices)
  }

  /// Whether there is a step between each two versions.
  package var isWhole: Bool { versions.count > 1 && mappings.count == versions.count - 1 }
}
