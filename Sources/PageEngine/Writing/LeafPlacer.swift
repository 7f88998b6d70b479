extension LeafMover {
  /// Writes the leaves of a key range, with their rows as they were or patched.
  final class LeafPlacer {
    private static let leavesLaidOut = 64

    private let mover: LeafMover
    private let leaves: EntryCollector
    /// Writes rows that change their length, and those after them.
    private let rows: TableWriter
    /// The leaves to come that are laid out row by row.
    private var left = 0
    /// Whether rows of the leaf take more or fewer bytes than before.
    private var isResized = false

    init(_ mover: LeafMover, leaves: EntryCollector) {
      self.mover = mover
      self.leaves = leaves
      rows = TableWriter(writer: mover.writer) { (leaf) throws(PageError) in try leaves.add(leaf) }
    }

    /// Patches the row of a cell that `LeafMover` has found, and whose columns were noted, where it
    /// lies.
    @inline(__always)
    func patch(
      _ index: Int, of leaf: UnsafeRawPointer, page: UInt32, patcher: RowPatcher
    ) throws(PageError) {
      // The memory is the walk's own, and the leaf in it is not read again.
      let leaf = UnsafeMutableRawPointer(mutating: leaf)
      let cell = mover.found[index]
      let outcome = patcher.apply(leaf + cell.record, local: cell.local)
      switch outcome {
      case .unknown: throw PageError(.unmovable)
      case .inPlace where left == 0: return
      case .resized where left == 0:
        left = Self.leavesLaidOut
        // Those before it are patched, and stay as long as they are.
        for cell in mover.found[..<index] {
          try layOut(cell, of: leaf, page: page, outcome: .inPlace, patcher: patcher)
        }
      default: break
      }
      try layOut(cell, of: leaf, page: page, outcome: outcome, patcher: patcher)
    }

    /// Writes a patched row by itself.
    private func layOut(
      _ cell: Cell, of leaf: UnsafeRawPointer, page: UInt32, outcome: RowPatcher.Outcome,
      patcher: RowPatcher
    ) throws(PageError) {
      var record = UnsafeRawBufferPointer(start: leaf + cell.record, count: cell.total)
      if cell.local < cell.total {
        let whole = try mover.whole.room(for: cell.total + 8)
        try mover.payloads.read(
          leaf + cell.record, local: cell.local, of: cell.total, page: page, into: whole)
        record = UnsafeRawBufferPointer(rebasing: whole[..<cell.total])
      }
      if case .resized = outcome, let base = record.baseAddress {
        isResized = true
        record = try patcher.layOut(base, total: cell.total, into: mover.spill)
      }
      try rows.add(key: cell.key, payload: record)
    }

    /// Writes a leaf whose rows were not written one by one.
    func place(
      _ leaf: UnsafeRawPointer, cells: Int, of all: Int, lastKey: Int64
    ) throws(PageError) {
      if left > 0 {
        left = isResized ? Self.leavesLaidOut : left - 1
        isResized = false
        // No other writer may take pages while the last one is open.
        if left == 0 { try rows.finish() }
        return
      }
      let page = try mover.place(leaf: leaf, cells: cells, of: all, kind: .table)
      try leaves.add(LeafEntry(page: page, lastKey: lastKey))
    }

    func finish() throws(PageError) { try rows.finish() }
  }
}
