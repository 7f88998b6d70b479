import GRDB
import ObjectMigration
import Planning
import RowPrograms
import Schema
import StoreFormat
import StorePages
import SystemCalls
import SystemPackage

// (1) Rows go to pages of the store under assembly that no other worker has.
// (2) What makes them a part of the store, the list of leaves, goes to the shard.
// (3) Both are synced before the manifest: pages without one are free.

/// Makes a shard whose rows are pages of the store under assembly already.
struct PageShardWriter: ShardWriter, ~Copyable {
  private let document: WorkOrderDocument
  private let work: PageWork
  private let connection: StoreConnection
  /// Read beside SQLite, which holds no locks on a source that nobody changes.
  private let source: FileDescriptor
  private let result: FileDescriptor
  private let shard: FileDescriptor
  private let log: FileDescriptor
  private let runs: RunFile
  private let claims: ClaimLog
  private let pages: ExtentWriter
  private let scratch = SortScratch()
  private let caller: RowCaller?
  private var pieces: [PagePiece] = []

  init(
    _ document: WorkOrderDocument, _ work: PageWork, policies: Worker.Policies = [:]
  ) throws {
    let connection = try StoreConnection.scratch(
      FilePath(":memory:"), cacheBytes: document.memory / 16)
    try SQLShardWriter.attachSource(document, to: connection)
    if let places = work.places {
      let file = StoreConnection.uri(FilePath(places)) + "?immutable=1"
      try connection.run { db in
        try db.execute(
          sql: "ATTACH ? AS \(MigrationProgram.placesSchema)", arguments: [file])
      }
    }
    let caller = try document.caller(connection, policies)
    try Files.remove(FilePath(document.shard))
    let shard = try FileDescriptor.open(
      FilePath(document.shard), .readWrite, options: [.create, .exclusiveCreate, .closeOnExec],
      permissions: .ownerReadWrite)
    let result = try FileDescriptor.open(
      FilePath(work.file), .readWrite, options: .closeOnExec)
    let log = try FileDescriptor.open(
      FilePath(work.claims), .writeOnly, options: [.append, .closeOnExec])
    let source = try FileDescriptor.open(
      FilePath(document.source), .readOnly, options: .closeOnExec)
    self.source = source
    self.caller = caller
    self.document = document
    self.work = work
    self.connection = connection
    self.shard = shard
    self.result = result
    self.log = log
    runs = RunFile(shard)
    claims = ClaimLog(
      log, firstPage: work.firstPage, order: UInt32(document.order.number),
      attempt: UInt32(document.attempt))
    pages = ExtentWriter(PageFile(result), claims)
  }

  mutating func write(
    _ piece: Piece, progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> ShardManifest.PieceResult {
    let indexes = work.indexes[piece.destinationTable] ?? []
    // The scratch of the sort takes as much as the largest buffer.
    let budget = max(1 << 20, min(24 << 20, Int(document.memory / 4)))
    let collectors = indexes.map {
      IndexCollector($0, runs, bytes: budget / (indexes.count + 1), scratch: scratch)
    }
    var output = try PieceOutput(
      pages, runs, collectors, digests: work.digestsRows,
      rowsBefore: work.rowsBefore[piece.number] ?? 0)
    let (document, source, caller) = (document, source, caller)
    let read = try connection.perform(caller) { db in
      let loop = try PieceLoop(document, piece, source, db, caller)
      return try loop.run(into: &output, progress: progress)
    }
    let (written, digest) = try output.finish(piece.number)
    pieces.append(written)
    guard read == digest.rows else {
      throw WorkerError(
        .digestsDiffer(rowsRead: read, rowsWritten: digest.rows), table: piece.destinationTable)
    }
    return ShardManifest.PieceResult(
      piece: piece.number, table: piece.destinationTable, rowsRead: read,
      rowsWritten: digest.rows, digest: digest.sum)
  }

  /// What the manifest says of the pages.
  mutating func finishPages() throws -> PageShard {
    PageShard(
      taken: claims.taken, unused: try pages.finish(), pieces: pieces,
      digestsRows: work.digestsRows)
  }

  consuming func finish() throws -> Int64 {
    caller?.close()
    try connection.queue.close()
    try Files.syncFile(result)
    try Files.syncFile(shard)
    let size = try shard.seek(offset: 0, from: .end)
    for file in [source, result, shard, log] { try file.close() }
    return size
  }
}

/// Where the rows of one piece go: pages, keys of indexes, spans of keys, a digest.
struct PieceOutput: ~Copyable {
  private let table: TableWriter
  private let leaves: EntryCollector
  private let spans: EntryCollector
  private let collectors: [IndexCollector]
  /// The same without counting references for every row.
  private let unmanaged: UnsafeMutablePointer<Unmanaged<IndexCollector>>
  private let collectorCount: Int
  private let digests: Bool
  private let rowsBefore: Int64
  private var span: KeySpan?
  private var digest = RowDigest()
  /// Rows written so far.
  private(set) var rows: Int64 = 0

