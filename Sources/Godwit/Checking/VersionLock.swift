import Foundation
import Mapping
import ModelFiles
import ObjectModel
import StoreFormat
import SystemCalls
public import SystemPackage

/// The versions of a model as they were released, by which later edits of them are found.
///
/// A store knows its version by hashes alone: one that was made with a released version finds no
/// model any more once that version is edited.
///
/// ```swift
/// let lock = try VersionLock(contentsOf: VersionLock.file(of: "Shop.xcdatamodeld"))
/// for problem in lock.problems(in: try VersionLock(of: "Shop.xcdatamodeld")) { print(problem) }
/// ```
public struct VersionLock: Hashable, Sendable {
  /// Something that stores of released versions, or of the newest one, would not survive.
  public struct Problem: Hashable, Sendable, Encodable, CustomStringConvertible {
    /// What is wrong.
    public enum Kind: String, Hashable, Sendable, Encodable, CaseIterable {
      /// A released version was edited.
      case edited
      /// A released version is gone.
      case deleted
      /// A released version lost a renaming identifier, or has another one.
      case renamingIdentifier
      /// A released version has another name, and the same hashes.
      case renamed
      /// The model names no current version, or one that it does not have.
      case noCurrent
      /// There is a new version, and it is not current.
      case notCurrent
      /// An older version is current than before.
      case turnedBack
      /// A new version hashes like another one, so that Core Data skips its migration.
      case alike
      /// Several versions are new at once.
      case severalNew

      /// Whether stores of all released versions still find their models.
      public var isHarmless: Bool { self == .renamed }
    }

    /// What is wrong.
    public var kind: Kind
    /// The version that it is about; of several new ones the first.
    public var version: String
    /// The version that is current, or like which the other one hashes; of several the rest; of a
    /// renamed one the new name.
    public var others: [String]
    /// What was edited, in words.
    public var edits: [String]
    /// What is wrong and what to do, as a sentence.
    public var sentence: String
    private let declarations: [LockedVersion.Edit]

    /// The entities and properties that were edited.
    var editedPlaces: [(entity: String, property: String?)] { declarations.map(\.place) }

    private enum CodingKeys: CodingKey { case kind, version, others, edits, sentence }

    /// The sentence.
    public var description: String { sentence }

    init(
      _ kind: Kind, _ version: String, others: [String] = [], edits: [LockedVersion.Edit] = []
    ) {
      (self.kind, self.version, self.others, declarations) = (kind, version, others, edits)
      self.edits = edits.map(\.words)
      sentence = Self.sentence(kind, version, others: others, edits: self.edits)
    }
  }

  /// The largest lock that is read, in bytes; 90 versions of 60 entities have 2 MB.
  private static let limit = 64 << 20
  private static let format = "godwit versions"

  /// The name of the current version; nil where the bundle names none.
  public let current: String?
  private let versions: [LockedVersion]
  /// The problem with the name of the current version; that of a lock is not examined.
  private var currentFault: Problem?

  /// The versions, in their order.
  var locked: [LockedVersion] { versions }

  /// The names of the versions, in their order.
  public var names: [String] { versions.map(\.name) }

  /// Reads all versions of a bundle, `.xcdatamodeld` or `.momd`, also where one of them is named,
  /// or a single version without a bundle.
  ///
  /// - Throws: `MigrationFailure`, if one of them cannot be read.
  public init(of bundle: FilePath) throws(MigrationFailure) {
    try self.init(of: bundle, from: ModelLibrary())
  }

  /// The same, with the versions that a library has read.
  init(of bundle: FilePath, from library: ModelLibrary) throws(MigrationFailure) {
    (versions, current, currentFault) = try MigrationFailure.catching {
      let bundle = try ModelBundle(ModelBundle.enclosing(bundle))
      let versions = try bundle.versions.map {
        LockedVersion(name: $0.name, model: try library.model(of: $0))
      }
      do throws(ModelFileError) {
        return (versions, try bundle.current().name, nil)
      } catch {
        let named: String? =
          if case .currentVersionMissing(let name) = error.problem { name } else { nil }
        return (versions, nil, Problem(.noCurrent, named ?? ""))
      }
    }
  }

  /// Reads a file that ``write(to:)`` has written.
  ///
  /// - Throws: `MigrationFailure`, if it is not there or no such file.
  public init(contentsOf file: FilePath) throws(MigrationFailure) {
    self = try MigrationFailure.catching {
      guard let status = try Files.fileStatusIfPresent(file) else {
        throw MigrationFailure(
          .notFound, "\(file) does not exist: \(command: .lockVersions) writes it.")
      }
      // Reading a pipe would wait for a writer, perhaps forever.
      guard status.kind == .file, status.size <= Self.limit,
        let lock = try Self.decoded(Files.readFile(file, limit: Self.limit))
      else {
        throw MigrationFailure(
          .damaged, "\(file) is not a lock file of versions: \(command: .lockVersions) writes one.")
      }
      return lock
    }
  }

  private static func decoded(_ bytes: [UInt8]) -> VersionLock? {
    try? JSONDecoder().decode(Self.self, from: Data(bytes))
  }

