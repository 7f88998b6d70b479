import PageEngine
import SystemPackage

/// Plays the workers and the coordinator of a migration for one test store.
final class PageBuilder {
  private let store: BuiltStore
  private let roots: [String: UInt32]
  private let skeleton: Skeleton
  private let firstPage: UInt32
  private let result: FileDescriptor
  private let runDescriptor: FileDescriptor
  private let runs: RunFile
  private var claims: [ClaimLog] = []
  private var writers: [ExtentWriter] = []
  private let pointers: PointerMap
  private let logPath: FilePath

  init(_ store: BuiltStore, roots: [String: UInt32], skeleton: Skeleton) throws {
    self.store = store
    self.roots = roots
    self.skeleton = skeleton
    firstPage = skeleton.pageCount + 3
    func make(_ name: String, _ options: FileDescriptor.OpenOptions) throws -> FileDescriptor {
      try FileDescriptor.open(
        store.folder.appending(name), .readWrite, options: options,
        permissions: .ownerReadWrite)
    }
    result = try make("pages.sqlite", [.create, .truncate])
    pointers = PointerMap(PageFile(result))
    runDescriptor = try make("runs", [.create, .truncate])
    runs = RunFile(runDescriptor)
    logPath = store.folder.appending("claims")
    for order in 1...2 {
      let log = try make("claims", [.create, .append])
      claims.append(ClaimLog(descriptor: log, firstPage: firstPage))
      writers.append(
        ExtentWriter(
          file: PageFile(result), source: claims[order - 1], pointers: pointers,
          isBehind: order == 2))
    }
  }

  private struct Written {
    var leaves: [LeafEntry] = []
    var keys: [String: [KeyRun]] = [:]
    var integers: [String: [Section]] = [:]
    var nulls: [String: [Section]] = [:]
  }

  func build() throws {
    var written: [Written] = []
    for table in store.tables { written.append(try write(table)) }
    let holes = try writers.flatMap { try $0.finish() }
    let log = try FileDescriptor.open(logPath, .readOnly)
    let taken = try log.closeAfter {
      try log.seek(offset: 0, from: .end)
    }
    let end = try ClaimLog.extent(index: taken, firstPage: firstPage).first
    let skeletonRest = Extent(
      first: skeleton.pageCount + 1, count: firstPage - skeleton.pageCount - 1)
    let pool = PagePool(holes: holes + [skeletonRest], end: end)
    let stitcher = TableStitcher(file: PageFile(result), pool: pool, pointers: pointers)
    try skeleton.copy(to: PageFile(result), pointers: pointers)
    for (table, part) in zip(store.tables, written) {
      var leaves = part.leaves.makeIterator()
      try stitcher.stitch(root: roots[table.name] ?? 0) { leaves.next() }
    }
    try stitcher.finish()
    for (table, part) in zip(store.tables, written) {
      for index in table.indexes { try build(index, part, pool) }
    }
    let free = pool.freePages()
    let last = TableStitcher(file: PageFile(result), pool: pool, pointers: pointers)
    let trunk = try last.setFree(free)
    try last.finish()
    try pointers.flush()
    try skeleton.firstPage.write(
      to: PageFile(result), pageCount: free.pageCount, firstTrunk: trunk,
      freePages: UInt32(free.count))
    try result.resize(to: Int64(free.pageCount) * 4096)
    try result.close()
  }

  private func build(_ index: TestIndex, _ part: Written, _ pool: PagePool) throws {
    let writer = ExtentWriter(file: PageFile(result), source: pool, pointers: pointers)
    let target = IndexWriter(root: roots[index.name] ?? 0, writer: writer)
    if index.isInteger {
      let nulls = SectionReader(descriptor: runDescriptor, sections: part.nulls[index.name] ?? [])
      let record = IntegerRecord()
      while let row = try nulls.next(8) {
        try target.add(record.make(nil, row: row.loadUnaligned(as: Int64.self)))
      }
      let merge = try IntegerMerge(
        (part.integers[index.name] ?? []).map {
          IntegerRun(SectionReader(descriptor: runDescriptor, sections: [$0], bufferBytes: 256))
        })
      while let entry = try merge.next() {
        try target.add(
          record.make(
            IntegerEntry.value(ordered: entry.high), row: IntegerEntry.value(ordered: entry.low)))
      }
    } else {
      let split = try KeySplit(
        part.keys[index.name] ?? [], columns: index.columns.count, leastMarks: 4)
      let parts = try split.parts(store.pieces)
      guard parts.count == 1 else { return try build(index, parts, writer, pool) }
      try merge(parts[0], index, into: target)
    }
    try target.finish()
    pool.giveBack(try writer.finish())
  }

  private func merge(
    _ sections: [(FileDescriptor, Section)], _ index: TestIndex, into target: IndexWriter
  ) throws {
    let merge = try KeyMerge(
      readers: sections.map { SectionReader([$0], bufferBytes: 128) },
      descending: index.descending, isUnique: false)
    while let record = try merge.next() { try target.add(record) }
  }

