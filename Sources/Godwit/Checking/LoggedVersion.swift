import Mapping
import SystemCalls
public import SystemPackage

/// The version hashes that a log has of a store: Core Data logs them when it fails to open one.
///
/// Users send logs rather than stores. The metadata in the log identify the version of the store.
///
/// ```swift
/// let log = try LoggedVersion(contentsOf: "crash.txt")
/// print(log.sentences(for: try VersionLock(of: "Shop.xcdatamodeld"), model: "Shop.xcdatamodeld"))
/// ```
public struct LoggedVersion: Hashable, Sendable {
  /// A hash as a log shows it: all of its digits, or the first and the last ones.
  private struct Digits: Hashable, Sendable {
    var first: String
    var last: String

    func fits(_ hash: String) -> Bool { hash.hasPrefix(first) && hash.hasSuffix(last) }
  }

  private let hashes: [String: Digits]

  /// The largest log that is read, in bytes.
  private static let limit = 64 << 20

  /// Reads a log, or standard input.
  ///
  /// - Throws: `MigrationFailure`, if it cannot be read or has no version hashes.
  public init(contentsOf file: FilePath?) throws(MigrationFailure) {
    let text = try MigrationFailure.catching {
      guard let file else { return try Files.readToEnd(.standardInput, limit: Self.limit) }
      guard let status = try Files.fileStatusIfPresent(file) else {
        throw MigrationFailure(missing: file)
      }
      // Reading a pipe would wait for a writer, perhaps forever.
      guard status.kind == .file else {
        throw MigrationFailure(
          .usage, "\(file) is not a file: name a log, or pass it on standard input.")
      }
      return try Files.readFile(file, limit: Self.limit)
    }
    try self.init(String(decoding: text, as: UTF8.self))
  }

  /// Finds the first version hashes in a text.
  ///
  /// - Throws: `MigrationFailure`, if there are none.
  public init(_ text: String) throws(MigrationFailure) {
    var found: [String: Digits] = [:]
    for match in text.matches(of: Self.entry) {
      let name = String(match.1)
      let digits = match.2.filter(\.isHexDigit).lowercased()
      let rest = match.3.map { $0.filter(\.isHexDigit).lowercased() }
      let isWhole = rest == nil && digits.count == Self.digits
      let isShort = (rest.map { $0.count + digits.count } ?? 0) >= Self.leastDigits
      guard isWhole || isShort else { continue }
      // The hashes of a model may follow those of the store.
      if found[name] != nil { break }
      found[name] = Digits(first: digits, last: rest ?? "")
    }
    guard !found.isEmpty else {
      throw MigrationFailure(
        .notFound,
        "the log has no version hashes: search for NSStoreModelVersionHashes in the output of Core "
          + "Data."
      )
    }
    hashes = found
  }

  /// Compares hashes in hexadecimal digits, by entity.
  init(_ hashes: [String: String]) {
    self.hashes = hashes.mapValues { Digits(first: $0, last: "") }
  }

  private static let digits = 64
  /// The fewest digits of a shortened hash.
  private static let leastDigits = 8
  /// Such as `Book = <18df2417 …>` and `Book = "{length = 32, bytes = 0x18df … 11ce}"`, with an
  /// ellipsis of three characters or of one.
  nonisolated(unsafe) private static let entry =
    /"?([\p{L}_][\p{L}\p{N}_]*)"?\s*[=:]\s*"?(?:<|\{\s*length\s*=\s*32,\s*bytes\s*=\s*0x)([0-9a-fA-F ]+)(?:(?:\.\.\.|…)([0-9a-fA-F ]+))?[>}]/

  /// The entities that the log names.
  public var entities: [String] { hashes.keys.sorted() }

  /// The names of the versions whose entities have these hashes; a log that is cut may fit several.
  public func versions(in model: VersionLock) -> [String] {
    let fitting = model.locked.filter { version in
      hashes.allSatisfy { name, digits in
        version.entities[name]?.hash.map(digits.fits) ?? false
      }
    }
    let whole = fitting.filter { $0.entities.count == hashes.count }
    return (whole.isEmpty ? fitting : whole).map(\.name)
  }

  /// The version of the store, as far as a log shows it.
  public struct Report: Hashable, Sendable, Encodable {
    private var version = 1
    /// The path of the model.
    public var model: String
    /// The entities that the log names.
    public var entities: [String]
    /// The names of the versions that have the hashes of the log; empty if none has.
    public var versions: [String]
    /// The version that shares most hashes with the log, where none has all; nil if none shares an
    /// entity.
    public var nearest: String?
    /// The same for people, one sentence each.
    public var sentences: [String]

    fileprivate init(_ log: LoggedVersion, in model: VersionLock, at path: FilePath) {
      self.model = path.string
      (entities, versions) = (log.entities, log.versions(in: model))
      nearest = versions.isEmpty ? log.nearest(in: model)?.name : nil
      sentences = log.sentences(for: model, model: path)
    }
  }

  /// Compares the log with the versions of a model.
  public func report(on model: VersionLock, at path: FilePath) -> Report {
    Report(self, in: model, at: path)
  }

  /// The findings about the store's version, one sentence each.
  public func sentences(for model: VersionLock, model path: FilePath) -> [String] {
    let count = CountText(hashes.count, "entity", "entities")
    let found = versions(in: model)
    if let first = found.first {
      let all = model.locked.first { $0.name == first }?.entities.count ?? 0
      let cut =
        all == hashes.count
        ? "" : " The log is cut: it has \(hashes.count) of \(CountText(all, "entity", "entities"))."
      let have = hashes.count == 1 ? "has its hash" : "have its hashes"
      return ["The store has \(ListText(found)): \(count) of the log \(have).\(cut)"]
    }
    return ["No version of \(path) has the hashes of the log."] + difference(from: model)
  }

  /// The version that has most of the hashes; nil if none has any of the entities.
  func nearest(in model: VersionLock) -> LockedVersion? {
    func common(_ version: LockedVersion) -> Int {
      hashes.count { name, digits in version.entities[name]?.hash.map(digits.fits) ?? false }
    }
    let found = model.locked.max { common($0) < common($1) }
    return found.flatMap { version in
      version.entities.keys.contains { hashes[$0] != nil } ? version : nil
    }
  }

  /// How the nearest version differs, and what to do.
  func difference(from model: VersionLock) -> [String] {
    guard let nearest = nearest(in: model) else {
      return ["It shares no entity with any version: check that the log is of this app and store."]
    }
    let (known, given) = (Set(nearest.entities.keys), Set(hashes.keys))
    let other = known.intersection(given).filter { name in
      !(nearest.entities[name]?.hash.map { hashes[name]?.fits($0) ?? false } ?? false)
    }
    let parts = [
      other.isEmpty ? nil : "other hashes of \(ListText(other.sorted()))",
      given.isSubset(of: known) ? nil : "no \(ListText(given.subtracting(known).sorted()))",
      known.isSubset(of: given) ? nil : "\(ListText(known.subtracting(given).sorted())) besides",
    ].compactMap(\.self)
    return [
      "The nearest is \(nearest.name), which has \(parts.joined(separator: ", ")). Usually a "
        + "released version was edited or deleted: compare earlier revisions with "
        + "\(command: .checkVersions)."
    ]
  }
}
