import Planning
import StoreFormat

/// Where the rows of one piece go: pages, keys of indexes, spans of keys, a digest.
struct PieceOutput: ~Copyable {
  private let writer: PieceWriter
  private let collectors: [(index: PageIndex, keys: KeyCollector)]
  private let names: NameCollector?
  private let digests: Bool
  private let rowsBefore: Int64
  private var digest = RowDigest()

  /// Takes the bytes that the keys of each index may have in memory.
  init(
    pages: ExtentWriter, runs: RunFile, indexes: [PageIndex], bytes: Int,
    scratch: SortScratch, names: NameCollector?, digests: Bool, rowsBefore: Int64
  ) {
    self.names = names
    collectors = indexes.map { index in
      let keys = KeyCollector(
        form: index.collected, columns: index.columns, descending: index.descending, file: runs,
        bytes: bytes, scratch: scratch)
      return (index, keys)
    }
    writer = PieceWriter(pages: pages, runs: runs, collectors: collectors.map(\.keys), names: names)
    self.digests = digests
    self.rowsBefore = rowsBefore
  }

  /// Rows written so far.
  var rows: Int64 { writer.rows }

  /// The number of the next row in a table whose rows have no keys of their own.
  var nextRowNumber: Int64 { rowsBefore + writer.rows + 1 }

  /// Adds a row; the first field is NULL where it is the key.
  mutating func add(
    key: Int64, fields: UnsafePointer<Field>, count: Int, hasKey: Bool
  ) throws {
    try writer.add(key: key, fields: fields, count: count)
    if digests { addDigest(key, fields: fields, count: count, hasKey: hasKey) }
  }

  /// Copies records of a cursor for a program; nil if rows are made value by value.
  func copier(_ cursor: TableCursor, program: FieldProgram) -> RecordCopier? {
    digests ? nil : writer.copier(cursor, program: program)
  }

  /// Takes rows of objects from a cursor through a program; a row at a time where each is digested.
  mutating func copy(
    _ cursor: TableCursor, program: FieldProgram, copier: RecordCopier?, last: Int64,
    rows limit: Int64
  ) throws -> PieceWriter.Halt {
    if !digests {
      return try writer.copy(cursor, program: program, copier: copier, last: last, rows: limit)
    }
    let end = rows + limit
    while rows < end {
      guard try cursor.next(), cursor.key <= last else { return .end }
      switch program.make(cursor.fields) {
      case .made:
        try add(key: cursor.key, fields: program.output, count: program.width, hasKey: true)
        program.noteMade()
      case .leftBehind: break
      case .unknown: return .fallback(cursor.key)
      }
    }
    return .pause
  }

  private mutating func addDigest(
    _ key: Int64, fields: UnsafePointer<Field>, count: Int, hasKey: Bool
  ) {
    var hash = RowDigest.firstHash
    let empty = UnsafeRawPointer(fields)
    if hasKey { RowDigest.mix(&hash, value: RowDigest.integer(value: key)) }
    for index in (hasKey ? 1 : 0)..<count {
      let field = fields[index]
      let value: UInt64
      if field.isInteger {
        value = RowDigest.integer(value: field.integer)
      } else if field.isReal {
        value = RowDigest.real(number: field.real)
      } else if field.isText {
        // SQLite gives an address for an empty text, and none for an empty blob.
        value = RowDigest.text(start: field.body ?? empty, count: Int32(field.size))
      } else if field.isBlob {
        value = RowDigest.blob(start: field.size > 0 ? field.body : nil, count: Int32(field.size))
      } else {
        value = RowDigest.null
      }
      RowDigest.mix(&hash, value: value)
    }
    digest.add(hash: hash)
  }

  mutating func finish(_ piece: Int) throws -> (PagePiece, (rows: Int64, sum: UInt64)) {
    let written = try writer.finish()
    var indexes: [String: IndexRuns] = [:]
    for (index, keys) in collectors {
      indexes[index.name] = try keys.finish()
    }
    let result = PagePiece(
      piece: piece, leaves: written.leaves, spans: written.spans, rowsBefore: rowsBefore,
      indexes: indexes, names: try names?.finish())
    return (result, (writer.rows, digest.sum))
  }
}

extension PageIndex {
  fileprivate var collected: KeyCollector.Form {
    switch form {
    case .integer: root == nil ? .integer : .movedInteger
    case .integerPair: root == nil ? .integerPair : .moved
    case .keys: root == nil ? .keys : .moved
    }
  }
}
