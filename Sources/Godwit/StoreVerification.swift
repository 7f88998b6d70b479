public import Foundation
import MigrationCoordinator
import Planning
import StoreFormat
import Survey
import SystemCalls
public import SystemPackage
import Verification

/// A comparison of a migrated store with the old one, object by object.
///
/// It works out what the old store should have become, by inference or by the mapping models that
/// the migration used, and compares it with the new store to the last byte: rows, relationships,
/// orders, keys, metadata, indexes, pages, external files. Both stores are left as they are.
///
/// ```swift
/// let verification = StoreVerification(of: "New.sqlite", madeFrom: "Shop.sqlite")
/// let report = try await verification.run()
/// guard report.isAlike else { throw report.failure }
/// ```
public struct StoreVerification: Sendable {
  /// The store before the migration.
  public var old: FilePath
  /// The store after it.
  public var new: FilePath
  /// The models that the new store should have, merged; empty takes the new store at its word.
  public var target: [FilePath] = []
  /// The configuration of the model that the new store should have, or nil for all of it.
  public var configuration: String?
  /// Where the models of both stores, and mapping models beside them, may be found.
  public var models: [FilePath] = []
  /// By which mapping models and over which versions the migration went.
  public var routing = MigrationRouting()
  /// The policies that the mapping models name.
  public var policies = MigrationPolicies()
  /// How the new store should keep its journal, or nil for the way of the old one.
  public var journalMode: JournalMode?
  /// How many differences are kept; the others are counted.
  public var limit = 100

  /// Creates a comparison of a new store with the one that it was made from.
  public init(of new: FilePath, madeFrom old: FilePath) {
    (self.old, self.new) = (old, new)
  }

  /// Creates a comparison of a new store with the one that it was made from.
  public init(of new: URL, madeFrom old: URL) {
    self.init(of: FilePath(new), madeFrom: FilePath(old))
  }

  /// How far a verification is.
  public struct Progress: Hashable, Sendable {
    /// What is being done, in words.
    public var phase: String
    /// From 0 to 1; it never falls.
    public var fraction: Double
  }

  /// Compares the stores.
  ///
  /// - Parameter progress: is called again and again, on the thread of the caller.
  /// - Throws: `MigrationFailure` where the old store or a model cannot be read, or where nothing
  ///   tells what should have become of it. What is wrong with the new store is a difference.
  public func run(progress: @escaping (Progress) -> Void = { _ in }) async throws -> Report {
    try MigrationFailure.catching {
      guard try Files.fileStatusIfPresent(new) != nil else {
        throw MigrationFailure(.notFound, "\(new) is not there: check the path.")
      }
      return try compare(progress)
    }
  }

  private func compare(_ progress: @escaping (Progress) -> Void) throws -> Report {
    var migration = MigrationRequest(store: old, target: [new], workers: 1, memory: 256 << 20)
    migration.configuration = configuration
    migration.models = models
    migration.policies = policies.factories
    migration.take(routing)
    do {
      let inputs = try VerificationInputs(
        old: old, new: new,
        request: .init(migration: migration, target: target, configuration: configuration))
      var order = inputs.order
      order.limit = max(0, limit)
      order.usesWAL = journalMode.map { $0 == .wal }
      order.policies = policies.factories
      order.now = Date().timeIntervalSinceReferenceDate
      return try withExtendedLifetime(inputs) {
        let core = try StoreComparison.run(order) {
          progress(Progress(phase: $0.what, fraction: $0.fraction))
        }
        return Report(old: old, new: new, core: core, steps: inputs.steps)
      }
    } catch VerificationError.notInferable(let places) {
      throw MigrationFailure(
        .impossible,
        "\(new) cannot have come from \(old) by inference (\(places.joined(separator: ", "))): name "
          + "the mapping models with --mapping, or the versions between with --progressive.")
    } catch let error as VerificationInputs.Unreadable {
      // A new store that cannot be opened at all differs as much as one can.
      var core = VerificationReport(limit: max(1, limit))
      core.note(
        Verification.Difference(
          error.cause.kind, table: "\(new)",
          actual: MigrationFailure(error.cause).sentences.joined(separator: " ")))
      return Report(old: old, new: new, core: core, steps: [])
    }
  }
}

extension StoreError {
  /// What a new store is called that cannot be opened at all.
  fileprivate var kind: Verification.Difference.Kind {
    switch problem {
    case .metadataUnreadable, .hashVersionUnknown, .notCoreData: .metadata
    case .modelCacheUnreadable: .modelCache
    default: .page
    }
  }
}
