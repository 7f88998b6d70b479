package import Planning
import StoreFormat
package import SystemPackage

// The numbers below, and where they come from:
//
// 2048     Cells of a leaf: `LeafWalk` gives none with more offsets than fit, (4096 - 8) / 2.
// 400      Bytes of a cell: only a longer one may have a chain. A cell with a chain keeps at least
//          `PageGeometry.localMinimum` (489) bytes of its payload.
// 1 << 31  Bytes of a payload: SQLite's limit for a value is below it.
// 65,536   Rows between two reports of progress.
// 64       Leaves laid out again, after one that had to be: each time that leaves are copied whole
//          again, the last page of those before stays in part empty.
// 3 to 8   Bytes of the header of an index record of integers: its length, a serial type for each
//          column, and that of the row number. `TreeMoves` takes up to three columns.

/// Moves leaves and overflow chains of b-trees to other pages, without taking rows apart.
///
/// A leaf is copied whole where it is dense: all of its cells go along, and lie from the page's end
/// down in key order without a gap, as this engine would lay them out. Any other leaf is laid out
/// again: one with gaps, or one that the piece's range of keys cuts. Entity numbers and masks that
/// change are patched in the memory that the leaf was read into; where one takes more or fewer
/// bytes than before, its leaf and those after it are written row by row for a while. Whatever
/// could make the result differ from one written row by row ends in `unmovable`.
package final class LeafMover {
  private let file: PageFile
  private let pageCount: UInt32
  let writer: ExtentWriter
  private let chains: PageWindow
  let payloads: PayloadReader
  let whole: RecordBuffer
  let spill: RecordBuffer
  private let aside: UnsafeMutableRawPointer
  let found = UnsafeMutableBufferPointer<Cell>.allocate(capacity: 2048)

  /// The place of a cell of a leaf, and its parts; cells of an index have none.
  struct Cell {
    var start: Int
    var size: Int
    var key: Int64 = 0
    var record = 0
    var local = 0
    var total = 0
  }

  /// Reads an unchanging file with 4096-byte pages, with a folder for what does not fit in memory.
  package init(
    file: PageFile, pageCount: UInt32, writer: ExtentWriter, scratch folder: FilePath? = nil
  ) {
    whole = RecordBuffer(byteCount: 1 << 14, spillingInto: folder)
    self.file = file
    self.pageCount = pageCount
    self.writer = writer
    chains = PageWindow(file: file, pageSize: PageGeometry.pageSize, pageCount: pageCount)
    payloads = PayloadReader(chains: chains, pageCount: pageCount)
    spill = RecordBuffer(byteCount: 1 << 14, spillingInto: folder)
    aside = .allocate(byteCount: PageGeometry.pageSize, alignment: 16)
  }

  deinit {
    aside.deallocate()
    found.deallocate()
  }

  // MARK: Tables

  /// What became of the rows of a key range.
  package struct MovedRows {
    /// How many there are.
    package var rows: Int64 = 0
    /// The sums of the entries that they require, by index.
    package var sums: [String: UInt64] = [:]
    /// The rows by entity; nil where none was patched.
    package var count: RowCount?
  }

  /// Moves the rows of a key range.
  package func moveTable(
    _ table: MovedTable, first: Int64, last: Int64, leaves: EntryCollector,
    spans: EntryCollector, names: NameCollector?,
    progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> MovedRows {
    let walk = LeafWalk(
      file: file, kind: .table, pageSize: PageGeometry.pageSize, pageCount: pageCount)
    let sums = RowSums(table.indexes)
    let patcher = table.patch.map { RowPatcher($0) }
    var check = RecordCheck(rule: table.rule, names: names, sums: sums, patcher: patcher)
    let placer = LeafPlacer(self, leaves: leaves)
    var span: KeySpan?
    var rows: Int64 = 0
    var reported: Int64 = 0
    var lastKey: Int64?
    try walk.seek(table.root, first: first)
    while let leaf = walk.leaf {
      var cells = 0
      var isEnd = false
      for cell in 0..<walk.cells {
        let found = try tableCell(cell: cell, of: leaf, walk: walk)
        if found.key < first { continue }
        if found.key > last {
          isEnd = true
          break
        }
        guard lastKey.map({ $0 < found.key }) ?? true else {
          throw PageError(.damaged(page: walk.page))
        }
        guard try check.allows(leaf + found.record, local: found.local, of: found.total) else {
          throw PageError(.unmovable)
        }
        if let sums {
          if check.isCut { try read(leaf, found, page: walk.page, into: sums) }
          guard sums.add(key: found.key) else { throw PageError(.unmovable) }
        }
        lastKey = found.key
        self.found[cells] = found
        if let patcher { try placer.patch(cells, of: leaf, page: walk.page, patcher: patcher) }
        cells += 1
        if let current = span, current.last &+ 1 == found.key {
          span = KeySpan(first: current.first, last: found.key)
        } else {
          if let span { try spans.add(span) }
          span = KeySpan(first: found.key, last: found.key)
        }
      }
      if cells > 0, let lastKey {
        try placer.place(leaf, cells: cells, of: walk.cells, lastKey: lastKey)
        rows += Int64(cells)
        if rows - reported >= 65_536 {
          try progress(rows - reported, lastKey)
          reported = rows
        }
      }
      if isEnd { break }
      if try !walk.next() { break }
    }
    try placer.finish()
    if let span { try spans.add(span) }
    try progress(rows - reported, lastKey ?? 0)
    return MovedRows(rows: rows, sums: sums?.sums ?? [:], count: patcher?.rows)
  }

  /// Finds the values of a row that is not completely on its page.
  private func read(
    _ leaf: UnsafeRawPointer, _ cell: Cell, page: UInt32, into sums: RowSums
  ) throws(PageError) {
    let record = try whole.room(for: cell.total + 8)
    try payloads.read(
      leaf + cell.record, local: cell.local, of: cell.total, page: page, into: record)
    guard let base = record.baseAddress else { throw PageError(.damaged(page: page)) }
    sums.read(base, total: cell.total)
  }

  @inline(__always)
  private func tableCell(
    cell: Int, of leaf: UnsafeRawPointer, walk: LeafWalk
  ) throws(PageError) -> Cell {
    let start = Bytes.get16(leaf + PageField.leafPointer(cell))
    guard start >= PageField.leafPointer(walk.cells),
      let payload = Bytes.varint(leaf, offset: start, limit: PageGeometry.pageSize),
      payload.value < 1 << 31,
      let key = Bytes.varint(leaf, offset: payload.end, limit: PageGeometry.pageSize)
    else { throw PageError(.damaged(page: walk.page)) }
    let total = Int(payload.value)
    let local = PageGeometry.localSize(total, limit: PageGeometry.tableLocalLimit)
    let size = max(4, key.end + local + (local < total ? 4 : 0) - start)
    guard start + size <= PageGeometry.pageSize else {
      throw PageError(.damaged(page: walk.page))
    }
    return Cell(
      start: start, size: size, key: Int64(bitPattern: key.value), record: key.end, local: local,
      total: total)
  }

  // MARK: Indexes

  /// Moves a whole index.
  package func moveIndex(
    _ move: IndexMove, file: RunFile
  ) throws(PageError) -> MovedIndex {
    let walk = LeafWalk(
      file: self.file, kind: .index, pageSize: PageGeometry.pageSize, pageCount: pageCount)
    let list = LeafList(file)
    let values = EntryCollector(file: file, entrySize: MemoryLayout<KeySpan>.stride)
    var entries = IndexEntries(move: move, values: values, payloads: payloads)
    try walk.seek(move.root, first: nil)
    while let leaf = walk.leaf {
      for cell in 0..<walk.cells {
        let start = Bytes.get16(leaf + PageField.leafPointer(cell))
        guard start >= PageField.leafPointer(walk.cells) else {
          throw PageError(.damaged(page: walk.page))
        }
        let size = try entries.add(leaf, start: start, number: walk.page)
        found[cell] = Cell(start: start, size: size)
      }
      guard walk.cells > 0 else { throw PageError(.unmovable) }
      let page = try place(leaf: leaf, cells: walk.cells, of: walk.cells, kind: .index)
      let isLast = try !walk.next()
      if isLast {
        try list.add(page, cell: UnsafeRawBufferPointer(start: nil, count: 0))
        break
      }
      guard let separator = walk.separator.baseAddress else { throw PageError(.unmovable) }
      let size = try entries.add(separator, start: 0, number: walk.page)
      aside.copyMemory(from: separator, byteCount: size)
      // The chain's parent is the interior page that the cell goes to, which `TreeBuilder` sets.
      _ = try moveChain(of: aside, start: 0, kind: .index, parent: 0) {}
      try list.add(page, cell: UnsafeRawBufferPointer(start: aside, count: walk.separator.count))
    }
    try list.flush()
    try entries.finish()
    return MovedIndex(
      leaves: list.sections, values: values.sections, entries: entries.count,
      sum: entries.sum)
  }

  // MARK: Pages

  /// Writes a leaf with the cells in `found`; its new number.
  func place(
    leaf: UnsafeRawPointer, cells: Int, of all: Int, kind: TreeBuilder.Kind
  ) throws(PageError) -> UInt32 {
    let (page, memory) = try writer.reserve()
    var content = PageGeometry.pageSize
    var isDense = cells == all
    var hasChains = false
    for index in 0..<cells {
      let (start, size) = (found[index].start, found[index].size)
      content -= size
      if start != content { isDense = false }
      if size > 400 { hasChains = true }
    }
    guard content >= PageField.leafPointer(cells) else { throw PageError(.damaged(page: page)) }
    if isDense {
      (memory + 8).copyMemory(from: leaf + 8, byteCount: 2 * cells)
      (memory + content).copyMemory(
        from: leaf + content, byteCount: PageGeometry.pageSize - content)
    } else {
      var at = PageGeometry.pageSize
      for index in 0..<cells {
        let (start, size) = (found[index].start, found[index].size)
        at -= size
        (memory + at).copyMemory(from: leaf + start, byteCount: size)
        Bytes.put16(at, at: memory + PageField.leafPointer(index))
      }
    }
    PageField.closeLeaf(
      memory, type: kind == .table ? PageType.leafTable : PageType.leafIndex, cells: cells,
      content: content)
    if hasChains { try moveChains(page, memory: memory, cells: cells, kind: kind) }
    return page
  }

  /// Moves the chains of a leaf's cells.
  private func moveChains(
    _ page: UInt32, memory: UnsafeMutableRawPointer, cells: Int, kind: TreeBuilder.Kind
  ) throws(PageError) {
    // The writer's memory may be gone once a chain has been written.
    var isHeld = true
    aside.copyMemory(from: memory, byteCount: PageGeometry.pageSize)
    var isChanged = false
    for cell in 0..<cells {
      let start = Bytes.get16(aside + PageField.leafPointer(cell))
      let moved = try moveChain(of: aside, start: start, kind: kind, parent: page) {
        if writer.isFull { isHeld = false }
      }
      if moved { isChanged = true }
    }
    guard isChanged else { return }
    if isHeld {
      memory.copyMemory(from: aside, byteCount: PageGeometry.pageSize)
    } else {
      try writer.write(page, bytes: aside)
    }
  }

  /// Moves the chain of a cell, if it has one, and has the cell point to it.
  private func moveChain(
    of cells: UnsafeMutableRawPointer, start: Int, kind: TreeBuilder.Kind, parent: UInt32,
    beforeReserving: () -> Void
  ) throws(PageError) -> Bool {
    guard let payload = Bytes.varint(cells, offset: start, limit: PageGeometry.pageSize) else {
      throw PageError(.damaged(page: parent))
    }
    let total = Int(payload.value)
    var at = payload.end
    if kind == .table {
      guard let key = Bytes.varint(cells, offset: at, limit: PageGeometry.pageSize) else {
        throw PageError(.damaged(page: parent))
      }
      at = key.end
    }
    let limit = kind == .table ? PageGeometry.tableLocalLimit : PageGeometry.indexLocalLimit
    let local = PageGeometry.localSize(total, limit: limit)
    guard local < total else { return false }
    // Patching a row may have made another one longer that lies in the same bytes.
    guard at + local + 4 <= PageGeometry.pageSize,
      total / PageGeometry.overflowCapacity <= Int(pageCount)
    else { throw PageError(.damaged(page: parent)) }
    var from = Bytes.get32(cells + at + local)
    Bytes.put32(try writer.peek(), at: cells + at + local)
    var left = total - local
    var before = parent
    var isFirst = true
    while left > 0 {
      let bytes = try chains.page(from)
      beforeReserving()
      let (page, memory) = try writer.reserve()
      try writer.set(page, kind: isFirst ? .firstOverflow : .nextOverflow, parent: before)
      let count = min(PageGeometry.overflowCapacity, left)
      (memory + 4).copyMemory(from: bytes + 4, byteCount: count)
      left -= count
      PageField.closeOverflow(memory, count: count, next: left > 0 ? try writer.peek() : 0)
      from = Bytes.get32(bytes)
      (before, isFirst) = (page, false)
    }
    // A chain that continues is too long, or leads back into itself.
    guard from == 0 else { throw PageError(.damaged(page: from)) }
    return true
  }
}
