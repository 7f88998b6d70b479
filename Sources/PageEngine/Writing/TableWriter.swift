import StoreFormat
package import SystemPackage

/// One leaf page of a table, as the upper levels of its b-tree see it.
package struct LeafEntry: BitwiseCopyable, Hashable, Sendable {
  /// The number of the page.
  package var page: UInt32
  /// The highest key on the page, which parts it from the next leaf.
  package var lastKey: Int64

  /// Takes a leaf that is complete.
  package init(page: UInt32, lastKey: Int64) {
    self.page = page
    self.lastKey = lastKey
  }
}

/// Streams rows in key order into leaf pages and overflow chains.
package final class TableWriter {
  private let writer: ExtentWriter
  private let finished: (LeafEntry) throws(PageError) -> Void
  private let aside: UnsafeMutableRawPointer
  private let spill: RecordBuffer

  private var page: UInt32 = 0
  /// The page in the writer's memory, or the copy of one that the writer has let go; nil if no
  /// page is open.
  private var memory: UnsafeMutableRawPointer?
  private var cells = 0
  private var content = PageGeometry.pageSize
  private var lastKey: Int64 = .min
  private var hasKey = false
  /// The last key of the leaf before.
  private var keyBefore: Int64?
  private var rowCount: Int64 = 0

  /// Calls `finished` with every leaf page once it is complete, in key order; records that do not
  /// fit in memory lie in the folder.
  package init(
    writer: ExtentWriter, scratch folder: FilePath? = nil,
    finished: @escaping (LeafEntry) throws(PageError) -> Void
  ) {
    self.writer = writer
    self.finished = finished
    aside = .allocate(byteCount: PageGeometry.pageSize, alignment: 16)
    spill = RecordBuffer(byteCount: 1 << 16, spillingInto: folder)
  }

  deinit {
    aside.deallocate()
  }

  /// Adds the row with a key, which is higher than the one before.
  package func add(
    key: Int64, fields: UnsafePointer<Field>, count: Int
  ) throws(PageError) { try put(key, fields: fields, count: count) }

  @inline(__always)
  func put(
    _ key: Int64, fields: UnsafePointer<Field>, count: Int
  ) throws(PageError) {
    let shape = try RecordShape(fields: fields, count: count)
    if shape.size <= PageGeometry.tableLocalLimit {
      try shape.write(fields, count: count, to: room(forRecord: shape.size, key: key))
    } else {
      try addLong(key, fields: fields, count: count, shape: shape)
    }
  }

  /// Room for the record of a row that fits a leaf, which has to be written there at once.
  @inline(__always)
  func room(forRecord size: Int, key: Int64) throws(PageError) -> UnsafeMutableRawPointer {
    let prefix = Bytes.varintSize(UInt64(size)) + Bytes.varintSize(UInt64(bitPattern: key))
    let cell = try room(for: max(4, prefix + size), key: key)
    var at = Bytes.putVarint(UInt64(size), at: cell)
    at += Bytes.putVarint(UInt64(bitPattern: key), at: cell + at)
    return cell + at
  }

  /// Adds a row whose record continues in a chain.
  private func addLong(
    _ key: Int64, fields: UnsafePointer<Field>, count: Int, shape: RecordShape
  ) throws(PageError) {
    let record = try spill.room(for: shape.size)
    guard let base = record.baseAddress else { preconditionFailure("a buffer has an address") }
    shape.write(fields, count: count, to: base)
    try add(key: key, payload: UnsafeRawBufferPointer(rebasing: record[..<shape.size]))
  }

  /// Adds a row whose record is there already.
  package func add(key: Int64, payload: UnsafeRawBufferPointer) throws(PageError) {
    guard let base = payload.baseAddress else { preconditionFailure("a record has bytes") }
    let local = PageGeometry.localSize(payload.count, limit: PageGeometry.tableLocalLimit)
    let hasOverflow = local < payload.count
    let prefix =
      Bytes.varintSize(UInt64(payload.count)) + Bytes.varintSize(UInt64(bitPattern: key))
    let cell = try room(for: max(4, prefix + local + (hasOverflow ? 4 : 0)), key: key)
    var at = Bytes.putVarint(UInt64(payload.count), at: cell)
    at += Bytes.putVarint(UInt64(bitPattern: key), at: cell + at)
    (cell + at).copyMemory(from: base, byteCount: local)
    guard hasOverflow else { return }
    keepAsideIfNeeded()
    // The cell may have moved with its page.
    guard let memory else { preconditionFailure("the row's page is open") }
    Bytes.put32(try writer.peek(), at: memory + content + at + local)
    try OverflowWriter(writer).write(
      UnsafeRawBufferPointer(rebasing: payload[local...]), parent: page
    ) { keepAsideIfNeeded() }
  }

  /// Completes the last leaf.
  package func finish() throws(PageError) { try finishLeaf() }

  // MARK: Leaves

  /// Room for a cell on the open leaf, or on a new one.
  @inline(__always)
  private func room(
    for size: Int, key: Int64
  ) throws(PageError) -> UnsafeMutableRawPointer {
    if hasKey && key <= lastKey { throw PageError(.keysOutOfOrder) }
    if memory == nil || content - size < PageField.leafPointer(cells + 1) {
      try finishLeaf()
      let (page, memory) = try writer.reserve()
      self.page = page
      self.memory = memory
      cells = 0
      content = PageGeometry.pageSize
    }
    guard let memory else { preconditionFailure("a leaf is open") }
    content -= size
    Bytes.put16(content, at: memory + PageField.leafPointer(cells))
    cells += 1
    lastKey = key
    hasKey = true
    rowCount += 1
    return memory + content
  }

  /// Copies the open leaf before the writer reuses its memory.
  private func keepAsideIfNeeded() {
    guard writer.isFull, let memory, memory != aside else { return }
    aside.copyMemory(from: memory, byteCount: PageGeometry.pageSize)
    self.memory = aside
  }

  private func finishLeaf() throws(PageError) {
    guard let memory else { return }
    PageField.closeLeaf(memory, type: PageType.leafTable, cells: cells, content: content)
    guard PageCheck.isTableLeaf(memory, cells: cells, above: keyBefore, last: lastKey) else {
      throw PageError(.miswritten(page: page))
    }
    keyBefore = lastKey
    if memory == aside { try writer.write(page, bytes: aside) }
    self.memory = nil
    try finished(LeafEntry(page: page, lastKey: lastKey))
  }
}

