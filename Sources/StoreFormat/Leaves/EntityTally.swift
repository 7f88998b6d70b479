package import Schema
import SystemCalls

/// Counts the rows of tables by entity number, by a reading of their leaves.
struct EntityTally {
  /// Of an unchanging file.
  let leaves: TableLeaves

  /// The rows of a table by the number in its second column.
  ///
  /// - Throws: `UnsoundPage`, also where a row has something else there than an INTEGER.
  func counts(root: UInt32) throws(UnsoundPage) -> [Int64: Int64] {
    var counts: [Int64: Int64] = [:]
    var (present, run): (Int64, Int64) = (0, 0)
    try leaves.open(root: root, from: .min, to: .max)
    while true {
      let rows = try leaves.next()
      if rows == 0 { break }
      for row in 0..<rows {
        let (record, held) = try leaves.head(row)
        let number = try Self.secondNumber(record, held: held)
        if number != present {
          counts[present, default: 0] += run
          (present, run) = (number, 0)
        }
        run += 1
      }
    }
    counts[present, default: 0] += run
    return counts.filter { $0.value > 0 }
  }

  @inline(__always)
  private static func secondNumber(
    _ record: UnsafeRawPointer, held: Int
  ) throws(UnsoundPage) -> Int64 {
    guard let head = Varint(record, at: 0, limit: held), head.value <= UInt64(held) else {
      throw UnsoundPage()
    }
    let size = Int(head.value)
    guard let first = Varint(record, at: head.end, limit: size), first.value < 1 << 31,
      let second = Varint(record, at: first.end, limit: size), second.value < 1 << 31,
      RecordFields.isInteger(UInt32(second.value))
    else { throw UnsoundPage() }
    let type = UInt32(second.value)
    let start = size + RecordFields.size(type: UInt32(first.value))
    guard start + RecordFields.size(type: type) <= held else { throw UnsoundPage() }
    return RecordFields.number(type: type, at: record + start)
  }
}

extension StoreReader {
  /// The rows of some tables by entity number, counted in all of their leaves.
  ///
  /// A table that has some row without a number, or with unsound pages, is left out; SQLite counts
  /// those.
  package func entityCounts(
    ofTables names: [String]
  ) throws(StoreError) -> [String: [EntityNumber: Int64]] {
    guard !names.isEmpty, let file = try? SourceFile(path), let sizes = try? PageSizes(of: file)
    else { return [:] }
    let entries = try tableEntries()
    let tally = EntityTally(leaves: TableLeaves(file, sizes: sizes))
    var found: [String: [EntityNumber: Int64]] = [:]
    for name in names {
      guard let entry = entries[name], entry.beginsAsUsual(name),
        let root = UInt32(exactly: entry.root), let counts = try? tally.counts(root: root)
      else { continue }
      found[name] = Dictionary(
        uniqueKeysWithValues: counts.map { (EntityNumber(rawValue: $0.key), $0.value) })
    }
    return found
  }
}

extension StoreReader.TableEntry {
  /// Whether the table begins with the columns that Core Data gives to one of entities; the first
  /// of them stands for the number of the row.
  func beginsAsUsual(_ name: String) -> Bool {
    [name, "\"\(name)\""].contains {
      statement.hasPrefix("CREATE TABLE \($0) ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER,")
    }
  }
}
