import Foundation

/// Goes through b-trees on one thread, and through every page of their long records.
///
/// What is not as SQLite's `integrity_check` wants it ends the walk.
final class TreeWalk {
  /// What was counted of the present tree.
  struct Totals {
    var rows: Int64 = 0
    /// By index of a table; of an index its own.
    var sums: [UInt64] = []
    /// How many levels are above the leaves.
    var depth: Int?

    /// Adds what was counted of another part; false where that has other levels.
    mutating func add(_ other: Totals) -> Bool {
      rows += other.rows
      for place in other.sums.indices { sums[place] &+= other.sums[place] }
      if depth == nil { depth = other.depth }
      return other.depth == nil || other.depth == depth
    }
  }

  private let pages: PageRuns
  private let rest: PageRuns
  let owners: OwnerMap
  private let sizes: PageSizes
  private let seed: UInt64
  private let extents: UnsafeMutablePointer<UInt64>
  private let long: UnsafeMutableRawPointer
  private let fields: RecordFields
  /// Copies of the pages above the present leaf, which others replace in `pages`.
  private var above: [UnsafeMutableRawPointer] = []
  private(set) var totals = Totals()
  /// The entry of an index before the next one, its fields, and memory where it stays.
  private var last: IndexEntry?
  private let lastFields: RecordFields
  private let lastRecord: UnsafeMutableRawPointer

  /// The maximum number of bytes of a record that is read; of longer ones only the pages are
  /// checked.
  private let mostHeld: Int
  private static let mostColumns = 2000
  private static let mostLevels = 20

  init(_ file: SourceFile, sizes: PageSizes, ledger: PageLedger, seed: UInt64) {
    (self.sizes, self.seed) = (sizes, seed)
    mostHeld = Int(min(1 << 20, file.byteCount))
    pages = PageRuns(file, sizes: sizes)
    rest = PageRuns(file, sizes: sizes, bytes: 64 << 10)
    owners = OwnerMap(file, sizes: sizes, ledger: ledger)
    extents = .allocate(capacity: sizes.page / 2)
    long = .zeros(mostHeld + RecordFields.padding)
    fields = RecordFields(columns: Self.mostColumns)
    lastFields = RecordFields(columns: Self.mostColumns)
    lastRecord = .zeros(mostHeld + RecordFields.padding)
  }

  deinit {
    extents.deallocate()
    free(long)
    free(lastRecord)
    for page in above { page.deallocate() }
  }

  /// Begins with another tree, or another part of one.
  func begin(sums: Int) { totals = Totals(sums: Array(repeating: 0, count: sums)) }

  /// A page and where its header begins; pages of the root are claimed before.
  private func page(
    _ number: UInt32, run: Int, parent: UInt32?
  ) throws(UnsoundPage) -> (bytes: UnsafeRawPointer, start: Int, type: UInt8) {
    if let parent { try owners.claim(number, kind: .child, parent: parent) }
    let bytes = try pages.page(number, run: run)
    let start = number == 1 ? HeaderField.size : 0
    return (bytes, start, bytes.load(fromByteOffset: start, as: UInt8.self))
  }

  /// Whether the root, which is claimed before, is that of an index.
  func isIndex(root: UInt32) throws(UnsoundPage) -> Bool {
    let type = try page(root, run: 1, parent: nil).type
    return type == PageType.leafIndex || type == PageType.interiorIndex
  }

  private func isLeaf(depth: Int) throws(UnsoundPage) {
    if totals.depth == nil { totals.depth = depth }
    guard totals.depth == depth else { throw UnsoundPage() }
  }

  /// Follows a long record over its pages; how many of its bytes are held behind the address.
  private func follow(
    _ total: Int, local: Int, at start: UnsafeRawPointer, of page: UInt32
  ) throws(UnsoundPage) -> Int {
    var held = min(local, mostHeld)
    long.copyMemory(from: start, byteCount: held)
    var (next, parent, kind) = (start.long(local), page, OwnerMap.Kind.firstOverflow)
    let room = sizes.usable - 4
    var left = total - local
    while left > 0 {
      try owners.claim(next, kind: kind, parent: parent)
      let bytes = try rest.page(next, run: (left + room - 1) / room)
      let count = min(room, left, mostHeld - held)
      (long + held).copyMemory(from: bytes + 4, byteCount: count)
      held += count
      left -= room
      (parent, next, kind) = (next, bytes.long(0), .nextOverflow)
    }
    guard next == 0 else { throw UnsoundPage() }
    return held
  }

