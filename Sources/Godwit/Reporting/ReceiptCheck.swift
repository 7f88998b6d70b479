import StoreFormat
import SystemCalls
public import SystemPackage

/// A check of stores against the receipt of a migration.
///
/// ```swift
/// let report = try ReceiptCheck("receipt.json").run(["New.sqlite"])
/// guard report.isAlike else { throw report.failure }
/// ```
public struct ReceiptCheck: Sendable {
  /// What the receipt is read from.
  public let file: FilePath
  /// The receipt.
  public let receipt: MigrationReceipt
  /// Places to search for the stores' models, besides the stores themselves.
  public var models: [FilePath] = []

  /// Reads a receipt in JSON.
  ///
  /// - Throws: `MigrationFailure`, if it is not there or no such file.
  public init(_ file: FilePath) throws(MigrationFailure) {
    self.file = file
    receipt = try MigrationFailure.catching {
      guard let status = try Files.fileStatusIfPresent(file) else {
        throw MigrationFailure(.notFound, "\(file) does not exist: \(command: .receipt) writes it.")
      }
      // Reading a pipe would wait for a writer, perhaps forever.
      guard status.kind == .file, status.size <= MigrationReceipt.limit,
        let receipt = try? MigrationReceipt(Files.readFile(file, limit: MigrationReceipt.limit))
      else {
        throw MigrationFailure(
          .damaged,
          "\(file) is not a receipt in JSON: name one that \(command: .receipt) has written.")
      }
      return receipt
    }
  }

  /// A store, and how it differs from the receipt.
  public struct Finding: Hashable, Sendable, Encodable {
    /// Which of both stores of the receipt it was compared with.
    public enum Role: String, Hashable, Sendable, Encodable, CaseIterable {
      /// The old store.
      case source
      /// The new store.
      case result
    }

    /// The path of the store.
    public var store: String
    /// With which store of the receipt it was compared; nil if it is neither.
    public var role: Role?
    /// Its SHA-256, with what its `-wal` holds.
    public var sha256: String
    /// How it differs, one sentence each; empty if it matches the receipt.
    public var differences: [String]
  }

  /// What a check found.
  public struct Report: Hashable, Sendable, Encodable {
    private var version = 1
    /// The path of the receipt.
    public var receipt: String
    /// What contradicts itself in the receipt, one sentence each; empty if nothing does.
    public var contradictions: [String]
    /// The stores, in the order in which they were named.
    public var stores: [Finding]
    /// Whether all of them match the receipt, and the receipt does not contradict itself.
    public var isAlike: Bool

    init(receipt: FilePath, contradictions: [String], stores: [Finding]) {
      (self.receipt, self.contradictions, self.stores) = (receipt.string, contradictions, stores)
      isAlike = contradictions.isEmpty && stores.allSatisfy(\.differences.isEmpty)
    }

    /// The outcome, a line for each store and each difference.
    public var lines: [String] {
      let own = contradictions.isEmpty ? [] : ["\(receipt):"] + contradictions.map { "  \($0)" }
      return own
        + stores.flatMap { finding -> [String] in
          let role = finding.role == .source ? "old" : "new"
          guard !finding.differences.isEmpty else {
            return ["\(finding.store): the \(role) store of \(receipt), unchanged."]
          }
          let what = finding.role == nil ? "neither store" : "not the \(role) store"
          return ["\(finding.store): \(what) in \(receipt):"]
            + finding.differences.map { "  \($0)" }
        }
    }

    /// The verdict as an error, for callers that accept no difference.
    public var failure: MigrationFailure {
      let wrong = stores.filter { !$0.differences.isEmpty }.map(\.store)
      return MigrationFailure(
        .damaged, kind: .storesDiffer,
        wrong.isEmpty
          ? "\(receipt) was changed after it was written: request it again from its author."
          : "\(ListText(wrong)) differs from \(receipt).")
    }
  }

