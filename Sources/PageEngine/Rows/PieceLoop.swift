import GRDB
import MigrationEngine
import ObjectMigration
import Planning
import RowPrograms
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// Runs the program of a piece over its source rows.
struct PieceLoop {
  private static let rowsPerReport: Int64 = 16_384

  private let program: PieceProgram
  private let piece: Piece
  private let definition: Substring
  private let file: SourceFile
  private let encoding: TextEncoding
  private let support: FilePath
  private let db: Database
  private let caller: RowCaller?
  private let untaken: RowKeyReader?
  private let lookUps: LookUps
  /// Of the source's schema.
  private let facts: SchemaFacts
  /// The folder for what does not fit in memory.
  private let folder: FilePath

  /// Takes the open source file, which is attached to the database as well.
  init(
    document: WorkOrderDocument, piece: Piece, file: SourceFile, facts: SchemaFacts,
    encoding: TextEncoding, db: Database, caller: RowCaller?, untaken: RowKeyReader?,
    lookUps: LookUps
  ) throws {
    self.lookUps = lookUps
    self.facts = facts
    self.encoding = encoding
    support = FilePath(document.support)
    self.caller = caller
    self.untaken = untaken
    self.piece = piece
    self.file = file
    self.db = db
    folder = Files.parent(of: FilePath(document.shard))
    program = try document.program(of: piece)
    let name = piece.destinationTable
    guard let statement = document.createStatements[name],
      let start = statement.firstIndex(of: "(")
    else { throw ShardError(.orderIncomplete, table: name) }
    definition = statement[start...]
  }

