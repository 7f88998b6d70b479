import GRDB
import Mapping
import MigrationEngine
import ObjectMigration
import Planning
import RowPrograms
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

// (1) Rows go to pages of the store under assembly that no other worker has.
// (2) What makes them a part of the store, the list of leaves, goes to the shard.
// (3) Pages without a manifest are free.
// (4) Nothing is synced where a restart of the system is noticed: a process that dies takes nothing
// along that it has written. The coordinator syncs the whole store once.

/// Makes a shard whose rows are pages of the store under assembly already.
struct PageShardWriter: ShardWriter, ~Copyable {
  private let document: WorkOrderDocument
  private let work: PageWork
  private let connection: StoreConnection
  /// Read next to SQLite, which holds no locks on an unchanging source.
  private let source: SourceFile
  private let facts: SchemaFacts
  /// The result, the shard and what else is written to.
  private let files: WriterFiles
  private let runs: RunFile
  private let claims: ClaimLog
  private let pointers: PointerList
  private let pages: ExtentWriter
  private let scratch = SortScratch()
  private let caller: RowCaller?
  private let untaken: RowKeyReader?
  private let lookUps: LookUps
  private var pieces: [PagePiece] = []
  private var moved: [String: MovedIndex] = [:]
  private var isUnmovable = false

  init(
    document: WorkOrderDocument, work: PageWork, policies: PolicyFactories = [:],
    claimExtent: @escaping () throws -> Int64
  ) throws {
    let connection = try StoreConnection.scratch(
      FilePath(":memory:"), cacheBytes: document.memory / 16, textEncoding: work.encoding.rawValue,
      memory: document.memory)
    let untaken = try document.untakenKeyReader()
    try document.attachSource(to: connection, without: untaken)
    let facts = try connection.run { try SchemaFacts.of("src", in: $0) }
    if let places = work.places {
      let file = StoreConnection.uri(path: FilePath(places)) + "?immutable=1"
      try connection.run { db in
        try db.execute(
          sql: "ATTACH ? AS \(MigrationProgram.placesSchema)", arguments: [file])
      }
    }
    let caller = try document.caller(connection, policies: policies)
    try Files.remove(FilePath(document.shard))
    let files = try WriterFiles(document, work)
    let source = try SourceFile(FilePath(document.source))
    let claims = ClaimLog(
      descriptor: files.log, asking: work.asksForExtents ? claimExtent : nil,
      firstPage: work.firstPage, extentLength: work.extentLength)
    lookUps = try LookUps(
      work.lookUps, at: work.lookUpFile.map { FilePath($0) },
      bytes: Int(max(1 << 18, min(8 << 20, document.memory / 16))))
    self.source = source
    self.facts = facts
    self.caller = caller
    self.untaken = untaken
    self.document = document
    self.work = work
    self.connection = connection
    self.files = files
    runs = RunFile(files.shard)
    self.claims = claims
    pointers = PointerList(runs)
    pages = ExtentWriter(
      file: PageFile(files.direct ?? files.result), source: claims, pointers: pointers,
      isBehind: files.direct != nil, sums: PageSums(runs))
  }

  /// The source properties that policies and expressions read so far.
  var propertiesRead: PropertiesRead? { caller?.propertiesRead }

