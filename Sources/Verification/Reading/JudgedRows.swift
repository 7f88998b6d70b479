import Foundation
import StoreFormat

/// The rows of a table, a leaf at a time in the order of their keys, as the judge reads them: by
/// "Database File Format", sections 1.6 and 2.1, and by no code that an engine makes or digests
/// rows with.
///
/// Nothing of a page is trusted. What is not as in a sound table ends the reading.
final class JudgedRows {
  /// The rows of the present leaf between the keys.
  private(set) var count = 0

  /// A page that is still to be read, whose keys are larger than one and at most another.
  private struct Pending {
    var page: UInt32
    var above: Int64
    var upTo: Int64
  }

  /// Where a row of the leaf lies on its page.
  private struct Place {
    var key: Int64
    var record: Int
    var total: Int
  }

  private let pages: JudgedPages
  private let chains: JudgedPages
  private let usable: Int
  private var pending: [Pending] = []
  private var visited = 0
  private var range = Int64.min...Int64.max
  private var leaf: UnsafeRawPointer
  private var places: [Place] = []
  private var long = UnsafeMutableRawBufferPointer.allocate(byteCount: 0, alignment: 16)

  /// A longer record is SQLite's to read.
  static let mostBytes = 4 << 20

  /// Reads an unchanging file.
  init(_ file: SourceFile, sizes: PageSizes) {
    usable = sizes.usable
    pages = JudgedPages(file, size: sizes.page, most: 256 << 10)
    chains = JudgedPages(file, size: sizes.page, most: 64 << 10)
    leaf = pages.start
  }

  deinit { long.deallocate() }

  // MARK: Leaves

  /// Goes before the rows with keys of a range.
  func open(root: UInt32, range: ClosedRange<Int64>) {
    (self.range, count, visited) = (range, 0, 0)
    pending = [Pending(page: root, above: .min, upTo: .max)]
  }

  /// Reads the next leaf that has rows of the range; false behind the last one.
  func next() throws(UnsoundPage) -> Bool {
    count = 0
    while let last = pending.popLast() {
      visited += 1
      // Each page belongs to one table, so a reading of more pages goes in circles.
      guard visited <= pages.count else { throw UnsoundPage() }
      let page = try pages.page(last.page, ahead: ahead(of: last.page))
      let start = last.page == 1 ? 100 : 0
      switch page[start] {
      case 13: try read(page, start: start, in: last, isRoot: visited == 1)
      case 5: pending += try children(of: page, start: start, in: last).reversed()
      default: throw UnsoundPage()
      }
      if count > 0 { return true }
    }
    return false
  }

  /// How many pages from one on are worth reading at once: those that follow it soon.
  private func ahead(of page: UInt32) -> Int {
    var last = page
    for next in pending.reversed().prefix(63) {
      // Between them lie pages of long values.
      guard next.page > last, next.page - last <= 8, next.page - page < 64 else { break }
      last = next.page
    }
    return Int(last - page) + 1
  }

  /// The pages below one that may have rows of the range.
  private func children(
    of page: UnsafeRawPointer, start: Int, in bounds: Pending
  ) throws(UnsoundPage) -> [Pending] {
    let cells = page.number(start + 3, bytes: 2)
    guard cells > 0, start + 12 + 2 * cells <= usable else { throw UnsoundPage() }
    var found: [Pending] = []
    var above = bounds.above
    for cell in 0...cells {
      var child = Pending(page: 0, above: above, upTo: bounds.upTo)
      if cell < cells {
        let offset = page.number(start + 12 + 2 * cell, bytes: 2)
        var at = offset + 4
        guard offset < usable, let key = page.variable(&at, limit: usable) else {
          throw UnsoundPage()
        }
        child.page = UInt32(page.number(offset, bytes: 4))
        child.upTo = Int64(bitPattern: key)
        guard child.upTo > above, child.upTo <= bounds.upTo else { throw UnsoundPage() }
      } else {
        child.page = UInt32(page.number(start + 8, bytes: 4))
      }
      above = child.upTo
      if child.upTo >= range.lowerBound, child.above < range.upperBound { found.append(child) }
    }
    return found
  }

  private func read(
    _ page: UnsafeRawPointer, start: Int, in bounds: Pending, isRoot: Bool
  ) throws(UnsoundPage) {
    let cells = page.number(start + 3, bytes: 2)
    guard start + 8 + 2 * cells <= usable, cells > 0 || isRoot else { throw UnsoundPage() }
    leaf = page
    places.removeAll(keepingCapacity: true)
    var before = bounds.above
    for cell in 0..<cells {
      var at = page.number(start + 8 + 2 * cell, bytes: 2)
      guard let total = page.variable(&at, limit: usable), total < 1 << 31,
        let number = page.variable(&at, limit: usable)
      else { throw UnsoundPage() }
      let key = Int64(bitPattern: number)
      guard key > before, key <= bounds.upTo else { throw UnsoundPage() }
      before = key
      guard range.contains(key) else { continue }
      let held = heldBytes(of: Int(total))
      guard at + held + (held < total ? 4 : 0) <= usable else { throw UnsoundPage() }
      places.append(Place(key: key, record: at, total: Int(total)))
    }
    count = places.count
  }

