import Foundation
import LMDB
package import SystemCalls
import SystemPackage

/// The stores of a fleet that is created, in a temporary file: memory does not grow with their
/// number.
package final class StoreSpool {
  /// Two stores with one output.
  package struct Clash: Hashable, Sendable {
    /// The store that was added last.
    package var store: String
    /// The store that was added first.
    package var other: String
    /// The output of both.
    package var output: String
  }

  /// The number of stores.
  package private(set) var count = 0
  /// The bytes of these stores.
  package private(set) var bytes: Int64 = 0
  /// The number of stores that were left out, since they had been added before.
  package private(set) var repeated = 0
  /// The first two stores with one output; nil if there are none.
  package private(set) var clash: Clash?

  private let folder: TemporaryFolder
  private let path: FilePath
  private let environment: LMDBEnvironment
  private let encoder = JSONEncoder()
  private var waiting: [(store: FleetStore, identity: FileStatus.Identity?)] = []

  /// The stores of a transaction.
  private static let chunk = 1024
  /// The file grows as needed; 10 million stores take 5 GB.
  private static let mapSize = 1 << 36
  /// The longest part of a path in a key; a longer path is known by its checksum as well.
  private static let mostKeyBytes = 440

  /// Creates a spool without stores.
  ///
  /// - Throws: `SystemCallError`.
  package init() throws {
    folder = try TemporaryFolder()
    path = folder.path.appending("stores.mdb")
    environment = try LMDBEnvironment(
      path: path, tables: ["paths", "files", "outputs", "order"],
      access: .create(mapSize: Self.mapSize))
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  }

  /// Adds a store, unless its path or its file was added before; `flush` reports that.
  ///
  /// - Parameter identity: identifies the file of the store; nil if there is none.
  package func add(_ store: FleetStore, identity: FileStatus.Identity?) throws {
    waiting.append((store, identity))
    if waiting.count >= Self.chunk { try flush() }
  }

  /// Writes the stores that were added, so that all counts are right.
  package func flush() throws {
    let lines = try waiting.map { Array(try encoder.encode($0.store)) }
    let stores = waiting
    waiting = []
    guard !stores.isEmpty else { return }
    var (added, known, bytes, clash) = (0, 0, self.bytes, self.clash)
    try environment.write { transaction throws(LMDBError) in
      for ((store, identity), line) in zip(stores, lines) {
        guard try insert(store, identity: identity, line: line, in: transaction) else {
          known += 1
          continue
        }
        added += 1
        bytes = bytes.addingReportingOverflow(store.bytes).partialValue
        let other = try insert(output: store.output, of: store.store, in: transaction)
        if let output = store.output, let other, clash == nil {
          clash = Clash(store: store.store, other: other, output: output)
        }
      }
    }
    count += added
    repeated += known
    (self.bytes, self.clash) = (bytes, clash)
  }

  /// Inserts a store; false if it is there already.
  private func insert(
    _ store: FleetStore, identity: FileStatus.Identity?, line: [UInt8],
    in transaction: borrowing WriteTransaction
  ) throws(LMDBError) -> Bool {
    let key = Self.key(store.store)
    let (paths, files) = (environment.table(name: "paths"), environment.table(name: "files"))
    if try transaction.value(at: key, in: paths) != nil { return false }
    if let identity {
      let file = Self.bytes(identity.device) + Self.bytes(identity.inode)
      if try transaction.value(at: file, in: files) != nil { return false }
      try transaction.put([1], at: file, in: files)
    }
    try transaction.put([1], at: key, in: paths)
    let size = UInt64(clamping: store.bytes)
    try transaction.put(
      line, at: Self.bytes(.max - size) + key, in: environment.table(name: "order"))
    return true
  }

  /// Notes the output of a store; returns the store that has it already.
  private func insert(
    output: String?, of store: String, in transaction: borrowing WriteTransaction
  ) throws(LMDBError) -> String? {
    guard let output else { return nil }
    let outputs = environment.table(name: "outputs")
    if let other = try transaction.value(at: Self.key(output), in: outputs) {
      return String(decoding: other, as: UTF8.self)
    }
    try transaction.put(Array(store.utf8), at: Self.key(output), in: outputs)
    return nil
  }

  /// Calls `body` with each store as a line of the list, without its end, largest first.
  package func forEachLine(_ body: ([UInt8]) throws -> Void) throws {
    try flush()
    let reader = try LMDBReader(path: path)
    var start: [UInt8]? = [0]
    while let first = start {
      let found = try reader.entries(of: "order", from: first, limit: Self.chunk)
      start = found.count == Self.chunk ? found.last.map { $0.key + [0] } : nil
      for entry in found { try body(entry.value) }
    }
  }

  private static func bytes(_ number: UInt64) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }

  private static func key(_ path: String) -> [UInt8] {
    let whole = Array(path.utf8)
    guard whole.count > mostKeyBytes else { return whole }
    return whole.prefix(mostKeyBytes) + bytes(UInt64(whole.count))
      + bytes(whole.withUnsafeBytes { Checksum.of($0) })
  }
}
