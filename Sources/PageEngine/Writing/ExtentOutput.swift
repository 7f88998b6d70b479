import Dispatch
import Synchronization
import SystemCalls

/// The memory in which extents are made, and the way from there to the file.
///
/// Behind its maker, it writes in threads of its own while the next extents are made in other
/// memory: what goes past the page cache takes as long as the disk. What is written to one page
/// keeps its order.
final class ExtentOutput {
  /// One extent's memory.
  private struct Slot {
    let memory: UnsafeMutableRawPointer
    let queue: DispatchQueue?
    /// Signalled once all that was made in the memory is written.
    let isFree = DispatchSemaphore(value: 0)
    /// What it was used for last.
    var extent = Extent(first: 0, count: 0)

    init(memory: UnsafeMutableRawPointer, queue: DispatchQueue?) {
      self.memory = memory
      self.queue = queue
    }
  }

  private final class Outcome: Sendable {
    let failure = Mutex<PageError?>(nil)
  }

  private let file: PageFile
  private let queues: [DispatchQueue]
  private let outcome = Outcome()
  private let memoryOfAll: UnsafeMutableRawPointer
  private var slots: [Slot]
  private var current = 0

  init(file: PageFile, pages: UInt32, isBehind: Bool) {
    self.file = file
    // Two, so that the disk has its next write when it has done one.
    let queues = isBehind ? [DispatchQueue(label: "pages 1"), DispatchQueue(label: "pages 2")] : []
    self.queues = queues
    let size = Int(pages) * PageGeometry.pageSize
    let count = isBehind ? 4 : 1
    let memory = UnsafeMutableRawPointer.allocateLarge(byteCount: count * size)
    self.memoryOfAll = memory
    slots = (0..<count).map {
      Slot(memory: memory + $0 * size, queue: isBehind ? queues[$0 % 2] : nil)
    }
    for slot in slots.dropFirst() { slot.isFree.signal() }
  }

  deinit {
    for queue in queues { queue.sync {} }
    memoryOfAll.deallocate()
  }

  /// Where the pages of the extent are made.
  var memory: UnsafeMutableRawPointer { slots[current].memory }

  /// Writes pages of the extent, which stay as they are until `turn`.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(PageError) {
    guard let queue = slots[current].queue else { return try file.write(bytes, at: offset) }
    // Safe: these bytes do not change before they are written. `turn` continues in other memory,
    // and comes back to this only after `isFree`, which the same queue signals behind this write;
    // `finish` and `deinit` wait for the queues.
    nonisolated(unsafe) let bytes = bytes
    queue.async { [file, outcome] in Self.write(bytes, at: offset, file: file, outcome: outcome) }
  }

  /// Writes a page that is not of the extent, but may be of one before.
  func write(_ page: UInt32, bytes: UnsafeRawPointer) throws(PageError) {
    // If it is not yet written, it is before this in its queue.
    let slot = slots.first { $0.extent.contains(page) } ?? slots[current]
    guard let queue = slot.queue else { return try file.write(page: page, from: bytes) }
    // Safe: only the closure has the copy once it is made, and the closure frees it.
    nonisolated(unsafe) let copy = UnsafeMutableRawBufferPointer.allocate(
      byteCount: PageGeometry.pageSize, alignment: PageGeometry.pageSize)
    copy.copyMemory(from: UnsafeRawBufferPointer(start: bytes, count: copy.count))
    queue.async { [file, outcome] in
      Self.write(
        UnsafeRawBufferPointer(copy), at: PageGeometry.offset(page: page), file: file,
        outcome: outcome)
      copy.deallocate()
    }
  }

  /// Continues with another extent, in other memory while this one is being written.
  func turn(to extent: Extent) throws(PageError) {
    if let queue = slots[current].queue {
      queue.async { [isFree = slots[current].isFree] in _ = isFree.signal() }
      current = (current + 1) % slots.count
      slots[current].isFree.wait()
      try check()
    }
    slots[current].extent = extent
  }

  /// Returns when all is written.
  func finish() throws(PageError) {
    for queue in queues { queue.sync {} }
    try check()
  }

  private func check() throws(PageError) {
    if let failure = outcome.failure.withLock({ $0 }) { throw failure }
  }

  private static func write(
    _ bytes: UnsafeRawBufferPointer, at offset: Int64, file: PageFile, outcome: Outcome
  ) {
    do {
      try file.write(bytes, at: offset)
    } catch {
      outcome.failure.withLock { $0 = $0 ?? error }
    }
  }
}