  // MARK: Tables

  /// A page below another one, with the keys between which its rows are.
  struct Branch {
    var page: UInt32
    var run: Int
    /// Rows have larger keys than this one, and none that is larger than the next.
    var lower = Int64.min
    var upper = Int64.max
  }

  /// The pages below an interior page of a table; nil where it is a leaf.
  func branches(of branch: Branch, parent: UInt32?) throws(UnsoundPage) -> [Branch]? {
    let (bytes, start, type) = try page(branch.page, run: branch.run, parent: parent)
    if type == PageType.leafTable { return nil }
    guard type == PageType.interiorTable else { throw UnsoundPage() }
    var shape = try PageShape(bytes, start: start, isLeaf: false, sizes: sizes, extents: extents)
    // The first page has less room than the only one below it may need.
    guard shape.count > 0 || branch.page == 1 else { throw UnsoundPage() }
    var (found, lower): ([Branch], Int64) = ([], branch.lower)
    for place in 0..<shape.count {
      let offset = try shape.cell(place)
      guard let key = Varint(bytes, at: offset + 4, limit: sizes.usable) else {
        throw UnsoundPage()
      }
      try shape.add(offset, end: key.end)
      let number = Int64(bitPattern: key.value)
      guard number > lower, number <= branch.upper else { throw UnsoundPage() }
      found.append(Branch(page: bytes.long(offset), run: 1, lower: lower, upper: number))
      lower = number
    }
    try shape.finish()
    let last = bytes.long(start + PageField.rightmostChild)
    found.append(Branch(page: last, run: 1, lower: lower, upper: branch.upper))
    let numbers = found.map(\.page)
    for place in found.indices { found[place].run = PageRuns.length(of: numbers, from: place) }
    return found
  }

  /// Walks through the rows of a part of a table.
  ///
  /// - Parameters:
  ///   - parent: the page above; nil for a root, which has its owner already.
  ///   - form: nil if rows are not checked.
  func walk(
    _ branch: Branch, parent: UInt32?, depth: Int, form: CheckedTable?
  ) throws(UnsoundPage) {
    guard depth < Self.mostLevels else { throw UnsoundPage() }
    guard let below = try branches(of: branch, parent: parent) else {
      try isLeaf(depth: depth)
      return try rows(of: branch, isRoot: parent == nil, form: form)
    }
    for child in below { try walk(child, parent: branch.page, depth: depth + 1, form: form) }
  }

  private func rows(
    of branch: Branch, isRoot: Bool, form: CheckedTable?
  ) throws(UnsoundPage) {
    let bytes = try pages.page(branch.page)
    let start = branch.page == 1 ? HeaderField.size : 0
    var shape = try PageShape(bytes, start: start, isLeaf: true, sizes: sizes, extents: extents)
    guard shape.count > 0 || isRoot else { throw UnsoundPage() }
    var before = branch.lower
    let usable = sizes.usable
    for place in 0..<shape.count {
      let offset = try shape.cell(place)
      guard let payload = Varint(bytes, at: offset, limit: usable), payload.value < 1 << 31,
        let number = Varint(bytes, at: payload.end, limit: usable)
      else { throw UnsoundPage() }
      let (key, total) = (Int64(bitPattern: number.value), Int(payload.value))
      guard key > before, key <= branch.upper else { throw UnsoundPage() }
      before = key
      let local = sizes.local(payload: total, isIndex: false)
      try shape.add(offset, end: number.end + local + (local < total ? 4 : 0))
      var (record, held) = (bytes + number.end, local)
      if local < total {
        held = try follow(total, local: local, at: record, of: branch.page)
        record = UnsafeRawPointer(long)
      }
      if let form { try row(record, held: held, total: total, key: key, form: form) }
    }
    try shape.finish()
    totals.rows += Int64(shape.count)
  }

