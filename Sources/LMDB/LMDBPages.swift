import SystemCalls
import SystemPackage

// The library reads a file through a map of memory and trusts what it finds there: a file that
// somebody has cut short ends the process by SIGBUS, and one that was overwritten by SIGABRT,
// SIGFPE or SIGSEGV. What is read here is read by calls of the system, and believed once it is
// checked. The names are those of LMDB's mdb.c ("struct MDB_meta", "MDB_page", "MDB_node").

/// The pages of a database file, read without a map, a lock or the library.
struct LMDBPages: Sendable {
  /// The last state that was committed.
  struct Meta: Hashable, Sendable {
    var transaction: UInt64
    var lastPage: UInt64
    /// The root of the free pages.
    var free: UInt64
    /// The root of the tables.
    var main: UInt64
  }

  /// A key and its value.
  typealias Entry = (key: [UInt8], value: [UInt8])

  /// Why a page, or what it leads to, is not to be believed.
  private struct Damage: Error {}

  private let file: FileDescriptor
  private let pageSize: Int

  /// The file stays the caller's, who closes it; nil where it is no database of this machine.
  init?(_ file: FileDescriptor) {
    guard let head = Self.read(file, at: 0, count: 48) else { return nil }
    // The field `md_pad` of the table of free pages.
    let pageSize = head.number(at: 40, bytes: 4)
    guard (512...65_536).contains(pageSize), pageSize & (pageSize - 1) == 0 else { return nil }
    self.file = file
    self.pageSize = Int(pageSize)
  }

  /// More has no file of ours: a map of 64 MiB has 16,384 pages of the usual size, and that of a
  /// fleet of 10 million stores 10 million.
  private static let mostPages: UInt64 = 1 << 26
  /// The flags of pages.
  private enum PageFlag {
    static let branch: UInt64 = 1
    static let leaf: UInt64 = 2
    static let overflow: UInt64 = 4
    static let meta: UInt64 = 8
    /// Of a page that was written in the last transaction, which is not used here.
    static let dirty: UInt64 = 0x10
  }
  /// The flags of nodes.
  private enum NodeFlag {
    /// The value has pages of its own.
    static let large: UInt64 = 1
    /// The value is a table.
    static let table: UInt64 = 2
  }

  /// So many bytes, or nil where there are fewer.
  static func read(_ file: FileDescriptor, at offset: Int64, count: Int) -> [UInt8]? {
    let bytes = try? [UInt8](unsafeUninitializedCapacity: count) { room, found in
      found = try file.readAll(into: UnsafeMutableRawBufferPointer(room), at: offset)
    }
    return bytes?.count == count ? bytes : nil
  }

  private func page(number: UInt64) -> [UInt8]? {
    guard number < Self.mostPages else { return nil }
    return Self.read(file, at: Int64(number) * Int64(pageSize), count: pageSize)
  }

  // MARK: The state

  /// The last state, nil if either of its two meta pages is damaged.
  func meta() -> Meta? {
    guard let first = meta(page: 0), let second = meta(page: 1) else { return nil }
    return first.transaction > second.transaction ? first : second
  }

  private func meta(page number: UInt64) -> Meta? {
    guard let page = page(number: number),
      page.number(at: 0, bytes: 8) == number,
      page.number(at: 10, bytes: 2) & ~PageFlag.dirty == PageFlag.meta,
      page.number(at: 16, bytes: 4) == 0xBEEF_C0DE,
      page.number(at: 20, bytes: 4) == 1,
      page.number(at: 40, bytes: 4) == UInt64(pageSize)
    else { return nil }
    let meta = Meta(
      transaction: page.number(at: 144, bytes: 8), lastPage: page.number(at: 136, bytes: 8),
      free: page.number(at: 80, bytes: 8), main: page.number(at: 128, bytes: 8))
    let mapSize = page.number(at: 32, bytes: 8)
    // Neither table has flags of its own: the keys of free pages are numbers.
    guard meta.transaction < 1 << 62, meta.lastPage < Self.mostPages,
      mapSize <= Self.mostPages * UInt64(pageSize),
      mapSize >= (meta.lastPage + 1) * UInt64(pageSize),
      page.number(at: 44, bytes: 2) & ~Self.persistentFlags == Self.integerKeys,
      page.number(at: 92, bytes: 2) == 0,
      Self.isPlausible(table: page[40..<88]), Self.isPlausible(table: page[88..<136])
    else { return nil }
    return meta
  }

