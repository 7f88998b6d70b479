import MigrationEngine
import Planning
import RowPrograms
import SystemPackage

/// Builds one index from the runs of all workers, and counts the references that lead nowhere.
struct IndexJob: Sendable {
  let index: PageIndex
  let root: UInt32
  let pieces: [PlacedPagePiece]
  /// The reference that the index's first column is, with the table that it leads to.
  let reference: ReferenceCheck?
  let targets: [PlacedPagePiece]
  /// The part of the index that is merged; nil for all of it.
  private(set) var part: Part?

  /// The keys between two values, which are merged in parallel to other parts.
  struct Part: Sendable {
    /// Where they are in each run.
    var runs: [(FileDescriptor, Section)]
    var number: Int
    var isLast: Bool
    /// The file in which their leaves are listed.
    var list: FileDescriptor
  }

  struct Outcome: Sendable {
    var index: String
    var entries: Int64
    var dangling: DanglingReference?
    /// The number of the part, and where its leaves are listed.
    var part = 0
    var leaves: [(FileDescriptor, Section)] = []
  }

  /// Fewer entries are merged before threads have shared them.
  private static let leastToSplit: Int64 = 1 << 17

  init(
    index: PageIndex, root: UInt32, pieces: [PlacedPagePiece], reference: ReferenceCheck?,
    targets: [PlacedPagePiece]
  ) {
    self.index = index
    self.root = root
    self.pieces = pieces
    self.reference = reference
    self.targets = targets
  }

  /// The parts of a large index, at most `wanted`; each lists its leaves in a file of its own.
  func parts(_ wanted: Int, list: () throws -> FileDescriptor) throws -> [IndexJob] {
    guard size >= Self.leastToSplit, wanted > 1 else { return [self] }
    let parts: [[(FileDescriptor, Section)]]
    if index.form == .keys {
      let runs = pieces.flatMap { piece in
        let runs = piece.pages.indexes[index.name]
        return zip(runs?.runs ?? [], runs?.marks ?? []).map {
          KeyRun(file: piece.shard, run: $0, marks: $1)
        }
      }
      parts = try KeySplit(runs, columns: index.columns.count).parts(wanted)
    } else {
      parts = try IntegerSplit(runs).parts(wanted)
    }
    guard parts.count > 1 else { return [self] }
    return try parts.enumerated().map { number, runs in
      var job = self
      job.part = Part(
        runs: runs, number: number, isLast: number == parts.count - 1, list: try list())
      return job
    }
  }

  /// Entries to merge, for putting the largest job first.
  var size: Int64 { pieces.reduce(0) { $0 + $1.result.rowsWritten } }

  /// The number of key bytes that this job merges, a measure of its time.
  var bytes: Int64 {
    if let part { return part.runs.reduce(0) { $0 + $1.1.bytes } }
    return pieces.reduce(0) { sum, piece in
      sum + (piece.pages.indexes[index.name]?.runs ?? []).reduce(0) { $0 + $1.bytes }
    }
  }

  /// Whether all keys are there; otherwise SQLite makes the index.
  var isComplete: Bool {
    pieces.allSatisfy { piece in
      guard piece.pages.indexes[index.name]?.isComplete == true else { return false }
      let last = piece.pages.rowsBefore + piece.rowOffset + piece.result.rowsWritten
      return index.form != .integerPair || last < Int64(UInt32.max)
    }
  }

  /// Builds the tree.
  ///
  /// - Parameters:
  ///   - bytes: those that all reading may keep in memory.
  ///   - read: counts the bytes of keys as they are read, in all the job's `bytes`.
  func build(
    _ file: PageFile, pool: PagePool, pointers: PointerMap, bytes: Int, read: ReadCount
  ) throws -> Outcome {
    let writer = ExtentWriter(file: file, source: pool, pointers: pointers)
    var outcome = Outcome(index: index.name, entries: 0)
    let list = part.map { LeafList(RunFile($0.list)) }
    let target =
      if let part, let list {
        IndexWriter(list: list, isFirst: part.number == 0, isLast: part.isLast, writer: writer)
      } else {
        IndexWriter(root: root, writer: writer)
      }
    switch index.form {
    case .integer: outcome.dangling = try mergeIntegers(target, integerRuns(bytes, read))
    case .integerPair: outcome.dangling = try mergePairs(target, integerRuns(bytes, read))
    case .keys: try mergeKeys(target, bytes: bytes, read: read)
    }
    try target.finish()
    pool.giveBack(try writer.finish())
    outcome.entries = target.entries
    if let part, let list {
      outcome.part = part.number
      outcome.leaves = list.sections.map { (part.list, $0) }
    }
    return outcome
  }

