import Foundation
import GRDB
import MigrationEngine
import Planning
import RowPrograms
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

// (1) Pages that workers wrote and manifests list are never changed, not even once they are free:
// an interrupted assembly starts over. Such pages are retired, not given back to the pool. The
// manifests of a tight result, which is small, are removed first, and no page has to stay.
// (2) Only the leaves that manifests list belong to a table; every other page taken is free.
// (3) SQLite opens the store only once it is whole, for what this engine does not do.
// (4) Nothing is synced but the finished result. A process that dies loses nothing that it wrote;
// what a restart of the system may lose is not resumed (`PageEngine.canResume`).
//
// The order of the steps:
//
// holes, then trees: the result is cut back to the last extent that was claimed, so pages that an
//   earlier assembly appended are gone. Pages that it wrote into holes are in no manifest; they are
//   written again or free.
// skeleton, then workers: its pages come first, and determine where those of workers begin. The
//   roots are among them, and empty again if a later run writes it again.
// lists of the workers' pointers, then trees: the chains of a leaf that becomes a root, and those
//   of moved cells that go up, get a parent other than the one in the lists.
// tables and indexes, then the free list: writers give back what is left of their extents, so what
//   is free, and how long the file is, is known once the last of them has finished.
// free list, then pointer map, then page 1: free pages have entries too, and pages of the map may
//   be in memory until `flush`. Page 1 has the counts and comes last: until a first assembly has
//   got there, no program takes the file for a store.
// page 1, then SQLite: `REINDEX` may use any free page. Where retired pages are among them, the
//   manifests are removed first; from them, a later assembly would link leaves that SQLite has
//   overwritten.
// SQLite, then its vacuum: it takes out what is free of a tight result, and moves pages for that.
// all, then the sync: until then the result may be in the system's cache alone. The swap relies on
//   it.

/// Puts the pages that workers wrote together under the roots of an empty store.
struct GraftAssembler {
  let layout: PageLayout
  let paths: MigrationPaths

  func assemble(
    _ order: AssemblyOrder, progress: (AssemblyStep) throws -> Void
  ) throws -> AssemblyReport {
    if layout.isTight { try forgetManifests(order) }
    let roots = layout.roots
    let placed = try PlacedPages(order)
    let result = try Files.open(order.result, mode: .readWrite)
    var report = AssemblyReport()
    var left: [IndexJob] = []
    var suspects: Set<String> = []
    var (isRepeatable, hasFree) = (true, false)
    try result.closeAfter {
      let file = PageFile(result)
      let pool = try pool(placed: placed, result: result)
      let pointers = PointerMap(file)
      for (shard, list) in placed.pointers {
        try pointers.set(SectionReader(descriptor: shard, sections: list))
      }
      let stitcher = TableStitcher(file: file, pool: pool, pointers: pointers)
      report.rows = try merge(
        order, placed: placed, roots: roots, stitcher: stitcher, progress: progress)
      let moved = MovedIndexes(order: order, layout: layout, placed: placed)
      suspects = try moved.stitch(roots, stitcher: stitcher)
      try stitcher.finish()
      left = try index(
        order: order, placed: placed, roots: roots, file: file, pool: pool, pointers: pointers,
        progress: progress, report: &report)
      hasFree = try close(file: file, pool: pool, pointers: pointers) > 0
      isRepeatable = !pool.hasRetired
    }
    try complete(
      order, placed: placed, left: left, suspects: suspects, isRepeatable: isRepeatable,
      isVacuumed: layout.isTight && hasFree, progress: progress, report: &report)
    let found = report.danglingReferences
    report.danglingReferences = order.plan.program.references.compactMap { check in
      found.first { $0.table == check.table && $0.column == check.column }
    }
    report.movedTables = layout.moves?.tables.keys.sorted() ?? []
    report.externalNames = placed.externalNames(in: order.folder)
    if order.usesWAL { try StoreConnection.setWAL(order.result) }
    if order.syncs { try Files.syncFile(order.result) }
    return report
  }

  // MARK: Pages

  /// All unused pages: those that workers left, and extents that no manifest lists.
  private func pool(
    placed: borrowing PlacedPages, result: FileDescriptor
  ) throws -> PagePool {
    var holes = placed.shards.flatMap(\.pages.unused)
    let taken = placed.shards.flatMap(\.pages.extents).sorted { $0.first < $1.first }
    let end =
      layout.isSole
      ? taken.last.map { $0.first + $0.count } ?? layout.firstPage
      : try ClaimLog.extent(
        index: Files.fileStatus(paths.claims).size, firstPage: layout.firstPage,
        length: layout.extentLength
      ).first
    var next = layout.firstPage
    for extent in taken {
      guard extent.first >= next, extent.first + extent.count <= end else {
        throw PageError(.miswritten(page: extent.first), file: paths.claims)
      }
      if extent.first > next { holes.append(Extent(first: next, count: extent.first - next)) }
      next = extent.first + extent.count
    }
    if end > next { holes.append(Extent(first: next, count: end - next)) }
    // What an assembly that was cut off had added is gone.
    try result.resize(to: PageGeometry.offset(page: end))
    return PagePool(
      holes: holes, end: end, extentLength: layout.extentLength, keepsRetired: !layout.isTight)
  }

