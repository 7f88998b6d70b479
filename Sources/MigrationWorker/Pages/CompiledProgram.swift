import ObjectModel
import RowPrograms
import Schema
import StorePages

/// A table's program in a form that a loop over rows runs without allocating.
///
/// What it does not know how to do, SQLite does as an expression of the query.
final class CompiledProgram {
  /// One value of a destination row, from the fields of a source row.
  enum Step {
    case constant(Int)
    case copy(Int, Affinity, replacement: Int)
    case toInteger(Int, Affinity, replacement: Int)
    case toBoolean(Int, Affinity, replacement: Int)
    case toReal(Int, Affinity, replacement: Int)
    case filtered(Int, Affinity, number: Int, kept: Int)
    case renumbered(Int, Affinity, map: Int)
  }

  /// What to read of each source row, after its key, entity number and save count.
  private(set) var expressions = ["s.Z_PK", "s.Z_ENT", "s.Z_OPT"]
  /// The same as names of columns; nil for what is no bare column.
  private(set) var columns: [String?] = ["Z_PK", "Z_ENT", "Z_OPT"]
  let width: Int
  private let program: TableProgram
  /// For each entity, a step for each column.
  private let steps: UnsafeMutablePointer<Step>
  private let keptSets: UnsafeMutablePointer<[Int64]>
  private var keptCount = 0
  private let maps: UnsafeMutablePointer<[TableProgram.Renumbering]>
  private var mapCount = 0
  /// NULL first; every step has at most one of its own.
  private let constants: UnsafeMutablePointer<Field>
  private var constantCount = 1
  private var kept: [UnsafeMutableRawPointer] = []
  private let scratch: UnsafeMutableRawPointer
  private let entityNumbers: UnsafeMutablePointer<TableProgram.Renumbering>
  private let entityCount: Int
  /// The place of the last row's entity in the program.
  private(set) var entity = 0
  /// The destination row; valid until the next one.
  let output: UnsafeMutablePointer<Field>

  /// Takes a way to find the form in which a column keeps a value.
  init(
    _ program: TableProgram, stored: (_ column: String, StoredValue) throws -> RowReader
  ) throws {
    self.program = program
    entityCount = program.entities.count
    width = program.columns.count + 3
    scratch = .allocate(byteCount: width * 8, alignment: 8)
    output = .allocate(capacity: width)
    output.initialize(repeating: .null, count: width)
    let count = program.entities.count * program.columns.count
    steps = .allocate(capacity: max(1, count))
    keptSets = .allocate(capacity: max(1, count))
    maps = .allocate(capacity: max(1, count))
    constants = .allocate(capacity: count + 1)
    constants.initialize(to: .null)
    entityNumbers = .allocate(capacity: max(1, program.entities.count))
    for (index, entity) in program.entities.enumerated() { entityNumbers[index] = entity }
    for entity in program.entities.indices {
      for (place, column) in program.columns.enumerated() {
        let operation =
          entity < column.operations.count ? column.operations[entity] : .constant(.null)
        steps[entity * program.columns.count + place] = try compile(operation, column, stored)
      }
    }
  }

  deinit {
    scratch.deallocate()
    steps.deallocate()
    constants.deallocate()
    entityNumbers.deallocate()
    keptSets.deinitialize(count: keptCount)
    keptSets.deallocate()
    maps.deinitialize(count: mapCount)
    maps.deallocate()
    output.deallocate()
    for pointer in kept { pointer.deallocate() }
  }

  /// Makes the destination row; false where the row stays behind, nil where SQLite has to make it.
  @inline(__always)
  func run(_ fields: UnsafePointer<Field>) -> Bool? {
    guard fields[1].isInteger else { return fields[1].isNull ? false : nil }
    guard let entity = entity(fields[1].integer) else { return false }
    self.entity = entity
    output[1] = Field(entityNumbers[entity].destination, scratch + 8)
    guard let count = Affinity.integer.applied(to: fields[2], scratch + 16) else { return nil }
    output[2] = count
    let columns = width - 3
    for index in 0..<columns {
      guard let field = value(steps[entity * columns + index], fields, scratch + (index + 3) * 8)
      else { return nil }
      output[index + 3] = field
    }
    return true
  }

  /// Takes a row that was made elsewhere, its key first.
  func take(_ row: UnsafePointer<Field>) {
    for index in 1..<width { output[index] = row[index] }
  }

  @inline(__always)
  private func entity(_ number: Int64) -> Int? {
    for index in 0..<entityCount where entityNumbers[index].source == number { return index }
    return nil
  }

