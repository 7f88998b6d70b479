import MigrationEngine
import ObjectModel
import RowPrograms
import Schema
import SystemPackage

/// A table's program in a form that a loop over rows runs without allocating.
///
/// What the loop does not know how to do, SQLite does as an expression of the query.
struct CompiledProgram {
  /// Finds the form in which a column keeps a value.
  typealias Stored = (_ column: String, StoredValue) throws -> KeptValue

  /// What to read of each source row: its key, its entity number, its save count, and more.
  private(set) var expressions = ["s.Z_PK", "s.Z_ENT", "s.Z_OPT"]
  /// The same as names of columns; nil for what is no bare column.
  private(set) var columns: [String?] = ["Z_PK", "Z_ENT", "Z_OPT"]
  /// Which of them go only to columns of reals, so that their values are not checked.
  private(set) var onlyReal = [false, false, false]
  let rows: FieldProgram

  private let untaken: RowKeyReader?
  private let encoding: TextEncoding
  /// The folder of the source with values in files of their own.
  private let support: FilePath
  private var untagged: [String: Int] = [:]
  private let lookUps: LookUps?
  private let first: Int64
  private var lists: [ColumnOperation: Int] = [:]

  /// Takes the lowest key of the rows to come, and what they look up.
  init(
    program: TableProgram, untaken: RowKeyReader?, lookUps: LookUps? = nil,
    from first: Int64 = .min, encoding: TextEncoding, support: FilePath, stored: Stored
  ) throws {
    self.untaken = untaken
    self.lookUps = lookUps
    self.first = first
    self.support = support
    self.encoding = encoding
    let isEntity = { (column: ColumnProgram) in column.name == program.entityColumn }
    if program.isOfChanges {
      expressions.append("s.\(SQL.identifier(name: program.entityColumn))")
      columns.append(program.entityColumn)
      onlyReal.append(false)
    }
    rows = FieldProgram(
      entities: program.entities.map { ($0.source, $0.destination) },
      columns: program.columns.count, entityField: program.isOfChanges ? 3 : 1,
      entityOutput: program.columns.firstIndex(where: isEntity).map { $0 + 3 } ?? 1,
      encoding: encoding)
    for entity in program.entities.indices {
      if let others = program.entities[entity].others {
        rows.leave(try keys(of: others), entity: entity)
      }
      for (place, column) in program.columns.enumerated() {
        let operation =
          entity < column.operations.count ? column.operations[entity] : .constant(.null)
        rows.set(
          try compile(operation, column: column, stored: stored), entity: entity, column: place)
      }
    }
    for (place, column) in program.columns.enumerated() {
      // All entities of a table have the same.
      guard let operation = column.operations.first, case .place = operation,
        let list = lists[operation]
      else { continue }
      rows.setPlaces(column: place, list: list)
    }
  }

  private mutating func compile(
    _ operation: ColumnOperation, column: ColumnProgram, stored: Stored
  ) throws -> FieldStep {
    let affinity = column.type.affinity
    switch operation {
    case .call(_, _, let standard): return try compile(standard, column: column, stored: stored)
    case .constant(let value):
      return FieldStep(
        kind: .constant, constant: try constant(value: value, column: column, stored: stored))
    case .copy(let source, let replacement):
      return FieldStep(
        kind: .copy, affinity: affinity, source: place(of: source, onlyReal: affinity == .real),
        constant: try constant(value: replacement, column: column, stored: stored))
    case .convert(let source, let type, let replacement):
      return FieldStep(
        kind: Self.kind(type: type), affinity: affinity, source: place(of: source),
        constant: try constant(value: replacement, column: column, stored: stored))
    case .reference(let source, let filter):
      guard let filter else {
        return FieldStep(kind: .copy, affinity: affinity, source: place(of: source))
      }
      if let table = filter.table {
        return lookedUp(
          operation, kind: .entityFiltered, affinity: affinity, source: source,
          key: filter.column, table: table, list: filter.kept.map { ($0, $0) })
      }
      return FieldStep(
        kind: .filtered, affinity: affinity, source: place(of: source),
        list: rows.add(list: filter.kept.map { ($0, $0) }), number: place(of: filter.column))
    case .renumber(let source, let map):
      return FieldStep(
        kind: .renumbered, affinity: affinity, source: place(of: source),
        list: rows.add(list: map.map { ($0.source, $0.destination) }))
    case .remask(let source, let change):
      return FieldStep(
        kind: .remasked, affinity: affinity, source: place(of: source),
        list: rows.add(mask: change))
    case .unless(let key, let others, let operation):
      let inner = try compile(operation, column: column, stored: stored)
      return FieldStep(
        kind: .keyed, affinity: affinity, source: place(of: key),
        list: rows.add(inner, unlessIn: try keys(of: others)))
    case .either(let first, let second):
      let steps = (
        try compile(first, column: column, stored: stored),
        try compile(second, column: column, stored: stored)
      )
      return FieldStep(kind: .either, affinity: affinity, list: rows.add(steps.0, else: steps.1))
    case .removeExternalTag(let source, let replacement):
      return FieldStep(
        kind: .untagged, affinity: affinity, source: place(of: source),
        constant: try constant(value: replacement, column: column, stored: stored),
        list: untagged(column: column.name))
    case .lookUpNumber(let column, let table, let map):
      return lookedUp(
        operation, kind: .numbered, affinity: affinity, source: column, key: column, table: table,
        list: map.map { ($0.source, $0.destination) })
    case .ownerKey, .place: return try listed(operation, affinity: affinity)
    case .addExternalTag, .paired, .then:
      return asExpression(operation, affinity: affinity)
    }
  }

