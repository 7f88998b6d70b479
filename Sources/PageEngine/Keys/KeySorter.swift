/// Sorts encoded keys into runs of bounded size.
///
/// Keys lie one after the other in one block of memory, each behind its length, and from the end of
/// the block downwards there is an entry for each of them: the bytes that it is sorted by at first,
/// and where it lies.
package final class KeySorter {
  /// Longer keys are left to SQLite.
  package static let keyLimit = 1 << 18
  /// The most bytes that a key has in a run: zeros take two, and a table has 2000 columns at most.
  static let encodedLimit = 2 * keyLimit + 2000 * 12 + KeyEncoder.tail(columns: 2000)

  private static let entrySize = MemoryLayout<IntegerEntry>.stride

  private let file: RunFile
  private let scratch: SortScratch
  private let chunkBytes: Int
  private var memory: UnsafeMutableRawPointer
  private var capacity: Int
  private var used = 0
  private var count = 0
  /// The sorted runs in the file.
  package private(set) var runs: [Section] = []
  /// For each run the offsets of some of its keys, rising: `Int64`.
  package private(set) var marks: [Section] = []

  /// Takes the bytes that keys may have in memory before they are written as a run; several sorters
  /// of one thread may share a scratch.
  ///
  /// - Parameter chunkBytes: how far the keys are apart that are marked.
  package init(
    file: RunFile, capacity: Int, scratch: SortScratch, chunkBytes: Int = 1 << 16
  ) {
    self.file = file
    self.chunkBytes = chunkBytes
    self.scratch = scratch
    self.capacity = max(4096, capacity) / Self.entrySize * Self.entrySize
    memory = .allocate(byteCount: self.capacity, alignment: Self.entrySize)
  }

  deinit { memory.deallocate() }

  /// Adds an encoded key; writes a run first where the memory is full.
  @inline(__always)
  package func add(_ key: UnsafeRawBufferPointer) throws(PageError) {
    if used + 4 + key.count + (count + 1) * Self.entrySize > capacity {
      try makeRoom(for: key.count)
    }
    guard let start = key.baseAddress else { return }
    memory.storeBytes(
      of: UInt32(truncatingIfNeeded: key.count), toByteOffset: used, as: UInt32.self)
    (memory + used + 4).copyMemory(from: start, byteCount: key.count)
    count += 1
    memory.storeBytes(
      of: IntegerEntry(high: 0, low: UInt64(used)),
      toByteOffset: capacity - count * Self.entrySize, as: IntegerEntry.self)
    // Lengths begin at multiples of four.
    used += 4 + (key.count + 3) & ~3
  }

  private func makeRoom(for key: Int) throws(PageError) {
    try flush()
    let needed = (key + 8 + 2 * Self.entrySize) / Self.entrySize * Self.entrySize
    if needed > capacity {
      memory.deallocate()
      capacity = needed
      memory = .allocate(byteCount: capacity, alignment: Self.entrySize)
    }
  }

  /// Sorts the keys in memory and appends them to the file as a run.
  package func flush() throws(PageError) {
    guard count > 0 else { return }
    var entries = UnsafeMutableBufferPointer(
      start: (memory + capacity - count * Self.entrySize).assumingMemoryBound(
        to: IntegerEntry.self), count: count)
    // They were put there from the end downwards.
    entries.reverse()
    KeySort(keys: memory, scratch: scratch).sort(entries, skipping: 0)
    let begin = file.end
    let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: chunkBytes, alignment: 16)
    defer { chunk.deallocate() }
    var filled = 0
    var places: [Int64] = []
    for entry in entries {
      let key = memory + Int(entry.low)
      let size = 4 + Int(key.load(as: UInt32.self))
      if filled > 0 && filled + size > chunk.count {
        _ = try file.append(UnsafeRawBufferPointer(rebasing: chunk[..<filled]), count: 0)
        filled = 0
        places.append(file.end - begin)
      }
      if size > chunk.count {
        _ = try file.append(UnsafeRawBufferPointer(start: key, count: size), count: 0)
      } else if let base = chunk.baseAddress {
        (base + filled).copyMemory(from: key, byteCount: size)
        filled += size
      }
    }
    _ = try file.append(UnsafeRawBufferPointer(rebasing: chunk[..<filled]), count: 0)
    runs.append(Section(offset: begin, bytes: file.end - begin, count: Int64(count)))
    let list = EntryCollector(file: file, entrySize: 8, bufferBytes: 1 << 13)
    for place in places { try list.add(place) }
    try list.flush()
    marks.append(list.sections.first ?? Section(offset: file.end, bytes: 0, count: 0))
    (used, count) = (0, 0)
  }
}

/// Sorts entries by the keys that they lead to.
private struct KeySort {
  /// Fewer are sorted by comparing them.
  private static let leastForRadix = 256
  /// So few take their places one after the other.
  private static let mostForInsertion = 16
  /// What is left of a range once its first digits are sorted is as a rule one entry.
  private static let bitsAtOnce: UInt64 = 33

  let keys: UnsafeMutableRawPointer
  let scratch: SortScratch

