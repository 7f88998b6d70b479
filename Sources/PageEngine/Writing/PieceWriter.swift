/// Writes the rows of one piece: their pages, the spans of their keys, the keys of the indexes.
package final class PieceWriter {
  /// Why a copy of rows came to a halt.
  package enum Halt {
    /// The cursor has no more rows up to the last key.
    case end
    /// The requested number of rows was written: progress is reported.
    case pause
    /// The row with this key has to be made by SQLite.
    case fallback(Int64)
  }

  /// How many more rows than were copied may be made before copying is given up.
  private static let mostCopyScore = 64

  private let table: TableWriter
  private let leaves: EntryCollector
  private let spanList: EntryCollector
  private let collectors: [KeyCollector]
  /// The same without counting references for every row; `collectors` keeps them alive.
  private let unmanaged: UnsafeMutablePointer<Unmanaged<KeyCollector>>
  private let collectorCount: Int
  private let names: NameCollector?
  private var span: KeySpan?
  private var rowCount: Int64 = 0
  /// Rows written so far.
  package var rows: Int64 { rowCount }

  /// Takes the writer of pages and the file of runs, which the pieces of a worker share, and one
  /// collector for each index.
  package init(
    pages: ExtentWriter, runs: RunFile, collectors: [KeyCollector], names: NameCollector?
  ) {
    self.names = names
    let leaves = EntryCollector(file: runs, entrySize: MemoryLayout<LeafEntry>.stride)
    table = TableWriter(writer: pages, scratch: runs.folder) {
      (leaf) throws(PageError) in try leaves.add(leaf)
    }
    self.leaves = leaves
    spanList = EntryCollector(file: runs, entrySize: MemoryLayout<KeySpan>.stride)
    self.collectors = collectors
    collectorCount = collectors.count
    unmanaged = .allocate(capacity: max(1, collectors.count))
    for (index, collector) in collectors.enumerated() {
      unmanaged[index] = .passUnretained(collector)
    }
  }

  deinit { unmanaged.deallocate() }

  /// Adds a row, whose key is higher than the one before.
  package func add(
    key: Int64, fields: UnsafePointer<Field>, count: Int
  ) throws { try put(key, fields: fields, count: count) }

  @inline(__always)
  private func put(
    _ key: Int64, fields: UnsafePointer<Field>, count: Int
  ) throws {
    try table.put(key, fields: fields, count: count)
    try note(key, fields: fields)
  }

  /// Takes down what is known of rows besides the table.
  @inline(__always)
  private func note(_ key: Int64, fields: UnsafePointer<Field>) throws {
    for index in 0..<collectorCount {
      try unmanaged[index]._withUnsafeGuaranteedRef { try $0.add(fields, key: key) }
    }
    if let names { try names.add(fields) }
    rowCount += 1
    if let last = span, last.last &+ 1 == key {
      span = KeySpan(first: last.first, last: key)
    } else {
      if let span { try spanList.add(span) }
      span = KeySpan(first: key, last: key)
    }
  }

  /// Copies records of a cursor for a program; nil if rows are made value by value.
  func copier(_ cursor: TableCursor, program: FieldProgram) -> RecordCopier? {
    if names != nil { return nil }
    return RecordCopier(
      program, form: cursor.form, wanted: Set(collectors.flatMap(\.places)))
  }

  /// Takes rows from a cursor through a program until one of the halts, up to a last key.
  ///
  /// - Parameter copier: copies records where it can; nil where nothing does.
  func copy(
    _ cursor: TableCursor, program: FieldProgram, copier: RecordCopier?, last: Int64,
    rows limit: Int64
  ) throws -> Halt {
    let end = rowCount + limit
    if let copier {
      if let halt = try copy(cursor, program: program, copier: copier, last: last, end: end) {
        return halt
      }
    }
    while rowCount < end {
      guard try cursor.advance(), cursor.key <= last else { return .end }
      if case .leftBehind = program.look(at: cursor.key) { continue }
      if let halt = try make(cursor, program: program) { return halt }
    }
    return .pause
  }

  /// Copies records, and makes rows where it cannot; nil where hardly any record can be copied.
  private func copy(
    _ cursor: TableCursor, program: FieldProgram, copier: RecordCopier, last: Int64, end: Int64
  ) throws -> Halt? {
    let output = UnsafePointer(program.output)
    var copyScore = Self.mostCopyScore
    while rowCount < end {
      if copyScore <= 0 { return nil }
      guard try cursor.advance(), cursor.key <= last else { return .end }
      let key = cursor.key
      let outcome = program.look(at: key)
      if case .leftBehind = outcome { continue }
      if let record = cursor.wholeRecord, let from = record.baseAddress,
        let measure = copier.measure(from, total: record.count, key: key, outcome)
      {
        try copier.write(from, measure, to: table.room(forRecord: measure.size, key: key))
        copier.show(from, measure)
        try note(key, fields: output)
        program.noteMade(entity: measure.entity)
        if copyScore < Self.mostCopyScore { copyScore += 1 }
      } else {
        copyScore -= 2
        if let halt = try make(cursor, program: program) { return halt }
      }
    }
    return .pause
  }

  /// Makes a row value by value.
  @inline(__always)
  private func make(_ cursor: TableCursor, program: FieldProgram) throws -> Halt? {
    try cursor.read()
    switch program.assembled(cursor.fields) {
    case .made:
      try put(cursor.key, fields: UnsafePointer(program.output), count: program.width)
      program.noteMade()
      return nil
    case .leftBehind: return nil
    case .unknown: return .fallback(cursor.key)
    }
  }

  /// Writes what is left.
  package func finish() throws(PageError) -> (leaves: [Section], spans: [Section]) {
    try table.finish()
    try leaves.flush()
    if let span { try spanList.add(span) }
    try spanList.flush()
    return (leaves.sections, spanList.sections)
  }
}
