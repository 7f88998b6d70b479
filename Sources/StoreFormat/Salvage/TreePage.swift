/// A page of a b-tree as far as its bytes hold together ("Database File Format", section 1.6).
struct TreePage {
  enum Kind { case table, index }

  /// A cell that lies on the page as a cell may.
  struct Cell: Hashable {
    /// Where the cell begins and ends on the page.
    var range: Range<Int>
    /// The key of a row; 0 in indexes.
    var key: Int64 = 0
    /// On interior pages: the page below.
    var child: UInt32 = 0
    /// The bytes of the record, 0 on interior pages of tables.
    var payload = 0
    /// Where the part of the record on this page lies.
    var local = 0..<0
    /// The first page of the rest of the record; 0 where nothing is left.
    var overflow: UInt32 = 0
  }

  let kind: Kind
  let isLeaf: Bool
  /// In the order of the page; nil for those that are damaged.
  private(set) var cells: [Cell?] = []
  /// On interior pages: the page with everything behind the last cell.
  private(set) var rightmost: UInt32 = 0
  /// Whether anything about the page is not as it should be.
  private(set) var isFlawed = false
  /// Whether bytes that nothing accounts for may be a cell that the page does not name any more.
  private(set) var mayHideCells = false

  private let bytes: [UInt8]
  private let usable: Int

  /// Reads a page; nil where it is none of the kind, or its header makes no sense.
  init?(_ bytes: [UInt8], number: UInt32, usable: Int, kind: Kind) {
    self.bytes = bytes
    self.usable = usable
    self.kind = kind
    let start = number == 1 ? HeaderField.size : 0
    let (interior, leaf) =
      kind == .table
      ? (PageType.interiorTable, PageType.leafTable) : (PageType.interiorIndex, PageType.leafIndex)
    guard bytes[start] == interior || bytes[start] == leaf else { return nil }
    isLeaf = bytes[start] == leaf
    let header = isLeaf ? PageField.leafHeaderSize : PageField.interiorHeaderSize
    let count = get(at: start + PageField.cellCount, count: 2)
    let pointersEnd = start + header + 2 * count
    guard pointersEnd <= usable else { return nil }
    if !isLeaf { rightmost = UInt32(get(at: start + PageField.rightmostChild, count: 4)) }
    var contents = get(at: start + PageField.contentStart, count: 2)
    if contents == 0 { contents = 65536 }
    if contents < pointersEnd || contents > usable {
      isFlawed = true
      contents = pointersEnd
    }
    for index in 0..<count {
      let offset = get(at: start + header + 2 * index, count: 2)
      cells.append(offset >= contents ? cell(at: offset) : nil)
    }
    account(from: contents, start: start)
  }

  private func get(at offset: Int, count: Int) -> Int {
    PageBytes.number(bytes, at: offset, count: count) ?? 0
  }

  // MARK: Cells

  private func cell(at offset: Int) -> Cell? {
    guard offset + 4 <= usable else { return nil }
    var found = Cell(range: offset..<offset)
    var at = offset
    if !isLeaf {
      found.child = UInt32(get(at: at, count: 4))
      at += 4
    }
    if isLeaf || kind == .index {
      guard let size = Varint(bytes, at: at, limit: usable), size.value < 1 << 31 else {
        return nil
      }
      found.payload = Int(size.value)
      at = size.end
    }
    if kind == .table {
      guard let key = Varint(bytes, at: at, limit: usable) else { return nil }
      found.key = Int64(bitPattern: key.value)
      at = key.end
    }
    let local = PageSizes.local(payload: found.payload, usable: usable, isIndex: kind == .index)
    guard at + local <= usable else { return nil }
    found.local = at..<at + local
    at += local
    if local < found.payload {
      guard at + 4 <= usable else { return nil }
      found.overflow = UInt32(get(at: at, count: 4))
      at += 4
    }
    found.range = offset..<max(at, offset + 4)
    guard found.range.upperBound <= usable, hasSoundRecord(found) else { return nil }
    return found
  }

  /// Whether the header of a record, where it is on the page as a whole, fits the record's size.
  private func hasSoundRecord(_ cell: Cell) -> Bool {
    if kind == .table && !isLeaf { return true }
    let end = cell.local.upperBound
    guard
      let header = Varint(bytes, at: cell.local.lowerBound, limit: end),
      header.value <= UInt64(cell.payload)
    else { return false }
    guard Int(header.value) <= cell.local.count else { return true }
    return SalvagedRecord.types(
      bytes, from: cell.local.lowerBound, payload: cell.payload, mostColumns: .max) != nil
  }