  /// How much of a record its cell has: all that fits, else what leaves the last page of the rest
  /// as full as it can be.
  private func heldBytes(of total: Int) -> Int {
    if total <= usable - 35 { return total }
    let least = (usable - 12) * 32 / 255 - 23
    let fitting = least + (total - least) % (usable - 4)
    return fitting > usable - 35 ? least : fitting
  }

  // MARK: Rows

  /// The key of a row of the present leaf.
  @inline(__always)
  func key(_ place: Int) -> Int64 { places[place].key }

  /// The values of a row of the present leaf, valid until those of another one are requested.
  ///
  /// - Returns: whether it is short enough to be read.
  /// - Throws: `UnsoundPage`, also where it has more columns than its table.
  @inline(__always)
  func read(_ place: Int, columns: Int, into row: JudgedRow) throws(UnsoundPage) -> Bool {
    let (start, total) = (places[place].record, places[place].total)
    if total <= usable - 35 {
      return try row.read(leaf + start, total: total, columns: columns)
    }
    guard total <= Self.mostBytes else { return false }
    return try row.read(together(start, total: total), total: total, columns: columns)
  }

  /// Puts a record together from its cell and the pages behind it.
  private func together(_ start: Int, total: Int) throws(UnsoundPage) -> UnsafeRawPointer {
    if long.count < total + JudgedPages.padding {
      long.deallocate()
      long = .allocate(byteCount: 2 * total + JudgedPages.padding, alignment: 16)
      long.initializeMemory(as: UInt8.self, repeating: 0)
    }
    guard let bytes = long.baseAddress else { throw UnsoundPage() }
    var held = heldBytes(of: total)
    memcpy(bytes, leaf + start, held)
    var next = UInt32(leaf.number(start + held, bytes: 4))
    while held < total {
      let left = total - held
      let page = try chains.page(next, ahead: 1 + left / (usable - 4))
      let part = min(left, usable - 4)
      memcpy(bytes + held, page + 4, part)
      held += part
      next = UInt32(page.number(0, bytes: 4))
    }
    guard next == 0 else { throw UnsoundPage() }
    return UnsafeRawPointer(bytes)
  }

  // MARK: Parts of a table

  /// Keys that cut a table into ranges of some leaves each, rising; none of a small table.
  func cuts(root: UInt32) throws(UnsoundPage) -> [Int64] {
    open(root: root, range: .min ... .max)
    guard let top = try ends(below: pending[0]) else { return [] }
    // Few pages below the root may have very many rows each.
    guard top.count < 64 else { return top.dropLast().map(\.upTo) }
    var cuts: [Int64] = []
    for child in top {
      // Of two levels, those below are leaves.
      guard let below = try ends(below: child) else { return top.dropLast().map(\.upTo) }
      let step = max(1, below.count * top.count / 2000)
      cuts += stride(from: step - 1, to: below.count - 1, by: step).map { below[$0].upTo }
      if child.upTo < .max, cuts.last ?? .min < child.upTo { cuts.append(child.upTo) }
    }
    return cuts
  }

  /// The pages below an interior one; nil below a leaf.
  private func ends(below page: Pending) throws(UnsoundPage) -> [Pending]? {
    let bytes = try pages.page(page.page, ahead: 1)
    let start = page.page == 1 ? 100 : 0
    if bytes[start] == 13 { return nil }
    guard bytes[start] == 5 else { throw UnsoundPage() }
    return try children(of: bytes, start: start, in: page)
  }
}

/// The values of one row, where they lie.
///
/// Numbers are taken with up to eight bytes behind them, which memory of records has.
final class JudgedRow {
  /// How many columns the record has; those that were added later are NULL in it.
  private(set) var count = 0
  private var record: UnsafeRawPointer
  /// The serial type of each column, and where its value begins.
  private let columns: UnsafeMutablePointer<(type: UInt32, start: Int32)>
  private let capacity: Int

  /// Makes room for a row of so many columns.
  init(mostColumns: Int) {
    capacity = mostColumns
    columns = .allocate(capacity: max(1, mostColumns))
    record = UnsafeRawPointer(columns)
  }

  deinit { columns.deallocate() }

