import Dispatch
import EngineList
import MigrationEngine
import MigrationStatus
import Planning
import Schema
import StoreFormat
import Survey
import SystemPackage

/// What a migration should take, as far as the upper pages of a store's b-trees tell before any row
/// is counted.
struct RoughCosts {
  /// Counting a row in an index, and the rows of a table that has none, for each of its bytes.
  private static let (counted, read) = (20e-9, 0.06e-9)
  /// Counting a pair of a many-to-many relationship.
  private static let pair = 30e-9
  private let costs: PhaseCosts
  private let isByObject: Bool
  private let workers: Int

  /// Takes the engine that is asked for, nil for the one that stores of some size get.
  ///
  /// - Parameter callsPolicies: whether mapping models may be executed object by object.
  init(engine: EngineName?, callsPolicies: Bool = false, workers: Int) {
    isByObject = callsPolicies || EngineList.makesObjects(wish: engine)
    costs =
      isByObject
      ? EngineList.objectCosts : EngineList.likelyRowEngine(wish: engine).costs
    self.workers = workers
  }

  /// The seconds of each phase, on the machine of which costs are told.
  ///
  /// - Throws: `StoreError`, if the store cannot be read.
  func phases(ofStoreAt path: FilePath) throws -> [Phase: Double] {
    let reader = try StoreReader(immutable: path)
    let file = try SourceFile(path)
    let pageSize = try StoreHeader(ofSource: path).pageSize
    let indexes = try reader.indexCounts()
    var (rows, bytes, entries) = (0.0, 0.0, 0.0)
    var early: [Phase: Double] = [.surveying: 0, .planning: 0]
    for (name, table) in try reader.tableEntries() {
      let outline = TableOutline(file: file, pageSize: pageSize, root: UInt32(clamping: table.root))
      let own = outline.runs.reduce(0) { $0 + Double($1.leaves * $1.sampleRows) }
      let size = outline.runs.reduce(0) { $0 + Double($1.leaves * $1.sampleBytes) }
      let count = indexes[name] ?? 0
      rows += own
      bytes += size
      entries += own * Double(count)
      // Tables of pairs have names such as `Z_2TAGS`; they are counted when the work is divided.
      let isOfPairs = name.hasPrefix("Z_") && name.dropFirst(2).first?.isNumber == true
      early[isOfPairs ? .planning : .surveying, default: 0] +=
        isOfPairs ? own * Self.pair : count > 0 ? own * Self.counted : size * Self.read
    }
    return early.merging(
      phases(rows: rows, bytes: bytes, entries: entries), uniquingKeysWith: { $1 })
  }

  /// The seconds for so many rows and index entries, all of which are made anew.
  func phases(rows: Double, bytes: Double, entries: Double) -> [Phase: Double] {
    let share = isByObject ? 1 : Double(max(1, workers))
    let (rows, bytes) = (Int64(rows / share), Int64(bytes / share))
    let order = StageWork.Order(
      rows: rows, bytes: bytes, work: isByObject ? 0 : bytes + TableStatistics.rowWork * rows)
    return costs.phases(
      of: StageWork(
        orders: Array(repeating: order, count: Int(share)), indexEntries: entries,
        workers: workers))
  }
}

extension PhaseCosts {
  /// What the phases from `migrating` on should take, in seconds of a machine that may be another.
  func phases(of work: StageWork) -> [Phase: Double] {
    [
      .migrating: migrating(work), .merging: merging(work), .relinking: relinking(work),
      .indexing: indexing(work), .verifying: verifying(work), .swapping: swapping(work),
    ]
  }
}

extension StageWork {
  /// Takes what a plan says of a request's stage.
  init(_ plan: MigrationPlan, schema: StoreSchema, for request: MigrationRequest) {
    self.init(
      plan, schema: schema, workers: request.workersWithRoom,
      isVerifiedFully: request.verifiesFully, isSwapped: !request.isIntermediate)
  }
}

extension ProgressReporter {
  /// Takes what a migration should take before its store is surveyed; nothing for a small one.
  func expect(reading access: SourceAccess, for request: MigrationRequest) {
    guard access.fingerprint.bytes >= MachineSpeed.leastBytes else { return }
    // Nobody has read a mapping model yet; one that is named beside policies should name some.
    let rough = RoughCosts(
      engine: request.engine,
      callsPolicies: !request.policies.isEmpty && !request.mappings.isEmpty,
      workers: request.workersWithRoom)
    // Whatever is wrong with the store, the survey says.
    guard let costs = try? rough.phases(ofStoreAt: access.readable) else { return }
    let bytes = access.fingerprint.bytes
    // The survey goes on beside it.
    DispatchQueue.global().async {
      self.expect(atFirst: costs, bytes: bytes, speed: MachineSpeed.ratio(for: costs))
    }
  }
}
