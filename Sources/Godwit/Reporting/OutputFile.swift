import Foundation
import StoreFormat
import SystemCalls
import SystemPackage

/// The file or the stream that a report goes to.
///
/// Before anything else is done it is certain that the report can be written, and that it replaces
/// nothing but an earlier one.
struct OutputFile: Sendable {
  let path: FilePath
  /// Stores whose own files next to them must not be replaced.
  private let stores: [FilePath]
  /// What is written.
  private let noun: String
  /// Whether bytes are those of an earlier report.
  private let isEarlier: @Sendable ([UInt8]) -> Bool
  /// Open from the beginning on: who reads a pipe takes a writer that goes for the end.
  private let stream: StreamFile?

  static let sizeLimit = 64 << 20

  /// Checks that a report can be written.
  ///
  /// - Throws: `MigrationFailure`, if it cannot.
  init(
    _ path: FilePath, besides stores: [FilePath], noun: String = "report",
    isEarlier: @escaping @Sendable ([UInt8]) -> Bool
  ) throws(MigrationFailure) {
    (self.path, self.stores, self.noun, self.isEarlier) = (path, stores, noun, isEarlier)
    stream = try MigrationFailure.catching {
      try Self.requireFree(path, besides: stores, noun: noun, isEarlier: isEarlier)
      return try Self.isStream(path) ? Self.stream(path, noun: noun) : nil
    }
    if stream == nil {
      try MigrationFailure.catching { try Self.requireWritable(path, noun: noun) }
    }
  }

  /// Writes the report, to a file atomically.
  ///
  /// - Parameter syncs: whether it is on the disk then.
  /// - Throws: any error, for `reason(_:)`.
  func write(_ bytes: [UInt8], syncs: Bool = true) throws {
    if let stream { return try stream.write(bytes) }
    // Something else may have taken the name since the beginning.
    try Self.requireFree(path, besides: stores, noun: noun, isEarlier: isEarlier)
    guard !Self.isStream(path) else {
      throw SystemCallError(operation: .open, path: path, errno: .fileExists)
    }
    try Files.writeFileAtomically(bytes, to: try Self.resolved(path), syncs: syncs)
  }

  /// Writes a text, to a file atomically.
  ///
  /// - Parameters:
  ///   - what: the subject of the sentence if it cannot be written.
  ///   - syncs: whether it is on the disk then.
  /// - Throws: `MigrationFailure`, if it cannot be made or written.
  func write(
    _ text: @autoclosure () throws -> String, as what: String, syncs: Bool = true
  ) throws(MigrationFailure) {
    do {
      try write(Array(try text().utf8), syncs: syncs)
    } catch {
      throw MigrationFailure(
        .cannotWrite, "\(what) cannot be written to \(path): \(Self.reason(error)).")
    }
  }

  private static func stream(_ path: FilePath, noun: String) throws -> StreamFile {
    do {
      return try StreamFile(path)
    } catch {
      throw MigrationFailure(
        .cannotCreate,
        "\(path) cannot receive the \(noun) (\(reason(error))): name a file, or a pipe with a "
          + "reader.")
    }
  }

  private static func requireWritable(_ path: FilePath, noun: String) throws {
    let probe = Files.temporary(for: try resolved(path))
    do {
      try FileDescriptor.open(
        probe, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec],
        permissions: .ownerReadWrite
      ).close()
    } catch {
      throw MigrationFailure(
        .cannotCreate,
        "\(path) cannot be written (\(error)): name another file for the \(noun), in an existing "
          + "folder that can be written.")
    }
    try Files.remove(probe)
  }

  /// Whether the path is that of a pipe, a terminal or the like.
  private static func isStream(_ path: FilePath) -> Bool {
    let kind = (try? Files.fileStatusIfPresent(path))?.kind
    return kind == .other
  }

  /// Checks that the path is free, or that of an earlier report.
  private static func requireFree(
    _ path: FilePath, besides stores: [FilePath], noun: String, isEarlier: ([UInt8]) -> Bool
  ) throws {
    let taken = MigrationFailure(
      .cannotCreate,
      "\(path) exists and is not a \(noun), so it is not replaced: name another file.")
    if try Files.fileStatusIfPresent(path, followLinks: false)?.kind == .symbolicLink,
      try Files.fileStatusIfPresent(path) == nil
    {
      throw MigrationFailure(
        .cannotCreate, "\(path) is a broken link: remove it, or name another file.")
    }
    let status = try Files.fileStatusIfPresent(path)
    if status?.kind != .other { try CompanionName.requireFree(path, besides: stores) }
    if let status {
      if status.isDirectory { throw taken }
      guard status.kind == .file, status.size > 0 else { return }
      guard status.size < sizeLimit, let bytes = try? Files.readFile(path, limit: sizeLimit),
        isEarlier(bytes)
      else { throw taken }
      return
    }
    let own = try resolved(path)
    for store in stores {
      if let store = try? Files.resolvedFolder(of: store), own == store { throw taken }
    }
  }

  /// The path of the file itself, to which a link may lead.
  private static func resolved(_ path: FilePath) throws -> FilePath {
    if try Files.fileStatusIfPresent(path) != nil { return try Files.resolved(path) }
    do {
      return try Files.resolvedFolder(of: path)
    } catch {
      throw MigrationFailure(
        .cannotCreate,
        "the folder of \(path) does not exist: create it, or name another file.")
    }
  }

  /// What keeps a report from being written, without the sentence around it.
  static func reason(_ error: any Error) -> String {
    switch error {
    case let error as SystemCallError where error.errno == .noSuchAddressOrDevice:
      "the pipe has no reader"
    case let error as SystemCallError where error.isOfWrongKind:
      "it is not a file, pipe or terminal"
    case let error as SystemCallError: "\(error.errno)"
    case let error as MigrationFailure:
      error.sentences.joined(separator: " ").trimmingCharacters(in: ["."])
    default: "\(error)"
    }
  }
}
