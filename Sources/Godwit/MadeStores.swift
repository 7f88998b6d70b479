import Foundation
import ModelFiles
import Planning
import SystemCalls
public import SystemPackage

/// Stores with made-up objects, one of each version of a model, for checks without stores of one's
/// own.
///
/// They are in a temporary folder, which goes with the value. A check migrates copies of them
/// twice: to compare the result, and in their place, to take it back.
///
/// ```swift
/// let made = try MadeStores(of: "Shop.xcdatamodeld", objects: 500, seed: 1)
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

  /// The most objects in each store.
  public static let mostObjects: Int64 = 1_000_000

  /// Makes the stores.
  ///
  /// - Parameters:
  ///   - model: a bundle of versions, or one of them.
  ///   - objects: how many there are in each store, in equal shares over the entities; at most
  ///     ``mostObjects``.
  ///   - seed: determines all values.
  /// - Throws: `MigrationFailure`, if there is no model or too many objects are asked for; what is
  ///   wrong with one version is in its entry. `CancellationError`, if the task was cancelled.
  public init(of model: FilePath, objects: Int64, seed: UInt64) throws {
    guard (0...Self.mostObjects).contains(objects) else {
      throw MigrationFailure(
        .usage,
        "\(GroupedText(objects)) objects cannot be made for each version: ask for 0 to "
          + "\(GroupedText(Self.mostObjects)).")
    }
    let (bundle, folder) = try MigrationFailure.catching {
      (try ModelBundle(ModelBundle.enclosing(model)), try TemporaryFolder())
    }
    self.folder = folder
    versions = bundle.versions.map(\.name)
    entries = try bundle.versions.enumerated().map { index, version in
      // A name may have any characters, and a folder of its own keeps external files apart.
      let place = folder.path.appending("\(index + 1)")
      let path = place.appending("Store.sqlite")
      do {
        _ = try Files.createDirectory(place)
        var sample = SampleStore(of: version.path, objects: objects)
        sample.seed = seed
        try sample.write(to: path) { _, _ in try Task.checkCancellation() }
        return .init(path: path, failure: nil)
      } catch let error as CancellationError {
        throw error
      } catch {
        return .init(path: path, failure: MigrationFailure(error))
      }
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
    entries.firstIndex { $0.path == store }.map { "\(versions[$0]) (made up)" }
  }
}

extension StoreCheck {
  /// Migrates a copy of a store in its place and takes it back, after which each of its files has
  /// the bytes that it had.
  ///
  /// - Throws: `MigrationFailure`, if it has not.
  func takeBack(_ migration: StoreMigration, in folder: TemporaryFolder) async throws {
    let name = migration.store.lastComponent ?? "Store.sqlite"
    let place = folder.path.appending("back")
    var own = migration
    own.store = place.appending(name)
    own.output = nil
    own.workFolder = nil
    own.discardsOld = false
    own.executesSmallOrders = true
    let files = try MigrationFailure.catching {
      _ = try Files.createDirectory(place)
      return try Self.copy(migration.store, to: own.store)
    }
    try await own.run()
    try MigratedStore(own.store).rollBack()
    let changed = try MigrationFailure.catching {
      try files.filter { try Self.bytes(of: $0.from) != Self.bytes(of: $0.to) }
    }
    guard changed.isEmpty else {
      throw MigrationFailure(
        .damaged, kind: .storesDiffer,
        "\(migration.store): the rollback of its migration does not bring back "
          + "\(ListText(changed.map { $0.from.lastComponent?.string ?? "" })), please report it.")
    }
  }

  /// Copies a store and its external files; the places of each file before and after.
  private static func copy(
    _ store: FilePath, to copy: FilePath
  ) throws -> [(from: FilePath, to: FilePath)] {
    var files = [(from: store, to: copy)]
    let (support, other) = (
      MigrationPaths.support(of: store), MigrationPaths.support(of: copy)
    )
    if try Files.fileStatusIfPresent(support) != nil {
      _ = try Files.createDirectory(other)
      let data = "_EXTERNAL_DATA"
      if try Files.fileStatusIfPresent(support.appending(data)) != nil {
        _ = try Files.createDirectory(other.appending(data))
        files += try Files.listDirectory(support.appending(data)).map {
          (support.appending(data).appending($0), other.appending(data).appending($0))
        }
      }
    }
    for (from, to) in files { try Files.writeFileAtomically(bytes(of: from), to: to) }
    return files
  }

  /// The bytes of a made-up file, which fits into memory.
  private static func bytes(of file: FilePath) throws -> [UInt8] {
    try Files.readFile(file, limit: 1 << 30)
  }
}
