import GRDB
import Planning
import RowPrograms
package import Schema
import StoreFormat
import Synchronization
import SystemCalls
package import SystemPackage

// (1) Pages are appended and no other is changed but the roots, which are empty, and the last page
// of the pointer map: a store that is edited keeps images of these alone.
// (2) One writer after the other takes pages, so that what is left over lies behind the last one.
// (3) SQLite has closed the store, and opens it again afterwards.

/// Fills indexes of large tables in a store that is there, by the leaves of the tables.
///
/// Each has a root page that SQLite has made, without entries.
package struct IndexFilling {
  private let store: FilePath
  private let scratch: FilePath
  private let memory: Int64

  /// Takes the store, which may be a file of pages, the path of a file that comes and goes, and the
  /// bytes that all of it may take in memory.
  package init(_ store: FilePath, scratch: FilePath, memory: Int64) {
    (self.store, self.scratch, self.memory) = (store, scratch, memory)
  }

  /// Whether the keys of an index can be sorted as bytes.
  package static func covers(_ index: Index, schema: StoreSchema) -> Bool {
    PageIndex.all(of: index.table, schema: schema).contains {
      $0.name == index.name && $0.form != .integerPair
    }
  }

  /// Fills the indexes, and calls `each` after each of them.
  ///
  /// - Returns: those that SQLite has to fill: odd values, long texts, values that are not unique.
  /// - Throws: `PageError`, `StoreError`.
  package func fill(
    _ indexes: [Index], of schema: StoreSchema, each: (Index) throws -> Void
  ) throws -> [Index] {
    var files: [FileDescriptor] = []
    defer { for file in files { try? file.close() } }
    func open() throws -> FileDescriptor {
      files.append(
        try Files.open(
          scratch, mode: .readWrite, options: [.create, .truncate], permissions: .ownerReadWrite))
      try Files.remove(scratch)
      return files[files.count - 1]
    }
    let roots = try StoreConnection.immutable(store).run { try StoreWriter.roots(in: $0) }
    var (jobs, left): ([(Index, IndexJob)], [Index]) = ([], [])
    for (table, own) in Dictionary(grouping: indexes, by: \.table).sorted(by: { $0.key < $1.key }) {
      let parts = try (0..<ThreadPool.mostThreads).map { _ in try open() }
      let known = PageIndex.all(of: table, schema: schema)
      let forms = own.map { index in known.first { $0.name == index.name } }
      let pieces = try collect(own, forms: forms.map { $0?.form ?? .keys }, of: table, into: parts)
      for (index, form) in zip(own, forms) {
        guard let pieces, let form, let root = roots[index.name] else {
          left.append(index)
          continue
        }
        let job = IndexJob(index: form, root: root, pieces: pieces, reference: nil, targets: [])
        if job.isComplete { jobs.append((index, job)) } else { left.append(index) }
      }
    }
    return left + (try build(jobs, open: open, each: each))
  }

  // MARK: Keys

  /// Sorts the keys of all rows, a range of them in each thread; nil where SQLite has to.
  private func collect(
    _ indexes: [Index], forms: [PageIndex.Form], of table: String, into files: [FileDescriptor]
  ) throws -> [PlacedPagePiece]? {
    let file = try SourceFile(store)
    let connection = try StoreConnection.immutable(store)
    let (source, first, last) = try connection.run { db in
      let name = SQL.identifier(name: table)
      let keys = try Optional<Int64>.fetchAll(
        db,
        sql: "SELECT min(Z_PK) FROM main.\(name) UNION ALL SELECT max(Z_PK) FROM main.\(name)")
      return (
        try SourceTable(name: table, file: file, schema: "main", db: db),
        keys.first.flatMap { $0 } ?? 0, keys.last.flatMap { $0 } ?? 0
      )
    }
    let (width, isWide) = last.subtractingReportingOverflow(first)
    // No range of a thread begins behind the last key there can be.
    guard let source, !source.hasCollations, !isWide, width >= 1 << 10 else { return nil }
    let columns = Array(Set(indexes.flatMap { $0.parts.map(\.column) })).sorted()
    let bytes = Int(max(1 << 20, min(24 << 20, memory / 4))) / (indexes.count + 1) / files.count
    let found = Mutex<[Int: (runs: [String: IndexRuns], rows: Int64)]>([:])
    let step = width / Int64(files.count) + 1
    try ThreadPool.perform(files.count) { part in
      let from = first + Int64(part) * step
      guard
        let cursor = try source.cursor(
          columns, asKept: columns.map { _ in true }, file: file, from: from,
          scratch: Files.parent(of: scratch))
      else { return }
      let runs = RunFile(files[part])
      let shared = SortScratch()
      let collectors = zip(indexes, forms).map { index, form in
        KeyCollector(
          form: form == .integer ? .integer : .keys,
          columns: index.parts.compactMap { columns.firstIndex(of: $0.column) },
          descending: index.parts.map { !$0.isAscending }, file: runs, bytes: bytes,
          scratch: shared)
      }
      var rows: Int64 = 0
      while try cursor.next(), cursor.key - from < step {
        for collector in collectors { try collector.add(cursor.fields, key: cursor.key) }
        rows += 1
      }
      var own: [String: IndexRuns] = [:]
      for (index, collector) in zip(indexes, collectors) {
        own[index.name] = try collector.finish()
      }
      found.withLock { $0[part] = (own, rows) }
    }
    let parts = found.withLock { $0 }
    guard parts.count == files.count else { return nil }
    return parts.sorted { $0.key < $1.key }.map { part, found in
      PlacedPagePiece(
        shard: files[part],
        result: .init(
          piece: part, table: table, rowsRead: found.rows, rowsWritten: found.rows, digest: 0),
        pages: PagePiece(
          piece: part, leaves: [], spans: [], rowsBefore: 0, indexes: found.runs, names: nil))
    }
  }

  // MARK: Trees

  /// Merges the keys into trees, and returns the indexes whose keys are not unique.
  private func build(
    _ jobs: [(Index, IndexJob)], open: () throws -> FileDescriptor, each: (Index) throws -> Void
  ) throws -> [Index] {
    if jobs.isEmpty { return [] }
    let source = try SourceFile(store)
    let end = UInt32(source.byteCount / Int64(PageGeometry.pageSize))
    let pages = try open()
    let file = PageFile(pages)
    // The map describes pages that are there as well.
    let map = PageGeometry.mapPage(end + 1)
    if map <= end { try copy(map, from: source, to: file) }
    let pool = PagePool(holes: [], end: end + 1)
    let pointers = PointerMap(file)
    let bytes = Int(max(1 << 20, min(16 << 20, memory / 16)))
    var (roots, left): ([UInt32], [Index]) = ([], [])
    for (index, job) in jobs.sorted(by: { $0.1.root < $1.1.root }) {
      do {
        let made = try job.build(file, pool: pool, pointers: pointers, bytes: bytes, read: .init())
        guard made.entries == job.size else { throw PageError(.miswritten(page: job.root)) }
      } catch let error as PageError where error.problem == .duplicateKeys {
        // SQLite reports it; the pages taken so far are lost.
        left.append(index)
        break
      }
      roots.append(job.root)
      try each(index)
    }
    guard left.isEmpty else { return jobs.map(\.0) }
    try pointers.flush()
    let free = pool.freePages()
    guard free.count == 0 else { throw PageError(.miswritten(page: free.pageCount)) }
    let added = (end + 1...free.pageCount).filter { $0 != PageGeometry.lockPage }
    try SourceFile.replace(
      roots + (map <= end ? [map] : []) + added, of: store, by: pages, pageCount: free.pageCount)
    return []
  }

  private func copy(_ page: UInt32, from source: SourceFile, to file: PageFile) throws {
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: PageGeometry.pageSize, alignment: 16)
    defer { memory.deallocate() }
    try PageFile(source).read(page: page, into: memory)
    try file.write(page: page, from: memory)
  }
}