  /// Makes the leaves of each part by themselves, and puts them together.
  private func build(
    _ index: TestIndex, _ parts: [[(FileDescriptor, Section)]], _ writer: ExtentWriter,
    _ pool: PagePool
  ) throws {
    var leaves: [Section] = []
    for (number, part) in parts.enumerated() {
      let list = LeafList(runs)
      let target = IndexWriter(
        list: list, isFirst: number == 0, isLast: number == parts.count - 1, writer: writer)
      try merge(part, index, into: target)
      try target.finish()
      leaves += list.sections
    }
    pool.giveBack(try writer.finish())
    let stitcher = TableStitcher(file: PageFile(result), pool: pool, pointers: pointers)
    try stitcher.stitch(
      index: roots[index.name] ?? 0,
      moved: SectionReader(descriptor: runDescriptor, sections: leaves))
    try stitcher.finish()
  }

  private func write(_ table: TestTable) throws -> Written {
    var written = Written()
    let count = max(1, (table.rows.count + store.pieces - 1) / store.pieces)
    for (piece, start) in stride(from: 0, to: table.rows.count, by: count).enumerated() {
      let rows = table.rows[start..<min(start + count, table.rows.count)]
      let target = TableWriter(writer: writers[piece % 2]) { (leaf) throws(PageError) in
        written.leaves.append(leaf)
      }
      let collectors = table.indexes.map { IndexCollector($0, runs, store.runBytes) }
      for row in rows {
        try TestRow.withFields(row.values, table) { fields in
          try target.add(key: row.key, fields: fields, count: row.values.count + 1)
          for collector in collectors { try collector.add(fields, row.key) }
        }
      }
      try target.finish()
      for collector in collectors {
        try collector.finish()
        let name = collector.index.name
        written.integers[name, default: []] += collector.integers.runs
        written.nulls[name, default: []] += collector.nulls.sections
        written.keys[name, default: []] += zip(collector.keys.runs, collector.keys.marks).map {
          KeyRun(file: runDescriptor, run: $0, marks: $1)
        }
      }
    }
    return written
  }

  /// Collects the keys of one index.
  private final class IndexCollector {
    let index: TestIndex
    let integers: IntegerSorter
    let nulls: EntryCollector
    let keys: KeySorter
    private let encoder = KeyEncoder()

    init(_ index: TestIndex, _ file: RunFile, _ bytes: Int) {
      self.index = index
      integers = IntegerSorter(file: file, capacity: bytes / 16, scratch: SortScratch())
      nulls = EntryCollector(file: file, entrySize: 8, bufferBytes: 64)
      keys = KeySorter(
        file: file, capacity: bytes, scratch: SortScratch(), chunkBytes: 512)
    }

    func add(_ fields: UnsafePointer<Field>, _ key: Int64) throws {
      if index.isInteger {
        let field = fields[index.columns[0] + 1]
        if field.isNull { return try nulls.add(key) }
        return try integers.add(
          IntegerEntry(
            high: IntegerEntry.ordered(field.integer), low: IntegerEntry.ordered(key)))
      }
      encoder.begin()
      for (column, descending) in zip(index.columns, index.descending) {
        encoder.add(fields[column + 1], descending: descending)
      }
      encoder.end(row: key)
      try keys.add(encoder.bytes)
    }

    func finish() throws {
      try integers.flush()
      try nulls.flush()
      try keys.flush()
    }
  }
}

/// Turns test values into fields.
enum TestRow {
  static func withFields(
    _ values: [Value], _ table: TestTable, _ body: (UnsafePointer<Field>) throws -> Void
  ) throws {
    var kept: [UnsafeMutableRawPointer] = []
    defer { for pointer in kept { pointer.deallocate() } }
    func scratch(_ bytes: Int) -> UnsafeMutableRawPointer {
      kept.append(.allocate(byteCount: max(8, bytes), alignment: 8))
      return kept[kept.count - 1]
    }
    var fields = [Field.null]
    for (column, value) in values.enumerated() {
      let plain: Field
      switch value {
      case .null: plain = .null
      case .integer(let number): plain = Field(value: number, scratch: scratch(8))
      case .real(let number): plain = Field(real: number, scratch: scratch(8))
      case .text(let text):
        let bytes = Array(text.utf8)
        let at = scratch(bytes.count)
        at.copyMemory(from: bytes, byteCount: bytes.count)
        plain = Field(type: UInt64(bytes.count * 2 + 13), body: at)
      case .blob(let bytes):
        let at = scratch(bytes.count)
        at.copyMemory(from: bytes, byteCount: bytes.count)
        plain = Field(type: UInt64(bytes.count * 2 + 12), body: at)
      }
      let made = table.affinity(column).applied(
        to: plain, scratch: scratch(8), encoding: .utf8)
      fields.append(made ?? plain)
    }
    try fields.withUnsafeBufferPointer { buffer in
      if let base = buffer.baseAddress { try body(base) }
    }
  }
}
