import Foundation
import ModelFiles
import Subprocess
import SystemCalls
public import SystemPackage

extension VersionLock {
  /// Reads the versions of a bundle as they were in a revision of its Git repository.
  ///
  /// - Parameters:
  ///   - bundle: the bundle in the working tree, where it may have been edited.
  ///   - revision: whatever `git` takes for a commit, such as a tag.
  /// - Throws: `MigrationFailure`, if there is no `git`, no such revision or no such bundle in it.
  public init(of bundle: FilePath, since revision: String) async throws(MigrationFailure) {
    let named = ModelBundle.enclosing(bundle)
    // Git knows neither links nor `.` by the name of the bundle.
    let path = (try? Files.resolved(named)) ?? named
    guard let name = path.lastComponent else { throw GitRevision.missing(path, in: revision) }
    let folder = try MigrationFailure.catching { try TemporaryFolder() }
    defer { withExtendedLifetime(folder) {} }
    let copy = folder.path.appending(name)
    do {
      try await GitRevision(folder: Files.parent(of: path), revision: revision)
        .write(name, to: copy)
    } catch {
      throw MigrationFailure(error)
    }
    try self.init(of: copy)
  }
}

/// A commit of a Git repository.
struct GitRevision {
  /// A folder in the working tree.
  let folder: FilePath
  let revision: String

  /// The most bytes of a file or a list of files.
  private static let limit = 64 << 20

  /// Writes a file or a folder, which has the path from the folder, to a new place.
  func write(_ name: FilePath.Component, to place: FilePath) async throws {
    // A revision that looks like an option would be one.
    guard !revision.hasPrefix("-") else { throw Self.missing(folder.appending(name), in: revision) }
    let list = try await git("ls-tree", "-r", "-z", "--name-only", revision, "--", name.string)
    let files = list.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    guard !files.isEmpty else { throw Self.missing(folder.appending(name), in: revision) }
    for file in files {
      let inner = FilePath(String(file.dropFirst(name.string.count)))
      let target = FilePath("\(place)\(inner)").lexicallyNormalized()
      guard target.starts(with: place) else { continue }
      let content = try await git("cat-file", "blob", "\(revision):./\(file)")
      try FileManager.default.createDirectory(
        atPath: target.removingLastComponent().string, withIntermediateDirectories: true)
      try Files.writeFileAtomically(content, to: target)
    }
  }

  private func git(_ words: String...) async throws -> [UInt8] {
    do {
      let done = try await Subprocess.run(
        .name("git"), arguments: Arguments(["-C", folder.string] + words),
        input: .none, output: .bytes(limit: Self.limit), error: .string(limit: 1 << 16))
      if case .exited(0) = done.terminationStatus { return done.standardOutput }
      let why = done.standardError.split(whereSeparator: \.isNewline).first ?? "it failed"
      var sentences = ["git cannot read \(revision) in \(folder): \(why)."]
      if isShallow {
        sentences.append(
          "This clone is shallow, as those of CI are: fetch the earlier commits and tags (`git fetch "
            + "--unshallow --tags`, or fetch-depth: 0).")
      }
      throw MigrationFailure(.notFound, sentences)
    } catch let error as SubprocessError {
      throw MigrationFailure(
        .notFound, "git cannot be run (\(error)): install it, or lock the versions in a file.")
    }
  }

  /// Whether the clone lacks earlier commits.
  private var isShallow: Bool {
    var place = folder
    while !place.components.isEmpty {
      if let found = try? Files.fileStatusIfPresent(place.appending(".git")), found.isDirectory {
        return (try? Files.fileStatusIfPresent(place.appending(".git/shallow"))) ?? nil != nil
      }
      place.removeLastComponent()
    }
    return false
  }

  static func missing(_ path: FilePath, in revision: String) -> MigrationFailure {
    MigrationFailure(.notFound, "\(path) is not in \(revision): name a revision that has it.")
  }
}
