import Expressions
import GRDB
import GRDBSQLite
import Inspection
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// Writes the values of rows to sinks, and values that are files or long to files of the export.
final class ValueWriter {
  private static let mostNames = 100
  private static let chunk = 1 << 18

  private let support: FilePath
  private let folder: FilePath
  private let decodes: Bool
  private let entityNames: [Int64: [UInt8]]
  private var table = ""
  private var database: Database?
  private var folders: Set<String> = []
  private var scratch: [UInt8] = []
  /// How many values became files.
  private(set) var files: Int64 = 0
  /// Names of external files that cannot be read, at most 100.
  private(set) var missing: [String] = []
  /// How many external files cannot be read.
  private(set) var missingCount: Int64 = 0

  init(support: FilePath, folder: FilePath, decodes: Bool, entityNames: [Int64: String]) {
    (self.support, self.folder, self.decodes) = (support, folder, decodes)
    self.entityNames = entityNames.mapValues { Array($0.utf8) }
  }

  /// Starts with the rows of another table.
  func begin(table: String, db: Database) {
    (self.table, database) = (table, db)
  }

  /// Closes what would keep the connection from closing.
  func close() {
    database = nil
  }

  /// Writes one value; false if the type of its column cannot have it.
  func put(
    _ source: ExportScan.Source, of row: OpaquePointer, key: Int64, to sink: some RowSink
  ) throws -> Bool {
    let place = Int32(source.index)
    let type = sqlite3_column_type(row, place)
    if case .bytes = source.conversion {
      return try putBytes(source, of: row, key: key, to: sink)
    }
    guard type != SQLITE_NULL else {
      try sink.putNull()
      return true
    }
    switch source.conversion {
    case .boolean where type == SQLITE_INTEGER:
      let number = sqlite3_column_int64(row, place)
      guard number == 0 || number == 1 else { break }
      try sink.put(boolean: number == 1)
      return true
    case .date where type != SQLITE_TEXT && type != SQLITE_BLOB:
      let seconds = sqlite3_column_double(row, place)
      guard let date = CalendarDate(secondsSince2001: seconds, precision: .exact) else { break }
      scratch.removeAll(keepingCapacity: true)
      date.append(to: &scratch)
      try sink.put(text: scratch)
      return true
    case .decimal where type != SQLITE_BLOB: return try putDecimal(place, of: row, to: sink)
    case .uuid where type == SQLITE_BLOB && sqlite3_column_bytes(row, place) == 16:
      let bytes = UnsafeRawBufferPointer(start: sqlite3_column_blob(row, place), count: 16)
      try sink.put(text: Array(AttributeValue.uuidText(bytes: Array(bytes)).utf8))
      return true
    case .text where type == SQLITE_TEXT: return try putText(place, of: row, to: sink)
    case .entityName where type == SQLITE_INTEGER:
      guard let name = entityNames[sqlite3_column_int64(row, place)] else { break }
      try sink.put(text: name)
      return true
    case .plain: return try putPlain(place, of: row, to: sink)
    default: break
    }
    _ = try putPlain(place, of: row, to: sink)
    return false
  }

  /// Writes a value by its storage class.
  private func putPlain(
    _ place: Int32, of row: OpaquePointer, to sink: some RowSink
  ) throws -> Bool {
    switch sqlite3_column_type(row, place) {
    case SQLITE_INTEGER: try sink.put(integer: sqlite3_column_int64(row, place))
    case SQLITE_FLOAT: try sink.put(real: sqlite3_column_double(row, place))
    case SQLITE_TEXT:
      _ = try putText(place, of: row, to: sink)
      return false
    case SQLITE_BLOB:
      try sink.put(bytes: bytes(place, of: row))
      return false
    default: try sink.putNull()
    }
    return true
  }

