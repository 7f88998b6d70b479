import StoreFormat

/// Visits the leaves of a b-tree in key order.
///
/// Every number that a page gives is checked before it is used: a damaged file ends in an error.
final class LeafWalk {
  private struct Level {
    var page: UnsafeMutableRawPointer
    var number: UInt32
    var cells: Int
    /// The child to visit next; `cells` is the rightmost one.
    var next: Int
  }

  private static let depthLimit = 20

  let pageSize: Int
  let pageCount: UInt32
  private let isIndex: Bool
  private let pages: PageWindow
  private var levels: [Level] = []
  private var spare: [UnsafeMutableRawPointer] = []
  private var visited: UInt64 = 0
  /// The leaf, valid until the next one; nil after the last.
  private(set) var leaf: UnsafeRawPointer?
  private(set) var cells = 0
  /// The number of the leaf, or of the last one.
  private(set) var page: UInt32 = 0
  /// The cell of an interior page of an index between this leaf and the one before, without its
  /// child; empty for tables.
  private(set) var separator = UnsafeRawBufferPointer(start: nil, count: 0)

  init(file: PageFile, kind: TreeBuilder.Kind, pageSize: Int, pageCount: UInt32) {
    self.pageSize = pageSize
    self.pageCount = pageCount
    isIndex = kind == .index
    pages = PageWindow(file: file, pageSize: pageSize, pageCount: pageCount)
  }

  deinit {
    for level in levels { level.page.deallocate() }
    for page in spare { page.deallocate() }
  }

  /// A page that happens to be in memory.
  @inline(__always)
  func held(_ page: UInt32) -> UnsafeRawPointer? { pages.held(page) }

  /// Goes to the leaf of a table with the first key that is not below the given one, or to the
  /// first leaf.
  func seek(_ root: UInt32, first: Int64?) throws(PageError) {
    for level in levels { spare.append(level.page) }
    levels.removeAll()
    visited = 0
    try descend(root, to: first)
  }

  /// Advances to the next leaf; false after the last one.
  func next() throws(PageError) -> Bool {
    while var level = levels.last {
      if level.next <= level.cells {
        if isIndex { separator = try cell(index: level.next - 1, of: level) }
        let page = try child(level: level)
        level.next += 1
        levels[levels.count - 1] = level
        try descend(page, to: nil)
        return true
      }
      spare.append(level.page)
      levels.removeLast()
    }
    leaf = nil
    cells = 0
    return false
  }

  private func damaged(_ page: UInt32) -> PageError { PageError(.damaged(page: page)) }

  private func descend(_ root: UInt32, to first: Int64?) throws(PageError) {
    var page = root
    while true {
      visited += 1
      guard levels.count < Self.depthLimit, visited <= UInt64(pageCount) + 1 else {
        throw damaged(page)
      }
      let bytes = try pages.page(page)
      // The first page begins with the header of the file, and is no table of objects.
      guard page > 1 else { throw damaged(page) }
      let count = Bytes.get16(bytes + PageField.cellCount)
      let type = bytes.load(as: UInt8.self)
      if type == (isIndex ? PageType.leafIndex : PageType.leafTable) {
        guard PageField.leafPointer(count) <= pageSize else { throw damaged(page) }
        (leaf, cells, self.page) = (bytes, count, page)
        return
      }
      guard type == (isIndex ? PageType.interiorIndex : PageType.interiorTable),
        PageField.interiorPointer(count) <= pageSize
      else { throw damaged(page) }
      // The separator of a level that is left may still be read, so none of its pages is reused.
      let copy = spare.popLast() ?? .allocate(byteCount: pageSize + 8, alignment: 16)
      copy.copyMemory(from: bytes, byteCount: pageSize)
      var level = Level(page: copy, number: page, cells: count, next: 0)
      levels.append(level)
      if let first { while level.next < count, try lastKey(level) < first { level.next += 1 } }
      page = try child(level: level)
      level.next += 1
      levels[levels.count - 1] = level
    }
  }

  private func child(level: Level) throws(PageError) -> UInt32 {
    let isLast = level.next == level.cells
    let offset =
      isLast
      ? PageField.rightmostChild : Bytes.get16(level.page + PageField.interiorPointer(level.next))
    guard offset + 4 <= pageSize else { throw damaged(level.number) }
    let child = Bytes.get32(level.page + offset)
    guard child > 1, child <= pageCount else { throw damaged(level.number) }
    return child
  }

  /// The last key that may lie under the level's next child.
  private func lastKey(_ level: Level) throws(PageError) -> Int64 {
    let offset = Bytes.get16(level.page + PageField.interiorPointer(level.next))
    guard let key = Bytes.varint(level.page, offset: offset + 4, limit: pageSize) else {
      throw damaged(level.number)
    }
    return Int64(bitPattern: key.value)
  }

  private func cell(index: Int, of level: Level) throws(PageError) -> UnsafeRawBufferPointer {
    let offset = Bytes.get16(level.page + PageField.interiorPointer(index)) + 4
    guard let size = Bytes.varint(level.page, offset: offset, limit: pageSize), size.value < 1 << 31
    else {
      throw damaged(level.number)
    }
    let local = PageGeometry.localSize(Int(size.value), limit: PageGeometry.indexLocalLimit)
    let end = size.end + local + (local < Int(size.value) ? 4 : 0)
    guard end <= pageSize else { throw damaged(level.number) }
    return UnsafeRawBufferPointer(start: level.page + offset, count: end - offset)
  }
}
