import Inspection
import Mapping
import MigrationCoordinator
import MigrationStatus
import Planning
import StoreFormat
import Survey
import SystemCalls
public import SystemPackage

/// What two stores of one model hold differently, object by object.
///
/// Objects are compared by their keys: attributes by value, wherever the bytes of a value are,
/// references by key and entity, orders as orders. How often an object was saved (`Z_OPT`),
/// metadata, history and tables of no model are left out; `StoreVerification` compares those of a
/// migration.
///
/// ```swift
/// let report = try StoreDiff(of: "Shop.sqlite", and: "Backup.sqlite").run()
/// for difference in report.differences { print(difference) }
/// ```
public struct StoreDiff: Sendable {
  /// The first store.
  public var first: FilePath
  /// The store with which it is compared.
  public var second: FilePath
  /// Places to search for the models of both stores, besides the stores themselves.
  public var models: [FilePath] = []
  /// How many differences the report keeps; all are counted.
  public var limit = 100

  /// Names two stores.
  public init(of first: FilePath, and second: FilePath) {
    (self.first, self.second) = (first, second)
  }

  /// One difference.
  public struct Difference: Hashable, Sendable, Encodable, CustomStringConvertible {
    /// The kind: `onlyInFirst`, `onlyInSecond`, `entity`, `value`, `member` or `order`.
    public var kind: String
    /// The entity of the object; its table if the model has no entity of its number.
    public var entity: String
    /// The key of its row (`Z_PK`).
    public var key: Int64
    /// The property; nil if the object itself is meant.
    public var property: String?
    /// What the first store has, nil for nothing.
    public var first: String?
    /// What the second store has, nil for nothing.
    public var second: String?

    /// The difference on one line.
    public var description: String {
      let place = "\(entity)/\(key)\(property.map { ".\($0)" } ?? "")"
      return switch kind {
      case "onlyInFirst": "- \(place)  only in the first store"
      case "onlyInSecond": "+ \(place)  only in the second store"
      case "order": "~ \(place)  in another order"
      case "entity": "~ \(place)  of the entity \(second ?? "none") in the second store"
      case "member":
        second == nil
          ? "- \(place)  \(first ?? "") only in the first store"
          : "+ \(place)  \(second ?? "") only in the second store"
      default: "~ \(place)  \(first ?? "nil") → \(second ?? "nil")"
      }
    }
  }

  /// The objects of one entity, without those of its subentities.
  public struct EntityCounts: Hashable, Sendable, Encodable {
    /// The name of the entity.
    public var entity: String
    /// How many objects both stores have.
    public var compared: Int64
    /// How many of these differ in their rows.
    public var differing: Int64
    /// How many the first store has alone.
    public var onlyInFirst: Int64
    /// How many the second store has alone.
    public var onlyInSecond: Int64
  }

  /// What was found.
  public struct Report: Sendable, Encodable {
    private var version = 1
    private var kind = "stores"
    /// The path of the first store.
    public private(set) var first: String
    /// The path of the second store.
    public private(set) var second: String
    /// Whether nothing differs that was compared.
    public private(set) var isAlike: Bool
    /// How the models differ if the version hashes do, so that no objects are compared.
    public private(set) var models: ModelDiff?
    /// The number of all differences.
    public private(set) var total: Int64 = 0
    /// The number of all differences, by kind.
    public private(set) var counts: [String: Int64] = [:]
    /// The objects, by entity.
    public private(set) var entities: [EntityCounts] = []
    /// The number of differing values, members and orders, by `Entity.property`.
    public private(set) var properties: [String: Int64] = [:]
    /// The first differences, up to the limit.
    public private(set) var differences: [Difference] = []
    /// What could not be compared, a sentence each.
    public private(set) var notCompared: [String] = []
    /// What is left out, and what else is to be known, a sentence each.
    public private(set) var notes: [String] = []

    fileprivate init(_ diff: StoreDiff, models: ModelDiff) {
      (first, second) = ("\(diff.first)", "\(diff.second)")
      (isAlike, self.models) = (false, models)
    }

    fileprivate init(_ diff: StoreDiff, _ found: StoreDifferences, notes: [String]) {
      (first, second) = ("\(diff.first)", "\(diff.second)")
      isAlike = found.total == 0
      total = found.total
      counts = Dictionary(
        found.counts.map { ($0.key.rawValue, $0.value) }, uniquingKeysWith: +)
      entities = found.entities.sorted { $0.key < $1.key }.map { name, counts in
        EntityCounts(
          entity: name, compared: counts.compared, differing: counts.differing,
          onlyInFirst: counts.onlyInFirst, onlyInSecond: counts.onlyInSecond)
      }
      properties = found.properties
      differences = found.differences.map { Difference($0) }
      notCompared =
        found.notCompared.sorted { $0.key < $1.key }.map { name, value in
          "\(CountText(value.count, "value")) of \(name), not compared: \(value.why)."
        } + found.tablesNotCompared.map { "\($0)." }
      self.notes = notes
    }