  /// What reads the values of a column, of whatever entity: a row has one.
  private mutating func untagged(column: String) -> Int {
    if let known = untagged[column] { return known }
    let added = rows.add(untagged: UntaggedValue(support: support))
    untagged[column] = added
    return added
  }

  private func keys(of rows: UntakenRows) throws -> RowKeyReader.Table {
    guard let untaken else { throw ShardError(.orderIncomplete, table: rows.table) }
    return untaken.table(rows.name)
  }

  /// What depends on the entity of another row, which SQLite finds where there is no map of them.
  private mutating func lookedUp(
    _ operation: ColumnOperation, kind: FieldStep.Kind, affinity: Affinity, source: String,
    key: String, table: String, list: [(Int64, Int64)]
  ) -> FieldStep {
    guard let entities = lookUps?.entities(of: table) else {
      return asExpression(operation, affinity: affinity)
    }
    return FieldStep(
      kind: kind, affinity: affinity, source: place(of: source),
      list: rows.add(EntityLookUp(entities, list: list)), number: place(of: key))
  }

  /// What a list has for the key of the row, which SQLite finds where there is none.
  private mutating func listed(
    _ operation: ColumnOperation, affinity: Affinity
  ) throws -> FieldStep {
    if lists[operation] == nil, let numbers = try lookUps?.numbers(for: operation, from: first) {
      lists[operation] = rows.add(numbers: numbers)
    }
    return lists[operation].map { FieldStep(kind: .listed, affinity: affinity, list: $0) }
      ?? asExpression(operation, affinity: affinity)
  }

  private static func kind(type: AttributeType) -> FieldStep.Kind {
    switch type.numberKind {
    case .integer: .toInteger
    case .boolean: .toBoolean
    case .real: .toReal
    case .decimal, nil: .copy
    }
  }

  /// Has SQLite make the value, and takes it as it comes.
  private mutating func asExpression(
    _ operation: ColumnOperation, affinity: Affinity
  ) -> FieldStep {
    FieldStep(
      kind: .copy, affinity: affinity,
      source: place(ofExpression: operation.expression(schema: "src")))
  }

  /// The place of a source column's value among the fields; requested before rows are read.
  mutating func place(of column: String, onlyReal: Bool = false) -> Int {
    place(ofExpression: "s.\(SQL.identifier(name: column))", column: column, onlyReal: onlyReal)
  }

  private mutating func place(
    ofExpression expression: String, column: String? = nil, onlyReal isReal: Bool = false
  ) -> Int {
    if let index = expressions.firstIndex(of: expression) {
      onlyReal[index] = onlyReal[index] && isReal
      return index
    }
    expressions.append(expression)
    columns.append(column)
    onlyReal.append(isReal)
    return expressions.count - 1
  }

  private func constant(
    value: StoredValue, column: ColumnProgram, stored: Stored
  ) throws -> Int {
    if value == .null { return 0 }
    let scratch = UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8)
    defer { scratch.deallocate() }
    let affinity = column.type.affinity
    return try stored(column.name, value).withField { field in
      let kept = affinity.applied(to: field, scratch: scratch, encoding: encoding)
      return rows.add(constant: kept ?? field)
    }
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
