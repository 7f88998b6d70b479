import Foundation
package import GRDB
import GRDBSQLite
import Planning
import RowPrograms
import StoreFormat
import StoreNames
import SystemCalls
package import SystemPackage

/// The keys of rows in sets that have names, such as those of the rows that some mappings do not
/// take.
///
/// A table of its own database has them as bits, 4096 keys a row: a few bytes for each key where
/// they lie far apart, one bit where they do not. They are never all in memory.
package struct RowKeys: Sendable {
  fileprivate let connection: StoreConnection

  /// The keys of a chunk differ in so many bits.
  static let chunkBits: Int64 = 12
  static let words = 64
  /// A chunk of fewer keys is a list of them, of two bytes each.
  static let mostListed = 256

  /// Makes an empty set, which SQLite keeps in a file without a name where it is large.
  package init() throws {
    connection = try StoreConnection.scratch("", cacheBytes: 8 << 20)
    try connection.run { db in
      try db.execute(
        sql: """
          CREATE TABLE keys (name TEXT, chunk INTEGER, bits BLOB, PRIMARY KEY (name, chunk))
          WITHOUT ROWID
          """)
    }
  }

  /// Opens a file that `write` made.
  package init(file: FilePath) throws { connection = try StoreConnection.immutable(file) }

  /// Makes a file of the set for workers, in place of what an earlier run may have left.
  package func write(to path: FilePath) throws {
    let unfinished = WorkFile.unfinished(path)
    try Files.remove(unfinished)
    try connection.run { db in
      try db.execute(sql: "VACUUM INTO ?", arguments: [StoreConnection.uri(path: unfinished)])
    }
    try Files.syncFile(unfinished)
    try Files.rename(unfinished, to: path)
  }

  fileprivate func bits(of chunk: Int64, in table: String) throws -> [UInt64]? {
    let found = try connection.run { db in
      try Row.fetchOne(
        db.cachedStatement(sql: "SELECT bits FROM keys WHERE name = ? AND chunk = ?"),
        arguments: [table, chunk])
    }
    guard let blob = found.flatMap({ [UInt8].fromDatabase($0[0]) }) else { return nil }
    var bits = [UInt64](repeating: 0, count: Self.words)
    if blob.count == Self.words * 8 {
      for (place, byte) in blob.enumerated() { bits[place / 8] |= UInt64(byte) << (place % 8 * 8) }
    } else {
      for place in stride(from: 0, to: blob.count - 1, by: 2) {
        let low = Int(blob[place]) | Int(blob[place + 1]) << 8
        bits[low / 64 % Self.words] |= 1 << (low % 64)
      }
    }
    return bits
  }

  fileprivate func put(_ chunks: [(table: String, chunk: Int64, bits: [UInt64])]) throws {
    try connection.run { db in
      try db.inTransaction {
        let statement = try db.cachedStatement(
          sql: "INSERT OR REPLACE INTO keys VALUES (?, ?, ?)")
        for chunk in chunks {
          try statement.execute(arguments: [chunk.table, chunk.chunk, Self.blob(chunk.bits)])
        }
        return .commit
      }
    }
  }

  private static func blob(_ bits: [UInt64]) -> DatabaseValue {
    var bytes: [UInt8] = []
    if bits.reduce(0, { $0 + $1.nonzeroBitCount }) < mostListed {
      for low in 0..<words * 64 where bits[low / 64] >> (low % 64) & 1 == 1 {
        bytes += [UInt8(low & 255), UInt8(low >> 8)]
      }
    } else {
      for word in bits { for place in 0..<8 { bytes.append(UInt8(word >> (place * 8) & 255)) } }
    }
    return Data(bytes).databaseValue
  }
}

