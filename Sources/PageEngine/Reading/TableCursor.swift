import StoreFormat
package import SystemPackage

/// The file and the table that a cursor reads, which the caller has checked by SQL.
package struct TableForm: Sendable {
  /// The bytes of a page of the source, from 512 to 65,536.
  package var pageSize: Int
  /// The pages of the source, by the length of its file.
  package var pageCount: UInt32
  /// The root page of the table's b-tree.
  package var root: UInt32
  /// The place in the output of each column of the table's records; -1 for those that are not
  /// needed.
  package var places: [Int]
  /// Which columns hold reals, where records keep whole ones as integers.
  package var isReal: [Bool]
  /// The place in the output of the key of the row.
  package var keyPlace: Int
  /// Whether of a long row no more is read than what its leaf has.
  package var readsHeads = false

  /// Makes a form; `places` and `isReal` have one element for each column of a record.
  package init(
    pageSize: Int, pageCount: UInt32, root: UInt32, places: [Int], isReal: [Bool], keyPlace: Int
  ) {
    self.pageSize = pageSize
    self.pageCount = pageCount
    self.root = root
    self.places = places
    self.isReal = isReal
    self.keyPlace = keyPlace
  }
}

/// Reads the rows of a table from the pages of its b-tree, in key order.
///
/// Every number that a page gives is checked before it is used: a damaged file ends in an error.
package final class TableCursor {
  let form: TableForm
  private let walk: LeafWalk
  private let chains: PageWindow
  private var leaf: UnsafeRawPointer?
  private var cells = 0
  private var cell = 0
  /// Where the record of the row begins on its leaf, and how long it is.
  private var recordStart = 0
  private var recordSize = 0
  private let buffer: RecordBuffer
  private let scratch: UnsafeMutableRawPointer
  private let places: UnsafeMutablePointer<Int>
  private let isReal: UnsafeMutablePointer<Bool>
  private let columns: Int
  private let localLimit: Int
  private let localMinimum: Int
  /// The key of the last row whose values were not all read.
  private let cut: UnsafeMutablePointer<Int64?>
  /// Whether the row has values that were not read.
  @inline(__always) var isCut: Bool { cut.pointee == currentKey }
  private var hasKey = false
  private var currentKey: Int64 = .min
  /// The key of the row that `next` read last.
  package var key: Int64 {
    @inline(__always) get { currentKey }
  }
  /// The values of the row; valid until the next one.
  package let fields: UnsafeMutablePointer<Field>
  private let width: Int

  /// Reads an unchanging file, with a folder for what does not fit in memory.
  package init(file: PageFile, form: TableForm, width: Int, scratch folder: FilePath? = nil) {
    buffer = RecordBuffer(byteCount: 1 << 16, spillingInto: folder)
    self.form = form
    self.width = max(1, width)
    walk = LeafWalk(file: file, kind: .table, pageSize: form.pageSize, pageCount: form.pageCount)
    chains = PageWindow(file: file, pageSize: form.pageSize, pageCount: form.pageCount)
    localLimit = form.pageSize - 35
    localMinimum = (form.pageSize - 12) * 32 / 255 - 23
    let described = form.places.count
    precondition(form.isReal.count == described, "every column is described")
    // A reader of heads skips columns that are not needed.
    columns =
      form.readsHeads ? (form.places.lastIndex { $0 >= 0 } ?? -1) + 1 : described
    scratch = .allocate(byteCount: self.width * 8, alignment: 8)
    cut = .allocate(capacity: 1)
    cut.initialize(to: nil)
    fields = .allocate(capacity: self.width)
    fields.initialize(repeating: .null, count: self.width)
    places = .allocate(capacity: max(1, columns))
    places.initialize(repeating: -1, count: max(1, columns))
    isReal = .allocate(capacity: max(1, columns))
    isReal.initialize(repeating: false, count: max(1, columns))
    for index in 0..<columns {
      precondition(form.places[index] < self.width, "the output has a place for each value")
      places[index] = form.places[index]
      isReal[index] = form.isReal[index]
    }
  }

  deinit {
    cut.deallocate()
    scratch.deallocate()
    fields.deallocate()
    places.deallocate()
    isReal.deallocate()
  }

  // MARK: Pages

  /// Goes to the first row whose key is not below the given one.
  package func seek(_ first: Int64) throws(PageError) {
    hasKey = false
    try walk.seek(form.root, first: first)
    (leaf, cells, cell) = (walk.leaf, walk.cells, 0)
    guard let leaf else { return }
    while cell < cells, try self.key(of: cell, leaf: leaf) < first { cell += 1 }
  }

  /// The leaf is damaged, or its cell names a wrong page.
  private func damaged() -> PageError { PageError(.damaged(page: walk.page)) }

  /// Advances to the next leaf; false after the last one.
  private func nextLeaf() throws(PageError) -> Bool {
    guard try walk.next() else {
      leaf = nil
      return false
    }
    (leaf, cells, cell) = (walk.leaf, walk.cells, 0)
    return true
  }

  private func key(of cell: Int, leaf: UnsafeRawPointer) throws(PageError) -> Int64 {
    let offset = Bytes.get16(leaf + PageField.leafPointer(cell))
    guard let size = Bytes.varint(leaf, offset: offset, limit: form.pageSize),
      let key = Bytes.varint(leaf, offset: size.end, limit: form.pageSize)
    else { throw damaged() }
    return Int64(bitPattern: key.value)
  }

  // MARK: Rows

  /// Reads the next row; false after the last one.
  package func next() throws(PageError) -> Bool { try step() }

  @inline(__always)
  func step() throws(PageError) -> Bool {
    guard try advance() else { return false }
    try read()
    return true
  }

  /// Advances to the next row and reads only its key; false after the last one.
  @inline(__always)
  func advance() throws(PageError) -> Bool {
    while cell >= cells {
      guard leaf != nil, try nextLeaf() else { return false }
    }
    guard let leaf else { return false }
    let offset = Bytes.get16(leaf + PageField.leafPointer(cell))
    cell += 1
    guard let size = Bytes.varint(leaf, offset: offset, limit: form.pageSize), size.value < 1 << 31,
      let rowid = Bytes.varint(leaf, offset: size.end, limit: form.pageSize)
    else { throw damaged() }
    let number = Int64(bitPattern: rowid.value)
    if hasKey && number <= currentKey { throw damaged() }
    currentKey = number
    hasKey = true
    (recordStart, recordSize) = (rowid.end, Int(size.value))
    return true
  }

  /// The record of the row that `advance` reached, if it is completely on its leaf.
  @inline(__always)
  var wholeRecord: UnsafeRawBufferPointer? {
    guard let leaf, recordSize <= localLimit, recordStart + recordSize <= form.pageSize else {
      return nil
    }
    return UnsafeRawBufferPointer(start: leaf + recordStart, count: recordSize)
  }

  /// Reads the values of the row that `advance` reached, once.
  @inline(__always)
  func read() throws(PageError) {
    guard let leaf else { throw damaged() }
    let (start, total) = (recordStart, recordSize)
    if total <= localLimit {
      guard start + total <= form.pageSize else { throw damaged() }
      try parse(leaf + start, total: total)
    } else if form.readsHeads {
      try parseHead(leaf, start: start, total: total)
    } else {
      try parse(gather(leaf, start: start, total: total), total: total)
    }
    if form.keyPlace >= 0 {
      fields[form.keyPlace] = Field(value: currentKey, scratch: scratch + form.keyPlace * 8)
    }
  }

  /// The number of bytes in the cell of a payload that continues in a chain.
  private func localBytes(of total: Int) -> Int {
    let rest = localMinimum + (total - localMinimum) % (form.pageSize - 4)
    return rest <= localLimit ? rest : localMinimum
  }

  /// Reads the values in a cell whose payload continues in a chain.
  private func parseHead(
    _ leaf: UnsafeRawPointer, start: Int, total: Int
  ) throws(PageError) {
    let local = localBytes(of: total)
    guard start + local + 4 <= form.pageSize else { throw damaged() }
    let record = leaf + start
    guard let header = Bytes.varint(record, offset: 0, limit: local), header.value <= UInt64(total),
      header.end <= Int(header.value)
    else { throw damaged() }
    let end = Int(header.value)
    cut.pointee = nil
    guard end <= local else {
      cut.pointee = currentKey
      return
    }
    var (at, body) = (header.end, end)
    for column in 0..<columns {
      let place = places[column]
      var field = Field.null
      if at < end {
        guard let type = Bytes.varint(record, offset: at, limit: end), Field.isValid(type.value),
          type.value < 1 << 32
        else { throw damaged() }
        at = type.end
        let size = Field.size(type: type.value)
        guard body + size <= total else { throw damaged() }
        if body + size <= local {
          field = Field(type: type.value, body: size > 0 ? record + body : nil)
        } else {
          if place >= 0 { cut.pointee = currentKey }
        }
        body += size
      }
      guard place >= 0 else { continue }
      if isReal[column] && field.isInteger {
        field = Field(real: Double(field.integer), scratch: scratch + place * 8)
      }
      fields[place] = field
    }
  }

  /// Puts a payload together from its cell and its chain.
  private func gather(
    _ leaf: UnsafeRawPointer, start: Int, total: Int
  ) throws(PageError) -> UnsafeRawPointer {
    let capacity = form.pageSize - 4
    let local = localBytes(of: total)
    guard start + local + 4 <= form.pageSize,
      total / capacity <= Int(form.pageCount)
    else { throw damaged() }
    guard let base = try buffer.room(for: total + 8).baseAddress else { throw damaged() }
    base.copyMemory(from: leaf + start, byteCount: local)
    var page = Bytes.get32(leaf + start + local)
    var done = local
    while done < total {
      guard page > 1, page <= form.pageCount else { throw damaged() }
      let bytes: UnsafeRawPointer
      if let held = walk.held(page) { bytes = held } else { bytes = try chains.page(page) }
      let count = min(capacity, total - done)
      (base + done).copyMemory(from: bytes + 4, byteCount: count)
      done += count
      page = Bytes.get32(bytes)
    }
    // A chain that continues is too long, or leads back into itself.
    guard page == 0 else { throw damaged() }
    return UnsafeRawPointer(base)
  }

  @inline(__always)
  private func parse(_ record: UnsafeRawPointer, total: Int) throws(PageError) {
    guard let header = Bytes.varint(record, offset: 0, limit: total), header.value <= UInt64(total),
      header.end <= Int(header.value)
    else { throw damaged() }
    let end = Int(header.value)
    var at = header.end
    var body = end
    var column = 0
    while column < columns && at < end {
      guard let type = Bytes.varint(record, offset: at, limit: end),
        type.value < 10 || (type.value < 1 << 32 && Field.isValid(type.value))
      else { throw damaged() }
      at = type.end
      let size = Field.size(type: type.value)
      guard body + size <= total else { throw damaged() }
      let place = places[column]
      if place >= 0 {
        var field = Field(type: type.value, body: size > 0 ? record + body : nil)
        if type.value == 1, Field.isOutspelled(record + body) {
          field = Field(
            type: 8 + UInt64(record.load(fromByteOffset: body, as: UInt8.self)), body: nil)
        }
        if isReal[column] && field.isInteger {
          field = Field(real: Double(field.integer), scratch: scratch + place * 8)
        }
        fields[place] = field
      }
      body += size
      column += 1
    }
    // A record is as long as its header states; unknown columns are not checked here.
    guard at < end ? body <= total : body == total else { throw damaged() }
    // Columns that were added later are NULL in older rows.
    while column < columns {
      if places[column] >= 0 { fields[places[column]] = .null }
      column += 1
    }
  }
}
