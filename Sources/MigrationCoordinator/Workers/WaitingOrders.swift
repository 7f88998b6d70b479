import Planning

/// The work orders that no worker has started on, and the memory of those that run.
///
/// The number of workers may change meanwhile: all processes together stay within the memory of the
/// run, so one more worker than planned starts once what runs has left it its share.
struct WaitingOrders {
  private var waiting: ArraySlice<WorkOrderDocument>
  private var memories: [Int: Int64] = [:]
  private let memory: Int64
  /// What a process takes before it has done anything.
  private static let leastBytes: Int64 = 8 << 20

  /// How many workers have room next to the coordinator, at least one and at most `workers`.
  static func room(for workers: Int, memory: Int64) -> Int {
    max(1, min(workers, Int(memory / leastBytes) - 1))
  }

  /// The share of each process where so many workers run next to the coordinator, in bytes.
  static func share(of memory: Int64, among workers: Int) -> Int64 { memory / Int64(workers + 1) }

  /// Takes the orders in the sequence in which they start, and the memory of all processes.
  init(_ documents: [WorkOrderDocument], memory: Int64) {
    waiting = documents[...]
    self.memory = memory
  }

  /// How many orders run.
  var running: Int { memories.count }

  /// Starts the next order, with its share of the memory; nil if none may start now.
  mutating func next(atMost wanted: Int) -> WorkOrderDocument? {
    let limit = Self.room(for: wanted, memory: memory)
    guard running < limit, var next = waiting.first else { return nil }
    let share = Self.share(of: memory, among: limit)
    next.memory = min(next.memory, share)
    // The coordinator has a share as well.
    let free = memory - share - memories.values.reduce(0, +)
    guard memories.isEmpty || next.memory <= free else { return nil }
    waiting.removeFirst()
    memories[next.order.number] = next.memory
    return next
  }

  /// Takes back the memory of an order that has ended.
  mutating func end(_ document: WorkOrderDocument) {
    memories[document.order.number] = nil
  }
}