/// Collects the keys of sets, best in rising order.
package final class RowKeyWriter {
  private let keys: RowKeys
  private let mostWaiting: Int
  private var table = ""
  private var chunk: Int64 = 0
  private var bits: [UInt64]?
  private var waiting: [(table: String, chunk: Int64, bits: [UInt64])] = []

  /// Takes the set to add to, and how many others there are that hold as much at once.
  package init(_ keys: RowKeys, beside others: Int = 0) {
    self.keys = keys
    mostWaiting = max(16, 1000 / (others + 1))
  }

  /// Adds the key of a row of the table.
  package func add(_ key: Int64, table: String) throws {
    try withUnsafePointer(to: key) { try add(UnsafeBufferPointer(start: $0, count: 1), table) }
  }

  /// Adds the keys of rows of the table.
  package func add(_ keys: [Int64], table: String) throws {
    try keys.withUnsafeBufferPointer { try add($0, table) }
  }

  private func add(_ keys: UnsafeBufferPointer<Int64>, _ table: String) throws {
    var place = 0
    while place < keys.count {
      let chunk = keys[place] >> RowKeys.chunkBits
      try open(chunk, table: table)
      bits?.withUnsafeMutableBufferPointer { words in
        while place < keys.count, keys[place] >> RowKeys.chunkBits == chunk {
          let low = Int(keys[place] & (1 << RowKeys.chunkBits - 1))
          words[low / 64] |= 1 << (low % 64)
          place += 1
        }
      }
    }
  }

  private func open(_ chunk: Int64, table: String) throws {
    if bits != nil, chunk == self.chunk, table == self.table { return }
    try close()
    let isBack = waiting.last.map { $0.table != table || $0.chunk >= chunk } ?? false
    if isBack || waiting.count >= mostWaiting { try flush() }
    // Objects of another entity may have been here before.
    bits =
      try keys.bits(of: chunk, in: table) ?? [UInt64](repeating: 0, count: RowKeys.words)
    (self.table, self.chunk) = (table, chunk)
  }

  private func close() throws {
    if let bits { waiting.append((table, chunk, bits)) }
    bits = nil
  }

  private func flush() throws {
    try keys.put(waiting)
    waiting = []
  }

  /// Writes what waits.
  package func finish() throws {
    try close()
    try flush()
  }
}

