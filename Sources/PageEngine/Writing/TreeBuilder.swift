import StoreFormat

// (1) An interior page with n cells has n + 1 children; the last has no key of its own. So of a
// full page the pending child becomes the rightmost, and the pending key goes up to the next level.
// (2) Between two calls each level has an open page with at least one cell. A cell is pending only
// where the open page is full, and a full page has several: a cell of an index takes 1015 bytes at
// most (child 4, size 5, payload `PageGeometry.indexLocalLimit`, chain 4), one of a table 13.
// (3) A page is written once, when its last child is known; only then does it have a number, and do
// its children have their parent in the pointer map.

/// Builds the upper levels of a b-tree from its leaves, bottom up, one open page per level.
///
/// A page that is full waits with the cell that did not fit it until another one comes: so the
/// last page of a level never stays without a cell.
package final class TreeBuilder {
  /// A table, whose interior cells repeat the last keys of leaves, or an index, whose interior
  /// cells are entries that no leaf has.
  package enum Kind: Sendable { case table, index }

  private let kind: Kind
  private let root: UInt32
  private let writer: ExtentWriter
  private var levels: [Level] = []
  private let scratch = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 8)
  private static let depthLimit = 40

  /// Makes a tree under a root page that exists already; the writer gives all other pages.
  package init(kind: Kind, root: UInt32, writer: ExtentWriter) {
    self.kind = kind
    self.root = root
    self.writer = writer
  }

  deinit { scratch.deallocate() }

  /// Whether nothing was added: the tree is one leaf then.
  package var isEmpty: Bool { levels.isEmpty }

  /// Adds a child of the lowest interior level, and the key that parts it from the next child.
  package func add(child: UInt32, key: UnsafeRawBufferPointer) throws(PageError) {
    try add(child: child, key: key, to: 0)
  }

  /// Adds a child of a table.
  package func add(_ leaf: LeafEntry) throws(PageError) {
    let count = Bytes.putVarint(UInt64(bitPattern: leaf.lastKey), at: scratch)
    try add(
      child: leaf.page, key: UnsafeRawBufferPointer(start: scratch, count: count), to: 0)
  }

  // From the lowest level up:
  //
  // (1) The last child comes without a key, and becomes the rightmost child of the open page. That
  // page has a cell already, so where no cell is pending there is nothing else to do.
  // (2) With a pending cell two children are left over for a full page. Were the pending one made
  // its rightmost, as `add` does, the last would be alone on a page without a cell, which no b-tree
  // has. So the page gives up its last cell: the cell's child becomes its rightmost, the cell's key
  // goes up, and the pending cell and the last child make another page. Both have a cell then.
  // (3) This adds to the level above, and may fill it, leave a cell pending there, or begin it. It
  // is before that level's turn, so `levels.count` and `isTop` are read again each time.
  // (4) The top level has no pending cell when it is written, for (2) puts a level above it. Its
  // open page is the only one that it ever had, and goes to the root. No other page does.

  /// Closes the tree with its last child, which has no key.
  package func finish(lastChild: UInt32) throws(PageError) {
    precondition(!levels.isEmpty, "a tree of one leaf has no upper levels")
    var last = lastChild
    var index = 0
    while index < levels.count {
      let level = levels[index]
      if level.hasPending {
        let cut = level.removeLast()
        let page = try complete(level, rightmost: cut, as: nil)
        try add(child: page, key: level.cutKey, to: index + 1)
        level.clear()
        level.appendPending()
      }
      let isTop = index == levels.count - 1
      last = try complete(level, rightmost: last, as: isTop ? root : nil)
      index += 1
    }
  }

  private func add(
    child: UInt32, key: UnsafeRawBufferPointer, to index: Int
  ) throws(PageError) {
    precondition(index < Self.depthLimit, "no tree is that deep")
    if index == levels.count { levels.append(Level()) }
    let level = levels[index]
    if level.hasPending {
      let page = try complete(level, rightmost: level.pendingChild, as: nil)
      try add(child: page, key: level.pendingKey, to: index + 1)
      level.clear()
    }
    if level.fits(key.count) {
      level.append(child, key: key)
    } else {
      level.setPending(child, key: key)
    }
  }

  /// Writes the page of a level, and its number as the parent of its children.
  private func complete(
    _ level: Level, rightmost: UInt32, as root: UInt32?
  ) throws(PageError) -> UInt32 {
    level.close(kind == .table ? 5 : 2, rightmost: rightmost)
    let number: UInt32
    if let root {
      number = root
      try writer.write(root, bytes: level.memory)
    } else {
      let (page, memory) = try writer.reserve()
      memory.copyMemory(from: level.memory, byteCount: PageGeometry.pageSize)
      number = page
    }
    for cell in 0..<level.cells {
      let offset = Bytes.get16(level.memory + PageField.interiorPointer(cell))
      try writer.set(Bytes.get32(level.memory + offset), kind: .child, parent: number)
    }
    try writer.set(rightmost, kind: .child, parent: number)
    if kind == .index {
      try IndexPage.adoptOverflow(
        level.memory, start: PageField.interiorHeaderSize, skip: 4, parent: number, pointers: writer
      )
    }
    return number
  }
}