  /// The bytes of the page where a part of a record lies.
  func bytes(in range: Range<Int>) -> ArraySlice<UInt8> { bytes[range] }

  // MARK: Accounting

  /// Drops cells that overlap others, and searches for bytes that belong to nothing.
  private mutating func account(from contents: Int, start: Int) {
    var taken: [(range: Range<Int>, cell: Int?)] = []
    for (index, cell) in cells.enumerated() {
      if let cell { taken.append((cell.range, index)) } else { isFlawed = true }
    }
    taken += freeBlocks(from: contents, start: start).map { ($0, nil) }
    taken.sort { $0.range.lowerBound < $1.range.lowerBound }
    var (end, holder, fragments, holes) = (contents, Int?.none, 0, 0)
    for (range, cell) in taken {
      if range.lowerBound < end {
        isFlawed = true
        for index in [holder, cell].compactMap(\.self) { cells[index] = nil }
      }
      let gap = range.lowerBound - end
      if gap >= 4 { holes += 1 } else if gap > 0 { fragments += gap }
      if range.upperBound > end { (end, holder) = (range.upperBound, cell) }
    }
    let rest = usable - end
    if rest >= 4 { holes += 1 } else if rest > 0 { fragments += rest }
    if holes > 0 || fragments != get(at: start + 7, count: 1) { isFlawed = true }
    // Where a cell is given up, its bytes are a hole as well.
    mayHideCells = holes > cells.count { $0 == nil }
  }

  /// The free blocks of the page; those behind one that makes no sense are not known.
  private mutating func freeBlocks(from contents: Int, start: Int) -> [Range<Int>] {
    var found: [Range<Int>] = []
    var next = get(at: start + PageField.firstFreeBlock, count: 2)
    var least = contents
    while next != 0 {
      let size = get(at: next + 2, count: 2)
      guard next >= least, next + 4 <= usable, size >= 4, next + size <= usable else {
        isFlawed = true
        break
      }
      found.append(next..<next + size)
      least = next + size
      next = get(at: next, count: 2)
    }
    return found
  }
}

/// What a column of a record holds.
enum SalvagedValue: Hashable {
  case null
  case integer(Int64)
  case real(Double)
  /// In the encoding of the store.
  case text([UInt8])
  case blob([UInt8])
}

/// The values of a row or of an entry of an index.
enum SalvagedRecord {
  /// The serial types of a record whose sizes add up to the record's; nil where they do not.
  static func types(
    _ bytes: [UInt8], from start: Int, payload: Int, mostColumns: Int
  ) -> (types: [UInt64], body: Int)? {
    guard
      let header = Varint(bytes, at: start, limit: bytes.count),
      header.value <= UInt64(payload), header.end - start <= Int(header.value)
    else { return nil }
    let end = start + Int(header.value)
    guard end <= bytes.count else { return nil }
    var types: [UInt64] = []
    var (at, body) = (header.end, Int(header.value))
    while at < end {
      guard let type = Varint(bytes, at: at, limit: end),
        type.value < 1 << 32, type.value | 1 != 11, types.count < mostColumns
      else { return nil }
      types.append(type.value)
      at = type.end
      body += RecordFields.size(type: UInt32(type.value))
      guard body <= payload else { return nil }
    }
    return body == payload ? (types, end - start) : nil
  }

  /// The values of a whole record; nil where it is none of at most so many columns.
  static func values(of record: [UInt8], mostColumns: Int = .max) -> [SalvagedValue]? {
    guard
      let (types, body) = types(
        record, from: 0, payload: record.count, mostColumns: mostColumns)
    else { return nil }
    var at = body
    return types.map { type in
      let size = RecordFields.size(type: UInt32(type))
      defer { at += size }
      return value(type: type, bytes: record[at..<at + size])
    }
  }

  private static func value(type: UInt64, bytes: ArraySlice<UInt8>) -> SalvagedValue {
    switch type {
    case 0: return .null
    case 7: return .real(Double(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) }))
    case 8: return .integer(0)
    case 9: return .integer(1)
    case 1...6:
      let first = Int64(Int8(bitPattern: bytes.first ?? 0))
      return .integer(bytes.dropFirst().reduce(first) { $0 << 8 | Int64($1) })
    default: return type & 1 == 1 ? .text(Array(bytes)) : .blob(Array(bytes))
    }
  }
}
