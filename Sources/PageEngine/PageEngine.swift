package import MigrationEngine
package import Planning
import RowPrograms
import StoreFormat
import StoreNames
import Survey
import SystemCalls
import SystemPackage

/// Has workers write b-tree pages of the result themselves (docs/reference/store-pages.md).
package struct PageEngine: MigrationEngine {
  /// The name `pages`, by which `--engine` and the report refer to it.
  package static let name = EngineName.pages
  /// A tenth of the source: shards hold lists of leaves and sorted index keys, never rows.
  package static let shardTenths: Int64 = 1

  /// Shards have keys of indexes and lists of leaves, never rows; of the last extent of each order
  /// and of each thread that makes indexes pages are left over.
  package static func workBytes(beside sizes: ResultSizes) -> Int64 {
    let threads = sizes.builtIndexes > 0 ? Int64(IndexPool.mostThreads) : 0
    let left = (sizes.orders + threads) * PageLayout.extentBytes(ofResult: sizes.result)
    return sizes.sortedKeys + sizes.places + sizes.result / 64 + left + sizes.others / 2
      + 256 << 10
  }

  /// Rows are put under their roots without being read again, and proven on the way.
  package static let costs = PhaseCosts(
    row: 1.2e-6, byte: 1.0e-9, work: 1.2e-9, mergedRow: 0, mergedByte: 0.02e-9, relinkedRow: 0,
    indexEntry: 0.06e-6, verifiedByte: 0.03e-9, swappedByte: 0.04e-9)

  /// Every row is read.
  package static let leavesTables = false
  /// Only Godwit's own code runs.
  package static let runsForeignCode = false
  /// Every byte of the result is written.
  package var sharesBlocks: Bool { false }

  private var layout: PageLayout

  /// Refuses objects made one by one, and orders of computed objects.
  package static func refusal(of stage: StageInput) -> String? {
    guard case .rows(let program) = stage.work else { return "objects are made one by one" }
    let isComputed = program.orderFills.contains { fill in
      program.tables.contains { $0.destinationTable == fill.table && $0.hasCalls }
    }
    return isComputed ? "an order has to be made of computed objects" : nil
  }

  /// A b-tree that cannot be moved after all has its rows made one by one.
  package static func restriction(after error: any Error) -> PlanRestriction? {
    (error as? PageError)?.problem == .unmovable ? .movesNothing : nil
  }

  /// Plans the pieces of a stage, and which b-trees of the source move as they are.
  ///
  /// - Throws: `StoreError` where the source cannot be read.
  package static func plan(
    stage: StageInput, under restriction: PlanRestriction?
  ) throws -> (engine: PageEngine, plan: MigrationPlan) {
    let schema = stage.schema
    let moves =
      restriction == .movesNothing
      ? nil : try TreeMoves(survey: stage.survey, schema: schema, program: stage.program)
    var plan = try stage.rowPlan { statistics in
      for table in statistics.keys where statistics[table]?.slices.isEmpty == false {
        statistics[table]?.isMoved = moves?.tables[table] != nil
        statistics[table]?.movedIndexes = PageIndex.all(of: table, schema: schema)
          .map(\.name).filter { moves?.indexes[$0] != nil }
      }
    }
    plan.program = plan.program.placing()
    let layout = PageLayout(
      moves: moves, source: stage.survey.access.readable,
      encoding: TextEncoding(header: stage.survey.header.textEncoding),
      sourceBytes: stage.survey.access.fingerprint.bytes + stage.bytesFromFiles,
      isSole: plan.workOrders.count == 1, hasRemoteWorkers: stage.hasRemoteWorkers)
    return (PageEngine(layout: layout), plan)
  }

  /// Whether the pages that workers wrote are still there: no restart since, and no lost result.
  package func canResume(in paths: MigrationPaths) throws -> Bool {
    // A restart of the system may have lost what was never synced.
    if let boot = layout.boot, boot != Processes.bootID { return false }
    // What workers wrote is gone with the result: a run that got as far as to give it its name may
    // have been cut off there.
    return try Files.fileStatusIfPresent(paths.result) != nil
      || (!layout.isSole && Files.fileStatusIfPresent(paths.claims) == nil)
  }

  /// Whether the pages that a manifest lists are those that its worker wrote; they are not handed
  /// out again.
  package func takesUp(_ manifest: ShardManifest, in paths: MigrationPaths) throws -> Bool {
    guard let pages = try? manifest.outcome?.decoded(as: PageShard.self),
      let shard = FilePath.Component(manifest.shard),
      // Another SQLite may have made a longer skeleton.
      pages.extents.allSatisfy({ $0.first >= layout.firstPage })
    else { return false }
    let list = try Files.open(paths.work.appending(shard), mode: .readOnly, options: .noFollow)
    let isWhole = try list.closeAfter {
      let result = try Files.open(paths.result, mode: .readOnly, options: .noFollow)
      return try result.closeAfter {
        (try? PageSums.agree(pages.sums, shard: list, with: result)) ?? false
      }
    }
    guard isWhole, !layout.isSole, let last = pages.extents.map({ $0.first + $0.count }).max()
    else { return isWhole }
    let log = try Files.open(paths.claims, mode: .readWrite, options: .noFollow)
    try log.closeAfter {
      try ClaimLog.lengthen(
        log, firstPage: layout.firstPage, length: layout.extentLength, to: last)
    }
    return true
  }

  /// Makes the result with its skeleton, the log of claims and what rows look up.
  package mutating func prepare(
    _ stage: StageInput, plan: MigrationPlan, frame: StoreFrame, in paths: MigrationPaths,
    expecting bytes: Int64
  ) throws {
    try layout.prepare(paths, expecting: bytes)
    try layout.placeSkeleton(schema: stage.schema, frame: frame, in: paths)
    do {
      layout.lookUps = try LookUpMaker(
        stage, plan: plan, encoding: layout.encoding, in: paths
      ).make()
    } catch let error as PageError {
      throw error.at(file: stage.store)
    }
  }

  /// The `PageWork` of a work order.
  package func task(
    for order: WorkOrder, of plan: MigrationPlan, stage: StageInput, in paths: MigrationPaths,
    now: Double
  ) throws -> EnginePayload? {
    var work = layout.work(order, plan: plan, schema: stage.schema, paths: paths)
    work.remakesIndexes = stage.remakesIndexes
    return EnginePayload(work)
  }

  /// Whether workers sync: only where a restart would pass unnoticed, since the system does not
  /// name its start or is another machine's.
  package var syncsShards: Bool { layout.boot == nil }

  /// Adds a byte to the log of claims, as workers on this machine do themselves.
  ///
  /// - Throws: `PageError`, as `fileFull` where no page numbers are left.
  package func claimExtent(in paths: MigrationPaths) throws -> Int64 {
    let log = try Files.open(paths.claims, mode: .writeOnly, options: [.append])
    return try log.closeAfter { try ClaimLog.append(to: log) - 1 }
  }

  /// Replaces the result with a copy: workers that still have it open write to a file without a
  /// name.
  package func fence(_ paths: MigrationPaths) throws {
    guard layout.hasRemoteWorkers, try Files.fileStatusIfPresent(paths.result) != nil else {
      return
    }
    let copy = WorkFile.ResultSuffix.fenced.path(of: paths.result)
    try Files.remove(copy)
    try Files.cloneOrCopy(from: paths.result, to: copy)
    try Files.rename(copy, to: paths.result)
  }

  /// Has the system write the growing result to the disk, unless workers write past its cache or
  /// there is little to write.
  package func accompany(_ paths: MigrationPaths) throws -> (any Accompaniment)? {
    layout.isDirect || layout.isTight ? nil : try Writeback(paths.result)
  }

  /// Puts the pages under the roots of an empty store.
  ///
  /// - Throws: `PageError`, with the store as its file where what was read of it is the cause.
  package func assemble(
    _ order: AssemblyOrder, in paths: MigrationPaths, progress: (AssemblyStep) throws -> Void
  ) throws -> AssemblyReport {
    do {
      return try GraftAssembler(layout: layout, paths: paths).assemble(order, progress: progress)
    } catch let error as PageError {
      // What Godwit wrote and finds changed is no fault of the store.
      if case .miswritten = error.problem { throw error }
      throw error.at(file: order.store)
    }
  }

  /// Writes the rows of one work order into pages of the result.
  ///
  /// - Throws: `PageError`; `ShardError` where the work order lacks the engine's task.
  package static func makeShard(_ work: ShardWork) throws -> Shard {
    guard let task = try work.document.task?.decoded(as: PageWork.self) else {
      throw ShardError(.orderIncomplete)
    }
    do {
      var writer = try PageShardWriter(
        document: work.document, work: task, policies: work.policies,
        claimExtent: work.progress.claimExtent)
      let pieces = try work.write(into: &writer)
      let outcome = EnginePayload(try writer.finishPages())
      let read = writer.propertiesRead
      return Shard(
        pieces: pieces, bytes: try writer.finish(), digestsRows: work.document.digestsRows,
        outcome: outcome, read: read)
    } catch var error as PageError {
      // What has no place yet was found in reading, and the file that was read may be a copy.
      let source = FilePath(work.document.source)
      if try error.file == source || error.file == SourceFile.main(of: source) { error.file = nil }
      throw error.at(file: FilePath(work.document.store ?? work.document.source))
    }
  }
}