  /// Whether a table has a page if it has entries (`MDB_db`).
  private static func isPlausible(table: ArraySlice<UInt8>) -> Bool {
    table.number(at: 40, bytes: 8) != .max || table.number(at: 32, bytes: 8) == 0
  }

  private static let integerKeys: UInt64 = 0x08
  /// The flags with which the file was opened are kept in those of the first table.
  private static let persistentFlags: UInt64 = 0x4000

  /// Reads the last state, again where it was overtaken meanwhile.
  ///
  /// A writer takes pages of a state again after two more commits at the earliest.
  ///
  /// - Throws: `LMDBError.Problem`, where the pages are damaged, or every read was overtaken.
  func read<Result>(
    _ body: (Meta) throws -> Result
  ) throws(LMDBError.Problem) -> Result {
    var damaged = 0
    for attempt in 0..<Self.mostReads {
      if attempt > 0 { Processes.sleep(microseconds: UInt32(min(attempt, 20)) * 500) }
      guard let before = meta() else {
        // A writer may be amid one of these pages, for a moment.
        damaged += 1
        if damaged >= 4 { throw .truncated }
        continue
      }
      let result = try? body(before)
      guard meta()?.transaction == before.transaction else { continue }
      if let result { return result }
      damaged += 1
      if damaged >= 4 { throw .truncated }
    }
    throw .busy
  }

  private static let mostReads = 50

  // MARK: Tables

  /// What a walk through a state has seen.
  private struct Walk {
    let meta: Meta
    /// No page is reached twice.
    var seen: Set<UInt64> = []
    /// The maximum number of pages that are checked; further ones are trusted.
    var left = Int.max
  }

  /// All entries of some tables, ordered by their keys; a missing one has none in the result.
  func entries(of tables: [String], meta: Meta) throws -> [String: [Entry]] {
    var walk = Walk(meta: meta)
    var found: [String: [Entry]] = [:]
    for (name, root) in try self.tables(walk: &walk) {
      let name = String(decoding: name, as: UTF8.self)
      guard tables.contains(name) else { continue }
      var entries: [Entry] = []
      try visit(root: root, walk: &walk, depth: 0) { entries.append(try record($0)) }
      found[name] = entries
    }
    return found
  }

  /// Entries of a table from a key on, at most `limit` of them, ordered by their keys; nil where
  /// there is no such table.
  func entries(
    of table: String, from key: [UInt8], limit: Int, meta: Meta
  ) throws -> [Entry]? {
    var walk = Walk(meta: meta)
    let name = Array(table.utf8)
    guard let root = try tables(walk: &walk).first(where: { $0.name == name })?.root else {
      return nil
    }
    var found: [Entry] = []
    _ = try visit(root: root, walk: &walk, depth: 0, from: key) { node in
      found.append(try record(node))
      return found.count < limit
    }
    return found
  }

  /// Fails unless the pages of a state are such that the library may work with them.
  func check(_ meta: Meta) throws {
    guard let size = try? Files.fileStatus(of: file).size,
      meta.lastPage < UInt64(clamping: size / Int64(pageSize))
    else { throw Damage() }
    // Each is read in some microseconds, before each update.
    var walk = Walk(meta: meta, left: 1_000)
    for (_, root) in try tables(walk: &walk) {
      try visit(root: root, walk: &walk, depth: 0) { _ = try record($0) }
    }
    var free: [UInt64] = []
    try visit(root: meta.free, walk: &walk, depth: 0, isFree: true) {
      free += try freePages(of: $0, in: meta)
    }
    // A page that is in use as well would be written over.
    for page in free where !walk.seen.insert(page).inserted { throw Damage() }
  }

  /// A table has no tables of its own.
  private func record(_ node: Node) throws -> Entry {
    if node.isTable { throw Damage() }
    return (Array(node.key), Array(node.value))
  }

