import Planning

/// The manifest of a fleet, `fleet.json`: the last file that `godwit fleet create` writes.
package struct FleetManifest: ResumableFile, Hashable, Sendable {
  package static let formatVersion = 1

  /// The time of creation, in seconds since 1970.
  package var created: Double
  /// The number of stores in the list.
  package var stores: Int
  /// The bytes of all stores together.
  package var bytes: Int64
  /// The checksum of the list.
  package var listChecksum: UInt64
  /// The options of all migrations; a store may override them.
  package var settings: FleetSettings

  /// Creates the manifest of a list.
  package init(
    created: Double, stores: Int, bytes: Int64, listChecksum: UInt64, settings: FleetSettings
  ) {
    self.created = created
    self.stores = stores
    self.bytes = bytes
    self.listChecksum = listChecksum
    self.settings = settings
  }
}

/// A store of a fleet: a line of `stores.ndjson`.
package struct FleetStore: Codable, Hashable, Sendable {
  /// The path of the store.
  package var store: String
  /// The path of the new store; nil replaces the old one.
  package var output: String?
  /// The size of the store when the fleet was created, in bytes.
  package var bytes: Int64
  /// Options that replace those of the manifest.
  package var options: FleetSettings?

  /// Creates the entry of a store.
  package init(
    store: String, output: String? = nil, bytes: Int64, options: FleetSettings? = nil
  ) {
    self.store = store
    self.output = output
    self.bytes = bytes
    self.options = options
  }
}
