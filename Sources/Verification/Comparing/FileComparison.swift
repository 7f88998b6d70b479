import ObjectModel
import Schema
import StoreFormat
import StoreNames
import SystemCalls
import SystemPackage

extension VerificationOrder {
  /// The folders of the old store's external files: after a migration in place both stores share
  /// that of the new one.
  var oldFolders: [FilePath] {
    [ExternalFolders.support(of: old.path), ExternalFolders.support(of: new.path)]
  }
}

/// Compares the header, the pages and the files next to a store.
extension VerificationRun {
  func compareFiles(_ found: FoundSchema) throws {
    try compareHeader()
    for suffix in StoreFile.changeSuffixes {
      let path = FilePath(order.new.path.string + suffix)
      if let size = try Files.fileStatusIfPresent(path)?.size, size > 0 {
        let bytes = size == 1 ? "1 byte" : "\(size) bytes"
        note(.init(.leftover, table: path.string, expected: "nothing", actual: bytes))
      }
    }
    try compareExternalFiles(found)
  }

  // MARK: Header

  private struct Header {
    var bytes: [UInt8]

    init(_ path: FilePath) throws { bytes = try FileBytes.head(of: path, count: 100) }

    func number(offset: Int) -> Int64 {
      bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int64($1) }
    }

    var pageSize: Int64 {
      let size = Int64(bytes[16]) << 8 | Int64(bytes[17])
      return size == 1 ? 65536 : size
    }
    var usesWAL: Bool { bytes[18] == 2 || bytes[19] == 2 }
    /// 0 for none, 1 for full, 2 for incremental.
    var vacuum: Int64 { number(offset: 52) == 0 ? 0 : number(offset: 64) == 0 ? 1 : 2 }
    var encoding: Int64 { number(offset: 56) }
  }

  func compareHeader() throws {
    let (before, after) = (try Header(order.old.path), try Header(order.new.path))
    let isCopy = order.steps.isEmpty
    func compare(_ name: String, actual: Int64, expected: Int64...) {
      if expected.contains(actual) { return }
      note(
        .init(
          .header, table: order.new.path.string, column: name, expected: "\(expected[0])",
          actual: "\(actual)"))
    }
    compare("page size", actual: after.pageSize, expected: isCopy ? before.pageSize : 4096)
    compare(
      "bytes kept free on each page", actual: Int64(after.bytes[20]),
      expected: Int64(isCopy ? before.bytes[20] : 0))
    compare("auto-vacuum", actual: after.vacuum, expected: isCopy ? before.vacuum : 2)
    compare(
      "text encoding", actual: after.encoding, expected: before.encoding,
      isCopy ? before.encoding : 1)
    // A log may have other numbers than the header of the file.
    for (name, pragma) in [("user version", "user_version"), ("application id", "application_id")] {
      compare(
        name, actual: try new.number(sql: "PRAGMA \(pragma)"),
        expected: try old.number(sql: "PRAGMA \(pragma)"))
    }
    let usesWAL = order.usesWAL ?? before.usesWAL
    if after.usesWAL != usesWAL || after.bytes[18] != after.bytes[19] {
      note(
        .init(
          .journalMode, table: order.new.path.string, expected: usesWAL ? "wal" : "delete",
          actual: "\(after.bytes[18]), \(after.bytes[19])"))
    }
    let size = try Files.fileStatus(order.new.path).size
    let hasLog = order.new.readable != order.new.path
    if !hasLog, size != after.number(offset: 28) * after.pageSize, !isCopy {
      note(
        .init(
          .header, table: order.new.path.string, column: "length of the file",
          expected: "\(after.number(offset: 28) * after.pageSize)", actual: "\(size)"))
    }
  }

  // MARK: External files

  func compareExternalFiles(_ found: FoundSchema) throws {
    let own = ExternalFolders([ExternalFolders.support(of: order.new.path)])
    let others = ExternalFolders(order.oldFolders)
    var missing: Int64 = 0
    for table in found.tables {
      for column in table.columns where found.schema.isExternal(column) {
        guard catalog.hasColumn(column.name, in: table.name) else { continue }
        try judge(table.name) {
          let name = SQL.identifier(name: column.name)
          // The length keeps SQLite from reading values that are in the store, which may be long.
          let rows = try new.prepare(
            "SELECT Z_PK, \(name) FROM \(SQL.identifier(name: table.name)) "
              + "WHERE length(\(name)) < 64 AND substr(\(name), 1, 1) = x'02'")
          while try rows.step() {
            guard case .blob(let bytes) = rows.value(column: 1),
              let file = ExternalValue.fileName(in: bytes)
            else { continue }
            let (mine, theirs) = (try own.path(of: file), try others.path(of: file))
            if let mine, let theirs {
              if try FileBytes.areSame(mine, theirs) { continue }
              note(
                .init(
                  .externalFile, table: table.name, key: "\(rows.value(column: 0))",
                  column: column.name,
                  expected: "the bytes of \(theirs)", actual: "those of \(mine)"))
            } else if let theirs {
              note(
                .init(
                  .externalFileMissing, table: table.name, key: "\(rows.value(column: 0))",
                  column: column.name, expected: "a copy of \(theirs)"))
            } else {
              missing += 1
            }
          }
        }
      }
    }
    if missing > 0 {
      let what = missing == 1 ? "1 external file is" : "\(missing) external files are"
      report.remark("\(what) missing next to both stores")
    }
  }

  // MARK: Pages

  /// Starts SQLite's `integrity_check`, which reads every page and compares every index with its
  /// table, in parallel to the comparison of rows.
  func beginPages() {
    // An error at its start is reported when its results are needed.
    pages = try? IntegrityCheck(order.new.readable)
  }

  func checkPages() throws {
    do {
      for line in try (pages ?? IntegrityCheck(order.new.readable)).lines() {
        let isIndex = line.contains("index ")
        note(.init(isIndex ? .indexEntry : .page, actual: RawValue.escaped(line.utf8)))
      }
    } catch let error as StoreError where error.problem == .damaged {
      note(.init(.page, actual: error.cause.map { "\($0)" } ?? "it cannot be read"))
    }
  }
}

extension StoreSchema {
  /// Whether values of a column may be in files.
  func isExternal(_ column: Column) -> Bool {
    guard case .attribute(let entity, let name) = column.role else { return false }
    return model.entity(name: entity)?.leafAttributes.first { $0.name == name }?
      .storesBinaryDataExternally == true
  }
}