  /// The numbers in an entry of the table of free pages: how many, and each from the highest on.
  private func freePages(of node: Node, in meta: Meta) throws -> [UInt64] {
    let count = node.value.number(at: 0, bytes: 8)
    guard node.key.count == 8, node.value.count >= 8, count <= UInt64(node.value.count / 8 - 1)
    else { throw Damage() }
    var pages: [UInt64] = []
    for index in 0..<Int(count) {
      let page = node.value.number(at: 8 + 8 * index, bytes: 8)
      guard page >= 2, page < pages.last ?? (meta.lastPage + 1) else { throw Damage() }
      pages.append(page)
    }
    return pages
  }

  /// The roots of all tables.
  private func tables(walk: inout Walk) throws -> [(name: [UInt8], root: UInt64)] {
    var found: [(name: [UInt8], root: UInt64)] = []
    try visit(root: walk.meta.main, walk: &walk, depth: 0) { node in
      // A table of a kind that no file of ours has would lead the library elsewhere.
      guard node.isTable, node.value.count == 48, node.value.number(at: 4, bytes: 2) == 0,
        node.value.number(at: 6, bytes: 2) < Self.mostDepth, Self.isPlausible(table: node.value)
      else { throw Damage() }
      found.append((Array(node.key), node.value.number(at: 40, bytes: 8)))
    }
    return found
  }

  // MARK: Trees

  private static let mostDepth = 16

  private struct Node {
    var key: ArraySlice<UInt8>
    var value: ArraySlice<UInt8>
    var isTable: Bool
  }

  /// Where a node lies in its page, and how many bytes it has there.
  private struct Place {
    var node: Int
    var size: Int
  }

  /// Calls `body` with all entries below a page.
  private func visit(
    root: UInt64, walk: inout Walk, depth: Int, isFree: Bool = false,
    body: (Node) throws -> Void
  ) throws {
    guard walk.left > 0, let tree = try open(root, walk: &walk, depth: depth, isFree: isFree) else {
      return
    }
    var places: [Place] = []
    for at in tree.nodes {
      if tree.isBranch {
        let (below, place) = try branchNode(page: tree.page, at: at)
        places.append(place)
        try visit(root: below, walk: &walk, depth: depth + 1, isFree: isFree, body: body)
      } else {
        let (node, place) = try leafNode(page: tree.page, at: at, isFree: isFree, walk: &walk)
        places.append(place)
        try body(node)
      }
    }
    // Nodes lie side by side up to the end of the page.
    var end = tree.upper
    for place in places.sorted(by: { $0.node < $1.node }) {
      guard place.node == end else { throw Damage() }
      end += place.size + place.size % 2
    }
    guard end == pageSize else { throw Damage() }
  }

  /// Calls `body` with the entries below a page from a key on, until it returns false; returns
  /// whether it never did.
  private func visit(
    root: UInt64, walk: inout Walk, depth: Int, from key: [UInt8], body: (Node) throws -> Bool
  ) throws -> Bool {
    guard let tree = try open(root, walk: &walk, depth: depth, isFree: false) else { return true }
    for (index, at) in tree.nodes.enumerated() {
      if tree.isBranch {
        // The keys below a node precede the key of the next node.
        if index + 1 < tree.nodes.count {
          let next = try branchKey(page: tree.page, at: tree.nodes[index + 1])
          if !key.lexicographicallyPrecedes(next) { continue }
        }
        let (below, _) = try branchNode(page: tree.page, at: at)
        guard
          try visit(root: below, walk: &walk, depth: depth + 1, from: key, body: body)
        else { return false }
      } else {
        let (node, _) = try leafNode(page: tree.page, at: at, isFree: false, walk: &walk)
        if node.key.lexicographicallyPrecedes(key) { continue }
        guard try body(node) else { return false }
      }
    }
    return true
  }

  /// A page of a tree, and where its nodes begin.
  private struct TreePage {
    var page: [UInt8]
    var isBranch: Bool
    var nodes: [Int]
    var upper: Int
  }

