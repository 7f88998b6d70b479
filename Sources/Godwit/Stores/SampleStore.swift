public import Foundation
import MigrationCoordinator
import ModelFiles
import ObjectModel
import StoreFormat
import StoreGenerator
public import SystemPackage

/// A store with generated objects of any model, for tests and measurements.
///
/// The same model, number of objects and seed give the same bytes. Values are random and may
/// violate rules such as a minimum number of objects; the notes of the report list these.
///
/// ```swift
/// var sample = SampleStore(of: "Shop.xcdatamodeld", objects: 100_000)
/// sample.version = "Shop 3"
/// let report = try sample.write(to: "Test.sqlite")
/// ```
public struct SampleStore: Sendable {
  /// A model bundle, a single version, or a folder or application with a model.
  public var model: FilePath
  /// The version of the bundle, nil for its current one.
  public var version: String?
  /// The number of objects, in equal shares over the entities that are not abstract.
  public var objects: Int64
  /// The number of transactions in the persistent history; without it and `changes`, the store has
  /// no history.
  public var transactions: Int64?
  /// The changes of all transactions together, eight for each if that is left open.
  public var changes: Int64?
  /// Determines all values.
  public var seed: UInt64 = 1
  /// Whether the store has the documented tables of CloudKit mirroring, with a record for each
  /// object.
  public var isMirrored = false
  /// The journal mode of the store.
  public var journalMode = JournalMode.delete

  /// Describes a store with this number of objects of a model.
  public init(of model: FilePath, objects: Int64) {
    (self.model, self.objects) = (model, objects)
  }

  /// Describes a store with this number of objects of a model.
  public init(of model: URL, objects: Int64) {
    self.init(of: FilePath(model), objects: objects)
  }

  /// What was generated.
  public struct Report: Hashable, Sendable {
    /// The name of the version.
    public var version: String
    /// Objects by entity.
    public var objects: [String: Int64]
    /// The size of the store without its external files, in bytes.
    public var bytes: Int64
    /// How many external files were made.
    public var externalFiles: Int64
    /// Properties whose values do not follow the model, one sentence each.
    public var notes: [String]
  }

  /// Writes the store, which appears with its external files once it is complete.
  ///
  /// - Parameters:
  ///   - output: the path of the store, which has to be free.
  ///   - progress: receives the objects written so far and in all, and may throw to stop.
  /// - Throws: `MigrationFailure`, or what `progress` throws; nothing is left behind then.
  @discardableResult
  public func write(
    to output: FilePath, progress: (_ done: Int64, _ total: Int64) throws -> Void = { _, _ in }
  ) throws -> Report {
    try MigrationFailure.catching(around: progress) { progress in
      try CompanionName.requireFree(output)
      let bundle = try ModelBundle(model)
      let found = try version.map { try bundle.version(named: $0) } ?? bundle.current()
      let model = try found.model()
      let generator = try StoreGenerator(
        model: model, rows: objects, seed: seed, isMirrored: isMirrored,
        history: HistorySize(transactions: transactions, changes: changes))
      let archive = Self.archive(of: model)
      let made = try generator.generate(
        to: output, journalMode: journalMode.core, modelCache: archive.bytes,
        progress: { try progress(($0, $1)) })
      return Report(
        version: found.name,
        objects: Dictionary(
          made.entities.map { ($0.name, $0.rows) }, uniquingKeysWith: +),
        bytes: made.storeBytes, externalFiles: made.externalFiles,
        notes: archive.notes + made.notes.map(\.sentence))
    }
  }

  /// Writes the store, which appears with its external files once it is complete.
  ///
  /// - Throws: `MigrationFailure`; nothing is left behind then.
  @discardableResult
  public func write(to output: URL) throws(MigrationFailure) -> Report {
    try MigrationFailure.catching { try write(to: FilePath(output)) }
  }

  /// The archived model for the store's cache, and notes on what it lacks.
  private static func archive(
    of model: ManagedObjectModel
  ) -> (bytes: [UInt8]?, notes: [String]) {
    do {
      let encoded = try ModelArchive.encode(model)
      return (encoded.bytes, encoded.leftOut.map { MigrationReport.CachePart($0).sentence })
    } catch {
      return (nil, ["the store has no embedded model: \(error.problem)."])
    }
  }
}
