/// Checks the entries of an index as they pass, and sums them up.
///
/// Each has to be a sound record that comes after the one before it. The values of the first column
/// are collected where they are integers.
final class IndexEntries {
  private(set) var count: Int64 = 0
  private(set) var sum: UInt64 = 0
  private let move: IndexMove
  private let values: EntryCollector
  private let payloads: PayloadReader
  private var span: KeySpan?
  private let columns: Int
  /// The fields of the last entry and of the one before it, whose records are kept in turns.
  private var fields: [UnsafeMutablePointer<Field>]
  private var records: [UnsafeMutableRawBufferPointer]
  private var turn = 0

  init(move: IndexMove, values: EntryCollector, payloads: PayloadReader) {
    self.move = move
    self.values = values
    self.payloads = payloads
    columns = move.descending.count
    let width = columns + 1
    fields = (0..<2).map { _ in
      let made = UnsafeMutablePointer<Field>.allocate(capacity: width)
      made.initialize(repeating: .null, count: width)
      return made
    }
    records = (0..<2).map { _ in .allocate(byteCount: PageGeometry.pageSize, alignment: 16) }
  }

  deinit {
    for one in fields { one.deallocate() }
    for one in records { one.deallocate() }
  }

  /// Takes the entry of a cell; the bytes of the cell.
  func add(
    _ page: UnsafeRawPointer, start: Int, number: UInt32
  ) throws(PageError) -> Int {
    guard let payload = Bytes.varint(page, offset: start, limit: PageGeometry.pageSize),
      payload.value < 1 << 31
    else { throw PageError(.damaged(page: number)) }
    let total = Int(payload.value)
    let local = PageGeometry.localSize(total, limit: PageGeometry.indexLocalLimit)
    let end = payload.end + local + (local < total ? 4 : 0)
    guard end <= PageGeometry.pageSize else { throw PageError(.damaged(page: number)) }
    turn = 1 - turn
    if records[turn].count < total + 8 {
      records[turn].deallocate()
      records[turn] = .allocate(byteCount: total + total / 4 + 8, alignment: 16)
    }
    try payloads.read(
      page + payload.end, local: local, of: total, page: number, into: records[turn])
    try parse(total, number: number)
    try take(number)
    return max(4, end - start)
  }

  /// Finds the fields of the record in the buffer whose turn it is.
  private func parse(_ total: Int, number: UInt32) throws(PageError) {
    guard let base = records[turn].baseAddress,
      let header = Bytes.varint(base, offset: 0, limit: total), header.value <= UInt64(total)
    else { throw PageError(.damaged(page: number)) }
    let end = Int(header.value)
    var at = header.end
    var body = end
    for index in 0...columns {
      guard let type = Bytes.varint(base, offset: at, limit: end), type.value < 1 << 32,
        Field.isValid(type.value)
      else { throw PageError(.damaged(page: number)) }
      at = type.end
      let size = Field.size(type: type.value)
      guard body + size <= total else { throw PageError(.damaged(page: number)) }
      // What SQLite spells out in places, it would write otherwise.
      if type.value == 1 && Field.isOutspelled(base + body) { throw PageError(.unmovable) }
      fields[turn][index] = Field(type: type.value, body: base + body)
      body += size
    }
    guard at == end, body == total else { throw PageError(.damaged(page: number)) }
  }

  private func take(_ number: UInt32) throws(PageError) {
    let (now, before) = (fields[turn], fields[1 - turn])
    guard now[columns].isInteger else { throw PageError(.damaged(page: number)) }
    let row = now[columns].integer
    if count > 0 { try requireOrder(before, now, row: row, number: number) }
    count += 1
    var part: UInt64 = 0
    for index in 0..<columns {
      if move.isInteger && !now[index].isNull && !now[index].isInteger {
        throw PageError(.unmovable)
      }
      part = EntrySum.adding(now[index], to: part)
    }
    sum &+= EntrySum.finish(part, row: row)
    // Of falling values nobody asks where they lead.
    if move.isInteger && !move.descending[0] && !now[0].isNull { try note(now[0].integer) }
  }

  @inline(__always)
  private func requireOrder(
    _ before: UnsafeMutablePointer<Field>, _ now: UnsafeMutablePointer<Field>, row: Int64,
    number: UInt32
  ) throws(PageError) {
    var hasNull = false
    for index in 0..<columns {
      let order = FieldOrder.compare(before[index], now[index])
      if order != 0 {
        guard (order < 0) != move.descending[index] else {
          throw PageError(.damaged(page: number))
        }
        return
      }
      hasNull = hasNull || now[index].isNull
    }
    guard before[columns].integer < row, hasNull || !move.isUnique else {
      throw PageError(.damaged(page: number))
    }
  }

  private func note(_ value: Int64) throws(PageError) {
    if let current = span {
      if current.last == value { return }
      if current.last != .max, current.last + 1 == value {
        span = KeySpan(first: current.first, last: value)
        return
      }
      try values.add(current)
    }
    span = KeySpan(first: value, last: value)
  }

  func finish() throws(PageError) {
    if let span { try values.add(span) }
    try values.flush()
  }
}

/// Reads payloads that may go on in overflow chains.
final class PayloadReader {
  private let chains: PageWindow
  private let pageCount: UInt32

  init(chains: PageWindow, pageCount: UInt32) {
    self.chains = chains
    self.pageCount = pageCount
  }

  /// Puts a payload together, of which so many bytes are in its cell, in front of its chain.
  @inline(__always)
  func read(
    _ start: UnsafeRawPointer, local: Int, of total: Int, page: UInt32,
    into buffer: UnsafeMutableRawBufferPointer
  ) throws(PageError) {
    guard let base = buffer.baseAddress, buffer.count >= total else {
      throw PageError(.damaged(page: page))
    }
    base.copyMemory(from: start, byteCount: local)
    if local < total {
      try follow(
        Bytes.get32(start + local), into: base + local, count: total - local, page: page)
    }
  }

  private func follow(
    _ first: UInt32, into target: UnsafeMutableRawPointer, count: Int, page: UInt32
  ) throws(PageError) {
    guard count / PageGeometry.overflowCapacity <= Int(pageCount) else {
      throw PageError(.damaged(page: page))
    }
    var next = first
    var done = 0
    while done < count {
      let bytes = try chains.page(next)
      let size = min(PageGeometry.overflowCapacity, count - done)
      (target + done).copyMemory(from: bytes + 4, byteCount: size)
      done += size
      next = Bytes.get32(bytes)
    }
    // A chain that goes on was longer, or leads back into itself.
    guard next == 0 else { throw PageError(.damaged(page: page)) }
  }
}
