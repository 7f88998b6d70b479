import Foundation
import Planning
import SystemCalls
package import SystemPackage

/// The folder of a fleet.
package struct FleetFolder: Hashable, Sendable {
  /// The path of the folder.
  package let path: FilePath

  /// Names a folder, which need not exist.
  package init(_ path: FilePath) { self.path = path }

  /// The manifest.
  package var manifest: FilePath { path.appending("fleet.json") }
  /// The list of stores.
  package var list: FilePath { path.appending("stores.ndjson") }
  /// The state of runs on this machine.
  package var state: FilePath { path.appending("state.mdb") }
  /// The lock of runs on this machine.
  package var lock: FilePath { path.appending("fleet.lock") }
  /// The folder with the results of array elements.
  package var results: FilePath { path.appending("results") }
  /// The folder with scripts for schedulers.
  package var scripts: FilePath { path.appending("submit") }
  /// The folder with the output of jobs.
  package var logs: FilePath { path.appending("logs") }

  /// Reads the manifest.
  ///
  /// - Throws: `FleetError`.
  package func readManifest() throws -> FleetManifest {
    guard let status = try Files.fileStatusIfPresent(manifest), status.kind == .file else {
      throw FleetError(problem: .noFleet, path: path)
    }
    do {
      let bytes = try Files.readFile(manifest, limit: 1 << 24)
      let found = try VersionedFile<FleetManifest>(sealed: bytes).content
      // Memory is taken for so many stores, so the list has to have room for them.
      let room = try Files.fileStatusIfPresent(list)?.size ?? 0
      guard found.stores >= 0, found.bytes >= 0,
        found.stores <= room / Int64(#"{"bytes":0,"store":""}"#.utf8.count)
      else { throw FleetError(problem: .listChanged, path: list) }
      return found
    } catch let error as OtherFormatVersion {
      throw FleetError(problem: .otherFormat(error.found), path: manifest)
    } catch is DecodingError {
      throw FleetError(problem: .damaged, path: manifest)
    }
  }

  /// Checks that the list is the one that was written: results name stores by their places in it.
  ///
  /// - Throws: `FleetError` with `listChanged`.
  package func requireList(of manifest: FleetManifest) throws {
    let found = try Files.fileStatusIfPresent(list) == nil ? nil : Checksum.of(file: list)
    guard found == manifest.listChecksum else {
      throw FleetError(problem: .listChanged, path: list)
    }
  }

  /// Creates the folder of a fleet: the list first, the manifest last.
  ///
  /// - Throws: `FleetError` with `exists`, if there is a fleet; `SystemCallError`.
  package func create(
    _ stores: StoreSpool, settings: FleetSettings, at time: Double
  ) throws -> FleetManifest {
    if try Files.fileStatusIfPresent(manifest, followLinks: false) != nil {
      throw FleetError(problem: .exists, path: path)
    }
    if try Files.createDirectory(path) { try Files.syncDirectory(Files.parent(of: path)) }
    try writeList(of: stores)
    let made = FleetManifest(
      created: time, stores: stores.count, bytes: stores.bytes,
      listChecksum: try Checksum.of(file: list), settings: settings)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    try Files.writeFileAtomically(VersionedFile(made).sealed(by: encoder), to: manifest)
    return made
  }

  /// Writes the list.
  private func writeList(of stores: StoreSpool) throws {
    let temporary = FilePath("\(list).tmp")
    try Files.removeRegularFile(temporary)
    let file = try Files.open(
      temporary, mode: .writeOnly, options: [.create, .exclusiveCreate],
      permissions: [.ownerReadWrite, .groupRead, .otherRead])
    try file.closeAfter {
      var text: [UInt8] = []
      try stores.forEachLine { line in
        text += line
        text.append(UInt8(ascii: "\n"))
        if text.count > 1 << 16 {
          try file.writeAll(text)
          text = []
        }
      }
      try file.writeAll(text)
      try Files.syncFile(file)
    }
    try Files.rename(temporary, to: list)
    try Files.syncDirectory(path)
  }
}

/// Reads the list of a fleet from its first store on.
package struct FleetListReader {
  private let lines: LineReader
  private let path: FilePath
  private var cut: ElementCut?
  private let element: FleetElement?
  private var number = 0
  private let decoder = JSONDecoder()

  /// Opens the list.
  ///
  /// - Parameter element: reads the stores of this element alone, nil those of all.
  package init(_ folder: FleetFolder, element: FleetElement? = nil) throws {
    path = folder.list
    lines = try LineReader(path)
    self.element = element
    cut = element.map { ElementCut(count: $0.count) }
  }

  /// The store at a place in the list, which is after those that were read; nil if there is none.
  ///
  /// - Throws: `FleetError`, if the line cannot be read.
  package mutating func store(_ place: Int) throws -> FleetStore? {
    while number < place, try lines.next() != nil { number += 1 }
    return try next()?.store
  }

  /// The next store with its place in the list; nil at the end.
  ///
  /// - Throws: `FleetError`, if the line cannot be read.
  package mutating func next() throws -> (number: Int, store: FleetStore)? {
    while let line = try lines.next() {
      guard let store = try? decoder.decode(FleetStore.self, from: Data(line.bytes)) else {
        throw FleetError(problem: .damagedLine(number + 1), path: path)
      }
      let place = number
      number += 1
      if let element, cut?.element(ofNext: store.bytes) != element.number { continue }
      return (place, store)
    }
    return nil
  }
}

/// A fleet's folder cannot be used.
package struct FleetError: Error, Hashable, Sendable {
  /// The kinds of problems with the folder of a fleet.
  package enum Problem: Hashable, Sendable {
    /// The folder has no manifest.
    case noFleet
    /// The folder has a manifest already.
    case exists
    /// The file is damaged, or was changed by hand.
    case damaged
    /// The list is not the one that was written.
    case listChanged
    /// The state of this machine cannot be read.
    case stateDamaged
    /// This line of the list cannot be read.
    case damagedLine(Int)
    /// Another version of Godwit wrote the file.
    case otherFormat(Int?)
    /// Another process runs the fleet, or the element.
    case running
  }

  /// The kind of problem.
  package var problem: Problem
  /// The folder or the file.
  package var path: FilePath

  /// Creates an error about a path.
  package init(problem: Problem, path: FilePath) {
    self.problem = problem
    self.path = path
  }
}