/// The sizes of a record's parts.
struct RecordShape {
  var header: Int
  var size: Int

  @inline(__always)
  init(fields: UnsafePointer<Field>, count: Int) throws(PageError) {
    var types = 0
    var bodies = 0
    for index in 0..<count {
      let type = fields[index].type
      types += Bytes.varintSize(type)
      bodies += Field.size(type: type)
    }
    // The header counts its own length in.
    header = types + 1
    if header > 127 { header = types + Bytes.varintSize(UInt64(types + 2)) }
    size = header + bodies
    if size > 0x7fff_ff00 { throw PageError(.valueTooLong) }
  }

  @inline(__always)
  func write(_ fields: UnsafePointer<Field>, count: Int, to: UnsafeMutableRawPointer) {
    var at = Bytes.putVarint(UInt64(header), at: to)
    var body = to + header
    let end = to + self.size
    for index in 0..<count {
      let field = fields[index]
      at += Bytes.putVarint(field.type, at: to + at)
      let size = Field.size(type: field.type)
      if size > 0, let from = field.body {
        if field.type < 12 && body + 8 <= end {
          // The next field overwrites the bytes that are too many.
          body.storeBytes(of: from.loadUnaligned(as: UInt64.self), as: UInt64.self)
        } else {
          body.copyMemory(from: from, byteCount: size)
        }
        body += size
      }
    }
  }
}

/// Writes the part of a payload that does not fit its cell.
struct OverflowWriter {
  private let writer: ExtentWriter

  init(_ writer: ExtentWriter) { self.writer = writer }

  /// Writes a chain whose first page is the one that the writer gives next.
  func write(
    _ bytes: UnsafeRawBufferPointer, parent: UInt32, beforeReserving: () -> Void
  ) throws(PageError) {
    var offset = 0
    var before = parent
    while offset < bytes.count {
      beforeReserving()
      let (page, memory) = try writer.reserve()
      try writer.set(page, kind: offset == 0 ? .firstOverflow : .nextOverflow, parent: before)
      let count = min(PageGeometry.overflowCapacity, bytes.count - offset)
      guard let base = bytes.baseAddress else { return }
      (memory + 4).copyMemory(from: base + offset, byteCount: count)
      offset += count
      PageField.closeOverflow(
        memory, count: count, next: offset < bytes.count ? try writer.peek() : 0)
      before = page
    }
  }
}
