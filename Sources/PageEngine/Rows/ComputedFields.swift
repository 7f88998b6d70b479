import MigrationEngine
import ObjectMigration
import RowPrograms
import Schema

/// Puts what expressions and policies compute into the rows of a table as they pass.
final class ComputedFields: PassingRow {
  /// What is computed for the objects of one entity.
  private struct Computed {
    var attributes: RowCaller.Attributes
    /// The columns of the destination row, one for each attribute.
    var columns: [Int]
    /// The places of the values in the source row that its object can return.
    var sources: [Int]
  }

  private let caller: RowCaller
  private let rows: FieldProgram
  private let affinities: [Affinity]
  private let encoding: TextEncoding
  /// By the places of entities in the program.
  private let computed: [Computed?]
  private var values: [(column: Int, value: StoredValue)] = []
  private var bytes = UnsafeMutableRawPointer.allocate(byteCount: 256, alignment: 8)
  private var capacity = 256
  private var fields: UnsafePointer<Field>?
  private var sources: [Int] = []

  /// Nil where the program calls for nothing; to be made before the first row is read.
  init?(
    table: TableProgram, compiled: inout CompiledProgram, caller: RowCaller,
    encoding: TextEncoding
  ) throws {
    guard table.hasCalls else { return nil }
    self.caller = caller
    self.encoding = encoding
    rows = compiled.rows
    affinities = [.integer, .integer, .integer] + table.columns.map(\.type.affinity)
    var computed: [Computed?] = []
    for entity in table.entities.indices {
      var mapping: Int?
      var names: [String] = []
      var columns: [Int] = []
      for (place, column) in table.columns.enumerated() {
        guard case .call(let index, let name, _) = column.operations[entity] else { continue }
        mapping = index
        names.append(name)
        columns.append(place + 3)
      }
      guard let mapping else {
        computed.append(nil)
        continue
      }
      guard let attributes = caller.attributes(mapping: mapping, names: names) else {
        throw ShardError(.orderIncomplete, table: table.destinationTable)
      }
      var sources: [Int] = []
      for column in caller.sourceColumns(mapping: mapping) {
        sources.append(compiled.place(of: column))
      }
      computed.append(Computed(attributes: attributes, columns: columns, sources: sources))
    }
    self.computed = computed
  }

  deinit { bytes.deallocate() }

  /// Computes for the row that the program has just run over; false where SQLite has to make it.
  func fill(key: Int64, fields: UnsafePointer<Field>) throws -> Bool {
    guard let found = computed[rows.entity] else { return true }
    self.fields = fields
    sources = found.sources
    defer { self.fields = nil }
    values.removeAll(keepingCapacity: true)
    try caller.make(found.attributes, key: key, row: self) { place, value in
      values.append((found.columns[place], value))
    }
    return place()
  }

  /// Puts the values into the destination row; their bytes last until the next row.
  private func place() -> Bool {
    let size = values.reduce(0) { $0 + 16 + room(for: $1.value) }
    if size > capacity {
      bytes.deallocate()
      capacity = size * 2
      bytes = .allocate(byteCount: capacity, alignment: 8)
    }
    var free = bytes
    for (column, value) in values {
      guard let made = value.field(in: free, encoding: encoding),
        let field = affinities[column].applied(to: made, scratch: free + 8, encoding: encoding)
      else { return false }
      rows.output[column] = field
      free += 16 + room(for: value)
    }
    return true
  }

  /// The bytes that a text or a blob takes, in whole words.
  private func room(for value: StoredValue) -> Int {
    let count =
      switch value {
      case .null, .integer, .real: 0
      case .text(let text): encoding.isUTF16 ? text.utf16.count * 2 : text.utf8.count
      case .blob(let bytes), .rawText(let bytes, isUTF16: _): bytes.count
      }
    return (count + 7) & ~7
  }

  func value(at index: Int) throws -> StoredValue {
    guard let fields else { return .null }
    return StoredValue(fields[sources[index]], encoding: encoding)
  }
}

extension StoredValue {
  /// The value with its bytes put where there is room for them, and for sixteen more; nil for what
  /// SQLite has to take in.
  fileprivate func field(in free: UnsafeMutableRawPointer, encoding: TextEncoding) -> Field? {
    switch self {
    case .null: return .null
    case .integer(let number): return Field(value: number, scratch: free)
    case .real(let number): return number.isNaN ? .null : Field(real: number, scratch: free)
    case .text(let text) where encoding.isUTF16:
      return Self.field(units: text.utf16, in: free, encoding: encoding)
    case .text(let text):
      var text = text
      let count = text.withUTF8 { utf8 in
        if let start = utf8.baseAddress {
          (free + 16).copyMemory(from: start, byteCount: utf8.count)
        }
        return utf8.count
      }
      return Field(type: UInt64(count) * 2 + 13, body: UnsafeRawPointer(free + 16))
    // SQLite searches such texts for a byte order mark.
    case .rawText(_, isUTF16: true): return nil
    case .rawText(let bytes, isUTF16: false):
      return encoding.isUTF16 ? nil : Self.field(bytes: bytes, in: free, type: 13)
    case .blob(let bytes): return Self.field(bytes: bytes, in: free, type: 12)
    }
  }

  private static func field(
    units: String.UTF16View, in free: UnsafeMutableRawPointer, encoding: TextEncoding
  ) -> Field {
    var size = 0
    for given in units {
      // What Unicode keeps for itself, SQLite takes for damage where it makes UTF-16 of UTF-8.
      let unit = given | 1 == 0xFFFF ? 0xFFFD : given
      let ordered = encoding == .utf16LittleEndian ? unit.littleEndian : unit.bigEndian
      (free + 16).storeBytes(of: ordered, toByteOffset: size, as: UInt16.self)
      size += 2
    }
    return Field(type: UInt64(size) * 2 + 13, body: UnsafeRawPointer(free + 16))
  }

  private static func field(
    bytes: [UInt8], in free: UnsafeMutableRawPointer, type: UInt64
  ) -> Field {
    bytes.withUnsafeBytes { body in
      if let start = body.baseAddress {
        (free + 16).copyMemory(from: start, byteCount: body.count)
      }
    }
    return Field(type: UInt64(bytes.count) * 2 + type, body: UnsafeRawPointer(free + 16))
  }

  fileprivate init(_ field: Field, encoding: TextEncoding) {
    if field.isInteger {
      self = .integer(field.integer)
    } else if field.isReal {
      self = .real(field.real)
    } else if field.isText {
      self.init(text: UnsafeRawBufferPointer(start: field.body, count: field.size), encoding)
    } else if field.isBlob {
      self = .blob([UInt8](UnsafeRawBufferPointer(start: field.body, count: field.size)))
    } else {
      self = .null
    }
  }

  /// A text from its bytes in a store; units of two bytes in the machine's order.
  private init(text: UnsafeRawBufferPointer, _ encoding: TextEncoding) {
    guard encoding == .utf16BigEndian else {
      self.init(textBytes: text, isUTF16: encoding.isUTF16)
      return
    }
    var bytes = [UInt8](text)
    for second in stride(from: 1, to: bytes.count, by: 2) { bytes.swapAt(second - 1, second) }
    self = bytes.withUnsafeBytes { StoredValue(textBytes: $0, isUTF16: true) }
  }
}
