package import KeyedArchives
package import ObjectModel

/// The contents of a store's `Z_METADATA`.
package struct StoreMetadata: Hashable, Sendable {
  /// `Z_UUID`, the identifier of the store, which a migration keeps.
  package var uuid: String
  /// `Z_PLIST`, with all keys that an application added.
  package var plist: [ExactText: PropertyList]

  /// Creates metadata from the two columns.
  package init(uuid: String, plist: [ExactText: PropertyList]) {
    self.uuid = uuid
    self.plist = plist
  }

  /// Keys of `Z_PLIST` that belong to Core Data (docs/reference/store-format.md, "Metadata").
  package enum Key {
    /// The version hashes, by entity name.
    package static let hashes: ExactText = "NSStoreModelVersionHashes"
    /// The version of the hash algorithm, 3.
    package static let hashesVersion: ExactText = "NSStoreModelVersionHashesVersion"
    /// A digest of all version hashes, see `digest`.
    package static let hashesDigest: ExactText = "NSStoreModelVersionHashesDigest"
    /// Another digest of all version hashes, see `checksum`.
    package static let checksum: ExactText = "NSStoreModelVersionChecksumKey"
    /// The model's version identifiers.
    package static let identifiers: ExactText = "NSStoreModelVersionIdentifiers"
    /// The version of Core Data that wrote the store last.
    package static let frameworkVersion: ExactText = "NSPersistenceFrameworkVersion"
    /// The store type, `SQLite`.
    package static let type: ExactText = "NSStoreType"
    /// The auto-vacuum level of the database, `2` for incremental.
    package static let autoVacuum: ExactText = "_NSAutoVacuumLevel"
    /// Marks a store whose lightweight migration left work for later.
    package static let deferredMigration: ExactText =
      "NSPersistentStoreDeferredLightweightMigrationOptionKey"
  }

  /// The keys of `Z_PLIST`, sorted.
  package var keys: [String] { plist.keys.sorted().map(\.text) }

  /// The bytes of `Z_METADATA.Z_PLIST`, a binary property list.
  package var encoded: [UInt8] { PropertyList.dictionary(plist).encoded() }

  /// The version hash of each entity of the model with which the store was last opened.
  ///
  /// Entries that are not hashes are left out.
  package var versionHashes: [String: VersionHash] {
    let hashes = (plist[Key.hashes]?.dictionaryValue ?? [:]).compactMap { name, value in
      value.dataValue.flatMap { VersionHash(bytes: $0) }.map { (name.text, $0) }
    }
    return Dictionary(hashes, uniquingKeysWith: { first, _ in first })
  }

  /// The version of the hash algorithm, nil if the store has none.
  package var hashesVersion: Int64? { plist[Key.hashesVersion]?.integerValue }
  /// The version of Core Data that wrote the store last, nil if the store has none.
  package var frameworkVersion: Int64? { plist[Key.frameworkVersion]?.integerValue }
  /// The version identifiers of the model with which the store was last opened.
  package var versionIdentifiers: [String] {
    (plist[Key.identifiers]?.arrayValue ?? []).compactMap(\.stringValue)
  }

  /// Whether a lightweight migration left work for later, which only Core Data can finish.
  package var hasDeferredMigration: Bool {
    switch plist[Key.deferredMigration] {
    case nil, .boolean(false), .integer(0): false
    default: true
    }
  }

  /// The metadata of the same store under another model; other keys keep their values.
  package func restated(
    hashes: [String: VersionHash], versionIdentifiers: [String]
  ) -> StoreMetadata {
    var result = self
    result.plist[Key.hashes] = .hashes(hashes)
    result.plist[Key.hashesVersion] = .integer(3)
    result.plist[Key.hashesDigest] = .string(ExactText(hashes.digest))
    result.plist[Key.checksum] = .string(ExactText(hashes.checksum))
    result.plist[Key.identifiers] = .array(versionIdentifiers.map { .string(ExactText($0)) })
    result.plist[Key.type] = .string("SQLite")
    result.plist[Key.autoVacuum] = .string("2")
    result.plist[Key.deferredMigration] = nil
    return result
  }
}

extension PropertyList {
  /// The version hashes of a model, by entity name.
  package static func hashes(_ hashes: [String: VersionHash]) -> Self {
    .dictionary(
      Dictionary(uniqueKeysWithValues: hashes.map { (ExactText($0.key), .data($0.value.bytes)) }))
  }
}