  @inline(__always)
  private func row(
    _ record: UnsafeRawPointer, held: Int, total: Int, key: Int64, form: CheckedTable
  ) throws(UnsoundPage) {
    let (types, places) = (fields.types, fields.places)
    let count = fields.read(record, held: held, total: total)
    guard count >= 0, count <= form.columns.count else { throw UnsoundPage() }
    for place in 0..<form.columns.count {
      let column = form.columns[place]
      let type = place < count ? types[place] : 0
      let isFine =
        type == 0
        ? !column.isMandatory
        : type >= 12
          ? type & 1 == 0 || !column.refusesTexts
          : !column.refusesNumbers
      guard isFine else { throw UnsoundPage() }
    }
    for index in 0..<form.indexes.count {
      var hash = seed
      for place in form.indexes[index].columns {
        if place < 0 {
          EntrySums.mix(&hash, integer: key)
        } else if place >= count {
          EntrySums.mix(&hash, 2)
        } else {
          guard Int(places[place + 1]) <= held else { throw UnsoundPage() }
          try EntrySums.mix(
            &hash, type: types[place], at: record + Int(places[place]),
            isReal: form.columns[place].isReal)
        }
      }
      EntrySums.mix(&hash, integer: key)
      totals.sums[index] &+= hash
    }
  }

  // MARK: Indexes

  /// An interior page of an index, in memory of its own.
  private struct Node {
    var bytes: UnsafeRawPointer
    var cells: [Int]
    var children: [UInt32]
  }

  /// The parts of an index below its root, with the entries between which each is; nil where the
  /// root is a leaf.
  ///
  /// The entries of the root itself are counted.
  func parts(
    of root: UInt32, form: IndexForm?
  ) throws(UnsoundPage) -> [(page: UInt32, lower: [UInt8]?, upper: [UInt8]?)]? {
    let (bytes, start, type) = try page(root, run: 1, parent: nil)
    if type == PageType.leafIndex { return nil }
    let node = try node(bytes, start: start, type: type, depth: 0)
    var parts: [(page: UInt32, lower: [UInt8]?, upper: [UInt8]?)] = []
    var lower: [UInt8]?
    for (place, cell) in node.cells.enumerated() {
      last = nil
      try entry(node.bytes, at: cell + 4, of: root, form: form)
      let upper = last.map { entry in
        Array(
          UnsafeRawBufferPointer(
            start: entry.record, count: Int(entry.places[entry.count])))
      }
      parts.append((node.children[place], lower, upper))
      lower = upper
    }
    parts.append((node.children[node.cells.count], lower, nil))
    return parts
  }

  /// Walks through the entries of an index, or a part of one between two entries.
  ///
  /// - Parameter form: nil if entries are not checked.
  func walkIndex(
    _ number: UInt32, parent: UInt32?, depth: Int, form: IndexForm?, lower: [UInt8]?,
    upper: [UInt8]?
  ) throws(UnsoundPage) {
    last = nil
    if let form, let lower { try hold(lower, form: form) }
    try walkIndex(number, run: 1, parent: parent, depth: depth, form: form)
    guard let form, let upper else { return }
    try lastHold()
    upper.withUnsafeBytes { bytes in
      long.copyMemory(from: bytes.baseAddress ?? UnsafeRawPointer(long), byteCount: bytes.count)
    }
    let entry = try read(
      UnsafeRawPointer(long), total: upper.count, form: form,
      in: totals.rows & 1 == 0 ? lastFields : fields)
    if let last, try !last.isBefore(entry, form: form) { throw UnsoundPage() }
  }

  private func walkIndex(
    _ number: UInt32, run: Int, parent: UInt32?, depth: Int, form: IndexForm?
  ) throws(UnsoundPage) {
    guard depth < Self.mostLevels else { throw UnsoundPage() }
    let (bytes, start, type) = try page(number, run: run, parent: parent)
    if type == PageType.leafIndex {
      try isLeaf(depth: depth)
      var shape = try PageShape(bytes, start: start, isLeaf: true, sizes: sizes, extents: extents)
      guard shape.count > 0 || parent == nil else { throw UnsoundPage() }
      for place in 0..<shape.count {
        let offset = try shape.cell(place)
        try shape.add(offset, end: try entry(bytes, at: offset, of: number, form: form))
      }
      try shape.finish()
      // The page does not stay where it is.
      return try lastHold()
    }
    let node = try node(bytes, start: start, type: type, depth: depth)
    for (place, child) in node.children.enumerated() {
      try walkIndex(
        child, run: PageRuns.length(of: node.children, from: place), parent: number,
        depth: depth + 1,
        form: form)
      if place < node.cells.count {
        try entry(node.bytes, at: node.cells[place] + 4, of: number, form: form)
      }
    }
  }

