import Schema
import StoreNames
import SystemCalls
package import SystemPackage

/// The numbers that an app may keep in the header of a store, as by `NSSQLitePragmasOption`.
package struct AppNumbers: Hashable, Sendable {
  /// The value of `PRAGMA user_version`.
  package var userVersion: Int32 = 0
  /// The value of `PRAGMA application_id`.
  package var applicationID: Int32 = 0

  /// Takes the numbers; Core Data leaves both 0.
  package init(userVersion: Int32 = 0, applicationID: Int32 = 0) {
    self.userVersion = userVersion
    self.applicationID = applicationID
  }
}

/// The fields of an SQLite file's header that a migration needs ("Database File Format", section
/// 1.3).
package struct StoreHeader: Hashable, Sendable {
  /// The page size in bytes, a power of two from 512 to 65536.
  package var pageSize: Int
  /// Whether the read or the write version is that of WAL mode.
  package var usesWAL: Bool
  /// Grows with every transaction outside WAL mode.
  package var changeCounter: UInt32
  /// The size of the file in pages, valid only if it was written with the change counter.
  package var pageCount: UInt32
  /// The largest root page if the file has auto-vacuum, 0 if it does not.
  package var largestRoot: UInt32
  /// 1 for UTF-8, 2 for UTF-16le, 3 for UTF-16be.
  package var textEncoding: UInt32
  /// Unused bytes at the end of each page.
  package var reservedBytes: Int
  /// The schema format number, from 1 to 4.
  package var schemaFormat: UInt32
  /// The numbers of the app.
  package var appNumbers: AppNumbers
  /// Whether the page count was written together with the change counter.
  package var countsPages: Bool
  private var fileBytes: Int64

  /// The first bytes of every SQLite database.
  package static let magic = Array("SQLite format 3\0".utf8)

  /// Reads and checks the header.
  ///
  /// - Throws: `StoreError`, whose problem is the kind of a file that is not an SQLite database.
  package init(of store: FilePath) throws(StoreError) {
    try self.init(reading: store)
    try requireWhole(store)
  }

  /// Reads and checks the header of what a migration reads: a store, or the pages of its log over
  /// its own.
  ///
  /// - Throws: `StoreError`, whose problem is the kind of a file that is not an SQLite database.
  package init(ofSource path: FilePath) throws(StoreError) {
    try self.init(readingSource: path)
    try requireWhole(path)
  }

  private func requireWhole(_ store: FilePath) throws(StoreError) {
    // The page count is valid only if it was written together with the change counter. A log next
    // to the file may have pages that a crash kept from getting into it.
    let expected = Int64(pageCount) * Int64(pageSize)
    if countsPages, expected > fileBytes, try !Self.hasLog(store) {
      throw StoreError(
        problem: .truncated(expected: expected, actual: fileBytes), store: store)
    }
  }

  /// Reads the header of a file that may be shorter than the header states.
  ///
  /// - Throws: `StoreError`, whose problem is the kind of a file that is not an SQLite database.
  package init(reading store: FilePath) throws(StoreError) {
    let size: Int64
    let bytes: [UInt8]
    do {
      guard let status = try Files.fileStatusIfPresent(store) else {
        throw StoreError(problem: .notFound, store: store)
      }
      if status.isDirectory { throw StoreError(problem: .isFolder, store: store) }
      // Opening a pipe would wait for its writer.
      guard status.kind == .file else { throw StoreError(problem: .unrecognized, store: store) }
      size = status.size
      let file = try Files.open(store, mode: .readOnly)
      bytes = try file.closeAfter {
        var buffer = [UInt8](repeating: 0, count: 512)
        let count = try buffer.withUnsafeMutableBytes { try file.read(into: $0) }
        return Array(buffer.prefix(count))
      }
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(reading: store, cause: error)
    }
    try self.init(bytes: bytes, size: size, store: store)
  }

  /// Reads the header of what a migration reads, which may be shorter than the header states.
  ///
  /// - Throws: `StoreError`, whose problem is the kind of a file that is not an SQLite database.
  package init(readingSource path: FilePath) throws(StoreError) {
    var bytes = [UInt8](repeating: 0, count: 512)
    let size: Int64
    do {
      guard try SourceFile.hasPages(path) else {
        try self.init(reading: path)
        return
      }
      let file = try SourceFile(path)
      size = file.byteCount
      let count = try bytes.withUnsafeMutableBytes { try file.read($0, at: 0) }
      bytes.removeLast(bytes.count - count)
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(reading: path, cause: error)
    }
    try self.init(bytes: bytes, size: size, store: path)
  }

  private init(bytes: [UInt8], size: Int64, store: FilePath) throws(StoreError) {
    if bytes.isEmpty { throw StoreError(problem: .empty, store: store) }
    guard bytes.starts(with: Self.magic) else {
      throw StoreError(problem: Self.kind(of: bytes), store: store)
    }
    guard bytes.count >= HeaderField.size else {
      throw StoreError(
        problem: .truncated(expected: Int64(HeaderField.size), actual: size), store: store)
    }
    let rawSize = Int(bytes[HeaderField.pageSize]) << 8 | Int(bytes[HeaderField.pageSize + 1])
    pageSize = rawSize == 1 ? 65536 : rawSize
    usesWAL = bytes[HeaderField.writeVersion] == 2 || bytes[HeaderField.readVersion] == 2
    changeCounter = Self.number(bytes: bytes, offset: HeaderField.changeCounter)
    pageCount = Self.number(bytes: bytes, offset: HeaderField.pageCount)
    largestRoot = Self.number(bytes: bytes, offset: HeaderField.largestRoot)
    textEncoding = Self.number(bytes: bytes, offset: HeaderField.textEncoding)
    reservedBytes = Int(bytes[HeaderField.reservedBytes])
    schemaFormat = Self.number(bytes: bytes, offset: HeaderField.schemaFormat)
    func appNumber(_ offset: Int) -> Int32 {
      Int32(bitPattern: Self.number(bytes: bytes, offset: offset))
    }
    appNumbers = AppNumbers(
      userVersion: appNumber(HeaderField.userVersion),
      applicationID: appNumber(HeaderField.applicationID))
    if Self.isEncrypted(bytes) { throw StoreError(problem: .encrypted, store: store) }
    guard pageSize >= 512, pageSize & (pageSize - 1) == 0 else {
      throw StoreError(problem: .damaged, store: store)
    }
    countsPages = Self.number(bytes: bytes, offset: HeaderField.validForCounter) == changeCounter
    fileBytes = size
  }

  /// Whether the header is plain up to byte 32 and encrypted from there on, as SQLCipher writes it
  /// with `cipher_plaintext_header_size`.
  ///
  /// Each page then reserves bytes for an initialization vector, and bytes that are zero in every
  /// database are not.
  private static func isEncrypted(_ bytes: [UInt8]) -> Bool {
    bytes[HeaderField.reservedBytes] >= 16 && Array(bytes[21..<24]) == [64, 32, 32]
      && bytes[72..<92].count(where: { $0 != 0 }) >= 10
      && number(bytes: bytes, offset: HeaderField.schemaFormat) > 4
      && number(bytes: bytes, offset: HeaderField.textEncoding) > 3
  }

  private static func hasLog(_ store: FilePath) throws(StoreError) -> Bool {
    do {
      return try StoreFile.changeSuffixes.contains { suffix in
        try Files.fileStatusIfPresent(FilePath(store.string + suffix))?.size ?? 0 > 0
      }
    } catch {
      throw StoreError(reading: store, cause: error)
    }
  }

  private static func number(bytes: [UInt8], offset: Int) -> UInt32 {
    bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }

  private static func kind(of bytes: [UInt8]) -> StoreError.Problem {
    guard let text = String(validating: bytes.dropLast(min(3, bytes.count - 1)), as: UTF8.self),
      !text.utf8.contains(where: { $0 < 9 })
    else { return .unrecognized }
    // Core Data's XML stores have this root element.
    return text.contains("<!DOCTYPE database") || text.contains("<database>") ? .xmlStore : .text
  }
}