  private func bytes(_ place: Int32, of row: OpaquePointer) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_blob(row, place)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(row, place)))
  }

  /// Writes a text; one that is not well-formed with replacement characters.
  private func putText(
    _ place: Int32, of row: OpaquePointer, to sink: some RowSink
  ) throws -> Bool {
    let start = sqlite3_column_text(row, place)
    let text = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(row, place)))
    if text.allSatisfy({ $0 < 0x80 }) || String(validating: text, as: UTF8.self) != nil {
      try sink.put(text: text)
      return true
    }
    try sink.put(text: Array(String(decoding: text, as: UTF8.self).utf8))
    return false
  }

  private func putDecimal(
    _ place: Int32, of row: OpaquePointer, to sink: some RowSink
  ) throws -> Bool {
    let isReal = sqlite3_column_type(row, place) == SQLITE_FLOAT
    if isReal, !sqlite3_column_double(row, place).isFinite {
      try sink.put(real: sqlite3_column_double(row, place))
      return false
    }
    scratch.removeAll(keepingCapacity: true)
    switch sqlite3_column_type(row, place) {
    case SQLITE_INTEGER: scratch.append(decimal: sqlite3_column_int64(row, place))
    case SQLITE_FLOAT: scratch.append(real: sqlite3_column_double(row, place))
    default:
      let text = UnsafeBufferPointer(
        start: sqlite3_column_text(row, place), count: Int(sqlite3_column_bytes(row, place)))
      guard Self.isNumber(text) else { return try putText(place, of: row, to: sink) && false }
      scratch.append(contentsOf: text)
    }
    try scratch.withUnsafeBufferPointer { try sink.put(digits: $0) }
    return true
  }

  /// Whether a text is a number as JSON allows it, without an exponent.
  private static func isNumber(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    let digits = text.first == UInt8(ascii: "-") ? text[1...] : text[...]
    let parts = digits.split(
      separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, whole.count == 1 || whole.first != UInt8(ascii: "0") else {
      return false
    }
    return parts.allSatisfy { part in
      !part.isEmpty && part.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
  }

  // MARK: Bytes

  private func putBytes(
    _ source: ExportScan.Source, of row: OpaquePointer, key: Int64, to sink: some RowSink
  ) throws -> Bool {
    guard case .bytes(let column, let isExternal) = source.conversion else { return false }
    let place = Int32(source.index)
    if sqlite3_column_type(row, place + 1) != SQLITE_NULL {
      return try putLong(column, key: key, isExternal: isExternal, source: source, to: sink)
    }
    guard sqlite3_column_type(row, place) == SQLITE_BLOB else {
      return try putPlain(place, of: row, to: sink)
        && sqlite3_column_type(row, place) == SQLITE_NULL
    }
    var value = bytes(place, of: row)
    if isExternal, let tag = value.first {
      if tag == ExternalTag.file, value.count <= ExternalDataFolder.nameLength + 2 {
        return try putFile(UnsafeRawBufferPointer(rebasing: value[1...]), key, source, to: sink)
      }
      if tag == ExternalTag.inline { value = UnsafeRawBufferPointer(rebasing: value[1...]) }
    }
    if decodes, let json = ValueDecoding.json(of: value) {
      try sink.put(json: json)
    } else {
      try sink.put(bytes: value)
    }
    return true
  }

  /// Copies an external file.
  private func putFile(
    _ text: UnsafeRawBufferPointer, _ key: Int64, _ source: ExportScan.Source,
    to sink: some RowSink
  ) throws -> Bool {
    let name = String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
    guard let component = FilePath.Component(name), component.kind == .regular,
      let file = try external(component)
    else {
      missingCount += 1
      if missing.count < Self.mostNames { missing.append(name) }
      try sink.put(bytes: text)
      return false
    }
    try file.closeAfter {
      try write(key, source, to: sink) { target in
        while true {
          let chunk = try [UInt8](unsafeUninitializedCapacity: Self.chunk) { room, count in
            count = try file.read(into: UnsafeMutableRawBufferPointer(room))
          }
          if chunk.isEmpty { return }
          _ = try target.writeAll(chunk)
        }
      }
    }
    return true
  }

  private func external(_ name: FilePath.Component) throws -> FileDescriptor? {
    do {
      return try ExternalDataFolder.open(name, support: support)
    } catch let error as StoreError where error.problem == .externalFileForeign {
      return nil
    }
  }

  /// Writes a long value of a row in parts.
  private func putLong(
    _ column: String, key: Int64, isExternal: Bool, source: ExportScan.Source,
    to sink: some RowSink
  ) throws -> Bool {
    guard let database else { preconditionFailure("values are written between begin and close") }
    let handle = try BlobHandle(table: table, column: column, key: key, db: database)
    let head = try handle.bytes(from: 0, count: 1)
    var place: Int64 = isExternal && head.first == ExternalTag.inline ? 1 : 0
    try write(key, source, to: sink) { target in
      while place < handle.count {
        let chunk = try handle.bytes(from: place, count: Self.chunk)
        _ = try target.writeAll(chunk)
        place += Int64(chunk.count)
      }
    }
    return true
  }

  private func write(
    _ key: Int64, _ source: ExportScan.Source, to sink: some RowSink,
    body: (FileDescriptor) throws -> Void
  ) throws {
    let name = FileNames.plain(source.folder)
    let all = folder.appending("files")
    if folders.insert(name).inserted {
      try Files.createDirectory(all)
      try Files.createDirectory(all.appending(name))
    }
    let path = all.appending(name).appending("\(key)")
    let file = try Files.open(
      path, mode: .writeOnly, options: [.create, .exclusiveCreate],
      permissions: [.ownerReadWrite, .groupRead, .otherRead])
    try file.closeAfter {
      try body(file)
      try Files.syncFile(file)
    }
    files += 1
    try sink.put(file: "files/\(name)/\(key)")
  }
}