  private func node(
    _ page: UnsafeRawPointer, start: Int, type: UInt8, depth: Int
  ) throws(UnsoundPage) -> Node {
    guard type == PageType.interiorIndex else { throw UnsoundPage() }
    while above.count <= depth {
      above.append(.allocate(byteCount: sizes.page + RecordFields.padding, alignment: 16))
    }
    above[depth].copyMemory(from: page, byteCount: sizes.page)
    let bytes = UnsafeRawPointer(above[depth])
    var shape = try PageShape(bytes, start: start, isLeaf: false, sizes: sizes, extents: extents)
    guard shape.count > 0 else { throw UnsoundPage() }
    var node = Node(bytes: bytes, cells: [], children: [])
    for place in 0..<shape.count {
      let offset = try shape.cell(place)
      guard let payload = Varint(bytes, at: offset + 4, limit: sizes.usable),
        payload.value < 1 << 31
      else { throw UnsoundPage() }
      let local = sizes.local(payload: Int(payload.value), isIndex: true)
      try shape.add(offset, end: payload.end + local + (local < Int(payload.value) ? 4 : 0))
      node.cells.append(offset)
      node.children.append(bytes.long(offset))
    }
    try shape.finish()
    node.children.append(bytes.long(start + PageField.rightmostChild))
    return node
  }

  /// Counts an entry, and compares it with the one before; where its cell ends.
  @discardableResult
  private func entry(
    _ bytes: UnsafeRawPointer, at offset: Int, of page: UInt32, form: IndexForm?
  ) throws(UnsoundPage) -> Int {
    guard let payload = Varint(bytes, at: offset, limit: sizes.usable), payload.value < 1 << 31
    else { throw UnsoundPage() }
    let total = Int(payload.value)
    let local = sizes.local(payload: total, isIndex: true)
    let end = payload.end + local + (local < total ? 4 : 0)
    guard end <= sizes.usable else { throw UnsoundPage() }
    var record = bytes + payload.end
    if local < total {
      let held = try follow(total, local: local, at: record, of: page)
      guard form == nil || held == total else { throw UnsoundPage() }
      record = UnsafeRawPointer(long)
    }
    totals.rows += 1
    guard let form else { return end }
    // The fields of the last entry and of this one change places.
    let isEven = totals.rows & 1 == 0
    let entry = try read(record, total: total, form: form, in: isEven ? fields : lastFields)
    if let last, try !last.isBefore(entry, form: form) { throw UnsoundPage() }
    var hash = seed
    for place in 0..<entry.count - 1 {
      try EntrySums.mix(
        &hash, type: entry.types[place], at: record + Int(entry.places[place]), isReal: false)
    }
    EntrySums.mix(&hash, integer: entry.rowNumber)
    totals.sums[0] &+= hash
    last = entry
    if local < total { try lastHold() }
    return end
  }

  private func read(
    _ record: UnsafeRawPointer, total: Int, form: IndexForm, in fields: RecordFields
  ) throws(UnsoundPage) -> IndexEntry {
    let count = fields.read(record, held: total, total: total)
    guard count == form.columns.count + 1, RecordFields.isInteger(fields.types[count - 1]) else {
      throw UnsoundPage()
    }
    return IndexEntry(record: record, types: fields.types, places: fields.places, count: count)
  }

  /// Moves the last entry to memory where it stays.
  private func lastHold() throws(UnsoundPage) {
    guard let entry = last, entry.record != UnsafeRawPointer(lastRecord) else { return }
    let total = Int(entry.places[entry.count])
    guard total <= mostHeld else { throw UnsoundPage() }
    lastRecord.copyMemory(from: entry.record, byteCount: total)
    last?.record = UnsafeRawPointer(lastRecord)
  }

  private func hold(_ record: [UInt8], form: IndexForm) throws(UnsoundPage) {
    guard record.count <= mostHeld else { throw UnsoundPage() }
    record.withUnsafeBytes { bytes in
      lastRecord.copyMemory(
        from: bytes.baseAddress ?? UnsafeRawPointer(lastRecord), byteCount: bytes.count)
    }
    // The next entry is the first one that is counted, in the other fields.
    last = try read(
      UnsafeRawPointer(lastRecord), total: record.count, form: form,
      in: totals.rows & 1 == 0 ? fields : lastFields)
  }
}
