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

  init(order: AssemblyOrder, layout: PageLayout, placed: borrowing PlacedPages) {
    var entries: [Entry] = []
    for (table, pieces) in placed.tables {
      for index in layout.pageIndexes(of: table, schema: order.schema) {
        guard index.root != nil, let (moved, shard) = placed.moved[index.name] else { continue }
        let reference = order.reference(index, table: table)
        entries.append(
          Entry(
            table: table, index: index, moved: moved, shard: shard, pieces: pieces,
            reference: reference, targets: reference.map { placed[$0.destinationTable] } ?? []))
      }
    }
    self.entries = entries
  }

  /// Makes their trees; the names of those whose references lead somewhere else than to rows.
  func stitch(_ roots: [String: UInt32], stitcher: TableStitcher) throws -> Set<String> {
    var suspects: Set<String> = []
    for entry in entries {
      guard let root = roots[entry.index.name] else { throw PageError(.miswritten(page: 0)) }
      guard isWhole(entry) else { throw PageError(.unmovable) }
      try stitcher.stitch(
        index: root,
        moved: SectionReader(
          descriptor: entry.shard, sections: entry.moved.leaves, bufferBytes: 1 << 18))
      if entry.reference != nil, try !leadsToRows(entry) { suspects.insert(entry.index.name) }
    }
    return suspects
  }

  /// Whether the index has an entry for every row of its table, and no other.
  private func isWhole(_ entry: Entry) -> Bool {
    let rows = entry.pieces.reduce(0) { $0 + $1.result.rowsWritten }
    guard entry.moved.entries == rows else { return false }
    let sums = entry.pieces.compactMap { $0.pages.indexes[entry.index.name] }
    guard sums.allSatisfy(\.isComplete) else { return false }
    // Rows that were moved as well are as they were.
    return sums.isEmpty || entry.moved.sum == sums.reduce(UInt64(0)) { $0 &+ ($1.sum ?? 0) }
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
  func reference(_ index: PageIndex, table: String) -> ReferenceCheck? {
    guard index.form != .keys else { return nil }
    let columns =
      schema.tables.first { $0.name == table }?.columns.map(\.name)
      ?? schema.joinTables.first { $0.name == table }?.columnNames ?? []
    return plan.program.references.first {
      $0.table == table && $0.column == columns[index.columns[0]]
    }
  }
}
