import Mapping
import SystemCalls
public import SystemPackage

extension VersionLock {
  /// With what the versions of today are compared.
  public enum Source: Hashable, Sendable, CustomStringConvertible {
    /// A file that ``write(to:)`` has written.
    case file(FilePath)
    /// A revision of the model's Git repository.
    case revision(String)

    /// Whether there is such a file; of a revision only `git` knows.
    public var isThere: Bool {
      guard case .file(let path) = self else { return true }
      return (try? Files.fileStatusIfPresent(path)) != nil
    }

    /// The path or the revision.
    public var description: String {
      switch self {
      case .file(let path): "\(path)"
      case .revision(let name): name
      }
    }
  }

  /// What a comparison found.
  public struct Report: Hashable, Sendable, Encodable {
    private var version = 1
    /// The model.
    public var model: String
    /// The file or the revision with which it was compared.
    public var since: String
    /// The names of the released versions.
    public var released: [String]
    /// The names of the versions that are new.
    public var new: [String]
    /// The current version; nil where the model names none.
    public var current: String?
    /// What is wrong, the gravest first; empty if nothing is.
    public var problems: [Problem]

    /// Whether stores of released versions, or of the newest one, would not survive.
    public var isBroken: Bool { problems.contains { !$0.kind.isHarmless } }

    init(model: FilePath, source: Source, lock: VersionLock, now: VersionLock) {
      (self.model, since) = ("\(model)", "\(source)")
      released = lock.names
      new = lock.newNames(in: now)
      current = now.current
      problems = lock.problems(in: now)
    }

    /// The outcome, and a line for each problem.
    public var lines: [String] {
      let count = CountText(released.count, "released version")
      let names = new.isEmpty ? "" : "; new: \(ListText(new))"
      guard !problems.isEmpty else {
        return [
          "\(model): \(count) \(released.count == 1 ? "is unchanged" : "are unchanged") since "
            + "\(since)\(names)."
        ]
      }
      return ["\(model) differs from \(since):"] + problems.map { "  \($0.sentence)" }
    }
  }

  /// Compares a model with its released versions.
  ///
  /// - Throws: `MigrationFailure`, if one of both cannot be read.
  public static func report(on model: FilePath, _ source: Source) async throws(MigrationFailure)
    -> Report
  {
    let lock =
      switch source {
      case .file(let path): try VersionLock(contentsOf: path)
      case .revision(let name): try await VersionLock(of: model, since: name)
      }
    return Report(model: model, source: source, lock: lock, now: try VersionLock(of: model))
  }

  /// What was locked.
  public struct Locking: Hashable, Sendable {
    /// The file and what is in it now, as a sentence.
    public var sentence: String
    /// Checks to make before these versions are released, one sentence each.
    public var notes: [String]
  }

  /// The lock in a file that is to be written.
  private static func earlier(in file: FilePath) throws(MigrationFailure) -> VersionLock {
    do {
      return try VersionLock(contentsOf: file)
    } catch {
      guard error.exitStatus == .damaged else { throw error }
      throw MigrationFailure(
        .cannotCreate,
        "\(file) is not a lock file of versions, and was not changed: restore it from version "
          + "control, name another file, or remove it.")
    }
  }

  /// Writes the versions of a model to their file.
  ///
  /// - Parameters:
  ///   - model: the model bundle.
  ///   - file: the file of the lock.
  ///   - accepted: the names of versions that may be edited or gone.
  /// - Throws: `MigrationFailure`, if another one was edited or is gone; nothing is written then.
  @discardableResult
  public static func lock(
    _ model: FilePath, in file: FilePath, accepting accepted: [String] = []
  ) throws(MigrationFailure) -> Locking {
    try MigrationFailure.catching {
      let now = try VersionLock(of: model)
      let before =
        try Files.fileStatusIfPresent(file).map { $0.kind == .file && $0.size > 0 } == true
        ? try earlier(in: file) : nil
      let known = Set(now.names + (before?.names ?? []))
      if let unknown = accepted.first(where: { !known.contains($0) }) {
        throw MigrationFailure(
          .usage,
          "\(option: .accept) names \(unknown), which is not a version: "
            + "\(ListText(known.sorted())).")
      }
      let problems = before?.problems(in: now) ?? now.currentProblems
      let isEdit: Set<Problem.Kind> = [.edited, .deleted, .renamingIdentifier]
      let refused = problems.filter {
        isEdit.contains($0.kind) && !accepted.contains($0.version)
      }
      guard refused.isEmpty else {
        throw MigrationFailure(
          .impossible,
          ["\(file) was not changed, since \(model) differs from its locked versions:"]
            + refused.map(\.sentence)
            + ["Use \(option: .accept) for a version that never reached a user."])
      }
      try now.write(to: file)
      let new = before?.newNames(in: now) ?? []
      let count = CountText(now.names.count, "version")
      let current = now.current.map { ", \($0) is current" } ?? ""
      let added = new.isEmpty ? "" : "; new: \(ListText(new))"
      return Locking(
        sentence: "\(file): \(count) locked\(current)\(added).",
        notes: problems.filter { !isEdit.contains($0.kind) && $0.kind != .renamed }
          .map(\.sentence))
    }
  }
}