/// Looks keys up, on one thread; it holds some of them.
package final class RowKeyReader {
  private let keys: RowKeys
  private var tables: [Table] = []
  /// Chunks that all tables hold.
  private var held = 0

  /// The most chunks that are held, of half a kilobyte each.
  private static let mostHeld = 16_384
  /// The error that ended a look-up of SQLite, as a fact.
  package private(set) var failure: (any Error)?

  /// Takes the set, which does not change any more.
  package init(_ keys: RowKeys) { self.keys = keys }

  /// The keys of one set.
  package final class Table {
    private typealias Bits = UnsafeMutablePointer<UInt64>

    fileprivate let name: String
    private unowned let reader: RowKeyReader
    private var chunks: [Int64: Bits] = [:]
    /// The first chunks by their numbers: references lead to keys in no order, and each would look
    /// its chunk up in the dictionary.
    private let first: UnsafeMutablePointer<Bits?>
    /// The chunk that was looked up last, for a loop over rows, which checks no accesses.
    private let last: UnsafeMutablePointer<(chunk: Int64, bits: Bits)>
    /// What a chunk without keys has.
    private let none: Bits

    private static let firstChunks = 4096

    fileprivate init(name: String, reader: RowKeyReader) {
      self.name = name
      self.reader = reader
      first = .allocate(capacity: Self.firstChunks)
      first.initialize(repeating: nil, count: Self.firstChunks)
      none = .allocate(capacity: RowKeys.words)
      none.initialize(repeating: 0, count: RowKeys.words)
      last = .allocate(capacity: 1)
      last.initialize(to: (.max, none))
    }

    deinit {
      forget()
      first.deallocate()
      none.deallocate()
      last.deallocate()
    }

    fileprivate func forget() {
      for pointer in chunks.values where pointer != none { pointer.deallocate() }
      chunks = [:]
      first.update(repeating: nil, count: Self.firstChunks)
      last.pointee = (.max, none)
    }

    /// Whether a key is in the set; nil where that cannot be read.
    package func contains(_ key: Int64) -> Bool? {
      let chunk = key >> RowKeys.chunkBits
      if chunk != last.pointee.chunk, !find(chunk) { return nil }
      return last.pointee.bits[Int(key >> 6 & 63)] >> UInt64(key & 63) & 1 == 1
    }

    private func find(_ chunk: Int64) -> Bool {
      let isFirst = chunk >= 0 && chunk < Self.firstChunks
      if let known = isFirst ? first[Int(chunk)] : chunks[chunk] {
        last.pointee = (chunk, known)
        return true
      }
      reader.makeRoom()
      last.pointee = (.max, none)
      do {
        var made = none
        if let found = try reader.keys.bits(of: chunk, in: name) {
          made = .allocate(capacity: found.count)
          for (place, word) in found.enumerated() { made[place] = word }
        }
        chunks[chunk] = made
        if isFirst { first[Int(chunk)] = made }
        last.pointee = (chunk, made)
        return true
      } catch {
        reader.failure = reader.failure ?? error
        return false
      }
    }
  }

  /// Makes room for another chunk.
  private func makeRoom() {
    if held >= Self.mostHeld {
      for table in tables { table.forget() }
      held = 0
    }
    held += 1
  }

  /// The set of a name, which must not outlive the reader.
  package func table(_ name: String) -> Table {
    if let known = tables.first(where: { $0.name == name }) { return known }
    let made = Table(name: name, reader: self)
    tables.append(made)
    return made
  }

  private func table(_ name: UnsafePointer<UInt8>) -> Table {
    for table in tables where table.name.isText(name) { return table }
    return self.table(String(cString: name))
  }

  /// Adds an SQL function to a connection that returns whether the named set has a key.
  ///
  /// Its default name is `godwit_dropped`. The connection keeps the reader.
  package func install(in db: Database, as function: String = UntakenRows.function) {
    sqlite3_create_function_v2(
      db.sqliteConnection, function, 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
      // Safe: the connection gives the reference back when it closes.
      Unmanaged.passRetained(self).toOpaque(),
      { context, _, arguments in
        guard let context, let arguments, let reader = sqlite3_user_data(context),
          let name = sqlite3_value_text(arguments[0]),
          sqlite3_value_type(arguments[1]) == SQLITE_INTEGER
        else { return sqlite3_result_int(context, 0) }
        let found = Unmanaged<RowKeyReader>.fromOpaque(reader).takeUnretainedValue()
          .table(name).contains(sqlite3_value_int64(arguments[1]))
        guard let found else { return sqlite3_result_error(context, "a look-up failed", -1) }
        sqlite3_result_int(context, found ? 1 : 0)
      }, nil, nil,
      { reader in
        if let reader { Unmanaged<RowKeyReader>.fromOpaque(reader).release() }
      })
  }

  /// One set, with the reader that has to outlive it.
  private final class Lookup {
    let table: Table
    private let reader: RowKeyReader

    init(_ name: String, in reader: RowKeyReader) {
      self.reader = reader
      table = reader.table(name)
    }
  }

  /// Adds an SQL function to a connection that returns whether one set has a key.
  ///
  /// The connection keeps the reader.
  package func install(table name: String, in db: Database, as function: String) {
    sqlite3_create_function_v2(
      db.sqliteConnection, function, 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
      // Safe: the connection gives the reference back when it closes.
      Unmanaged.passRetained(Lookup(name, in: self)).toOpaque(),
      { context, _, arguments in
        guard let context, let arguments, let lookup = sqlite3_user_data(context) else { return }
        let found = Unmanaged<Lookup>.fromOpaque(lookup)._withUnsafeGuaranteedRef {
          $0.table.contains(sqlite3_value_int64(arguments[0]))
        }
        guard let found else { return sqlite3_result_error(context, "a look-up failed", -1) }
        sqlite3_result_int(context, found ? 1 : 0)
      }, nil, nil,
      { lookup in
        if let lookup { Unmanaged<Lookup>.fromOpaque(lookup).release() }
      })
  }
}

extension String {
  /// Whether it has the bytes of a text that ends with zero.
  fileprivate func isText(_ other: UnsafePointer<UInt8>) -> Bool {
    var place = 0
    for byte in utf8 {
      if other[place] != byte { return false }
      place += 1
    }
    return other[place] == 0
  }
}