  /// Reads and checks a page of a tree; nil for the root of an empty one.
  private func open(
    _ root: UInt64, walk: inout Walk, depth: Int, isFree: Bool
  ) throws -> TreePage? {
    // No page at all.
    if root == .max, depth == 0 { return nil }
    walk.left -= 1
    guard depth < Self.mostDepth, root >= 2, root <= walk.meta.lastPage,
      walk.seen.insert(root).inserted, let page = page(number: root),
      page.number(at: 0, bytes: 8) == root
    else { throw Damage() }
    let flags = page.number(at: 10, bytes: 2) & ~PageFlag.dirty
    let lower = Int(page.number(at: 12, bytes: 2))
    let upper = Int(page.number(at: 14, bytes: 2))
    let isBranch = flags == PageFlag.branch
    // Two keys are the fewest of a branch, but for the free pages.
    guard isBranch || flags == PageFlag.leaf, lower.isMultiple(of: 2), lower <= upper,
      upper <= pageSize, lower >= (isBranch && !isFree ? 20 : 18)
    else { throw Damage() }
    let nodes = stride(from: 16, to: lower, by: 2).map { Int(page.number(at: $0, bytes: 2)) }
    guard nodes.allSatisfy({ $0 >= upper && $0 + 8 <= pageSize }) else { throw Damage() }
    return TreePage(page: page, isBranch: isBranch, nodes: nodes, upper: upper)
  }

  private func branchKey(page: [UInt8], at node: Int) throws -> ArraySlice<UInt8> {
    let end = node + 8 + Int(page.number(at: node + 6, bytes: 2))
    guard end <= pageSize else { throw Damage() }
    return page[(node + 8)..<end]
  }

  private func branchNode(page: [UInt8], at node: Int) throws -> (UInt64, Place) {
    let size = 8 + Int(page.number(at: node + 6, bytes: 2))
    guard node + size <= pageSize else { throw Damage() }
    return (page.number(at: node, bytes: 6), Place(node: node, size: size))
  }

  private func leafNode(
    page: [UInt8], at node: Int, isFree: Bool, walk: inout Walk
  ) throws -> (Node, Place) {
    let size = Int(page.number(at: node, bytes: 4))
    let flags = page.number(at: node + 4, bytes: 2)
    let keySize = Int(page.number(at: node + 6, bytes: 2))
    let at = node + 8 + keySize
    guard (1...Self.mostKeyBytes).contains(keySize), at <= pageSize,
      flags == 0 || flags == NodeFlag.large || flags == NodeFlag.table
    else { throw Damage() }
    let isLarge = flags == NodeFlag.large
    let end = at + (isLarge ? 8 : size)
    guard end <= pageSize else { throw Damage() }
    let value =
      isLarge
      ? try large(first: page.number(at: at, bytes: 8), size: size, walk: &walk)[...]
      : page[at..<end]
    let found = Node(key: page[(node + 8)..<at], value: value, isTable: flags == NodeFlag.table)
    return (found, Place(node: node, size: end - node))
  }

  /// `MDB_MAXKEYSIZE` of the library.
  private static let mostKeyBytes = 511

  /// A value on pages of its own.
  private func large(first: UInt64, size: Int, walk: inout Walk) throws -> [UInt8] {
    guard first >= 2, first <= walk.meta.lastPage,
      let head = Self.read(file, at: Int64(first) * Int64(pageSize), count: 16),
      head.number(at: 0, bytes: 8) == first,
      head.number(at: 10, bytes: 2) & ~PageFlag.dirty == PageFlag.overflow
    else { throw Damage() }
    let count = head.number(at: 12, bytes: 4)
    guard count >= 1, first + count <= walk.meta.lastPage + 1,
      UInt64(size) + 16 <= count * UInt64(pageSize)
    else { throw Damage() }
    for number in first..<(first + count) where !walk.seen.insert(number).inserted {
      throw Damage()
    }
    guard let found = Self.read(file, at: Int64(first) * Int64(pageSize) + 16, count: size) else {
      throw Damage()
    }
    return found
  }
}

extension Collection<UInt8> where Index == Int {
  /// A number of up to eight bytes at an offset from the start; 0 where they are not there.
  func number(at offset: Int, bytes: Int) -> UInt64 {
    guard offset >= 0, offset + bytes <= count else { return 0 }
    let start = startIndex + offset
    var number: UInt64 = 0
    for index in (start..<start + bytes).reversed() { number = number << 8 | UInt64(self[index]) }
    return number
  }
}
