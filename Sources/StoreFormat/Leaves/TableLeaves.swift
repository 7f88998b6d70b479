/// The rows of a table in the order of their keys, a leaf at a time, by a reading of the b-tree
/// that shares no code with the cursors of workers ("Database File Format", section 1.6).
///
/// Nothing of a page is trusted: keys rise, and stay between those of the pages above. What is not
/// as it should be ends the reading.
final class TableLeaves {
  /// The keys of the rows of the present leaf.
  let keys: UnsafeMutablePointer<Int64>
  /// Their records; nil for those that continue on other pages.
  let records: UnsafeMutablePointer<UnsafeRawPointer?>
  /// The bytes of their records.
  let totals: UnsafeMutablePointer<Int>

  private struct Level {
    var children: [UInt32]
    var keys: [Int64]
    var next: Int
    /// Rows below have larger keys than this one, and none that is larger than the next.
    var lower: Int64
    var upper: Int64
  }

  private let pages: PageRuns
  private let rest: PageRuns
  private let sizes: PageSizes
  private var levels: [Level] = []
  private var leaf: UnsafeRawPointer?
  private var start = 0
  private var (from, last) = (Int64.min, Int64.max)
  private var (lower, upper) = (Int64.min, Int64.max)
  private var isBehind = false
  /// Where the part of a long record on the leaf begins, by the place of its row.
  private var longs: [Int: UnsafeRawPointer] = [:]
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 0, alignment: 16)

  /// The most bytes of a record that are put together.
  static let mostBytes = 4 << 20
  /// A b-tree of more levels would hold more rows than there are keys.
  private static let mostLevels = 20

  /// Reads an unchanging file.
  init(_ file: SourceFile, sizes: PageSizes) {
    self.sizes = sizes
    pages = PageRuns(file, sizes: sizes)
    rest = PageRuns(file, sizes: sizes, bytes: 64 << 10)
    let most = sizes.page / 4
    keys = .allocate(capacity: most)
    records = .allocate(capacity: most)
    records.initialize(repeating: nil, count: most)
    totals = .allocate(capacity: most)
  }

  deinit {
    keys.deallocate()
    records.deallocate()
    totals.deallocate()
    memory.deallocate()
  }

  // MARK: Leaves

  /// Goes before the rows with keys between two of them, both included.
  func open(root: UInt32, from first: Int64, to last: Int64) throws(UnsoundPage) {
    levels = []
    self.last = last
    leaf = nil
    guard last > .min else { return }
    try descend(to: root, run: 1, lower: .min, upper: .max, key: first)
  }

  /// Reads the next leaf; the number of its rows between the keys, 0 behind the last.
  func next() throws(UnsoundPage) -> Int {
    while true {
      if let page = leaf {
        leaf = nil
        let count = try read(page)
        if count > 0 { return count }
        // Nothing is left, or the first leaf ends before the first key.
        if isBehind { return 0 }
      }
      guard try advance() else { return 0 }
    }
  }

  private func advance() throws(UnsoundPage) -> Bool {
    while let level = levels.last {
      guard !isBehind, level.next < level.children.count else {
        levels.removeLast()
        continue
      }
      levels[levels.count - 1].next += 1
      let place = level.next
      try descend(
        to: level.children[place], run: PageRuns.length(of: level.children, from: place),
        lower: place == 0 ? level.lower : level.keys[place - 1],
        upper: place < level.keys.count ? level.keys[place] : level.upper, key: from)
      return true
    }
    return false
  }

  /// Goes down to the leaf with the first row whose key is not less than the given one.
  private func descend(
    to page: UInt32, run: Int, lower: Int64, upper: Int64, key: Int64
  ) throws(UnsoundPage) {
    var (number, run, lower, upper) = (page, run, lower, upper)
    (isBehind, from) = (false, key)
    while true {
      let bytes = try pages.page(number, run: run)
      let start = number == 1 ? HeaderField.size : 0
      if bytes.load(fromByteOffset: start, as: UInt8.self) == PageType.leafTable {
        (leaf, self.start, self.lower, self.upper) = (bytes, start, lower, upper)
        return
      }
      guard levels.count < Self.mostLevels else { throw UnsoundPage() }
      var level = try Self.level(bytes, start: start, sizes: sizes, lower: lower, upper: upper)
      let place = level.keys.firstIndex { $0 >= key } ?? level.keys.count
      level.next = place + 1
      if place > 0 { lower = level.keys[place - 1] }
      if place < level.keys.count { upper = level.keys[place] }
      number = level.children[place]
      run = PageRuns.length(of: level.children, from: place)
      levels.append(level)
    }
  }

  private static func level(
    _ bytes: UnsafeRawPointer, start: Int, sizes: PageSizes, lower: Int64, upper: Int64
  ) throws(UnsoundPage) -> Level {
    let count = bytes.short(start + PageField.cellCount)
    guard bytes.load(fromByteOffset: start, as: UInt8.self) == PageType.interiorTable, count > 0,
      start + PageField.interiorPointer(count) <= sizes.usable
    else { throw UnsoundPage() }
    var level = Level(children: [], keys: [], next: 0, lower: lower, upper: upper)
    level.children.reserveCapacity(count + 1)
    level.keys.reserveCapacity(count)
    var before = lower
    for cell in 0..<count {
      let offset = bytes.short(start + PageField.interiorPointer(cell))
      guard offset + 4 < sizes.usable,
        let key = Varint(bytes, at: offset + 4, limit: sizes.usable)
      else { throw UnsoundPage() }
      let number = Int64(bitPattern: key.value)
      guard number > before, number <= upper else { throw UnsoundPage() }
      level.children.append(bytes.long(offset))
      level.keys.append(number)
      before = number
    }
    level.children.append(bytes.long(start + PageField.rightmostChild))
    return level
  }

  private func read(_ page: UnsafeRawPointer) throws(UnsoundPage) -> Int {
    let (start, usable, upper, from, last) = (self.start, sizes.usable, upper, from, last)
    let count = page.short(start + PageField.cellCount)
    guard start + PageField.leafPointer(count) <= usable, count < sizes.page / 4,
      count > 0 || levels.isEmpty
    else { throw UnsoundPage() }
    var found = 0
    var before = lower
    longs.removeAll(keepingCapacity: true)
    for cell in 0..<count {
      let offset = page.short(start + PageField.leafPointer(cell))
      guard let payload = Varint(page, at: offset, limit: usable), payload.value < 1 << 31,
        let number = Varint(page, at: payload.end, limit: usable)
      else { throw UnsoundPage() }
      let (key, total) = (Int64(bitPattern: number.value), Int(payload.value))
      guard key > before, key <= upper else { throw UnsoundPage() }
      before = key
      if key < from { continue }
      if key > last {
        isBehind = true
        break
      }
      let local = sizes.local(payload: total, isIndex: false)
      guard number.end + local + (local < total ? 4 : 0) <= usable else { throw UnsoundPage() }
      keys[found] = key
      totals[found] = total
      records[found] = local == total ? page + number.end : nil
      if local < total { longs[found] = page + number.end }
      found += 1
    }
    if upper >= last { isBehind = true }
    return found
  }

  /// The record of a row of the present leaf as far as it lies there, and how far that is.
  func head(_ place: Int) throws(UnsoundPage) -> (record: UnsafeRawPointer, held: Int) {
    let total = totals[place]
    guard let record = records[place] ?? longs[place] else { throw UnsoundPage() }
    return (record, sizes.local(payload: total, isIndex: false))
  }

  // MARK: Long records

  /// The record of a row of the present leaf whose place in `records` is nil; it is valid until the
  /// next one is requested.
  ///
  /// - Throws: `UnsoundPage`, also where it is longer than `mostBytes`.
  func record(_ place: Int) throws(UnsoundPage) -> UnsafeRawPointer {
    let total = totals[place]
    guard total <= Self.mostBytes, let start = longs[place] else { throw UnsoundPage() }
    return try assemble(total, from: start)
  }

  private func assemble(
    _ total: Int, from start: UnsafeRawPointer
  ) throws(UnsoundPage) -> UnsafeRawPointer {
    if memory.count < total + RecordFields.padding {
      memory.deallocate()
      memory = .allocate(byteCount: total + total / 2 + RecordFields.padding, alignment: 16)
      memory.initializeMemory(as: UInt8.self, repeating: 0)
    }
    guard let base = memory.baseAddress else { throw UnsoundPage() }
    var held = sizes.local(payload: total, isIndex: false)
    base.copyMemory(from: start, byteCount: held)
    var next = start.long(held)
    let room = sizes.usable - 4
    while held < total {
      let page = try rest.page(next, run: (total - held + room - 1) / room)
      let count = min(room, total - held)
      (base + held).copyMemory(from: page + 4, byteCount: count)
      held += count
      next = page.long(0)
    }
    guard next == 0 else { throw UnsoundPage() }
    return UnsafeRawPointer(base)
  }
}