  /// Sorts by the bytes of the keys, whose first `known` bytes are equal.
  func sort(_ entries: UnsafeMutableBufferPointer<IntegerEntry>, skipping known: Int) {
    guard entries.count > 1 else { return }
    if entries.count < Self.leastForRadix {
      return compare(entries) { isLess($0.low, $1.low, from: known) }
    }
    let skip = commonBytes(entries, from: known)
    var isSorted = true
    var (low, high) = (UInt64.max, UInt64.min)
    var before: UInt64 = 0
    for index in 0..<entries.count {
      let word = word(entries[index].low, at: skip)
      entries[index].high = word
      (low, high) = (min(low, word), max(high, word))
      if isSorted && index > 0 {
        isSorted =
          before < word
          || (before == word && isLess(entries[index - 1].low, entries[index].low, from: skip))
      }
      before = word
    }
    if !isSorted { sort(entries, low: low, high: high, skip: skip) }
  }

  /// Sorts by the words that entries have in `high`, which lie between two values.
  private func sort(
    _ entries: UnsafeMutableBufferPointer<IntegerEntry>, low: UInt64, high: UInt64, skip: Int
  ) {
    let bits = UInt64(64 - (high - low).leadingZeroBitCount)
    let shift = bits > Self.bitsAtOnce ? bits - Self.bitsAtOnce : 0
    scratch.sort(entries, most: (high - low) >> shift) { ($0.high - low) >> shift }
    var first = 0
    while first < entries.count {
      let part = (entries[first].high - low) >> shift
      var next = first + 1
      while next < entries.count, (entries[next].high - low) >> shift == part { next += 1 }
      if next - first > 1 {
        finish(UnsafeMutableBufferPointer(rebasing: entries[first..<next]), skip: skip)
      }
      first = next
    }
  }

  /// Sorts entries that agree in the digits which were sorted by.
  private func finish(_ entries: UnsafeMutableBufferPointer<IntegerEntry>, skip: Int) {
    if entries.count < Self.leastForRadix {
      return compare(entries) { a, b in
        a.high != b.high ? a.high < b.high : isLess(a.low, b.low, from: skip + 8)
      }
    }
    var (low, high) = (UInt64.max, UInt64.min)
    for entry in entries { (low, high) = (min(low, entry.high), max(high, entry.high)) }
    if low == high {
      // Of keys as long as this word is, none is left: each has the number of its row.
      sort(entries, skipping: skip + 8)
    } else {
      sort(entries, low: low, high: high, skip: skip)
    }
  }

  /// Sorts a few entries.
  @inline(__always)
  private func compare(
    _ entries: UnsafeMutableBufferPointer<IntegerEntry>,
    isLess: (IntegerEntry, IntegerEntry) -> Bool
  ) {
    if entries.count > Self.mostForInsertion {
      var sorted = entries
      return sorted.sort(by: isLess)
    }
    for index in 1..<entries.count {
      let entry = entries[index]
      var place = index
      while place > 0, isLess(entry, entries[place - 1]) {
        entries[place] = entries[place - 1]
        place -= 1
      }
      entries[place] = entry
    }
  }

  @inline(__always)
  private func key(_ place: UInt64) -> UnsafeRawBufferPointer {
    let start = UnsafeRawPointer(keys + Int(place))
    return UnsafeRawBufferPointer(start: start + 4, count: Int(start.load(as: UInt32.self)))
  }

  /// Eight bytes of a key; those behind its end count as zeros.
  @inline(__always)
  private func word(_ place: UInt64, at: Int) -> UInt64 { KeyOrder.word(key(place), at: at) }

  /// How many bytes all keys have in common at their beginning, at least those that are known.
  private func commonBytes(
    _ entries: UnsafeMutableBufferPointer<IntegerEntry>, from known: Int
  ) -> Int {
    let first = key(entries[0].low)
    var common = first.count
    for index in 1..<entries.count where common > known {
      let other = key(entries[index].low)
      common = KeyOrder.common(first, other, from: known, to: min(common, other.count))
    }
    return max(known, common)
  }

  @inline(__always)
  private func isLess(_ a: UInt64, _ b: UInt64, from known: Int) -> Bool {
    KeyOrder.isLess(key(a), key(b), from: known)
  }
}

/// The order of encoded keys: that of their bytes, a beginning before what it begins.
enum KeyOrder {
  @inline(__always)
  static func isLess(
    _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, from known: Int = 0
  ) -> Bool {
    let count = min(a.count, b.count)
    let at = common(a, b, from: known, to: count)
    if at < count { return a[at] < b[at] }
    return a.count < b.count
  }

  /// Where two keys differ first, at or after one place and before another, to which both reach;
  /// the latter where they do not.
  @inline(__always)
  static func common(
    _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, from: Int, to end: Int
  ) -> Int {
    guard from < end, let one = a.baseAddress, let other = b.baseAddress else {
      return min(from, end)
    }
    var at = from
    while at + 8 <= end {
      let difference =
        one.loadUnaligned(fromByteOffset: at, as: UInt64.self)
        ^ other.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      if difference != 0 { return at + UInt64(littleEndian: difference).trailingZeroBitCount / 8 }
      at += 8
    }
    while at < end, a[at] == b[at] { at += 1 }
    return at
  }

  /// Eight bytes of a key as a number; those behind its end count as zeros.
  @inline(__always)
  static func word(_ key: UnsafeRawBufferPointer, at: Int) -> UInt64 {
    guard let start = key.baseAddress, at < key.count else { return 0 }
    if at + 8 <= key.count {
      return UInt64(bigEndian: start.loadUnaligned(fromByteOffset: at, as: UInt64.self))
    }
    var word: UInt64 = 0
    for index in at..<at + 8 { word = word << 8 | (index < key.count ? UInt64(key[index]) : 0) }
    return word
  }
}