  /// Takes a record.
  ///
  /// - Throws: `UnsoundPage` where its header and its size do not agree, or where it has more
  ///   columns than its table.
  fileprivate func read(
    _ record: UnsafeRawPointer, total: Int, columns most: Int
  ) throws(UnsoundPage) -> Bool {
    var at = 0
    guard let size = record.variable(&at, limit: total), size <= UInt64(total) else {
      throw UnsoundPage()
    }
    let header = Int(size)
    var start = header
    var column = 0
    while at < header {
      guard column < min(most, capacity), let type = record.variable(&at, limit: header),
        type < 1 << 31, type != 10, type != 11
      else { throw UnsoundPage() }
      columns[column] = (UInt32(type), Int32(truncatingIfNeeded: start))
      start += Self.size(ofType: UInt32(type))
      guard start <= total else { throw UnsoundPage() }
      column += 1
    }
    guard at == header, start == total else { throw UnsoundPage() }
    (self.record, count) = (record, column)
    return true
  }

  /// The serial type of a column.
  @inline(__always)
  func type(_ place: Int) -> UInt32 { place < count ? columns[place].type : 0 }

  /// Where the value of a column begins; of one that the record has.
  @inline(__always)
  func start(_ place: Int) -> UnsafeRawPointer { record + Int(columns[place].start) }

  /// The bytes of a value.
  @inline(__always)
  func size(_ place: Int) -> Int { Self.size(ofType: type(place)) }

  /// Whether a column holds an INTEGER.
  @inline(__always)
  func isInteger(_ place: Int) -> Bool {
    switch type(place) {
    case 1...6, 8, 9: true
    default: false
    }
  }

  /// The number of a column that holds an INTEGER, or the bits of a REAL.
  @inline(__always)
  func number(_ place: Int) -> Int64 {
    let type = type(place)
    if type == 8 || type == 9 { return Int64(type & 1) }
    let word = Int64(bigEndian: start(place).loadUnaligned(as: Int64.self))
    return word >> Int64(64 - 8 * Self.size(ofType: type))
  }

  /// The serial type of a REAL.
  static let real: UInt32 = 7

  /// The bytes that values of a serial type have.
  @inline(__always)
  static func size(ofType type: UInt32) -> Int {
    switch type {
    case 0, 8, 9: 0
    case 1...4: Int(type)
    case 5: 6
    case 6, 7: 8
    default: Int(type - 12) / 2
    }
  }
}

/// Pages of an unchanging file, some of them in memory.
private final class JudgedPages {
  /// Bytes that are there behind the last page, and behind a record that was put together.
  static let padding = 16

  /// How many whole pages the file has.
  let count: Int
  private let file: SourceFile
  private let size: Int
  private let most: Int
  private let memory: UnsafeMutableRawPointer
  private var held = Range<UInt32>(uncheckedBounds: (0, 0))

  init(_ file: SourceFile, size: Int, most bytes: Int) {
    (self.file, self.size) = (file, size)
    count = Int(file.byteCount / Int64(size))
    most = max(1, min(bytes / size, count))
    memory = .allocate(byteCount: most * size + Self.padding, alignment: 16)
    // The bytes after the last page are not used, but have to exist.
    (memory + most * size).initializeMemory(as: UInt8.self, repeating: 0, count: Self.padding)
  }

  deinit { memory.deallocate() }

  /// Where pages are read to.
  var start: UnsafeRawPointer { UnsafeRawPointer(memory) }

  /// A page, valid until another one is requested.
  ///
  /// - Parameter ahead: how many pages from this one on are worth reading.
  func page(_ number: UInt32, ahead: Int) throws(UnsoundPage) -> UnsafeRawPointer {
    guard number > 0, Int(number) <= count else { throw UnsoundPage() }
    if !held.contains(number) {
      let wanted = max(1, min(ahead, most, count - Int(number) + 1))
      held = 0..<0
      let room = UnsafeMutableRawBufferPointer(start: memory, count: wanted * size)
      let found = try? file.read(room, at: Int64(number - 1) * Int64(size))
      guard found == room.count else { throw UnsoundPage() }
      held = number..<number + UInt32(wanted)
    }
    return start + Int(number - held.lowerBound) * size
  }
}

/// Numbers of a page.
extension UnsafeRawPointer {
  fileprivate subscript(offset: Int) -> UInt8 {
    @inline(__always) get { load(fromByteOffset: offset, as: UInt8.self) }
  }

  /// A number of a fixed length, the highest byte first.
  @inline(__always)
  fileprivate func number(_ offset: Int, bytes: Int) -> Int {
    var number = 0
    for place in offset..<offset + bytes { number = number << 8 | Int(self[place]) }
    return number
  }

  /// A number of one to nine bytes that end before the limit; nil where they do not.
  @inline(__always)
  fileprivate func variable(_ at: inout Int, limit: Int) -> UInt64? {
    guard at < limit else { return nil }
    var byte = self[at]
    at += 1
    if byte < 0x80 { return UInt64(byte) }
    var number = UInt64(byte & 0x7F)
    for _ in 0..<7 {
      guard at < limit else { return nil }
      byte = self[at]
      at += 1
      number = number << 7 | UInt64(byte & 0x7F)
      if byte < 0x80 { return number }
    }
    guard at < limit else { return nil }
    byte = self[at]
    at += 1
    return number << 8 | UInt64(byte)
  }
}
