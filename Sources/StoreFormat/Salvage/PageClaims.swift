/// Which pages are named more than once: by two b-trees, by a chain and the list of free pages, or
/// by anything twice.
///
/// If several parents name a page, it belongs to the one in the pointer map. Without a pointer map
/// it belongs to none, so that no row appears in a wrong table.
final class PageClaims {
  private let file: DamagedFile
  private var once: [UInt64]
  private var twice: [UInt64]
  private let roots: Set<UInt32>
  /// Roots of several trees.
  private var shared: Set<UInt32> = []

  /// Reads all pages that can be reached from the roots, each once.
  init(_ file: DamagedFile, trees: [(root: UInt32, kind: TreePage.Kind)]) throws {
    self.file = file
    once = [UInt64](repeating: 0, count: Int(file.pageCount / 64) + 1)
    twice = once
    roots = Set(trees.map(\.root) + [1])
    var seenRoots: Set<UInt32> = [1]
    for tree in trees where !seenRoots.insert(tree.root).inserted { shared.insert(tree.root) }
    for root in roots { mark(root, in: &once) }
    try claimFreePages()
    var seen: Set<UInt32> = []
    for tree in [(root: 1, kind: .table)] + trees where seen.insert(tree.root).inserted {
      try claim(tree.root, kind: tree.kind, depth: 0)
    }
  }

  /// Whether a page below another one is that one's; of a root, whether it is of one tree alone.
  func belongs(_ page: UInt32, to claim: Claim) throws -> Bool {
    guard page > 0, page <= file.pageCount, !file.isReserved(page) else { return false }
    if case .root = claim { return !shared.contains(page) }
    guard page > 1, !roots.contains(page) else { return false }
    guard isMarked(page, in: twice) else { return true }
    guard let told = try file.pointer(to: page) else { return false }
    return switch claim {
    case .root: false
    case .child(let parent): told.kind == 5 && told.parent == parent
    case .chain(let cell): told.kind == 3 && told.parent == cell
    case .next(let before): told.kind == 4 && told.parent == before
    }
  }

  /// The claimed kind of a page.
  enum Claim {
    case root
    /// A page of a b-tree, below this one.
    case child(of: UInt32)
    /// The first page of a chain, of a cell on this one.
    case chain(of: UInt32)
    /// Another page of a chain, behind this one.
    case next(to: UInt32)
  }

  // MARK: Claiming

  private func mark(_ page: UInt32, in bits: inout [UInt64]) {
    guard page <= file.pageCount else { return }
    bits[Int(page / 64)] |= 1 << UInt64(page % 64)
  }

  private func isMarked(_ page: UInt32, in bits: [UInt64]) -> Bool {
    page <= file.pageCount && bits[Int(page / 64)] & 1 << UInt64(page % 64) != 0
  }

  /// Notes that something names a page; whether it is the first to do so.
  private func take(_ page: UInt32) -> Bool {
    guard page > 0, page <= file.pageCount else { return false }
    if isMarked(page, in: once) {
      mark(page, in: &twice)
      return false
    }
    mark(page, in: &once)
    return true
  }

  private func claim(_ number: UInt32, kind: TreePage.Kind, depth: Int) throws {
    guard depth < TreeSalvage.depthLimit, let bytes = try file.page(number),
      let page = TreePage(bytes, number: number, usable: file.usable, kind: kind)
    else { return }
    for cell in page.cells.compactMap(\.self) {
      if cell.overflow != 0 { try claimChain(cell) }
      if !page.isLeaf, take(cell.child) { try claim(cell.child, kind: kind, depth: depth + 1) }
    }
    if !page.isLeaf, take(page.rightmost) {
      try claim(page.rightmost, kind: kind, depth: depth + 1)
    }
  }

  private func claimChain(_ cell: TreePage.Cell) throws {
    var left = cell.payload - cell.local.count
    var next = cell.overflow
    while left > 0, take(next), let bytes = try file.page(next) {
      left -= file.usable - 4
      next = UInt32(PageBytes.number(bytes, at: 0, count: 4) ?? 0)
    }
  }

  private func claimFreePages() throws {
    guard let header = try file.page(1) else { return }
    var trunk = UInt32(
      PageBytes.number(header, at: HeaderField.firstFreeTrunk, count: 4) ?? 0)
    while take(trunk), let bytes = try file.page(trunk) {
      let count = min(PageBytes.number(bytes, at: 4, count: 4) ?? 0, file.usable / 4 - 2)
      for index in 0..<count {
        _ = take(UInt32(PageBytes.number(bytes, at: 8 + 4 * index, count: 4) ?? 0))
      }
      trunk = UInt32(PageBytes.number(bytes, at: 0, count: 4) ?? 0)
    }
  }
}
