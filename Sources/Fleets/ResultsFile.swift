import Foundation
import Planning
import SystemCalls
package import SystemPackage

// A line is a sealed record (`VersionedFile`): what a power cut, a full disk or a hand has made of
// one is found, and the store counts as one without a result.

/// The results of one attempt of an array element, which one process appends to.
package final class ResultsFile {
  /// The path of the file.
  package let path: FilePath
  private let descriptor: FileDescriptor
  private var waiting: [UInt8] = []
  private let encoder = JSONEncoder()

  /// Creates the file of an attempt: `e3-of-20.NODE.PROCESS.TIME.ndjson`.
  package init(of element: FleetElement, in folder: FleetFolder, at time: Double) throws {
    if try Files.createDirectory(folder.results) { try Files.syncDirectory(folder.path) }
    let name = "\(Self.prefix(element))\(Processes.node).\(Processes.own).\(Int64(time * 1000))"
    path = folder.results.appending("\(name)\(Self.suffix)")
    descriptor = try Files.open(
      path, mode: .writeOnly, options: [.create, .exclusiveCreate, .append],
      permissions: [.ownerReadWrite, .groupRead, .otherRead])
    try Files.syncDirectory(folder.results)
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  }

  deinit {
    try? descriptor.close()  // `flush` has synced what counts
  }

  /// Adds a result, which `flush` writes.
  package func add(_ result: StoreResult) throws {
    waiting += try VersionedFile(result).sealed(by: encoder)
    waiting.append(UInt8(ascii: "\n"))
  }

  /// Writes the added results through to the disk.
  package func flush() throws {
    guard !waiting.isEmpty else { return }
    try descriptor.writeAll(waiting)
    try Files.syncFile(descriptor)
    waiting = []
  }

  static let suffix = ".ndjson"

  private static func prefix(_ element: FleetElement) -> String {
    "e\(element.number)-of-\(element.count)."
  }

  /// The element whose results a file has, by its name; nil for any other file.
  package static func element(of file: FilePath) -> FleetElement? {
    guard let name = file.lastComponent?.string, name.hasPrefix("e"), name.hasSuffix(suffix),
      let dot = name.firstIndex(of: ".")
    else { return nil }
    return FleetElement(name[..<dot].dropFirst().replacingOccurrences(of: "-of-", with: "/"))
  }

  /// The results files of a fleet, by their names.
  package static func all(in folder: FleetFolder) throws -> [FilePath] {
    guard try Files.fileStatusIfPresent(folder.results)?.isDirectory == true else { return [] }
    return try Files.listDirectory(folder.results)
      .filter { element(of: FilePath(root: nil, [$0])) != nil }
      .sorted { $0.string < $1.string }.map { folder.results.appending($0) }
      // A pipe of such a name would be waited for.
      .filter { try Files.fileStatusIfPresent($0, followLinks: false)?.kind == .file }
  }

  /// Calls `body` with each sound result and the offset of its line.
  ///
  /// - Returns: the number of lines that are damaged.
  @discardableResult
  package static func forEach(
    in path: FilePath, body: (Int64, StoreResult) throws -> Void
  ) throws -> Int {
    let lines = try LineReader(path)
    let decoder = JSONDecoder()
    var damaged = 0
    while true {
      let offset = lines.offset
      let line: (bytes: ArraySlice<UInt8>, isWhole: Bool)?
      do {
        line = try lines.next()
      } catch Errno.fileTooLarge {
        return damaged + 1
      }
      guard let line else { return damaged }
      do {
        try body(
          offset, try VersionedFile<StoreResult>(sealed: Array(line.bytes), by: decoder).content)
      } catch is DecodingError {
        damaged += 1
      } catch is OtherFormatVersion {
        damaged += 1
      }
    }
  }
}
