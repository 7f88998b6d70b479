import Foundation
import ModelFiles
import Planning
import Synchronization
import SystemCalls
public import SystemPackage

/// Stores with generated objects, one of each version of a model, for checks without real stores.
///
/// They are in a temporary folder, which goes with the value. A check migrates copies of them
/// twice: to compare the result, and in their place, to take it back.
///
/// ```swift
/// let made = try await MadeStores(of: "Shop.xcdatamodeld", objects: 500, seed: 1)
/// var check = try StoreCheck(of: migration)
/// (check.migratesCopies, check.made) = (true, made)
/// let findings = made.named(await check.run(made.entries))
/// ```
public struct MadeStores: Sendable {
  /// The stores, and where one could not be made why, in the order of the versions.
  public let entries: [StoreSearch.Entry]
  /// The names of the versions, in the same order.
  public let versions: [String]
  private let folder: TemporaryFolder

  /// The most stores that are made at once.
  private static let atOnce = max(1, min(8, ProcessInfo.processInfo.activeProcessorCount))

  /// The most objects in each store.
  public static let mostObjects: Int64 = 1_000_000

  /// Makes the stores.
  ///
  /// - Parameters:
  ///   - model: a bundle of versions, or one of them.
  ///   - objects: the number in each store, divided equally among the entities; at most
  ///     ``mostObjects``.
  ///   - seed: determines all values.
  ///   - progress: is called with the number of stores that are made, on any thread, but by one at
  ///     a time.
  /// - Throws: `MigrationFailure`, if there is no model or too many objects are requested; the
  ///   error of one version is in its entry. Its kind is `interrupted` if the task was cancelled.
  public init(
    of model: FilePath, objects: Int64, seed: UInt64,
    progress: @escaping @Sendable (_ made: Int, _ all: Int) -> Void = { _, _ in }
  ) async throws(MigrationFailure) {
    guard (0...Self.mostObjects).contains(objects) else {
      throw MigrationFailure(
        .usage,
        "\(GroupedText(objects)) objects cannot be generated for each version: use 0 to "
          + "\(GroupedText(Self.mostObjects)).")
    }
    let (bundle, folder) = try MigrationFailure.catching {
      (try ModelBundle(ModelBundle.enclosing(model)), try TemporaryFolder())
    }
    self.folder = folder
    self.versions = bundle.versions.map(\.name)
    let versions = bundle.versions
    // A name may have any characters, and a folder of its own keeps external files apart.
    let paths = versions.indices.map {
      folder.path.appending("\($0 + 1)").appending("Store.sqlite")
    }
    let done = Mutex(0)
    let failures = await StoreQueue.answers(Array(paths.indices), atOnce: Self.atOnce) { index in
      let failure = Self.failure(of: paths[index]) {
        var sample = SampleStore(of: versions[index].path, objects: objects)
        sample.seed = seed
        try sample.write(to: paths[index]) { _, _ in try Task.checkCancellation() }
      }
      done.withLock {
        $0 += 1
        progress($0, versions.count)
      }
      return failure
    }
    entries = paths.enumerated().map { .init(path: $1, failure: failures[$0] ?? nil) }
    if let stopped = entries.first(where: { $0.failure?.kind == .interrupted })?.failure {
      throw stopped
    }
  }

  /// Makes the folder of a store and the store; why that failed, nil where it did not.
  private static func failure(
    of store: FilePath, write: () throws -> Void
  ) -> MigrationFailure? {
    do {
      _ = try Files.createDirectory(store.removingLastComponent())
      try write()
      return nil
    } catch {
      return MigrationFailure(error)
    }
  }

  /// Findings, those on these stores under the names of their versions.
  public func named(_ findings: [StoreCheck.Finding]) -> [StoreCheck.Finding] {
    findings.map { finding in
      guard let name = name(of: FilePath(finding.store)) else { return finding }
      var named = finding
      named.store = name
      named.reasons = finding.reasons.map { $0.replacing(finding.store, with: name) }
      return named
    }
  }

  /// The name of the version that a made store has; nil for any other store.
  public func name(of store: FilePath) -> String? {
    entries.firstIndex { $0.path == store }.map { "\(versions[$0]) (generated)" }
  }
}
