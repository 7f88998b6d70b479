import MigrationStatus
import Planning
import Synchronization

/// The records of all work orders of a stage, as the status file gets them.
///
/// Workers change them by their links; one thread writes what has changed. Times are those of this
/// machine's clock, since workers may run on others.
final class OrderBoard: Sendable {
  private struct State {
    var records: [Int: OrderRecord] = [:]
    var changed: Set<Int> = []
  }

  private let state = Mutex(State())

  /// Starts with all work orders of a plan; some may be done.
  func begin(_ plan: MigrationPlan, finished: Set<Int>) {
    state.withLock { state in
      state = State()
      for order in plan.workOrders {
        var record = OrderRecord(
          workOrder: UInt32(order.number), partition: UInt32(order.partition),
          rowsTotal: UInt64(order.rows), bytesTotal: UInt64(order.bytes))
        if finished.contains(order.number) { record.finish() }
        state.records[order.number] = record
        state.changed.insert(order.number)
      }
    }
  }

  /// Changes the record of a work order, unless the plan has none of the number.
  func change(_ order: Int, _ body: (inout OrderRecord) -> Void) {
    state.withLock { state in
      guard var record = state.records[order] else { return }
      body(&record)
      state.records[order] = record
      state.changed.insert(order)
    }
  }

  /// Passes the records that have changed since the last call to a writer.
  func flush(to file: StatusFile) {
    let changed = state.withLock { state in
      defer { state.changed = [] }
      return state.changed.sorted().compactMap { state.records[$0] }
    }
    if !changed.isEmpty { file.write(parts: changed) }
  }
}

extension OrderRecord {
  /// Sets the record to a complete work order.
  mutating func finish() {
    state = .done
    (rowsDone, bytesDone) = (rowsTotal, bytesTotal)
  }
}
