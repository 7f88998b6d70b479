import Foundation
import MigrationCoordinator
import ModelFiles
import ObjectModel
import Planning
import StoreFormat
import StoreVerification
import SystemCalls
import SystemPackage

/// What `verify` finds out before it compares anything.
struct VerificationInputs {
  var order: VerificationOrder
  /// The versions that the store went through; empty where both are of one version.
  var steps: [MigrationRoute.Step] = []
  private let access: [SourceAccess]

  /// What `verify` was asked for, besides the two stores.
  struct Request {
    var migration: MigrationRequest
    /// The model that the new store should have; empty takes it at its own word.
    var target: [FilePath]
    var configuration: String?
  }

  /// Opens both stores in a way that leaves them as they are.
  init(
    old: FilePath, new: FilePath, _ request: Request, scratch: FilePath
  ) throws {
    let (old, new) = (try Self.resolved(old), try Self.resolved(new))
    let before = try SourceAccess.open(old) { scratch.appending("old.sqlite") }
    let after = try SourceAccess.open(new) { scratch.appending("new.sqlite") }
    access = [before, after]
    let target =
      request.target.isEmpty
      ? nil : try TargetModel(request.target, configuration: request.configuration)
    var migration = request.migration
    migration.store = old
    migration.target = request.target.isEmpty ? [new] : request.target
    let oldReader = try StoreReader(immutable: before.readable)
    let told = try oldReader.metadata().versionHashes
    let places = migration.models + request.target.filter(Self.isBundle)
    // A store whose own word cannot be read is judged by the model that it should have.
    let newReader = target == nil ? try StoreReader(immutable: after.readable) : nil
    if try told == target?.hashes ?? newReader?.metadata().versionHashes {
      // Copies are compared as they are, whether or not their model is known.
      let model = try? OwnModel.find(told, in: places, reader: oldReader)
      order = VerificationOrder(
        old: .init(path: old, readable: before.readable),
        new: .init(path: new, readable: after.readable), steps: [], hashes: told,
        versionIdentifiers: [], scratch: scratch)
      order.copyModel = model
      return
    }
    let survey = try StoreSurvey(store: old, access: before, models: places)
    let version =
      try target.map { NewVersion($0) }
      ?? NewVersion(StoreReader(immutable: after.readable), new, models: migration.models)
    steps = try FoundRoute(
      ofResult: migration, survey: survey, model: version.model, hashes: version.hashes
    ).route.steps
    order = VerificationOrder(
      old: .init(path: old, readable: before.readable),
      new: .init(path: new, readable: after.readable),
      steps: steps.map {
        .init(
          source: $0.source.model, destination: $0.destination.model,
          mappings: $0.mappings.map(\.mapping))
      },
      hashes: version.hashes, versionIdentifiers: version.identifiers, scratch: scratch)
    // The tables are those of the model that was found, under its own names.
    order.steps[0].source = survey.model
    order.steps[order.steps.count - 1].destination = version.model
    order.unsupported = survey.unsupported.map { "\($0.rawValue) of the old store" }
  }

  private static func resolved(_ path: FilePath) throws -> FilePath {
    // What is not there is told by whoever opens it.
    try Files.fileStatusIfPresent(path) == nil ? path : Files.resolved(path)
  }

  private static func isBundle(_ path: FilePath) -> Bool { (try? StoreHeader(of: path)) == nil }
}

/// The version that a new store should be of.
private struct NewVersion {
  var model: ManagedObjectModel
  var hashes: [String: VersionHash]
  var identifiers: [String]

  init(_ target: TargetModel) {
    self.init(target.model, target.hashes)
  }

  /// Takes a store at its word: the model with the hashes of its metadata, or, where there is none,
  /// the one that it carries.
  init(_ reader: StoreReader, _ store: FilePath, models: [FilePath]) throws {
    let told = try reader.metadata().versionHashes
    // A cache that cannot be read is named by the comparison, where the model is found elsewhere.
    let cached = try? reader.cachedModel()
    if let cached, (try? cached.versionHashes()) == told {
      self.init(cached, told)
    } else if let found = try? OwnModel.find(told, in: models, reader: reader) {
      self.init(found, told)
    } else if let cached {
      self.init(cached, try cached.versionHashes())
    } else {
      throw MigrationError.sourceModelMissing(store: store, searched: models, unreadable: [])
    }
  }

  private init(_ model: ManagedObjectModel, _ hashes: [String: VersionHash]) {
    self.model = model
    self.hashes = hashes
    identifiers = model.versionIdentifiers
  }
}
