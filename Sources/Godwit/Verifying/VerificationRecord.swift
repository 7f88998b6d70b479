import MigrationCoordinator
import MigrationStatus
import ModelFiles
import ObjectModel
import Schema
import StoreFormat
import StoreNames
import SystemCalls
import SystemPackage

/// The statements of records next to two stores about the route between them.
///
/// It only states what to expect: the content of the new store is computed from the old one.
struct VerificationRecord {
  /// A record that is about both stores.
  struct Found {
    var file: FilePath
    var way: RecordedWay

    /// The bundles in which the migration has searched for models, where they still are.
    var places: [FilePath] { otherPlaces + targetPlaces }
    /// Those of the models to migrate to, and below the others.
    var targetPlaces: [FilePath] { Self.bundles(way.target) }
    var otherPlaces: [FilePath] { Self.bundles(way.models) }

    private static func bundles(_ stated: [String]) -> [FilePath] {
      stated.map { FilePath($0) }.filter { path in
        (try? Files.fileStatusIfPresent(path)) != nil && !HeldStore.isStore(path)
          && (try? ModelBundle(path)) != nil
      }
    }
  }

  /// The record that is about both stores, nil where none is.
  private(set) var found: Found?
  /// Records that are about other stores, or about another version of one of them.
  private(set) var foreign: [FilePath] = []
  /// Whether a record, or the name of one, states that the old one was made from the new one.
  private(set) var isReverse = false

  /// The metadata of a store.
  struct Identity {
    var uuid: String
    var hash: String

    init(_ metadata: StoreMetadata) {
      (uuid, hash) = (metadata.uuid, metadata.versionHashes.checksum)
    }
  }

  /// Whether a record next to the new store states that the old one was damaged.
  static func statesSalvage(_ new: FilePath) -> Bool {
    guard let record = try? OutcomeFile(beside: new).read() else { return false }
    return record.way?.choices["--salvage"] != nil
  }

  /// Searches next to the new store, and next to the old one for a record that names the new one.
  init(old: FilePath, new: FilePath, before: Identity?, after: Identity?) {
    for store in [new, old] {
      let file = OutcomeFile(beside: store)
      guard let record = try? file.read(), record.madeResult, let way = record.way, way.isWhole
      else { continue }
      if store == old, way.leads(from: after, to: before), record.destination == "\(old)" {
        isReverse = true
      }
      guard store == new || record.destination == "\(new)" else { continue }
      if way.leads(from: before, to: after) {
        found = Found(file: file.path, way: way)
        return
      }
      foreign.append(file.path)
    }
    if let before, let after, before.uuid == after.uuid, before.hash != after.hash,
      KeptName.isOlder(new, than: old)
    {
      isReverse = true
    }
  }
}

extension RecordedWay {
  /// Whether it is the way between two stores; the metadata of a damaged one may be wrong in one of
  /// two points.
  fileprivate func leads(
    from old: VerificationRecord.Identity?, to new: VerificationRecord.Identity?
  ) -> Bool {
    guard let old, let first = versions.first, let last = versions.last,
      old.uuid == store, old.hash == first.hash
    else { return false }
    return new.map { $0.uuid == store || $0.hash == last.hash } ?? true
  }
}

extension OutcomeRecord {
  /// Whether the run has put its result in its place, or was cut off when it had.
  fileprivate var madeResult: Bool { state == .done || (made != nil && !isOfLivingProcess) }
}
