import GRDB
import ObjectMigration
import Planning
import RowPrograms
import Schema
import StorePages
import SystemPackage

/// Runs the program of a piece over its source rows.
struct PieceLoop {
  private enum Program {
    case table(TableProgram)
    case join(JoinProgram)
  }

  private static let rowsPerReport: Int64 = 16_384

  private let program: Program
  private let piece: Piece
  private let definition: Substring
  private let file: FileDescriptor
  private let db: Database
  private let caller: RowCaller?

  /// Takes the open source file, which is attached to the database as well.
  init(
    _ document: WorkOrderDocument, _ piece: Piece, _ file: FileDescriptor, _ db: Database,
    _ caller: RowCaller?
  ) throws {
    self.caller = caller
    self.piece = piece
    self.file = file
    self.db = db
    let name = piece.destinationTable
    if let table = document.tables.first(where: { $0.destinationTable == name }) {
      program = .table(table)
    } else if let join = document.joins.first(where: { $0.destinationTable == name }) {
      program = .join(join)
    } else {
      throw WorkerError(.orderIncomplete, table: name)
    }
    guard let statement = document.createStatements[name],
      let start = statement.firstIndex(of: "(")
    else { throw WorkerError(.orderIncomplete, table: name) }
    definition = statement[start...]
  }

  /// Writes all rows; how many were read.
  func run(
    into output: inout PieceOutput, progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> Int64 {
    switch program {
    case .table(let table): try run(table, &output, progress)
    case .join(let join): try run(join, &output, progress)
    }
  }

  private func run(
    _ table: TableProgram, _ output: inout PieceOutput,
    _ progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> Int64 {
    let odd = try OddRows(
      definition,
      columns: [("Z_PK", .integer), ("Z_ENT", .integer), ("Z_OPT", .integer)]
        + table.columns.map { ($0.name, $0.type.affinity) }, db)
    let compiled = try CompiledProgram(table, stored: odd.stored)
    let computed = try caller.flatMap { try ComputedFields(table, compiled, $0) }
    let reader = try source(of: table, compiled)
    let (fields, row, width) = (reader.fields, UnsafePointer(compiled.output), compiled.width)
    var read: Int64 = 0
    var reported: Int64 = 0
    var lastKey: Int64 = 0
    while try reader.next() {
      let key = fields[0].integer
      var isWanted = compiled.run(fields)
      if let computed, isWanted == true, try !computed.fill(key: key, fields) { isWanted = nil }
      if let isWanted {
        guard isWanted else { continue }
        read += 1
        try output.add(key: key, row, width, hasKey: true)
      } else {
        let query = table.query(in: KeyRange(first: key, last: key), schema: "src")
        guard let made = try odd.row(of: query) else { continue }
        read += 1
        compiled.take(made)
        try output.add(key: key, row, width, hasKey: true)
      }
      lastKey = key
      if read - reported >= Self.rowsPerReport {
        try progress(read - reported, key)
        reported = read
      }
    }
    try progress(read - reported, lastKey)
    return read
  }

  /// The rows of the piece: from pages where the table is of the usual form, else from SQLite.
  private func source(
    of table: TableProgram, _ compiled: CompiledProgram
  ) throws -> any RowSource {
    let columns = compiled.columns.compactMap(\.self)
    if columns.count == compiled.columns.count,
      let found = try SourceTable(table.sourceTable, file: file, db),
      let cursor = try found.cursor(columns, file: file, from: piece.keys.first)
    {
      return CursorRows(cursor, last: piece.keys.last)
    }
    return try RowReader(
      table.query(of: compiled.expressions, in: piece.keys, schema: "src"), in: db)
  }

  private func run(
    _ join: JoinProgram, _ output: inout PieceOutput,
    _ progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> Int64 {
    let odd = try OddRows(definition, columns: join.columns.map { ($0, .integer) }, db)
    let reader = try RowReader(join.query(in: piece.keys, schema: "src"), in: db)
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
          let field = Affinity.integer.applied(to: reader.fields[index], scratch + index * 8)
        else {
          row = nil
          break
        }
        fields[index] = field
      }
      guard let row = try row ?? odd.row(of: reader) else {
        throw WorkerError(.orderIncomplete, table: piece.destinationTable)
      }
      try output.add(key: output.nextRowNumber, row, width, hasKey: false)
      if read - reported >= Self.rowsPerReport {
        try progress(read - reported, fields[0].isInteger ? fields[0].integer : 0)
        reported = read
      }
    }
    try progress(read - reported, fields[0].isInteger ? fields[0].integer : 0)
    return read
  }
}
