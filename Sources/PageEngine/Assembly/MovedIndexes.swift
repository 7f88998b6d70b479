import MigrationEngine
import Planning
import RowPrograms
import Schema
import SystemPackage

/// The indexes whose leaves came from the source.
struct MovedIndexes: ~Copyable {
  private struct Entry {
    var table: String
    var index: PageIndex
    var moved: MovedIndex
    var shard: FileDescriptor
    /// The table's pieces.
    var pieces: [PlacedPagePiece]
    var reference: ReferenceCheck?
    /// The pieces of the table that the reference leads to.
    var targets: [PlacedPagePiece]
  }

  private let entries: [Entry]
  private let remakesIndexes: Bool

  init(order: AssemblyOrder, layout: PageLayout, placed: borrowing PlacedPages) {
    var entries: [Entry] = []
    for (table, pieces) in placed.tables {
      for index in layout.pageIndexes(of: table, schema: order.schema) {
        guard index.root != nil, let (moved, shard) = placed.moved[index.name] else { continue }
        let reference = order.reference(index: index, table: table)
        entries.append(
          Entry(
            table: table, index: index, moved: moved, shard: shard, pieces: pieces,
            reference: reference, targets: reference.map { placed[$0.destinationTable] } ?? []))
      }
    }
    self.entries = entries
    remakesIndexes = order.remakesIndexes
  }

  /// Makes their trees; the names of those whose references lead somewhere else than to rows.
  func stitch(_ roots: [String: UInt32], stitcher: TableStitcher) throws -> Set<String> {
    var suspects: Set<String> = []
    for entry in entries {
      guard let root = roots[entry.index.name] else { throw PageError(.miswritten(page: 0)) }
      try requireWhole(entry, remaking: remakesIndexes)
      try stitcher.stitch(
        index: root,
        moved: SectionReader(
          descriptor: entry.shard, sections: entry.moved.leaves, bufferBytes: 1 << 18))
      if entry.reference != nil, try !leadsToRows(entry) { suspects.insert(entry.index.name) }
    }
    return suspects
  }

  /// Throws unless the index has an entry for every row of its table, and no other.
  private func requireWhole(_ entry: Entry, remaking: Bool) throws {
    let sums = entry.pieces.compactMap { $0.pages.indexes[entry.index.name] }
    // Of odd values, SQLite makes the entries.
    guard sums.allSatisfy(\.isComplete) else { throw PageError(.unmovable) }
    let rows = entry.pieces.reduce(0) { $0 + $1.result.rowsWritten }
    let wanted = sums.reduce(UInt64(0)) { $0 &+ ($1.sum ?? 0) }
    if entry.moved.entries == rows, entry.moved.sum == wanted { return }
    // Rows of entities that the model does not have are left behind, and no damage.
    let leavesRows = entry.pieces.contains { piece in
      piece.result.count.map { $0.seen != piece.result.rowsWritten } ?? false
    }
    guard !remaking, !leavesRows, !HistoryTables.names.contains(entry.table) else {
      throw PageError(.unmovable)
    }
    var error = PageError(
      .indexDiffers(index: entry.index.name, entries: entry.moved.entries, rows: rows))
    error.table = entry.table
    throw error
  }

  private func leadsToRows(_ entry: Entry) throws -> Bool {
    let values = SectionReader(descriptor: entry.shard, sections: entry.moved.values)
    var keys = try KeyFilter(SectionReader(entry.targets.sections(\.spans)))
    while let span = try values.next(MemoryLayout<KeySpan>.stride) {
      guard try keys.contains(span.loadUnaligned(as: KeySpan.self)) else { return false }
    }
    return true
  }
}

extension AssemblyOrder {
  /// The reference whose values the first column of an index holds.
  func reference(index: PageIndex, table: String) -> ReferenceCheck? {
    guard index.form != .keys else { return nil }
    let columns =
      schema.keyedTable(named: table)?.columns.map(\.name)
      ?? schema.joinTables.first { $0.name == table }?.columnNames ?? []
    return plan.program.references.first {
      $0.table == table && $0.column == columns[index.columns[0]]
    }
  }
}