  /// Writes all rows; how many were made, and what was read of a table of objects.
  func writeRows(
    into output: inout PieceOutput, progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> (rows: Int64, count: RowCount?) {
    switch program {
    case .table(let table): return try makeObjects(table, output: &output, progress: progress)
    case .join(let join): return (try makePairs(join, output: &output, progress: progress), nil)
    }
  }

  // MARK: Entities

  private func makeObjects(
    _ table: TableProgram, output: inout PieceOutput,
    progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> (rows: Int64, count: RowCount?) {
    let fallback = FallbackRows(
      definition: definition,
      columns: [("Z_PK", .integer), ("Z_ENT", .integer), ("Z_OPT", .integer)]
        + table.columns.map { ($0.name, $0.type.affinity) },
      program: table.leavingPlaces { lookUps.lists.places[$0] != nil }, encoding: encoding, db: db)
    var compiled = try CompiledProgram(
      program: table, untaken: untaken, lookUps: lookUps, from: piece.keys.first,
      encoding: encoding, support: support,
      stored: fallback.stored)
    let computed = try caller.flatMap {
      try ComputedFields(table: table, compiled: &compiled, caller: $0, encoding: encoding)
    }
    let made = try makeRows(
      table, compiled: compiled, computed: computed, fallback: fallback, output: &output,
      progress: progress)
    return (made, RowCount(of: compiled.rows))
  }

  /// Reads pages of the source where it can, and otherwise by a query.
  private func makeRows(
    _ table: TableProgram, compiled: CompiledProgram, computed: ComputedFields?,
    fallback: FallbackRows, output: inout PieceOutput,
    progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> Int64 {
    if let cursor = try cursor(of: table, compiled: compiled) {
      guard let computed else {
        return try copyRows(
          table, cursor: cursor, rows: compiled.rows, fallback: fallback, output: &output,
          progress: progress)
      }
      let rows = Rows(fields: cursor.fields) { try cursor.next() && cursor.key <= piece.keys.last }
      return try computeRows(
        table, source: rows, rows: compiled.rows, computed: computed, fallback: fallback,
        output: &output,
        progress: progress)
    }
    let reader = try RowReader(
      sql: table.query(of: compiled.expressions, in: piece.keys, schema: "src"), in: db)
    let rows = Rows(fields: reader.fields, next: reader.next)
    return try computeRows(
      table, source: rows, rows: compiled.rows, computed: computed, fallback: fallback,
      output: &output,
      progress: progress)
  }

  /// Source rows that come one at a time.
  private struct Rows {
    let fields: UnsafeMutablePointer<Field>
    let next: () throws -> Bool
  }

  /// Reads the pages of the source where the table is of the usual form.
  private func cursor(
    of table: TableProgram, compiled: CompiledProgram
  ) throws -> TableCursor? {
    let columns = compiled.columns.compactMap(\.self)
    guard columns.count == compiled.columns.count,
      let found = try SourceTable(name: table.sourceTable, file: file, facts: facts, db: db)
    else { return nil }
    return try found.cursor(
      columns, asKept: compiled.onlyReal, file: file, from: piece.keys.first, scratch: folder)
  }

  private func copyRows(
    _ table: TableProgram, cursor: TableCursor, rows: FieldProgram, fallback: FallbackRows,
    output: inout PieceOutput, progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> Int64 {
    var made: Int64 = 0
    let copier = output.copier(cursor, program: rows)
    while true {
      let before = output.rows
      let halt = try output.copy(
        cursor, program: rows, copier: copier, last: piece.keys.last, rows: Self.rowsPerReport)
      if case .fallback(let key) = halt {
        try add(key, rows: rows, fallback: fallback, output: &output)
      }
      made += output.rows - before
      try progress(output.rows - before, cursor.key)
      if case .end = halt { return made }
    }
  }

  private func computeRows(
    _ table: TableProgram, source: Rows, rows: FieldProgram, computed: ComputedFields?,
    fallback: FallbackRows, output: inout PieceOutput,
    progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> Int64 {
    let fields = source.fields
    let before = output.rows
    var reported: Int64 = 0
    var key: Int64 = 0
    while try source.next() {
      key = fields[0].integer
      var outcome = rows.make(fields)
      if let computed, outcome == .made, try !computed.fill(key: key, fields: fields) {
        outcome = .unknown
      }
      switch outcome {
      case .made:
        try output.add(key: key, fields: rows.output, count: rows.width, hasKey: true)
        rows.noteMade()
      case .leftBehind: continue
      case .unknown: try add(key, rows: rows, fallback: fallback, output: &output)
      }
      let made = output.rows - before
      if made - reported >= Self.rowsPerReport {
        try progress(made - reported, key)
        reported = made
      }
    }
    try progress(output.rows - before - reported, key)
    return output.rows - before
  }

  /// Adds a row as SQLite makes it, if it makes one.
  private func add(
    _ key: Int64, rows: FieldProgram, fallback: FallbackRows, output: inout PieceOutput
  ) throws {
    guard let row = try fallback.row(key: key) else { return rows.noteLeftBehind() }
    rows.take(row, isWide: try fallback.hasWideMask(key: key))
    try rows.takePlaces(key: key)
    try output.add(key: key, fields: rows.output, count: rows.width, hasKey: true)
    rows.noteMade()
  }

  // MARK: Join tables

  private func makePairs(
    _ join: JoinProgram, output: inout PieceOutput,
    progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> Int64 {
    let fallback = FallbackRows(
      definition: definition, columns: join.columns.map { ($0, .integer) }, encoding: encoding,
      db: db)
    let isNumbered = join.keepsRowNumbers
    var places = try lookUps.places(of: join, piece: piece)
    let query = join.leavingPlaces { lookUps.lists.places[$0] != nil }
    let reader = try RowReader(
      sql: query.query(in: piece.keys, schema: "src", numbered: isNumbered), in: db)
    let values = reader.fields + (isNumbered ? 1 : 0)
    let width = join.columns.count
    let scratch = UnsafeMutableRawPointer.allocate(byteCount: width * 8, alignment: 8)
    let fields = UnsafeMutablePointer<Field>.allocate(capacity: width)
    fields.initialize(repeating: .null, count: width)
    defer {
      scratch.deallocate()
      fields.deallocate()
    }
    var read: Int64 = 0
    var reported: Int64 = 0
    while try reader.next() {
      read += 1
      var row: UnsafePointer<Field>? = UnsafePointer(fields)
      for index in 0..<width {
        guard
          let field = Affinity.integer.applied(
            to: values[index], scratch: scratch + index * 8, encoding: encoding)
        else {
          row = nil
          break
        }
        fields[index] = field
      }
      guard var row = try row ?? fallback.row(of: reader, from: isNumbered ? 1 : 0) else {
        throw ShardError(.orderIncomplete, table: piece.destinationTable)
      }
      if !places.isEmpty {
        if row != UnsafePointer(fields) { fields.update(from: row, count: width) }
        row = UnsafePointer(fields)
        for index in places.indices {
          let column = places[index].column
          fields[column] = Field(
            value: try places[index].next(row), scratch: scratch + column * 8)
        }
      }
      let number = isNumbered ? reader.fields[0].integer : output.nextRowNumber
      try output.add(key: number, fields: row, count: width, hasKey: false)
      if read - reported >= Self.rowsPerReport {
        try progress(read - reported, fields[0].isInteger ? fields[0].integer : 0)
        reported = read
      }
    }
    try progress(read - reported, fields[0].isInteger ? fields[0].integer : 0)
    return read
  }
}

extension RowCount {
  /// What a program has read and made.
  fileprivate init(of rows: FieldProgram) {
    let made = rows.rowsMade
    self.init(
      seen: made.reduce(rows.leftBehind) { $0 + $1.rows },
      made: made.map { EntityRows(number: $0.destination, rows: $0.rows) }, strays: rows.strays,
      wideMasks: rows.wideMasks?.map { EntityRows(number: $0.destination, rows: $0.rows) })
  }
}
