/// The first entries of sorted runs that are merged, the smallest on top.
///
/// A step takes the logarithm of the number of runs. Of equal entries that of the run with the
/// lower number comes first, so a merge does not depend on how the heap came about.
final class MergeHeap<Entry: Comparable & BitwiseCopyable> {
  private struct Node: BitwiseCopyable {
    var entry: Entry
    var run: Int

    @inline(__always)
    func precedes(_ other: Node) -> Bool {
      entry < other.entry || (run < other.run && !(other.entry < entry))
    }
  }

  // Nothing outside can reach the memory; `count` of it is initialized, and it holds no references.
  private let nodes: UnsafeMutablePointer<Node>
  private let capacity: Int
  private var count = 0

  /// Makes room for the entries of so many runs.
  init(capacity: Int) {
    self.capacity = max(1, capacity)
    nodes = .allocate(capacity: self.capacity)
  }

  deinit { nodes.deallocate() }

  /// The smallest entry and the number of its run; nil where no run has any.
  @inline(__always)
  var top: (entry: Entry, run: Int)? { count == 0 ? nil : (nodes[0].entry, nodes[0].run) }

  /// Adds the first entry of a run that has none in the heap.
  func add(_ entry: Entry, run: Int) {
    precondition(count < capacity, "a merge has as many entries as runs")
    var index = count
    let moving = Node(entry: entry, run: run)
    count += 1
    while index > 0 {
      let parent = (index - 1) / 2
      if !moving.precedes(nodes[parent]) { break }
      nodes[index] = nodes[parent]
      index = parent
    }
    nodes[index] = moving
  }

  /// Replaces the smallest entry with the next one of the same run.
  @inline(__always)
  func replaceTop(by entry: Entry) {
    nodes[0].entry = entry
    sinkTop()
  }

  /// Removes the smallest entry, whose run has ended.
  func removeTop() {
    count -= 1
    guard count > 0 else { return }
    nodes[0] = nodes[count]
    sinkTop()
  }

  @inline(__always)
  private func sinkTop() {
    var index = 0
    let moving = nodes[0]
    while true {
      var child = index * 2 + 1
      if child >= count { break }
      if child + 1 < count && nodes[child + 1].precedes(nodes[child]) { child += 1 }
      if !nodes[child].precedes(moving) { break }
      nodes[index] = nodes[child]
      index = child
    }
    nodes[index] = moving
  }
}