    /// The lines of `godwit diff` of two stores.
    public var lines: [String] {
      if let models {
        return [
          "\(first) and \(second) are of different models, so no objects are compared "
            + "(\(command: .verify) compares a store with what a migration made of it)."
        ] + models.lines
      }
      var lines = differences.map(\.description)
      let hidden = total - Int64(differences.count)
      if hidden > 0 {
        lines.append("… and \(CountText(hidden, "difference")) more: raise \(option: .limit).")
      }
      lines += entities.filter { $0.differing + $0.onlyInFirst + $0.onlyInSecond > 0 }.map {
        "\($0.entity): \($0.compared) in both, \($0.differing) of them differ, "
          + "\($0.onlyInFirst) only in the first, \($0.onlyInSecond) only in the second"
      }
      lines += properties.sorted { $0.key < $1.key }.map {
        "\($0.key): \(CountText($0.value, "difference"))"
      }
      lines += notCompared.map { "not compared: \($0)" } + notes.map { "note: \($0)" }
      let compared = CountText(entities.map(\.compared).reduce(0, +), "object")
      lines.append(
        isAlike
          ? notCompared.isEmpty
            ? "\(first) and \(second) are equal: \(compared) compared."
            : "what was compared of \(first) and \(second) is equal: \(compared) compared."
          : "\(first) and \(second) differ: \(CountText(total, "difference")), "
            + "\(compared) compared.")
      return lines
    }
  }

  /// The steps by which the second store was made of the first, as a record states them, or else as
  /// a migration would go.
  private func way(from one: HeldStore, to other: HeldStore) -> [MigrationRoute.Step] {
    let resolved = [first, second].map { (try? Files.resolved($0)) ?? $0 }
    let record = VerificationRecord(
      old: resolved[0], new: resolved[1], before: .init(one.metadata),
      after: .init(other.metadata))
    guard let found = record.found else {
      return ModelDiff.route(from: one.model, to: other.model, at: second, others: models)
    }
    var request = MigrationRequest(store: first, target: [second], workers: 1, memory: 64 << 20)
    request.configuration = found.way.configuration
    request.models = models + found.places
    func version(_ store: HeldStore) -> RouteVersion {
      RouteVersion(names: [], model: store.model, hashes: store.metadata.versionHashes)
    }
    let route = try? FoundRoute(
      stated: found.way, for: request, from: version(one), to: version(other))
    return route?.route.steps ?? []
  }

  /// Compares the stores and changes neither.
  ///
  /// - Parameter progress: is called with the name of each table before it is read.
  /// - Throws: `MigrationFailure`, if one of them cannot be read or its model is not found.
  public func run(progress: (_ table: String) -> Void = { _ in }) throws(MigrationFailure) -> Report
  {
    try MigrationFailure.catching {
      let one = try HeldStore(first, models: models)
      let other = try HeldStore(second, models: models)
      guard one.metadata.versionHashes == other.metadata.versionHashes else {
        let steps = way(from: one, to: other)
        return Report(
          self, models: ModelDiff(first, one.model, second, other.model, along: steps))
      }
      let (contents, others) = (try one.contents(), try other.contents())
      let found = try contents.differences(
        from: others, limit: max(0, limit), progress: progress)
      try one.access.requireUnchanged()
      try other.access.requireUnchanged()
      var notes: [String] = []
      if one.metadata.uuid != other.metadata.uuid {
        notes.append(
          "The stores have different "
            + "UUIDs.")
      }
      if !ModelComparison(from: one.model, to: other.model).isAlike {
        notes.append("Their models differ in parts that no version hash covers.")
      }
      let extra = Set(contents.extraTables + others.extraTables).sorted()
      if !extra.isEmpty {
        notes.append("Tables that are not part of the model: \(extra.joined(separator: ", ")).")
      }
      return Report(self, found, notes: notes)
    }
  }
}

extension StoreDiff.Difference {
  fileprivate init(_ difference: StoreDifference) {
    (kind, entity, key) = (difference.kind.rawValue, difference.entity, difference.key)
    (property, first, second) = (difference.property, difference.first, difference.second)
  }
}
