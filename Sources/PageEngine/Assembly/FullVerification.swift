import GRDB
import MigrationEngine
import Planning
import RowPrograms
import Schema
import StoreFormat
import Synchronization
import SystemCalls
import SystemPackage

/// Reads everything again, by code that no worker uses, and compares it with what they read.
///
/// Nothing is written meanwhile, and all that was is in the file.
struct FullVerification {
  let order: AssemblyOrder
  let layout: PageLayout

  /// The rows of a table between two keys.
  private struct Part {
    /// The place of the table.
    var table: Int
    /// The table itself, where its rows are as they lie in its leaves.
    var name: String?
    var range: KeyRange
    var query: String
    /// Whether they are the rows of the source, which no worker has digested.
    var isSource: Bool
  }

  private struct Digests {
    var found = RowDigest()
    var source = RowDigest()
  }

  /// Compares the digests of all tables on several threads, while SQLite checks the pages.
  ///
  /// - Throws: `AssemblyError` where something differs.
  func verify(_ placed: borrowing PlacedPages) throws {
    // No worker runs any more.
    let check = try IntegrityCheck(order.result, cacheBytes: order.memory / 4)
    defer { check.stop() }
    var parts: [Part] = []
    for (number, (name, pieces)) in placed.tables.enumerated() {
      for range in ranges(of: name, pieces: pieces) {
        parts += self.parts(of: name, number: number, range: range)
      }
    }
    let digests = try digests(parts, tables: placed.tables.count)
    for (number, (name, pieces)) in placed.tables.enumerated() {
      let rows = pieces.reduce(0) { $0 + $1.result.rowsWritten }
      let (found, source) = (digests[number].found, digests[number].source)
      let isMoved = layout.moves?.tables[name] != nil
      let sum = isMoved ? source.sum : pieces.reduce(UInt64(0)) { $0 &+ $1.result.digest }
      guard found.rows == rows, found.sum == sum else {
        throw AssemblyError.rowsDiffer(table: name, expected: rows, found: found.rows)
      }
    }
    let lines = try check.lines()
    guard lines.isEmpty else { throw AssemblyError.damaged(Array(lines.prefix(5))) }
  }

  /// The row numbers of a table, cut where its pieces are.
  private func ranges(of name: String, pieces: [PlacedPagePiece]) -> [KeyRange] {
    let isNumbered = order.plan.program.joins.contains {
      $0.destinationTable == name && !$0.keepsRowNumbers
    }
    let keys = Dictionary(
      order.plan.workOrders.flatMap(\.pieces).map { ($0.number, $0.keys.first) },
      uniquingKeysWith: min)
    var starts: [Int64] = []
    for piece in pieces.dropFirst() {
      let start =
        isNumbered
        ? piece.pages.rowsBefore + piece.rowOffset + 1 : keys[piece.result.piece] ?? .min
      // Pieces without rows have no range of their own.
      if start > starts.last ?? .min { starts.append(start) }
    }
    return zip([.min] + starts, starts.map { $0 - 1 } + [.max]).map {
      KeyRange(first: $0, last: $1)
    }
  }

  private func parts(of name: String, number: Int, range: KeyRange) -> [Part] {
    let condition = "WHERE rowid BETWEEN \(range.first.sql) AND \(range.last.sql)"
    let found = Part(
      table: number, name: name, range: range,
      query: "SELECT * FROM main.\(SQL.identifier(name: name)) \(condition)",
      isSource: false)
    guard let table = layout.moves?.tables[name] else { return [found] }
    let program = order.plan.program.tables.first { $0.destinationTable == name }
    var source = Part(
      table: number, name: table.sourceTable, range: range,
      query: "SELECT * FROM src.\(SQL.identifier(name: table.sourceTable)) \(condition)",
      isSource: true)
    if table.moved.patch != nil, let program {
      source.name = nil
      source.query = program.query(in: range, schema: "src")
    }
    return [found, source]
  }

  /// The digests of each table.
  private func digests(_ parts: [Part], tables: Int) throws -> [Digests] {
    let sums = DigestSums(tables: tables)
    let (result, source) = (order.result, FilePath(layout.source))
    try ThreadPool.perform(parts.count) { number in
      let part = parts[number]
      let digest = try leafDigest(part, path: part.isSource ? source : result)
      sums.add(try digest ?? queryDigest(part, result: result, source: source), of: part)
    }
    return sums.all
  }

  /// The digest by a reading of the leaves that no worker's code has part in; nil where there is
  /// none.
  private func leafDigest(_ part: Part, path: FilePath) throws -> RowDigest? {
    guard let name = part.name else { return nil }
    let connection = try StoreConnection.immutable(path)
    let leaves = try connection.run { db in try LeafDigest(name, of: path, in: db) }
    return leaves?.digest(from: part.range.first, to: part.range.last)
  }

  private func queryDigest(_ part: Part, result: FilePath, source: FilePath) throws -> RowDigest {
    let connection = try StoreConnection.immutable(result)
    return try connection.run { db in
      if part.isSource {
        MaskFunctions.add(to: db)
        try db.execute(
          sql: "ATTACH ? AS src", arguments: [StoreConnection.uri(reading: source)])
      }
      return try RowDigest(of: part.query, in: db)
    }
  }

  private final class DigestSums: Sendable {
    private let digests: Mutex<[Digests]>

    init(tables: Int) { digests = Mutex(Array(repeating: Digests(), count: tables)) }

    var all: [Digests] { digests.withLock { $0 } }

    func add(_ digest: RowDigest, of part: Part) {
      digests.withLock { digests in
        if part.isSource {
          digests[part.table].source.merge(digest)
        } else {
          digests[part.table].found.merge(digest)
        }
      }
    }
  }
}

extension Int64 {
  /// The number as SQLite reads it, the lowest as well.
  fileprivate var sql: String { StoredValue.integer(self).sql }
}
