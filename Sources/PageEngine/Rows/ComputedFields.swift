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
    /// Where the source row has what its object may be asked for.
    var sources: [Int]
  }

  private let caller: RowCaller
  private let rows: FieldProgram
  private let affinities: [Affinity]
  /// By the places of entities in the program.
  private let computed: [Computed?]
  private var values: [(column: Int, value: StoredValue)] = []
  private var bytes = UnsafeMutableRawPointer.allocate(byteCount: 256, alignment: 8)
  private var capacity = 256
  private var fields: UnsafePointer<Field>?
  private var sources: [Int] = []

  /// Nil where the program calls for nothing; to be made before the first row is read.
  init?(
    table: TableProgram, compiled: inout CompiledProgram, caller: RowCaller
  ) throws {
    guard table.hasCalls else { return nil }
    self.caller = caller
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
    let size = values.reduce(0) { $0 + 16 + ($1.value.byteCount + 7) & ~7 }
    if size > capacity {
      bytes.deallocate()
      capacity = size * 2
      bytes = .allocate(byteCount: capacity, alignment: 8)
    }
    var free = bytes
    for (column, value) in values {
      guard let field = affinities[column].applied(to: value.field(in: free), scratch: free + 8)
      else {
        return false
      }
      rows.output[column] = field
      free += 16 + (value.byteCount + 7) & ~7
    }
    return true
  }

  func value(at index: Int) throws -> StoredValue {
    guard let fields else { return .null }
    return StoredValue(fields[sources[index]])
  }
}

extension StoredValue {
  /// The bytes of a text or a blob.
  fileprivate var byteCount: Int {
    switch self {
    case .null, .integer, .real: 0
    case .text(let text): text.utf8.count
    case .blob(let bytes), .rawText(let bytes, isUTF16: _): bytes.count
    }
  }

  /// The value with its bytes put where there is room for them, and for sixteen more.
  fileprivate func field(in free: UnsafeMutableRawPointer) -> Field {
    switch self {
    case .null: return .null
    case .integer(let number): return Field(value: number, scratch: free)
    case .real(let number): return number.isNaN ? .null : Field(real: number, scratch: free)
    case .text(let text):
      var text = text
      let count = text.withUTF8 { utf8 in
        if let start = utf8.baseAddress {
          (free + 16).copyMemory(from: start, byteCount: utf8.count)
        }
        return utf8.count
      }
      return Field(type: UInt64(count) * 2 + 13, body: UnsafeRawPointer(free + 16))
    // Pages are only written of stores whose texts are UTF-8.
    case .rawText(let bytes, isUTF16: _): return Self.field(bytes: bytes, in: free, type: 13)
    case .blob(let bytes): return Self.field(bytes: bytes, in: free, type: 12)
    }
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

  fileprivate init(_ field: Field) {
    if field.isInteger {
      self = .integer(field.integer)
    } else if field.isReal {
      self = .real(field.real)
    } else if field.isText {
      self.init(textBytes: UnsafeRawBufferPointer(start: field.body, count: field.size))
    } else if field.isBlob {
      self = .blob([UInt8](UnsafeRawBufferPointer(start: field.body, count: field.size)))
    } else {
      self = .null
    }
  }
}
