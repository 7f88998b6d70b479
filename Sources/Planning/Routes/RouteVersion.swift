package import ObjectModel

/// A version of a model that a store may be of.
package struct RouteVersion: Sendable {
  /// The names of all versions that hash alike, in their order; may be empty.
  package var names: [String]
  /// The model of the version.
  package var model: ManagedObjectModel
  /// The metadata of a store of the version.
  package var hashes: [String: VersionHash]
  /// The names and renaming identifiers of entities that the chosen configuration leaves out.
  package var leftOut: Set<String> = []

  /// What to call the version: by its names, or by the identifiers of its model if it has none.
  package var labels: [String] {
    names.isEmpty ? model.versionIdentifiers.filter { !$0.isEmpty }.sorted() : names
  }

  /// Takes the hashes that a store of the version has in its metadata.
  package init(names: [String], model: ManagedObjectModel, hashes: [String: VersionHash]) {
    self.names = names
    self.model = model
    self.hashes = hashes
  }
}
