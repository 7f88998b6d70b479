import StoreFormat

/// Reads leaves again before they leave memory, knowing nothing but the format.
///
/// It is what takes the place of a scan of the whole result: every leaf that is written is one that
/// SQLite's own check would pass, and the levels above are made of their keys alone.
enum PageCheck {
  /// Whether a leaf of a table has so many cells, which fill it from its end without a gap or an
  /// overlap, and whose keys rise from above one key to another.
  static func isTableLeaf(
    _ page: UnsafeRawPointer, cells: Int, above: Int64?, last: Int64
  ) -> Bool {
    guard page.load(as: UInt8.self) == PageType.leafTable,
      Bytes.get16(page + PageField.cellCount) == cells, cells > 0
    else {
      return false
    }
    var end = PageGeometry.pageSize
    var before = above
    for cell in 0..<cells {
      let start = Bytes.get16(page + PageField.leafPointer(cell))
      guard start >= PageField.leafPointer(cells),
        let payload = Bytes.varint(page, offset: start, limit: end),
        let key = Bytes.varint(page, offset: payload.end, limit: end)
      else { return false }
      let number = Int64(bitPattern: key.value)
      if let before, before >= number { return false }
      before = number
      let total = Int(truncatingIfNeeded: payload.value)
      let local = PageGeometry.localSize(total, limit: PageGeometry.tableLocalLimit)
      let size = key.end - start + local + (local < total ? 4 : 0)
      guard start + max(4, size) == end else { return false }
      end = start
    }
    return before == last && Bytes.get16(page + PageField.contentStart) == end
  }

  /// The same of a leaf of an index, whose order is that in which its entries came.
  static func isIndexLeaf(_ page: UnsafeRawPointer, cells: Int) -> Bool {
    guard page.load(as: UInt8.self) == PageType.leafIndex,
      Bytes.get16(page + PageField.cellCount) == cells
    else { return false }
    var end = PageGeometry.pageSize
    for cell in 0..<cells {
      let start = Bytes.get16(page + PageField.leafPointer(cell))
      guard start >= PageField.leafPointer(cells),
        let payload = Bytes.varint(page, offset: start, limit: end)
      else {
        return false
      }
      let total = Int(truncatingIfNeeded: payload.value)
      let local = PageGeometry.localSize(total, limit: PageGeometry.indexLocalLimit)
      let size = payload.end - start + local + (local < total ? 4 : 0)
      guard start + max(4, size) == end else { return false }
      end = start
    }
    return Bytes.get16(page + PageField.contentStart) == end
  }
}
