import Schema
import StoreFormat
import SystemPackage

/// Applies a column's type affinity to values.
///
/// SQLite itself does it, in a table in memory: a whole REAL in a `TIMESTAMP` becomes an INTEGER,
/// `-0.0` in a `FLOAT` becomes `0.0`, and so on.
final class Affinity {
  private let store: RawStore
  private var inserts: [DeclaredType: RawStatement] = [:]
  private var reads: [DeclaredType: RawStatement] = [:]
  private let casts: [RawStatement]

  init() throws(StoreError) {
    store = try RawStore(inMemory: FilePath("a table in memory"))
    let types: [DeclaredType] = [.integer, .float, .timestamp, .decimal, .varchar, .blob]
    for type in types {
      let table = "t_\(type.rawValue)"
      try store.execute("CREATE TABLE \(table) (k INTEGER PRIMARY KEY, v \(type.rawValue))")
      inserts[type] = try store.prepare("INSERT OR REPLACE INTO \(table) VALUES (1, ?)")
      reads[type] = try store.prepare("SELECT v FROM \(table)")
    }
    casts = [
      try store.prepare("SELECT CAST(? AS INTEGER)"), try store.prepare("SELECT CAST(? AS REAL)"),
      try store.prepare("SELECT CAST(? AS TEXT)"),
    ]
  }

  func applied(_ value: RawValue, type: DeclaredType) throws(StoreError) -> RawValue {
    try inserts[type]?.execute([value])
    return try reads[type]?.row(values: [])?.first ?? value
  }

  func asInteger(_ value: RawValue) throws(StoreError) -> RawValue {
    try casts[0].row(values: [value])?.first ?? .null
  }

  func asReal(_ value: RawValue) throws(StoreError) -> RawValue {
    try casts[1].row(values: [value])?.first ?? .null
  }

  func asText(_ value: RawValue) throws(StoreError) -> RawValue {
    try casts[2].row(values: [value])?.first ?? .null
  }
}