  /// Puts the leaves of each table under its root; the rows of all.
  private func merge(
    _ order: AssemblyOrder, placed: borrowing PlacedPages, roots: [String: UInt32],
    stitcher: TableStitcher, progress: (AssemblyStep) throws -> Void
  ) throws -> Int64 {
    let sizes = placed.tables.map { $0.pieces.reduce(0) { $0 + $1.result.rowsWritten } }
    try progress(.merging(rows: sizes.reduce(0, +), atOnce: sizes.max() ?? 0))
    var rows: Int64 = 0
    var list: (file: FileDescriptor, runs: RunFile)?
    defer { try? list?.file.close() }
    for (name, pieces) in placed.tables {
      guard let root = roots[name] else { throw PageError(.miswritten(page: 0)) }
      var sections: [(FileDescriptor, Section)] = []
      for piece in pieces {
        let leaves = piece.pages.leaves.map { (piece.shard, $0) }
        if piece.rowOffset == 0 {
          sections += leaves
        } else {
          let (file, runs) = try list ?? openRuns()
          list = (file, runs)
          let renumbered = EntryCollector(file: runs, entrySize: MemoryLayout<LeafEntry>.stride)
          try stitcher.renumber(SectionReader(leaves), adding: piece.rowOffset, into: renumbered)
          sections += renumbered.sections.map { (file, $0) }
        }
      }
      let leaves = SectionReader(sections)
      try stitcher.stitch(root: root) { () throws(PageError) in try leaves.nextLeaf() }
      let written = pieces.reduce(0) { $0 + $1.result.rowsWritten }
      rows += written
      try progress(.stepDone(units: written))
    }
    return rows
  }

  /// A temporary file for a list of leaves; it has no name, and ends when it is closed everywhere.
  private func openList() throws -> FileDescriptor {
    let list = try Files.open(
      paths.renumbered, mode: .readWrite, options: [.create, .truncate],
      permissions: .ownerReadWrite)
    try Files.remove(paths.renumbered)
    return list
  }

  private func openRuns() throws -> (file: FileDescriptor, runs: RunFile) {
    let file = try openList()
    return (file, RunFile(file))
  }

  /// Builds the indexes; those that are left to SQLite.
  private func index(
    order: AssemblyOrder, placed: borrowing PlacedPages, roots: [String: UInt32],
    file: PageFile, pool: PagePool, pointers: PointerMap,
    progress: (AssemblyStep) throws -> Void, report: inout AssemblyReport
  ) throws -> [IndexJob] {
    var jobs: [IndexJob] = []
    for (table, pieces) in placed.tables {
      for index in layout.pageIndexes(of: table, schema: order.schema) where index.root == nil {
        guard let root = roots[index.name] else { throw PageError(.miswritten(page: 0)) }
        let reference = order.reference(index: index, table: table)
        jobs.append(
          IndexJob(
            index: index, root: root, pieces: pieces, reference: reference,
            targets: reference.map { placed[$0.destinationTable] } ?? []))
      }
    }
    try progress(.relinking(steps: 0))
    let complete = jobs.filter(\.isComplete)
    let outcomes = try build(
      complete, file: file, pool: pool, pointers: pointers, memory: order.memory,
      progress: progress)
    for job in complete {
      let made = outcomes.filter { $0.index == job.index.name }
      if var dangling = made.lazy.compactMap(\.dangling).first {
        dangling.count = made.reduce(0) { $0 + ($1.dangling?.count ?? 0) }
        report.danglingReferences.append(dangling)
      }
      let entries = made.reduce(0) { $0 + $1.entries }
      guard entries == job.size else {
        throw AssemblyError.rowsDiffer(
          table: job.index.name, expected: job.size, found: entries)
      }
    }
    return jobs.filter { !$0.isComplete }
  }