  mutating func write(
    _ piece: Piece, progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> ShardManifest.PieceResult {
    var result: ShardManifest.PieceResult
    do {
      let table = work.tables[piece.number]
      result =
        try table.map { try move(piece, table: $0, progress: progress) }
        ?? make(piece, progress: progress)
      for index in work.moves[piece.number] ?? [] {
        moved[index.name] = try moveIndex(index)
      }
    } catch let error as PageError where error.problem == .unmovable {
      // The coordinator plans the stage again, without moves (`PageEngine.restriction`).
      isUnmovable = true
      result = ShardManifest.PieceResult(
        piece: piece.number, table: piece.destinationTable, rowsRead: 0, rowsWritten: 0, digest: 0)
      pieces.append(
        PagePiece(
          piece: piece.number, leaves: [], spans: [], rowsBefore: 0, indexes: [:], names: nil))
    } catch var error as PageError {
      error.table = error.table ?? piece.destinationTable
      throw error
    }
    return result
  }

  private func moveIndex(_ index: IndexMove) throws -> MovedIndex {
    do {
      return try mover().moveIndex(index, file: runs)
    } catch {
      if case .damaged = error.problem, work.remakesIndexes { throw PageError(.unmovable) }
      throw error
    }
  }

  private func mover() -> LeafMover {
    let count = source.byteCount / Int64(PageGeometry.pageSize)
    return LeafMover(
      file: PageFile(source), pageCount: UInt32(clamping: count), writer: pages,
      scratch: runs.folder)
  }

  /// Takes the leaves of the source as they are, but for entity numbers.
  private mutating func move(
    _ piece: Piece, table: MovedTable,
    progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> ShardManifest.PieceResult {
    let leaves = EntryCollector(file: runs, entrySize: MemoryLayout<LeafEntry>.stride)
    let spans = EntryCollector(file: runs, entrySize: MemoryLayout<KeySpan>.stride)
    let names = names(of: piece)
    let moved = try mover().moveTable(
      table, first: piece.keys.first, last: piece.keys.last, leaves: leaves, spans: spans,
      names: names, progress: progress)
    try leaves.flush()
    try spans.flush()
    pieces.append(
      PagePiece(
        piece: piece.number, leaves: leaves.sections, spans: spans.sections, rowsBefore: 0,
        indexes: moved.sums.mapValues { IndexRuns(sum: $0) }, names: try names?.finish()))
    var result = ShardManifest.PieceResult(
      piece: piece.number, table: piece.destinationTable, rowsRead: moved.rows,
      rowsWritten: moved.rows, digest: 0)
    result.count = moved.count
    return result
  }

  /// Collects names of external files from the values of a piece; nil if it has no such columns.
  private func names(of piece: Piece) -> NameCollector? {
    work.externalColumns[piece.destinationTable].map { NameCollector(runs: runs, columns: $0) }
  }

  /// Makes the rows one by one.
  private mutating func make(
    _ piece: Piece, progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> ShardManifest.PieceResult {
    let indexes = work.indexes[piece.destinationTable] ?? []
    let sorted = indexes.count { $0.root == nil }
    // The scratch of the sort takes as much as the largest buffer.
    let budget = max(1 << 20, min(24 << 20, Int(document.memory / 4)))
    var output = PieceOutput(
      pages: pages, runs: runs, indexes: indexes, bytes: budget / (sorted + 1), scratch: scratch,
      names: names(of: piece), digests: document.digestsRows,
      rowsBefore: work.rowsBefore[piece.number] ?? 0)
    let (document, source, facts, caller, untaken, lookUps) =
      (document, source, facts, caller, untaken, lookUps)
    let encoding = work.encoding
    let (read, count) = try connection.perform(caller, without: untaken) { db in
      let loop = try PieceLoop(
        document: document, piece: piece, file: source, facts: facts, encoding: encoding, db: db,
        caller: caller, untaken: untaken, lookUps: lookUps)
      return try loop.writeRows(into: &output, progress: progress)
    }
    let (written, digest) = try output.finish(piece.number)
    pieces.append(written)
    guard read == digest.rows else {
      throw ShardError(
        .digestsDiffer(rowsRead: read, rowsWritten: digest.rows), table: piece.destinationTable)
    }
    var result = ShardManifest.PieceResult(
      piece: piece.number, table: piece.destinationTable, rowsRead: read,
      rowsWritten: digest.rows, digest: digest.sum)
    result.count = count
    return result
  }

  /// The entries of the manifest about the pages.
  mutating func finishPages() throws -> PageShard {
    let unused = try pages.finish()
    var shard = PageShard(
      extents: claims.taken, unused: unused, pointers: try pointers.finish(), pieces: pieces)
    shard.sums = try pages.sums?.finish() ?? PageSums.Lists()
    shard.moved = moved
    shard.isUnmovable = isUnmovable
    return shard
  }

  consuming func finish() throws -> Int64 {
    caller?.close()
    try connection.queue.close()
    if work.syncs {
      try Files.syncFile(files.result)
      try Files.syncFile(files.shard)
    }
    let size = try files.shard.seek(offset: 0, from: .end)
    try files.close()
    return size
  }
}

/// The files that a writer writes to; they are closed with the object at the latest, since the
/// process of a thread that fails lives on.
private final class WriterFiles {
  let shard: FileDescriptor
  let result: FileDescriptor
  /// The result once more, to write past the page cache.
  let direct: FileDescriptor?
  let log: FileDescriptor?
  private var open: [FileDescriptor]

  init(_ document: WorkOrderDocument, _ work: PageWork) throws {
    var open: [FileDescriptor] = []
    do {
      shard = try Files.open(
        FilePath(document.shard), mode: .readWrite, options: [.create, .exclusiveCreate],
        permissions: .ownerReadWrite)
      open.append(shard)
      result = try Files.open(FilePath(work.file), mode: .readWrite)
      open.append(result)
      direct = work.isDirect ? try Files.openDirect(FilePath(work.file)) : nil
      if let direct { open.append(direct) }
      log = try work.claims.map {
        try Files.open(FilePath($0), mode: .writeOnly, options: [.append])
      }
      if let log { open.append(log) }
    } catch {
      for file in open { try? file.close() }  // the failure that counts is the first
      throw error
    }
    self.open = open
  }

  /// Closes all; a failure to do so may be one of writing.
  func close() throws {
    while let file = open.popLast() { try file.close() }
  }

  deinit {
    for file in open { try? file.close() }  // what failed is known
  }
}
