import Mapping
import MigrationCoordinator
import ModelFiles
import ObjectModel
import StoreFormat
import Survey
import SystemPackage

extension StoreMigration {
  /// A version that a store has and no version of the model's bundle.
  public struct MissingVersion: Hashable, Sendable, Encodable {
    /// The version that is most like it; nil where none shares an entity.
    public var nearest: String?
    /// The consequence and the remedy, in words.
    public var sentence: String
  }
}

extension StoreMigration.MissingVersion {
  /// Compares the version hashes of a store without an embedded model with a bundle.
  ///
  /// nil where the store or the bundle cannot be read, or the target is no bundle.
  init?(of store: FilePath, target: [FilePath], library: ModelLibrary) {
    guard let bundle = target.first.flatMap({ VersionLock.bundle(of: $0) }),
      let versions = try? VersionLock(of: bundle, from: library),
      let access = try? SourceAccess.open(store),
      let hashes = try? StoreReader(immutable: access.readable).metadata().versionHashes,
      !hashes.isEmpty
    else { return nil }
    let stored = LoggedVersion(hashes.mapValues(\.hexadecimal))
    guard stored.versions(in: versions).isEmpty else { return nil }
    nearest = stored.nearest(in: versions)?.name
    sentence =
      (["No version of \(bundle) has the hashes of the store."] + stored.difference(from: versions))
      .joined(separator: " ")
  }
}

/// A version that a store has and no version of the target's bundle: one that was edited after its
/// release, as a rule, or deleted.
struct MissingVersionSearch {
  private let bundle: FilePath
  /// The name under which the lock of released versions has it.
  private let released: String?
  private let nearest: LockedVersion?
  private let edits: [LockedVersion.Edit]

  /// nil where a version of the bundle, or of another place, has the hashes of the store.
  init?(_ preview: MigrationPreview) {
    let survey = preview.survey
    guard survey.isModelInStoresAlone, let target = preview.prepared.request.target.first,
      let bundle = VersionLock.bundle(of: target)
    else { return nil }
    self.bundle = bundle
    let own = LockedVersion(name: "", model: survey.model)
    // A lock that cannot be read is reported by `check --locked`.
    let lock = try? VersionLock(contentsOf: VersionLock.file(of: bundle))
    let name = lock?.locked.first { $0.hashes(like: own) }?.name
    let now = try? VersionLock(of: bundle, from: preview.prepared.request.library)
    released = name
    nearest = now?.locked.first { $0.name == name } ?? now?.nearest(to: own)
    let isPart = preview.prepared.request.configuration != nil
    edits = (nearest.map { own.edits(to: $0) } ?? []).filter { edit in
      // The store has those of its configuration alone.
      if isPart, case .entityNew = edit { false } else { true }
    }
  }

  /// The version for callers.
  var described: StoreMigration.MissingVersion { .init(nearest: nearest?.name, sentence: sentence) }

  private var sentence: String {
    let changes = edits.isEmpty ? "" : ", in which \(ListText(edits.map(\.words)))"
    let likely = nearest.map {
      $0.name == released
        ? " It was released as \($0.name)\(changes)." : " The nearest is \($0.name)\(changes)."
    }
    return
      "No version of \(bundle) has the hashes of the store, so Core Data would find no model for "
      + "it. Godwit uses the embedded model of the store.\(likely ?? "") \(command: .exportModel) "
      + "writes the store's model as a version to put back."
  }
}