  /// The sorted runs of all pieces.
  private var runs: [(FileDescriptor, Section)] {
    pieces.sections { [index] in $0.indexes[index.name]?.runs ?? [] }
  }

  private func integerRuns(_ bytes: Int, _ read: ReadCount) -> [IntegerRun] {
    let offsets = pieces.flatMap { piece in
      (piece.pages.indexes[index.name]?.runs ?? []).map { _ in piece.rowOffset }
    }
    let size = IntegerRun.bufferBytes(offsets.count, bytes: bytes)
    return zip(part?.runs ?? runs, offsets).map { run, offset in
      IntegerRun(
        SectionReader([run], bufferBytes: size, counted: read),
        rowOffset: UInt64(bitPattern: offset))
    }
  }

  private func filter() throws -> KeyFilter? {
    guard reference != nil else { return nil }
    return try KeyFilter(SectionReader(targets.sections(\.spans)))
  }

  private func dangling(_ count: Int64) -> DanglingReference? {
    guard let reference, count > 0 else { return nil }
    return DanglingReference(table: reference.table, column: reference.column, count: count)
  }

  private func mergeIntegers(
    _ target: IndexWriter, _ entries: [IntegerRun]
  ) throws -> DanglingReference? {
    let record = IntegerRecord()
    let nulls = SectionReader(
      pieces.sections { [index] in $0.indexes[index.name]?.nulls ?? [] })
    while part?.number ?? 0 == 0, let row = try nulls.next(8) {
      try target.add(record.make(nil, row: row.loadUnaligned(as: Int64.self)))
    }
    let merge = try IntegerMerge(entries)
    var filter = try filter()
    var missing: Int64 = 0
    var last: (key: Int64, isThere: Bool)?
    while let entry = try merge.next() {
      let key = IntegerEntry.value(ordered: entry.high)
      if filter != nil {
        if last?.key != key { last = (key, try filter?.contains(key) ?? true) }
        if last?.isThere == false { missing += 1 }
      }
      try target.add(record.make(key, row: IntegerEntry.value(ordered: entry.low)))
    }
    return dangling(missing)
  }

  private func mergePairs(
    _ target: IndexWriter, _ entries: [IntegerRun]
  ) throws -> DanglingReference? {
    let record = IntegerRecord()
    let merge = try IntegerMerge(entries)
    var filter = try filter()
    var missing: Int64 = 0
    var last: (key: Int64, second: UInt64, isThere: Bool)?
    while let entry = try merge.next() {
      let key = IntegerEntry.value(ordered: entry.high)
      let second = entry.low >> 32
      if let last, last.key == key {
        if index.isUnique && last.second == second { throw PageError(.duplicateKeys) }
      } else {
        last = (key, second, try filter?.contains(key) ?? true)
      }
      last?.second = second
      if last?.isThere == false { missing += 1 }
      try target.add(
        record.make(key, other: Int64(second), row: Int64(entry.low & 0xffff_ffff)))
    }
    return dangling(missing)
  }

  private func mergeKeys(_ target: IndexWriter, bytes: Int, read: ReadCount) throws {
    let sections = part?.runs ?? runs
    let size = IntegerRun.bufferBytes(sections.count, bytes: bytes)
    let merge = try KeyMerge(
      readers: sections.map { SectionReader([$0], bufferBytes: size, counted: read) },
      descending: index.descending, isUnique: index.isUnique)
    while let record = try merge.next() { try target.add(record) }
  }
}
