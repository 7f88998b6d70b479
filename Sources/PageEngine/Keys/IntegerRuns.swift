/// A key of integers as the sort of an index sees it: compared by `high`, then by `low`.
package struct IntegerEntry: BitwiseCopyable, Hashable, Comparable, Sendable {
  /// The indexed value, in unsigned order.
  package var high: UInt64
  /// What follows in the index: the row number in unsigned order, or for a pair the second value in
  /// the upper and the row number in the lower 32 bits.
  package var low: UInt64

  /// Makes an entry of values that are in unsigned order already.
  @inline(__always)
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Maps an integer to an unsigned one in the same order.
  @inline(__always)
  package static func ordered(_ value: Int64) -> UInt64 {
    UInt64(bitPattern: value) ^ (1 << 63)
  }

  /// Maps the unsigned integer of `ordered` back.
  @inline(__always)
  package static func value(ordered: UInt64) -> Int64 { Int64(bitPattern: ordered ^ (1 << 63)) }

  /// Compares by `high`, then by `low`.
  @inline(__always)
  package static func < (a: Self, b: Self) -> Bool {
    a.high != b.high ? a.high < b.high : a.low < b.low
  }
}

/// Sorts entries into runs of bounded size.
package final class IntegerSorter {
  private let file: RunFile
  private let entries: UnsafeMutableBufferPointer<IntegerEntry>
  private let scratch: SortScratch
  private var used = 0
  /// The sorted runs in the file, each as long as the buffer or shorter.
  package private(set) var runs: [Section] = []

  /// Several sorters of one thread may share a scratch.
  package init(file: RunFile, capacity: Int, scratch: SortScratch) {
    self.file = file
    entries = .allocate(capacity: max(16, capacity))
    self.scratch = scratch
  }

  deinit { entries.deallocate() }

  /// Adds an entry; writes a run first where the buffer is full.
  @inline(__always)
  package func add(_ entry: IntegerEntry) throws(PageError) {
    if used == entries.count { try flush() }
    entries[used] = entry
    used += 1
  }

  /// Sorts what the buffer holds and appends it to the file as a run.
  package func flush() throws(PageError) {
    guard used > 0 else { return }
    let sorted = sort()
    runs.append(
      try file.append(
        UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: sorted[..<used])),
        count: Int64(used)))
    used = 0
  }

  /// Sorts by radix over those digits that differ; the buffer that holds the result.
  ///
  /// Entries come in the order of `low` as a rule; where they do not, they are first put into it.
  private func sort() -> UnsafeMutableBufferPointer<IntegerEntry> {
    var (isSorted, isLowSorted) = (true, true)
    var (lows, highs) = ((UInt64.max, UInt64.min), (UInt64.max, UInt64.min))
    var before = entries[0]
    for index in 0..<used {
      let entry = entries[index]
      if entry < before { isSorted = false }
      if entry.low < before.low { isLowSorted = false }
      lows = (min(lows.0, entry.low), max(lows.1, entry.low))
      highs = (min(highs.0, entry.high), max(highs.1, entry.high))
      before = entry
    }
    if isSorted { return entries }
    var (from, to) = (entries, scratch.entries(count: used))
    if !isLowSorted {
      scratch.sort(&from, to: &to, count: used, most: lows.1 - lows.0) { $0.low - lows.0 }
    }
    scratch.sort(&from, to: &to, count: used, most: highs.1 - highs.0) { $0.high - highs.0 }
    return from
  }
}

/// The second buffer of a sort by radix.
package final class SortScratch {
  private var buffer = UnsafeMutableBufferPointer<IntegerEntry>.allocate(capacity: 16)
  let counts = UnsafeMutableBufferPointer<Int>.allocate(capacity: 2048)

  /// Makes a scratch that grows with the first sort.
  package init() {}

  deinit {
    buffer.deallocate()
    counts.deallocate()
  }

  func entries(count: Int) -> UnsafeMutableBufferPointer<IntegerEntry> {
    if buffer.count < count {
      buffer.deallocate()
      buffer = .allocate(capacity: count)
    }
    return buffer
  }

  /// Sorts entries by radix over the digits of a part of them, which is not above `most`; those
  /// that agree in it stay as they stand.
  @inline(__always)
  func sort(
    _ from: inout UnsafeMutableBufferPointer<IntegerEntry>,
    to: inout UnsafeMutableBufferPointer<IntegerEntry>, count: Int, most: UInt64,
    part: (IntegerEntry) -> UInt64
  ) {
    var shift: UInt64 = 0
    while shift < 64, most >> shift != 0 {
      counts.update(repeating: 0)
      for index in 0..<count { counts[Int(part(from[index]) >> shift & 2047)] += 1 }
      var sum = 0
      for digit in 0..<2048 { (counts[digit], sum) = (sum, sum + counts[digit]) }
      for index in 0..<count {
        let digit = Int(part(from[index]) >> shift & 2047)
        to[counts[digit]] = from[index]
        counts[digit] += 1
      }
      swap(&from, &to)
      shift += 11
    }
  }

  /// The same in place.
  @inline(__always)
  func sort(
    _ entries: UnsafeMutableBufferPointer<IntegerEntry>, most: UInt64,
    part: (IntegerEntry) -> UInt64
  ) {
    var (from, to) = (entries, self.entries(count: entries.count))
    sort(&from, to: &to, count: entries.count, most: most, part: part)
    if from.baseAddress != entries.baseAddress {
      _ = entries.update(fromContentsOf: from[..<entries.count])
    }
  }
}

/// One run of integer entries, and what to add to their row numbers.
package struct IntegerRun {
  let reader: SectionReader
  let rowOffset: UInt64

  /// Takes what to add to the row numbers of the entries, modulo 2^64.
  package init(_ reader: SectionReader, rowOffset: UInt64 = 0) {
    self.reader = reader
    self.rowOffset = rowOffset
  }
}

/// Merges sorted runs into one.
package final class IntegerMerge {
  /// The entries of a run that are in memory.
  private struct Front {
    var at: UnsafePointer<IntegerEntry>
    var left: Int
    var rowOffset: UInt64
  }

  private let readers: [SectionReader]
  private let fronts: UnsafeMutablePointer<Front>
  private let heap: MergeHeap<IntegerEntry>

  /// Takes runs that are sorted, and reads the first entries of each.
  package init(_ runs: [IntegerRun]) throws(PageError) {
    readers = runs.map(\.reader)
    fronts = .allocate(capacity: max(1, runs.count))
    heap = MergeHeap(capacity: runs.count)
    for (index, run) in runs.enumerated() {
      guard let (start, size) = try run.reader.nextChunk(of: IntegerEntry.self) else { continue }
      fronts[index] = Front(at: start, left: size, rowOffset: run.rowOffset)
      heap.add(take(index), run: index)
    }
  }

  deinit { fronts.deallocate() }

  @inline(__always)
  private func take(_ run: Int) -> IntegerEntry {
    var entry = fronts[run].at.pointee
    entry.low &+= fronts[run].rowOffset
    fronts[run].at += 1
    fronts[run].left -= 1
    return entry
  }

  /// The smallest entry that is left; nil after the last one.
  package func next() throws(PageError) -> IntegerEntry? {
    guard let top = heap.top else { return nil }
    if fronts[top.run].left > 0 {
      heap.replaceTop(by: take(top.run))
    } else if let (start, size) = try readers[top.run].nextChunk(of: IntegerEntry.self) {
      fronts[top.run].at = start
      fronts[top.run].left = size
      heap.replaceTop(by: take(top.run))
    } else {
      heap.removeTop()
    }
    return top.entry
  }
}