  /// Compares stores with those of the receipt.
  ///
  /// - Parameter stores: the old store, the new one or both, in any order.
  /// - Throws: `MigrationFailure`, if one cannot be read, or the task was cancelled.
  public func run(_ stores: [FilePath]) throws(MigrationFailure) -> Report {
    var found: [Finding] = []
    for store in stores {
      var next = try MigrationFailure.catching {
        guard try Files.fileStatusIfPresent(store) != nil else {
          throw MigrationFailure(missing: store)
        }
        let sealed = try SealedStore(store, versions: [], models: models, acceptsDamage: true)
        return finding(sealed.description)
      }
      // The same store given twice would pass for a check of both.
      if let role = next.role, let other = found.first(where: { $0.role == role }) {
        next.differences.append("\(other.store) is that store already: name the other one.")
      }
      found.append(next)
    }
    return Report(
      receipt: file, contradictions: try MigrationFailure.catching { try receipt.contradictions() },
      stores: found)
  }

  private func finding(_ store: MigrationReceipt.Store) -> Finding {
    let sides = [(Finding.Role.result, receipt.result), (.source, receipt.source)]
    let side =
      sides.first { $0.1.sha256 == store.sha256 }
      ?? sides.first { $0.1.uuid == store.uuid && $0.1.versionChecksum == store.versionChecksum }
    guard let (role, expected) = side else {
      return Finding(store: store.path, sha256: store.sha256, differences: [strangeness(store)])
    }
    return Finding(
      store: store.path, role: role, sha256: store.sha256,
      differences: store.differences(from: expected))
  }

  /// Why a store is neither the old nor the new one.
  private func strangeness(_ store: MigrationReceipt.Store) -> String {
    [receipt.source.uuid, receipt.result.uuid].contains(store.uuid)
      ? "its version is that of neither store (its UUID, \(store.uuid), is)."
      : "its UUID is \(store.uuid): it is another store."
  }
}

extension MigrationReceipt.Store {
  /// The differences between a store and its receipt, one sentence each.
  fileprivate func differences(from expected: Self) -> [String] {
    var lines: [String] = []
    if sha256 != expected.sha256 {
      lines.append(
        "its bytes have the SHA-256 \(sha256) and had \(expected.sha256): something wrote to it "
          + "since.")
      let counts = countDifferences(from: expected)
      lines +=
        counts ?? ["its objects cannot be counted: it is damaged, or its model is not known."]
      if counts?.isEmpty == true {
        lines.append("the numbers of its objects and references are unchanged.")
      }
    } else {
      lines += contradictions(to: expected)
    }
    if externalFiles != expected.externalFiles {
      lines.append(
        "its external files are \(Self.words(externalFiles)), and were "
          + "\(Self.words(expected.externalFiles)).")
    }
    return lines
  }

  /// The fields of a receipt that differ although the bytes are equal.
  private func contradictions(to expected: Self) -> [String] {
    var lines: [String] = []
    if uuid != expected.uuid { lines.append("its UUID is \(uuid), not \(expected.uuid).") }
    if versionChecksum != expected.versionChecksum {
      lines.append("its version has another checksum: \(versionChecksum).")
    }
    if bytes != expected.bytes {
      lines.append("it has \(GroupedText(bytes)) bytes, not \(GroupedText(expected.bytes)).")
    }
    lines += countDifferences(from: expected) ?? []
    let edited =
      "its bytes are those of the receipt, but other fields differ: the receipt was "
      + "edited."
    return lines.isEmpty ? [] : [edited] + lines
  }

  /// How the counts differ; nil where the store's objects cannot be counted.
  private func countDifferences(from expected: Self) -> [String]? {
    guard let then = expected.objects, let then2 = expected.references else { return [] }
    guard let objects, let references else { return nil }
    return Self.differences(objects, from: then, "object")
      + Self.differences(Self.counts(references), from: Self.counts(then2), "reference")
  }

  private static func counts(_ references: [MigrationReceipt.References]) -> [String: Int64] {
    Dictionary(
      references.map { ("\($0.entity).\($0.relationship)", $0.count) }, uniquingKeysWith: +)
  }

  private static func differences(
    _ now: [String: Int64], from then: [String: Int64], _ noun: String
  ) -> [String] {
    Set(now.keys).union(then.keys).sorted().compactMap { name in
      let (now, then) = (now[name] ?? 0, then[name] ?? 0)
      return now == then ? nil : "\(name): \(CountText(now, noun)), and had \(GroupedText(then))."
    }
  }

  private static func words(_ files: MigrationReceipt.Files?) -> String {
    files.map { "\(CountText(Int64($0.count), "file")) with the SHA-256 \($0.sha256)" } ?? "none"
  }
}