  init(
    _ pages: ExtentWriter, _ runs: RunFile, _ collectors: [IndexCollector], digests: Bool,
    rowsBefore: Int64
  ) throws {
    let leaves = EntryCollector(runs, entrySize: MemoryLayout<LeafEntry>.stride)
    table = TableWriter(pages) { (leaf) throws(PageError) in try leaves.add(leaf) }
    self.leaves = leaves
    spans = EntryCollector(runs, entrySize: MemoryLayout<KeySpan>.stride)
    self.collectors = collectors
    collectorCount = collectors.count
    unmanaged = .allocate(capacity: max(1, collectors.count))
    for (index, collector) in collectors.enumerated() {
      unmanaged[index] = .passUnretained(collector)
    }
    self.digests = digests
    self.rowsBefore = rowsBefore
  }

  deinit { unmanaged.deallocate() }

  /// The number of the next row in a table whose rows have no keys of their own.
  var nextRowNumber: Int64 { rowsBefore + rows + 1 }

  /// Adds a row; the first field is NULL where it is the key.
  mutating func add(
    key: Int64, _ fields: UnsafePointer<Field>, _ count: Int, hasKey: Bool
  ) throws {
    try table.add(key: key, fields, count)
    for index in 0..<collectorCount {
      try unmanaged[index]._withUnsafeGuaranteedRef { try $0.add(fields, key) }
    }
    rows += 1
    if let last = span, last.last &+ 1 == key {
      span?.last = key
    } else {
      if let span { try spans.add(span) }
      span = KeySpan(first: key, last: key)
    }
    if digests { addDigest(key, fields, count, hasKey) }
  }

  private mutating func addDigest(
    _ key: Int64, _ fields: UnsafePointer<Field>, _ count: Int, _ hasKey: Bool
  ) {
    var hash = RowDigest.firstHash
    let empty = UnsafeRawPointer(fields)
    if hasKey { RowDigest.mix(&hash, RowDigest.integer(key)) }
    for index in (hasKey ? 1 : 0)..<count {
      let field = fields[index]
      let value: UInt64
      if field.isInteger {
        value = RowDigest.integer(field.integer)
      } else if field.isReal {
        value = RowDigest.real(field.real)
      } else if field.isText {
        // SQLite gives an address for an empty text, and none for an empty blob.
        value = RowDigest.text(field.body ?? empty, Int32(field.size))
      } else if field.isBlob {
        value = RowDigest.blob(field.size > 0 ? field.body : nil, Int32(field.size))
      } else {
        value = RowDigest.null
      }
      RowDigest.mix(&hash, value)
    }
    digest.add(hash: hash)
  }

  mutating func finish(_ piece: Int) throws -> (PagePiece, (rows: Int64, sum: UInt64)) {
    try table.finish()
    try leaves.flush()
    if let span { try spans.add(span) }
    try spans.flush()
    var indexes: [String: IndexRuns] = [:]
    for collector in collectors { indexes[collector.index.name] = try collector.finish() }
    return (
      PagePiece(
        piece: piece, leaves: leaves.sections, spans: spans.sections, rowsBefore: rowsBefore,
        indexes: indexes), (table.rows, digest.sum)
    )
  }
}