  /// The path of the lock file of a bundle: `Shop.versions.json` next to `Shop.xcdatamodeld`.
  public static func file(of bundle: FilePath) -> FilePath {
    let path = ModelBundle.enclosing(bundle)
    let name = "\(path.stem ?? path.lastComponent?.string ?? "model").versions.json"
    return FilePath.Component(name).map { path.removingLastComponent().appending($0) }
      ?? FilePath(name)
  }

  /// The bundle of several versions that a model to migrate to is, or is in; nil for any other.
  public static func bundle(of model: FilePath) -> FilePath? {
    guard !HeldStore.isStore(model), let found = try? ModelBundle(model) else { return nil }
    let bundle = ModelBundle.enclosing(found.path)
    return ["xcdatamodeld", "momd"].contains(bundle.extension) ? bundle : nil
  }

  /// Writes the lock, over an earlier one.
  ///
  /// - Throws: `MigrationFailure`, if something else is there, or it cannot be written.
  public func write(to file: FilePath) throws(MigrationFailure) {
    let output = try OutputFile(file, besides: [], noun: "lock of versions") {
      Self.decoded($0) != nil
    }
    try output.write(try JSONOutput.text(value: self).text + "\n", as: "the lock")
  }

  /// What is wrong with the versions of today, the gravest first.
  public func problems(in now: VersionLock) -> [Problem] {
    let today = Dictionary(now.versions.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
    let renamed = renamings(in: now)
    let problems = versions.compactMap { version -> Problem? in
      guard let found = today[version.name] else {
        return renamed[version.name] == nil ? Problem(.deleted, version.name) : nil
      }
      let identifiers = version.identifierEdits(to: found)
      if version.hashes(like: found) {
        return identifiers.isEmpty
          ? nil : Problem(.renamingIdentifier, version.name, edits: identifiers)
      }
      return Problem(.edited, version.name, edits: version.edits(to: found) + identifiers)
    }
    let other = versions.compactMap { version in
      renamed[version.name].map { Problem(.renamed, version.name, others: [$0]) }
    }
    let new = newVersions(in: now)
    let alike = new.enumerated().compactMap { index, version -> Problem? in
      let other = (versions + new.prefix(index)).first { $0.hashes(like: version) }
      return other.map { Problem(.alike, version.name, others: [$0.name]) }
    }
    let several =
      new.count < 2
      ? [] : [Problem(.severalNew, new[0].name, others: new.dropFirst().map(\.name))]
    return problems + alike + several + now.currentProblems
      + now.currentProblem(after: current, new: new.map(\.name)) + other
  }

  /// The problems with the name of the current version.
  var currentProblems: [Problem] { [currentFault].compactMap(\.self) }

  /// The new names of released versions, by the old ones.
  private func renamings(in now: VersionLock) -> [String: String] {
    let (released, today) = (Set(names), Set(now.names))
    var free = now.versions.filter { !released.contains($0.name) }
    var result: [String: String] = [:]
    for version in versions where !today.contains(version.name) {
      guard let index = free.firstIndex(where: { version.hashes(like: $0) }) else { continue }
      result[version.name] = free.remove(at: index).name
    }
    return result
  }

  /// The names of the versions of today that were not released.
  func newNames(in now: VersionLock) -> [String] { newVersions(in: now).map(\.name) }

  private func newVersions(in now: VersionLock) -> [LockedVersion] {
    let known = Set(names + renamings(in: now).values)
    return now.versions.filter { !known.contains($0.name) }
  }

  /// What is wrong with the current version.
  private func currentProblem(after before: String?, new: [String]) -> [Problem] {
    guard let current else { return [] }
    if let newest = new.last, !new.contains(current) {
      return [Problem(.notCurrent, newest, others: [current])]
    }
    guard let before, before != current, let old = names.firstIndex(of: before),
      let place = names.firstIndex(of: current), place < old
    else { return [] }
    return [Problem(.turnedBack, current, others: [before])]
  }

  /// The version that shares most entities with another one, of several the one with the fewest
  /// edits; nil where none shares any.
  func nearest(to version: LockedVersion) -> LockedVersion? {
    func common(_ other: LockedVersion) -> Int {
      other.entities.count { name, entity in
        entity.hash.map { $0 == version.entities[name]?.hash } ?? false
      }
    }
    func named(_ other: LockedVersion) -> Int {
      other.entities.keys.count { version.entities[$0] != nil }
    }
    func rank(_ other: LockedVersion) -> (Int, Int, Int) {
      (common(other), named(other), -version.edits(to: other).count)
    }
    let found = versions.max { rank($0) < rank($1) }
    return found.flatMap { named($0) > 0 ? $0 : nil }
  }
}

extension VersionLock: Codable {
  private enum CodingKeys: CodingKey { case format, version, current, versions }

  /// Reads the form of `docs/schemas/versions.schema.json`.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    guard try values.decode(String.self, forKey: .format) == Self.format,
      try values.decode(Int.self, forKey: .version) == 1
    else {
      throw DecodingError.dataCorruptedError(
        forKey: .format, in: values, debugDescription: "another format")
    }
    current = try values.decodeIfPresent(String.self, forKey: .current)
    versions = try values.decode([LockedVersion].self, forKey: .versions)
  }

  /// Writes the form of `docs/schemas/versions.schema.json`.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(Self.format, forKey: .format)
    try values.encode(1, forKey: .version)
    try values.encodeIfPresent(current, forKey: .current)
    try values.encode(versions, forKey: .versions)
  }
}
