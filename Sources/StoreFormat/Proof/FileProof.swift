import GRDB
import Synchronization
import SystemCalls
import SystemPackage

/// Shows that SQLite's `integrity_check` finds nothing in a file, by a reading of its own on all
/// processors.
///
/// It only confirms that a file is sound; SQLite reports the errors of others. It may reject a
/// sound file, and never accepts a damaged one. A file is sound by "Database File Format" on
/// sqlite.org: each page has one owner, which the pointer map names; cells, free blocks and lost
/// bytes fill a page; keys rise over the whole of a b-tree, whose leaves are all equally deep;
/// records fit their sizes; values are as column affinity makes them; each index has an entry for
/// each row.
final class FileProof: Sendable {
  private struct Unit: Sendable {
    enum Part: Sendable {
      case rows(TreeWalk.Branch)
      case entries(page: UInt32, lower: [UInt8]?, upper: [UInt8]?)
    }

    var tree: Int
    var part: Part
    /// The page above; nil for a root.
    var parent: UInt32?
  }

  /// A b-tree with what its records have to be.
  private struct Tree: Sendable {
    enum Form: Sendable {
      case table(CheckedTable)
      case index(IndexForm)
      case other
    }

    var root: UInt32
    var form: Form
    var totals = TreeWalk.Totals()
  }

  private let file: SourceFile
  private let sizes: PageSizes
  private let forms: TreeForms
  private let ledger: PageLedger
  private let seed = UInt64.random(in: .min ... .max)
  private let isStopped: @Sendable () -> Bool

  /// Reads an unchanging file; nil if SQLite has to check all of it.
  init?(_ path: FilePath, isStopped: @escaping @Sendable () -> Bool) {
    guard let file = try? SourceFile(path), let header = try? file.header(),
      let sizes = PageSizes(header: header)
    else { return nil }
    let number = { UInt32(PageBytes.number(header, at: $0, count: 4) ?? 0) }
    let count = number(HeaderField.pageCount)
    guard file.byteCount == Int64(count) * Int64(sizes.page), count > 0,
      number(HeaderField.changeCounter) == number(HeaderField.validForCounter),
      let connection = try? StoreConnection.immutable(path),
      let forms = try? connection.run({ db in try TreeForms(db) })
    else { return nil }
    let largest = number(HeaderField.largestRoot)
    guard largest == 0 ? number(64) == 0 : largest == max(1, forms.roots.max() ?? 1) else {
      return nil
    }
    (self.file, self.sizes, self.forms, self.isStopped) = (file, sizes, forms, isStopped)
    ledger = PageLedger(pageCount: count, sizes: sizes, isMapped: largest != 0)
  }

  /// The checks left to SQLite; nil if nothing was confirmed.
  func asked(threads: Int) -> [String]? {
    do {
      var trees = [Tree(root: 1, form: .other)]
      for table in forms.tables {
        trees.append(Tree(root: table.root, form: .table(table)))
        trees += table.indexes.map { Tree(root: $0.root, form: .index($0)) }
      }
      trees += forms.others.map { Tree(root: $0, form: .other) }
      // No thread is worth its start for less than a mebibyte.
      let threads = min(threads, 1 + Int(file.byteCount >> 20))
      let walk = TreeWalk(file, sizes: sizes, ledger: ledger, seed: seed)
      try takeFreePages(walk.owners)
      var units: [Unit] = []
      for place in trees.indices {
        units += try self.units(of: &trees[place], place: place, walk: walk)
      }
      let counted = prove(units, trees: trees, threads: threads, first: walk)
      guard let counted, agree(counted), ledger.isComplete else { return nil }
      return forms.asked
    } catch {
      return nil
    }
  }

  // MARK: Free pages

  private func takeFreePages(_ owners: OwnerMap) throws(UnsoundPage) {
    let pages = PageRuns(file, sizes: sizes, bytes: sizes.page)
    defer { withExtendedLifetime(pages) {} }
    let header = try pages.page(1)
    var left = header.long(HeaderField.freePages)
    var trunk = header.long(HeaderField.firstFreeTrunk)
    while trunk != 0 {
      try owners.claim(trunk, kind: .free, parent: 0)
      let page = try pages.page(trunk)
      let leaves = page.long(4)
      guard leaves <= UInt32(sizes.usable / 4 - 2), left > leaves else { throw UnsoundPage() }
      for place in 0..<Int(leaves) {
        try owners.claim(page.long(8 + 4 * place), kind: .free, parent: 0)
      }
      left -= leaves + 1
      trunk = page.long(0)
    }
    guard left == 0 else { throw UnsoundPage() }
  }

