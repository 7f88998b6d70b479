import GRDB
import Schema

/// Finds out what is wrong with a store: in which table, on which page, at which row.
package struct StoreDiagnosis {
  /// One error, as SQLite reports it.
  package struct Finding: Hashable, Sendable {
    /// The table whose b-trees it is about; nil where none is known.
    package var table: String?
    /// SQLite's words, with page, cell or row.
    package var text: String

    /// Creates a finding.
    package init(table: String?, text: String) {
      self.table = table
      self.text = text
    }
  }

  private static let limit = 100
  /// Errors of unused pages, and of fields that only a writer reads.
  private static let harmless = [
    "is never used", "ptr map", "ptrmap", "Pointer map page", "reelist", "free-page count",
    "Fragmentation of", "Outstanding page count", "disagrees with header",
    "incremental_vacuum enabled",
  ]

  private let connection: StoreConnection

  /// Checks an unchanging store.
  package init(_ connection: StoreConnection) { self.connection = connection }

  /// Whatever keeps the rows of the store from being trusted; empty for a sound one.
  package func findings() throws(StoreError) -> [Finding] {
    let bytes = (try? SourceFile(connection.path).byteCount) ?? 0
    let parts: [String]? =
      bytes >= IntegrityCheck.leastBytes ? try IntegrityCheck(connection.path).lines() : nil
    return try connection.run { db in
      let whole =
        try parts.map { Self.sought($0) }
        ?? Self.answers("PRAGMA integrity_check(\(Self.limit))", db: db)
      if whole.isEmpty { return [] }
      var findings: [Finding] = []
      let tables = try String.fetchAll(
        db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
      findings += try tables.flatMap { try Self.findings(of: $0, db: db) }
      let known = Set(findings.map(\.text))
      return findings + whole.filter { !known.contains($0) }.map { Finding(table: nil, text: $0) }
    }
  }

  /// Whatever keeps the rows of some tables from being trusted.
  package func findings(of tables: [String]) throws(StoreError) -> [Finding] {
    try connection.run { db in try tables.flatMap { try Self.findings(of: $0, db: db) } }
  }

  private static func findings(of table: String, db: Database) throws -> [Finding] {
    try answers("PRAGMA integrity_check(\(SQL.quoted(name: table)))", db: db)
      .map { Finding(table: table, text: $0) }
  }

  /// What a check answers of the rows, a line each.
  private static func answers(_ pragma: String, db: Database) throws -> [String] {
    try sought(IntegrityCheck.answers(pragma, db: db))
  }

  private static func sought(_ lines: [String]) -> [String] {
    // No page has the number 0: the pointer itself is lost, and with it a part of a value.
    lines.filter { line in
      line.hasSuffix("ptrmap key=0") || !harmless.contains { line.contains($0) }
    }
  }
}
