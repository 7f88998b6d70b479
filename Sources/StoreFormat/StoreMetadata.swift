package import KeyedArchives
package import ObjectModel

/// What the table `Z_METADATA` says of a store.
package struct StoreMetadata: Hashable, Sendable {
  package var uuid: String
  /// `Z_PLIST`, with every key that an application put there.
  package var plist: [String: PropertyList]

  package init(uuid: String, plist: [String: PropertyList]) {
    self.uuid = uuid
    self.plist = plist
  }

  /// Keys under which Core Data itself keeps something.
  package enum Key {
    package static let hashes = "NSStoreModelVersionHashes"
    package static let hashesVersion = "NSStoreModelVersionHashesVersion"
    package static let hashesDigest = "NSStoreModelVersionHashesDigest"
    package static let checksum = "NSStoreModelVersionChecksumKey"
    package static let identifiers = "NSStoreModelVersionIdentifiers"
    package static let frameworkVersion = "NSPersistenceFrameworkVersion"
    package static let type = "NSStoreType"
    package static let autoVacuum = "_NSAutoVacuumLevel"
    package static let deferredMigration =
      "NSPersistentStoreDeferredLightweightMigrationOptionKey"
  }

  /// The version hash of each entity of the model that the store was last opened with.
  package var versionHashes: [String: VersionHash] {
    (plist[Key.hashes]?.dictionaryValue ?? [:]).compactMapValues {
      $0.dataValue.flatMap { VersionHash(bytes: $0) }
    }
  }

  package var hashesVersion: Int64? { plist[Key.hashesVersion]?.integerValue }
  package var frameworkVersion: Int64? { plist[Key.frameworkVersion]?.integerValue }
  package var versionIdentifiers: [String] {
    (plist[Key.identifiers]?.arrayValue ?? []).compactMap(\.stringValue)
  }

  /// The metadata of the same store under another model; everything else stays as it was.
  package func restated(
    hashes: [String: VersionHash], versionIdentifiers: [String]
  ) -> StoreMetadata {
    var result = self
    result.plist[Key.hashes] = .dictionary(hashes.mapValues { .data($0.bytes) })
    result.plist[Key.hashesVersion] = .integer(3)
    result.plist[Key.hashesDigest] = .string(hashes.digest)
    result.plist[Key.checksum] = .string(hashes.checksum)
    result.plist[Key.identifiers] = .array(versionIdentifiers.map { .string($0) })
    result.plist[Key.type] = .string("SQLite")
    result.plist[Key.autoVacuum] = .string("2")
    result.plist[Key.deferredMigration] = nil
    return result
  }
}
