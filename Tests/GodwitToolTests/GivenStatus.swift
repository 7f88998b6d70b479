import Foundation
import SystemCalls
import SystemPackage

@testable import Godwit
@testable import MigrationStatus

/// The status of a migration that never was.
struct GivenStatus {
  /// What is in the status file.
  var run: RunRecord
  var parts: [OrderRecord] = []
  /// The record beside the store.
  var record: OutcomeRecord?
  var free: UInt64? = 5 << 30
  var isAlive = true

  /// A migration amid its rows, with workers at work on as many tables.
  init(workers: Int = 2) {
    run = RunRecord(run: .random(), boot: .none, coordinator: 7, coordinatorStart: 7, at: 1)
    run.enter(.migrating, at: 2)
    (run.rowsTotal, run.bytesTotal) = (1_000_000, 100 << 20)
    (run.workOrders, run.workersWanted) = (UInt32(workers) + 1, UInt32(workers))
    (run.memoryLimit, run.diskNeed, run.peakMemory) = (256 << 20, 3 << 30, 9 << 20)
    (run.fraction, run.secondsRemaining) = (0.52, 75)
    parts = (0..<workers).map { worker($0) }
  }

  private func worker(_ index: Int) -> OrderRecord {
    let number = UInt32(index) + 1
    var part = OrderRecord(
      workOrder: number, partition: 1, rowsTotal: 100_000, bytesTotal: 10 << 20)
    part.start(process: 100 + Int32(index), processStart: 7, at: 3)
    (part.rowsDone, part.bytesDone, part.lastKey) = (45_000, 5 << 20, 45_678)
    (part.peakMemory, part.memoryLimit) = (21 << 20, 85 << 20)
    part.table = "ZTABLE\(number)"
    return part
  }

  /// What a monitor says of it.
  var status: MigrationMonitor.Status { told(amid: nil) }

  /// What a monitor says of it while a stage is at work, of which the stage's own file tells.
  func told(amid stage: GivenStatus?) -> MigrationMonitor.Status {
    let isAlive = isAlive
    let surroundings = Surroundings(
      time: 4, boot: nil, presence: { _, _ in isAlive ? .running : .gone })
    func seen(_ given: GivenStatus) -> StatusSnapshot {
      StatusSnapshot(
        contents: StatusContents(run: given.run, parts: given.parts), surroundings: surroundings)
    }
    var snapshot = seen(self)
    if run.stages > 1 { snapshot.show(stage.map(seen), of: run) }
    guard
      var report = StatusReport(
        live: (run, snapshot), record: record, surroundings: surroundings)
    else { preconditionFailure("it has a status file") }
    report.freeBytes = free
    return MigrationMonitor.Status(core: report)
  }

  /// A migration amid the stage of that number, of three.
  static func staged(at number: UInt32) -> GivenStatus {
    var given = GivenStatus(workers: 0)
    (given.run.stage, given.run.stages) = (number, 3)
    (given.run.workOrders, given.run.rowsTotal, given.run.bytesTotal) = (0, 0, 30_000)
    return given
  }

  var progress: MigrationProgress {
    guard let progress = status.progress else { preconditionFailure("it has a status file") }
    return progress
  }
}