  @inline(__always)
  private func value(
    _ step: Step, _ fields: UnsafePointer<Field>, _ own: UnsafeMutableRawPointer
  ) -> Field? {
    switch step {
    case .constant(let index): return constants[index]
    case .copy(let source, let affinity, let replacement):
      let field = fields[source]
      return field.isNull ? constants[replacement] : affinity.applied(to: field, own)
    case .toInteger(let source, let affinity, let replacement):
      let field = fields[source]
      if field.isNull { return constants[replacement] }
      if field.isInteger { return affinity.applied(to: field, own) }
      guard field.isReal else { return nil }
      return affinity.applied(to: Field(Self.truncated(field.real), own), own)
    case .toBoolean(let source, let affinity, let replacement):
      let field = fields[source]
      if field.isNull { return constants[replacement] }
      if field.isInteger {
        return affinity.applied(to: Field(field.integer == 0 ? 0 : 1, own), own)
      }
      guard field.isReal else { return nil }
      return affinity.applied(to: Field(field.real == 0 ? 0 : 1, own), own)
    case .toReal(let source, let affinity, let replacement):
      let field = fields[source]
      if field.isNull { return constants[replacement] }
      if field.isReal { return affinity.applied(to: field, own) }
      guard field.isInteger else { return nil }
      return affinity.applied(to: Field(real: Double(field.integer), own), own)
    case .filtered(let source, let affinity, let number, let kept):
      let filter = fields[number]
      if filter.isNull { return .null }
      guard filter.isInteger else { return nil }
      guard keptSets[kept].contains(filter.integer) else { return .null }
      return affinity.applied(to: fields[source], own)
    case .renumbered(let source, let affinity, let map):
      let field = fields[source]
      if field.isNull { return .null }
      guard field.isInteger else { return nil }
      let number = field.integer
      guard let found = maps[map].first(where: { $0.source == number }) else { return .null }
      return affinity.applied(to: Field(found.destination, own), own)
    }
  }

  /// As SQLite casts a real to an integer.
  private static func truncated(_ number: Double) -> Int64 {
    if number <= -9.223372036854775808e18 { return .min }
    if number >= 9.223372036854775808e18 { return .max }
    return Int64(number)
  }

  // MARK: Compiling

  private func compile(
    _ operation: ColumnOperation, _ column: ColumnProgram,
    _ stored: (_ column: String, StoredValue) throws -> RowReader
  ) throws -> Step {
    let affinity = column.type.affinity
    switch operation {
    case .call(_, _, let standard): return try compile(standard, column, stored)
    case .constant(let value): return .constant(try constant(value, column, stored))
    case .copy(let source, let replacement):
      return .copy(
        place(of: source), affinity, replacement: try constant(replacement, column, stored))
    case .convert(let source, let type, let replacement):
      let replacement = try constant(replacement, column, stored)
      switch type {
      case .integer16, .integer32, .integer64:
        return .toInteger(place(of: source), affinity, replacement: replacement)
      case .boolean: return .toBoolean(place(of: source), affinity, replacement: replacement)
      case .double, .float: return .toReal(place(of: source), affinity, replacement: replacement)
      default: return .copy(place(of: source), affinity, replacement: replacement)
      }
    case .reference(let source, let filter):
      guard let filter else {
        return .copy(place(of: source), affinity, replacement: try null(column, stored))
      }
      // The number that decides stands in another row, which SQLite finds.
      guard filter.table == nil else {
        let place = place(ofExpression: operation.expression(schema: "src"))
        return .copy(place, affinity, replacement: try null(column, stored))
      }
      (keptSets + keptCount).initialize(to: filter.kept)
      keptCount += 1
      return .filtered(
        place(of: source), affinity, number: place(of: filter.column), kept: keptCount - 1)
    case .renumber(let source, let map):
      (maps + mapCount).initialize(to: map)
      mapCount += 1
      return .renumbered(place(of: source), affinity, map: mapCount - 1)
    case .addExternalTag, .removeExternalTag, .lookUpNumber, .ownerKey, .place, .then:
      let place = place(ofExpression: operation.expression(schema: "src"))
      return .copy(place, affinity, replacement: try null(column, stored))
    }
  }

  /// Where a source column's value stands among the fields; asked for before rows are read.
  func place(of column: String) -> Int {
    place(ofExpression: "s.\(SQL.identifier(column))", column: column)
  }

  private func place(ofExpression expression: String, column: String? = nil) -> Int {
    if let index = expressions.firstIndex(of: expression) { return index }
    expressions.append(expression)
    columns.append(column)
    return expressions.count - 1
  }

  private func null(
    _ column: ColumnProgram, _ stored: (_ column: String, StoredValue) throws -> RowReader
  ) throws -> Int {
    try constant(.null, column, stored)
  }

  private func constant(
    _ value: StoredValue, _ column: ColumnProgram,
    _ stored: (_ column: String, StoredValue) throws -> RowReader
  ) throws -> Int {
    if value == .null {
      return 0
    }
    let reader = try stored(column.name, value)
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8)
    kept.append(bytes)
    let field = reader.fields[0]
    var own = column.type.affinity.applied(to: field, bytes) ?? field
    let copy = UnsafeMutableRawPointer.allocate(byteCount: max(8, own.size), alignment: 8)
    kept.append(copy)
    if let body = own.body { copy.copyMemory(from: body, byteCount: own.size) }
    own.body = UnsafeRawPointer(copy)
    constants[constantCount] = own
    constantCount += 1
    return constantCount - 1
  }
}

extension DeclaredType {
  /// What SQLite makes of values of a column that is declared so.
  var affinity: Affinity {
    switch self {
    case .integer: .integer
    case .float: .real
    case .timestamp, .decimal: .numeric
    case .varchar: .text
    case .blob: .none
    }
  }
}
