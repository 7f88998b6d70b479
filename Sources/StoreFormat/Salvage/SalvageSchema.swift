import GRDB
import SystemPackage

/// The schema of a damaged store, which has to be complete, since nothing else describes the
/// tables.
struct SalvageSchema {
  /// A row of `sqlite_schema`.
  struct Entry {
    var type: String
    var name: String
    var table: String
    var root: UInt32
    var sql: String?
  }

  let entries: [Entry]
  /// Which pages belong to which tree.
  let claims: PageClaims

  /// Tables whose rows lie in the file, but for those of SQLite itself.
  var tables: [Entry] {
    entries.filter { $0.type == "table" && $0.root > 0 && !$0.isInternal }
  }
  /// Indexes, those of constraints as well.
  var indexes: [Entry] { entries.filter { $0.type == "index" && $0.root > 0 } }
  /// Views, triggers and virtual tables, which have no pages of their own.
  var others: [Entry] { entries.filter { $0.root == 0 } }

  /// Reads the schema.
  ///
  /// - Throws: `StoreError` with `notSalvageable` where a part of it is damaged.
  init(_ file: DamagedFile) throws {
    var first: [Entry] = []
    try Self.read(file, claims: PageClaims(file, trees: [])) { first.append($0) }
    claims = try PageClaims(
      file,
      trees: first.filter { $0.root > 0 }.map {
        ($0.root, $0.type == "index" ? .index : .table)
      })
    // Pages of the schema that something else names are not trusted.
    var found: [Entry] = []
    try Self.read(file, claims: claims) { found.append($0) }
    entries = found
  }

  private static func read(
    _ file: DamagedFile, claims: PageClaims, take: @escaping (Entry) -> Void
  ) throws {
    let tree = TreeSalvage(file, claims: claims, kind: .table, mostColumns: 5) { _, values, _ in
      guard let entry = Entry(values, textEncoding: file.textEncoding) else { return false }
      take(entry)
      return true
    }
    do {
      try tree.salvage(root: 1)
      if tree.isWhole, tree.rows > 0 { return }
    } catch is TreeSalvage.TooLong {
      // No statement is as long.
    }
    throw StoreError(problem: .notSalvageable(["sqlite_schema"]), store: file.path)
  }
}

extension SalvageSchema.Entry {
  /// Whether SQLite fills it by itself.
  var isInternal: Bool { name.hasPrefix("sqlite_") && name != "sqlite_sequence" }
  /// Whether an index has an entry for every row.
  var hasAllRows: Bool { sql.map { !$0.uppercased().contains("WHERE") } ?? true }

  init?(_ values: [SalvagedValue], textEncoding: UInt32) {
    guard values.count == 5,
      let type = values[0].string(textEncoding), let name = values[1].string(textEncoding),
      let table = values[2].string(textEncoding)
    else { return nil }
    (self.type, self.name, self.table) = (type, name, table)
    switch values[3] {
    case .integer(let page):
      guard page >= 0, let number = UInt32(exactly: page) else { return nil }
      root = number
    case .null: root = 0
    default: return nil
    }
    switch values[4] {
    case .null: sql = nil
    case .text:
      guard let text = values[4].string(textEncoding) else { return nil }
      sql = text
    default: return nil
    }
    guard ["table", "index", "view", "trigger"].contains(type), sql != nil || type == "index" else {
      return nil
    }
  }
}

extension SalvagedValue {
  /// A text as a string; nil for any other value, and for bytes that are none.
  func string(_ textEncoding: UInt32) -> String? {
    guard case .text(let bytes) = self else { return nil }
    if textEncoding == 1 { return String(validating: bytes, as: UTF8.self) }
    guard bytes.count % 2 == 0 else { return nil }
    let units = stride(from: 0, to: bytes.count, by: 2).map { index in
      let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
      return textEncoding == 2 ? second << 8 | first : first << 8 | second
    }
    return String(validating: units, as: UTF16.self)
  }
}