  // MARK: Trees

  private func units(
    of tree: inout Tree, place: Int, walk: TreeWalk
  ) throws(UnsoundPage) -> [Unit] {
    let root = tree.root
    if root == 1 {
      try ledger.claim(1)
    } else {
      try walk.owners.claim(root, kind: .root, parent: 0)
    }
    var isIndex = false
    switch tree.form {
    case .table(let form): tree.totals.sums = form.indexes.map { _ in 0 }
    case .index:
      isIndex = true
      tree.totals.sums = [0]
    case .other: isIndex = try walk.isIndex(root: root)
    }
    guard isIndex else {
      let branch = TreeWalk.Branch(page: root, run: 1)
      guard let below = try walk.branches(of: branch, parent: nil) else {
        return [Unit(tree: place, part: .rows(branch))]
      }
      return below.map { Unit(tree: place, part: .rows($0), parent: root) }
    }
    walk.begin(sums: tree.totals.sums.count)
    var form: IndexForm?
    if case .index(let known) = tree.form { form = known }
    guard let parts = try walk.parts(of: root, form: form) else {
      return [Unit(tree: place, part: .entries(page: root, lower: nil, upper: nil))]
    }
    _ = tree.totals.add(walk.totals)
    return parts.map { part in
      Unit(
        tree: place, part: .entries(page: part.page, lower: part.lower, upper: part.upper),
        parent: root)
    }
  }

  // MARK: Threads

  private final class Progress: Sendable {
    let next = Atomic(0)
    /// nil where something is not sound.
    let trees: Mutex<[Tree]?>

    init(_ trees: [Tree]) { self.trees = Mutex(trees) }

    func add(_ totals: TreeWalk.Totals?, to tree: Int) {
      trees.withLock { trees in
        guard let totals, trees?[tree].totals.add(totals) == true else {
          trees = nil
          return
        }
      }
    }
  }

  /// Goes through all parts.
  ///
  /// - Parameter first: serves one of the threads.
  private func prove(_ units: [Unit], trees: [Tree], threads: Int, first: TreeWalk) -> [Tree]? {
    let progress = Progress(trees)
    let count = max(1, min(threads, units.count))
    nonisolated(unsafe) let first = first  // the part of this number alone has it
    ThreadPool.share(count, threads: count) { part in
      let walk = part == 0 ? first : TreeWalk(file, sizes: sizes, ledger: ledger, seed: seed)
      while true {
        let place = progress.next.add(1, ordering: .relaxed).oldValue
        guard place < units.count, progress.trees.withLock({ $0 != nil }) else { return }
        let unit = units[place]
        let totals = isStopped() ? nil : try? self.totals(unit, form: trees[unit.tree], walk: walk)
        progress.add(totals, to: unit.tree)
      }
    }
    return progress.trees.withLock { $0 }
  }

  private func totals(
    _ unit: Unit, form tree: Tree, walk: TreeWalk
  ) throws(UnsoundPage) -> TreeWalk.Totals {
    walk.begin(sums: tree.totals.sums.count)
    let depth = unit.parent == nil ? 0 : 1
    switch (unit.part, tree.form) {
    case (.rows(let branch), .table(let form)):
      try walk.walk(branch, parent: unit.parent, depth: depth, form: form)
    case (.rows(let branch), _):
      try walk.walk(branch, parent: unit.parent, depth: depth, form: nil)
    case (.entries(let page, let lower, let upper), .index(let form)):
      try walk.walkIndex(
        page, parent: unit.parent, depth: depth, form: form, lower: lower, upper: upper)
    case (.entries(let page, _, _), _):
      try walk.walkIndex(
        page, parent: unit.parent, depth: depth, form: nil, lower: nil, upper: nil)
    }
    return walk.totals
  }

  /// Whether each index has as many entries as its table has rows, and exactly those of its rows.
  private func agree(_ trees: [Tree]) -> Bool {
    var table: TreeWalk.Totals?
    var number = 0
    for tree in trees {
      switch tree.form {
      case .table:
        (table, number) = (tree.totals, 0)
      case .index:
        guard let table, tree.totals.rows == table.rows, tree.totals.sums == [table.sums[number]]
        else { return false }
        number += 1
      case .other: table = nil
      }
    }
    return true
  }
}
