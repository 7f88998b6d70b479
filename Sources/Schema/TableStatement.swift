/// What the statement that made a table contains besides names: `CREATE TABLE …`, as
/// `sqlite_schema` has it.
///
/// A name may contain any word, quoted or not: `ZWITHOUTTAX`, `"COLLATE"`.
package struct TableStatement {
  /// Whether SQLite keeps the table by its primary key, `WITHOUT ROWID`.
  package private(set) var isWithoutRowNumbers = false
  /// Whether a column has a collation of its own.
  package private(set) var hasCollations = false

  /// Reads the words of a statement that SQLite has accepted.
  package init(_ sql: String) {
    var rest = Substring(sql).utf8
    var depth = 0
    var hasColumns = false
    while let byte = rest.first {
      switch byte {
      case UInt8(ascii: "("): depth += 1
      case UInt8(ascii: ")"):
        depth -= 1
        hasColumns = true
      case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"):
        rest.skip(past: byte)
        continue
      case UInt8(ascii: "["):
        rest.skip(past: UInt8(ascii: "]"))
        continue
      case UInt8(ascii: "-") where rest.dropFirst().first == byte:
        rest = rest.drop { $0 != UInt8(ascii: "\n") }
        continue
      case UInt8(ascii: "/") where rest.dropFirst().first == UInt8(ascii: "*"):
        rest.skipComment()
        continue
      case _ where Self.isOfWord(byte):
        let word = Substring(rest.prefix(while: Self.isOfWord)).uppercased()
        rest = rest.drop(while: Self.isOfWord)
        if word == "COLLATE" { hasCollations = true }
        // Options of the table are behind its columns, where no name can be.
        if word == "WITHOUT", hasColumns, depth == 0 { isWithoutRowNumbers = true }
        continue
      default: break
      }
      rest.removeFirst()
    }
  }

  /// Whether a byte is of a word, as SQLite has it.
  private static func isOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
      true
    default: false
    }
  }
}

extension Substring.UTF8View {
  /// Skips a quoted name or text; a quote in it is doubled, which looks like two of them.
  fileprivate mutating func skip(past end: UInt8) {
    self = dropFirst().drop { $0 != end }.dropFirst()
  }

  /// Skips `/* … */`, or to the end where the comment has none.
  fileprivate mutating func skipComment() {
    self = dropFirst(2)
    while let byte = popFirst() {
      if byte == UInt8(ascii: "*"), first == UInt8(ascii: "/") { break }
    }
    self = dropFirst()
  }
}