/// The open page of one interior level.
private final class Level {
  let memory: UnsafeMutableRawPointer
  private let pending: UnsafeMutableRawPointer
  private(set) var cells = 0
  private var content = PageGeometry.pageSize
  private var sizes: [UInt16] = []
  private(set) var hasPending = false
  private(set) var pendingChild: UInt32 = 0
  private var pendingCount = 0
  private let cut: UnsafeMutableRawPointer
  private var cutCount = 0

  init() {
    memory = .allocate(byteCount: PageGeometry.pageSize, alignment: 16)
    pending = .allocate(byteCount: PageGeometry.pageSize, alignment: 16)
    cut = .allocate(byteCount: PageGeometry.pageSize, alignment: 16)
    clear()
  }

  deinit {
    memory.deallocate()
    pending.deallocate()
    cut.deallocate()
  }

  var cutKey: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: cut, count: cutCount) }
  var pendingKey: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: pending, count: pendingCount)
  }

  func clear() {
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: PageGeometry.pageSize)
    cells = 0
    content = PageGeometry.pageSize
    sizes.removeAll(keepingCapacity: true)
    hasPending = false
  }

  func fits(_ key: Int) -> Bool { content - key - 4 >= PageField.interiorPointer(cells + 1) }

  func append(_ child: UInt32, key: UnsafeRawBufferPointer) {
    content -= key.count + 4
    Bytes.put32(child, at: memory + content)
    if let base = key.baseAddress {
      (memory + content + 4).copyMemory(from: base, byteCount: key.count)
    }
    Bytes.put16(content, at: memory + PageField.interiorPointer(cells))
    cells += 1
    sizes.append(UInt16(key.count + 4))
  }

  func setPending(_ child: UInt32, key: UnsafeRawBufferPointer) {
    precondition(key.count <= PageGeometry.pageSize, "a key fits its page")
    pendingChild = child
    pendingCount = key.count
    if let base = key.baseAddress { pending.copyMemory(from: base, byteCount: key.count) }
    hasPending = true
  }

  func appendPending() {
    hasPending = false
    append(pendingChild, key: pendingKey)
  }

  /// Takes the last cell off; its key is in `cutKey` then.
  func removeLast() -> UInt32 {
    precondition(cells > 1, "a full page has several cells")
    let size = Int(sizes.removeLast())
    let child = Bytes.get32(memory + content)
    cutCount = size - 4
    cut.copyMemory(from: memory + content + 4, byteCount: cutCount)
    (memory + content).initializeMemory(as: UInt8.self, repeating: 0, count: size)
    content += size
    cells -= 1
    Bytes.put16(0, at: memory + PageField.interiorPointer(cells))
    return child
  }

  func close(_ type: UInt8, rightmost: UInt32) {
    memory.storeBytes(of: type, as: UInt8.self)
    Bytes.put16(cells, at: memory + PageField.cellCount)
    Bytes.put16(content, at: memory + PageField.contentStart)
    Bytes.put32(rightmost, at: memory + PageField.rightmostChild)
  }
}