  /// Merges the keys of indexes, parts of large ones in parallel, and builds their trees.
  private func build(
    _ jobs: [IndexJob], file: PageFile, pool: PagePool, pointers: PointerMap, memory: Int64,
    progress: (AssemblyStep) throws -> Void
  ) throws -> [IndexJob.Outcome] {
    let bytes = Int(max(1 << 20, min(16 << 20, memory / 16)))
    var lists: [FileDescriptor] = []
    defer { for list in lists { try? list.close() } }
    let parts = try jobs.map { job in
      try job.parts(IndexPool.mostThreads) {
        let list = try openList()
        lists.append(list)
        return list
      }
    }
    let all = parts.flatMap(\.self)
    let indexPool = IndexPool(jobs: all, file: file, pool: pool, pointers: pointers, bytes: bytes)
    try progress(.indexing(units: all.reduce(0) { $0 + $1.bytes }, atOnce: 0))
    let outcomes = try indexPool.build(all.count) { try progress(.stepDone(units: $0)) }
    let stitcher = TableStitcher(file: file, pool: pool, pointers: pointers)
    for jobs in parts {
      guard let job = jobs.first, jobs.count > 1 else { continue }
      let made = outcomes.filter { $0.index == job.index.name }.sorted { $0.part < $1.part }
      try stitcher.stitch(
        index: job.root, moved: SectionReader(made.flatMap(\.leaves), bufferBytes: 1 << 18))
    }
    try stitcher.finish()
    return outcomes
  }

  /// Lists the free pages, and writes the first page last; how many pages are free.
  private func close(file: PageFile, pool: PagePool, pointers: PointerMap) throws -> Int {
    guard let head = layout.head else { throw PageError(.miswritten(page: 1), file: paths.result) }
    let free = pool.freePages()
    let stitcher = TableStitcher(file: file, pool: pool, pointers: pointers)
    let trunk = try stitcher.setFree(free)
    try stitcher.finish()
    try pointers.flush()
    try head.write(
      to: file, pageCount: free.pageCount, firstTrunk: trunk, freePages: UInt32(free.count))
    try file.descriptor.resize(
      to: Int64(free.pageCount) * Int64(PageGeometry.pageSize))
    return free.count
  }

  // MARK: What is left to SQLite

  private func complete(
    _ order: AssemblyOrder, placed: borrowing PlacedPages, left: [IndexJob],
    suspects: Set<String>, isRepeatable: Bool, isVacuumed: Bool,
    progress: (AssemblyStep) throws -> Void, report: inout AssemblyReport
  ) throws {
    let built = Set(
      placed.tables.flatMap { PageIndex.all(of: $0.name, schema: order.schema).map(\.name) }
    ).subtracting(left.map(\.index.name))
    let tables = Set(placed.tables.map(\.name))
    let names =
      left.map(\.index.name)
      + order.schema.allIndexes.filter { !built.contains($0.name) && tables.contains($0.table) }
      .map(\.name).filter { name in !left.contains { $0.index.name == name } }
    let references = order.plan.program.references.filter { check in
      tables.contains(check.table)
        && !isChecked(check, order: order, built: built.subtracting(suspects))
    }
    try progress(.verifying)
    let isChanged = !names.isEmpty || order.hasExtras
    guard isChanged || isVacuumed || !references.isEmpty || order.verifiesFully else { return }
    if isChanged, !isRepeatable { try forgetManifests(order) }
    let connection = try StoreConnection.scratch(
      order.result, cacheBytes: order.memory / 16, textEncoding: layout.encoding.rawValue)
    try connection.run { db in
      for name in names { try db.execute(sql: "REINDEX \(SQL.identifier(name: name))") }
      for reference in references {
        let count = try Int64.fetchOne(db, sql: reference.danglingCount) ?? 0
        if count > 0 {
          report.danglingReferences.append(
            DanglingReference(
              table: reference.table, column: reference.column, count: count))
        }
      }
      if order.verifiesFully { try FullVerification(order: order, layout: layout).verify(placed) }
      try order.writeExtras(db)
      if isVacuumed { try db.execute(sql: "PRAGMA incremental_vacuum") }
    }
    try connection.close()
    guard isVacuumed else { return }
    // Pages have moved.
    let lines = try IntegrityCheck(order.result, cacheBytes: order.memory / 16).lines()
    guard lines.isEmpty else { throw AssemblyError.damaged(Array(lines.prefix(5))) }
  }

  /// Makes the next run start over, since pages that manifests list are about to be reused or
  /// moved.
  private func forgetManifests(_ order: AssemblyOrder) throws {
    for manifest in order.manifests { try Files.remove(paths.manifest(manifest.order)) }
  }

  private func isChecked(
    _ check: ReferenceCheck, order: AssemblyOrder, built: Set<String>
  ) -> Bool {
    PageIndex.all(of: check.table, schema: order.schema).contains {
      built.contains($0.name) && order.reference(index: $0, table: check.table) == check
    }
  }
}
