import Expressions
import GRDB
import Mapping
import ObjectModel
import RowPrograms
import Schema
import TestSupport

/// Runs the programs from one model to another on rows in memory.
struct SmallStore {
  let source: StoreSchema
  let destination: StoreSchema
  let program: MigrationProgram
  private let queue: DatabaseQueue

  /// Fills the source's tables by SQL.
  init(_ old: [Entity], _ new: [Entity], _ statements: String...) throws {
    try self.init(old, new, mapping: nil, untaken: [:], statements)
  }

  /// Takes a mapping of its own, nil for the inferred one, and the keys of the rows that its
  /// mappings do not take, by the names of the sets.
  init(
    _ old: [Entity], _ new: [Entity], mapping: MappingModel?, untaken: [String: [Int64]],
    _ statements: [String]
  ) throws {
    let old = try ManagedObjectModel(entities: old)
    let new = try ManagedObjectModel(entities: new)
    let source = try StoreSchema(old)
    self.source = source
    destination = try StoreSchema(new)
    program = try ProgramCompiler(
      mapping: mapping ?? MappingInference(from: old, to: new).mapping, source: source,
      destination: destination
    ).compile()
    queue = try DatabaseQueue()
    try queue.writeWithoutTransaction { db in
      for table in source.tables { try db.execute(sql: table.createStatement) }
      for table in source.joinTables { try db.execute(sql: table.createStatement) }
      for statement in statements { try db.execute(sql: statement) }
      db.add(
        function: DatabaseFunction(UntakenRows.function, argumentCount: 2, pure: true) { values in
          let keys = String.fromDatabaseValue(values[0]).flatMap { untaken[$0] } ?? []
          return Int64.fromDatabaseValue(values[1]).map(keys.contains) ?? false
        })
      // What a worker reads out of an external file is told by its name here.
      db.add(
        function: DatabaseFunction("godwit_external", argumentCount: 1, pure: true) { values in
          "file " + (String.fromDatabaseValue(values[0]) ?? "").dropFirst()
        })
      // Only stores in UTF-16 call it.
      db.add(function: DatabaseFunction("godwit_tagged", argumentCount: 1, pure: true) { _ in nil })
    }
  }

  /// The rows of a destination table, each as its named values that are not NULL, but for `Z_OPT`.
  func rows(_ table: String, in range: KeyRange? = .all) throws -> [String] {
    let sql: String
    if let found = program.tables.first(where: { $0.destinationTable == table }) {
      sql = found.query(in: range, schema: "main")
    } else if let found = program.joins.first(where: { $0.destinationTable == table }) {
      sql = found.query(in: range ?? .all, schema: "main")
    } else {
      return []
    }
    return try queue.writeWithoutTransaction { db in
      try Row.fetchAll(db, sql: sql).map { row in
        row.filter { $0.0 != "Z_OPT" && !$0.1.isNull }.map { "\($0.0)=\(Self.text($0.1))" }
          .joined(separator: " ")
      }
    }
  }

  private static func text(_ value: DatabaseValue) -> String {
    switch value.storage {
    case .null: "NULL"
    case .int64(let number): "\(number)"
    case .double(let number): "\(number)"
    case .string(let text): "'\(text)'"
    case .blob(let data):
      "x" + data.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
  }
}
