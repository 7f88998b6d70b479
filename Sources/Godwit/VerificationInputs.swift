import Foundation
import Mapping
import MigrationCoordinator
import ModelFiles
import ObjectModel
import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage
import Verification

/// Everything that `verify` finds out before it compares rows.
struct VerificationInputs {
  /// The steps of the route; empty if both stores are of one version.
  private(set) var steps: [MigrationRoute.Step] = []
  private let old: VerificationOrder.Store
  private let new: VerificationOrder.Store
  private let hashes: [String: VersionHash]
  private let isOwnWord: Bool
  private var source: ManagedObjectModel?
  private var destination: ManagedObjectModel?
  private var copyModel: ManagedObjectModel?
  private var unsupported: [String] = []
  private let scratch: TemporaryFolder
  /// What was taken of a damaged old store, which is compared in its place.
  let salvaged: SalvagedStore?
  /// Excludes writers, and keeps copies while they are read.
  private let access: [SourceAccess]

  /// What `verify` is asked for besides the two stores.
  struct Request {
    var migration: MigrationRequest
    /// The models that the new store should have; empty takes the model that its metadata name.
    var target: [FilePath]
    var configuration: String?
    /// Whether this process has made the new store, and nobody else writes it.
    var isOwn: Bool
  }

  /// A new store that cannot be opened, or whose version is unknown.
  struct Unreadable: Error {
    var cause: StoreError
  }

  /// Opens both stores without changing them.
  init(old: FilePath, new: FilePath, request: Request) throws {
    let (old, new) = (try Self.resolved(old), try Self.resolved(new))
    let salvage = try SourceSalvage(
      request: request.migration,
      access: SourceAccess.open(old, acceptsShort: request.migration.salvages),
      path: {
        let folder = try TemporaryFolder()
        return (folder.path.appending("old.sqlite"), folder)
      }
    )
    let before = salvage.access
    salvaged = salvage.found
    let after = try Self.ofNew { try SourceAccess.open(new, isOwn: request.isOwn) }
    access = [before, after]
    let target =
      request.target.isEmpty
      ? nil
      : try TargetModel(
        paths: request.target, configuration: request.configuration,
        library: request.migration.library)
    var migration = request.migration
    migration.store = old
    migration.target = request.target.isEmpty ? [new] : request.target
    let oldReader = try StoreReader(immutable: before.readable)
    let stated = try oldReader.metadata().versionHashes
    let places = migration.models + request.target.filter(Self.isBundle)
    let version = try Self.ofNew {
      try target.map { NewVersion($0) }
        ?? NewVersion(
          reader: StoreReader(immutable: after.readable), store: new, before: stated,
          models: migration.models)
    }
    if stated == version.hashes {
      // Copies are compared as they are, whether or not their model is known.
      copyModel = version.model ?? (try? OwnModel.find(stated, in: places, reader: oldReader))
      source = copyModel
    } else {
      guard let model = version.model else {
        throw MigrationError.sourceModelMissing(
          store: new, searched: migration.models, unreadable: [])
      }
      let survey = try StoreSurvey(
        store: old, access: before, models: places, library: migration.library)
      steps = try FoundRoute(
        ofResult: migration, survey: survey, model: model, hashes: version.hashes
      ).route.steps
      (source, destination) = (survey.model, model)
      unsupported = survey.unsupported.filter { $0 != .cloudKitMirroring }.map {
        "\($0.rawValue) of the old store"
      }
    }
    (self.old, self.new) = (
      .init(path: old, readable: before.readable), .init(path: new, readable: after.readable)
    )
    hashes = version.hashes
    isOwnWord = version.isOwnWord
    scratch = try TemporaryFolder()
  }

  /// Throws where one of the stores has changed since it was opened.
  func requireUnchanged() throws {
    for access in access { try access.requireUnchanged() }
  }

  private static func ofNew<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as StoreError {
      throw Unreadable(cause: error)
    }
  }

  /// The order for the comparison.
  var order: VerificationOrder {
    var order = VerificationOrder(
      old: old, new: new,
      steps: steps.map { step in
        let (from, to) = (step.source.model, step.destination.model)
        return .init(
          source: from, destination: to,
          mappings: step.mappings.map { $0.mapping.completingCopies(from: from, to: to) })
      },
      hashes: hashes, versionIdentifiers: destination?.versionIdentifiers ?? [],
      scratch: scratch.path)
    order.copyModel = copyModel
    order.unsupported = unsupported
    order.takesNewAtItsWord = isOwnWord
    // The models of both stores themselves, of which a route may know others that hash alike.
    if let source, let destination, !order.steps.isEmpty {
      order.steps[0].source = source
      order.steps[order.steps.count - 1].destination = destination
    }
    return order
  }

  private static func resolved(_ path: FilePath) throws -> FilePath {
    // A missing file fails when it is opened.
    try Files.fileStatusIfPresent(path) == nil ? path : Files.resolved(path)
  }

  private static func isBundle(_ path: FilePath) -> Bool { (try? StoreHeader(of: path)) == nil }
}

/// The version that a new store should have.
private struct NewVersion {
  /// nil if it is not known.
  var model: ManagedObjectModel?
  var hashes: [String: VersionHash]
  /// Whether the model comes from the store's own cache.
  var isOwnWord = false

  /// Takes the model that the caller named.
  init(_ target: TargetModel) {
    model = target.model
    hashes = target.hashes
  }

  /// Takes the model with the hashes in the store's metadata, or else the one in its cache.
  init(
    reader: StoreReader, store: FilePath, before: [String: VersionHash],
    models: [FilePath]
  ) throws {
    let metadata = try reader.metadata()
    hashes = metadata.versionHashes
    if hashes == before { return }
    // An unreadable cache is a difference, if the model is found elsewhere.
    let cached = try? reader.cachedModel()
    let own = cached.flatMap { try? $0.versionHashes() }
    let found = try? OwnModel.find(hashes, in: models, reader: reader)
    // A file has more of the model than a cache, but may be another version with equal hashes.
    let tells = found.map { Set($0.versionIdentifiers) } == Set(metadata.versionIdentifiers)
    if let found, found != cached, tells || own != hashes {
      model = found
    } else if own == hashes {
      model = cached
      isOwnWord = true
    } else if let cached, let own, own != before {
      (model, hashes) = (cached, own)
    }
  }
}
