/// Checks the entries of an index as they pass, and sums them up.
///
/// Each has to be a sound record that comes after the one before it. The values of the first column
/// are collected where they are integers.
struct IndexEntries: ~Copyable {
  private(set) var count: Int64 = 0
  private(set) var sum: UInt64 = 0
  private let move: IndexMove
  private let columns: Int
  private let affinities: UnsafeMutablePointer<Affinity>
  /// Of each column whether it falls.
  private let falls: UnsafeMutablePointer<Bool>
  /// The columns whose values fall, and those of reals, a bit each.
  private let descending: UInt64
  private let reals: UInt64
  private let hasTexts: Bool
  private let values: EntryCollector
  private let payloads: PayloadReader
  private var span: KeySpan?
  /// The last entry, where all of its values are integers or NULL.
  private var last: Numbers
  private var isLastNumbers = true
  /// The last entry otherwise, and room for the next one.
  private var before: Record
  private var now: Record

  /// The values of the columns and the row's number.
  private struct Numbers {
    let values: UnsafeMutablePointer<Int64>
    /// The columns that are NULL, a bit each.
    var nulls: UInt64 = 0

    init(width: Int) {
      values = .allocate(capacity: width)
      values.initialize(repeating: 0, count: width)
    }
  }

  /// The values of the columns and the row's number in a copy of their record.
  private struct Record {
    let fields: UnsafeMutablePointer<Field>
    var bytes: UnsafeMutableRawBufferPointer

    init(width: Int) {
      fields = .allocate(capacity: width)
      fields.initialize(repeating: .null, count: width)
      bytes = .allocate(byteCount: max(PageGeometry.pageSize, 8 * width), alignment: 16)
    }

    /// Spells out an entry of integers, to compare it with one of other types.
    func take(_ numbers: Numbers, width: Int) {
      guard let scratch = bytes.baseAddress else { return }
      for index in 0..<width {
        fields[index] =
          numbers.nulls >> UInt64(index) & 1 == 1
          ? .null : Field(value: numbers.values[index], scratch: scratch + 8 * index)
      }
    }

    func deallocate() {
      fields.deallocate()
      bytes.deallocate()
    }
  }

  /// The most columns that bits are kept for; an index with more is read value by value.
  private static let mostNumbers = 60

  init(move: IndexMove, values: EntryCollector, payloads: PayloadReader) {
    self.move = move
    columns = move.descending.count
    affinities = .allocate(capacity: max(1, columns))
    affinities.initialize(repeating: .none, count: max(1, columns))
    falls = .allocate(capacity: max(1, columns))
    falls.initialize(repeating: false, count: max(1, columns))
    for index in 0..<columns {
      falls[index] = move.descending[index]
      if index < move.affinities.count { affinities[index] = move.affinities[index] }
    }
    descending = Self.bits(move.descending)
    reals = Self.bits(move.affinities.map { $0 == .real })
    hasTexts = move.affinities.contains(.text)
    self.values = values
    self.payloads = payloads
    last = Numbers(width: columns + 1)
    before = Record(width: columns + 1)
    now = Record(width: columns + 1)
  }

  private static func bits(_ columns: [Bool]) -> UInt64 {
    columns.prefix(mostNumbers).enumerated().reduce(0) {
      $0 | ($1.element ? 1 << UInt64($1.offset) : 0)
    }
  }

  deinit {
    affinities.deallocate()
    falls.deallocate()
    last.values.deallocate()
    before.deallocate()
    now.deallocate()
  }

  /// Takes the entry of a cell; the bytes of the cell.
  @inline(__always)
  mutating func add(
    _ page: UnsafeRawPointer, start: Int, number: UInt32
  ) throws(PageError) -> Int {
    // Many entries have integers alone: a byte of payload size, and a byte a type.
    if isLastNumbers, !hasTexts, start + 2 <= PageGeometry.pageSize {
      let total = Int(page.load(fromByteOffset: start, as: UInt8.self))
      let header = Int(page.load(fromByteOffset: start + 1, as: UInt8.self))
      if total < 128, header == columns + 2, total >= header, columns <= Self.mostNumbers,
        start + 1 + total <= PageGeometry.pageSize,
        try addNumbers(page + start + 2, size: total - header, number: number)
      {
        return max(4, 1 + total)
      }
    }
    return try addRecord(page, start: start, number: number)
  }

  /// Takes the entry whose types begin at an address, and whose values have so many bytes; false
  /// where one is no integer.
  @inline(__always)
  private mutating func addNumbers(
    _ types: UnsafeRawPointer, size: Int, number: UInt32
  ) throws(PageError) -> Bool {
    for index in 0...columns {
      let type = types.load(fromByteOffset: index, as: UInt8.self)
      if type > 9 || type == 7 { return false }
    }
    let body = types + columns + 1
    var at = 0
    var nulls: UInt64 = 0
    var isAfter = count == 0
    var part: UInt64 = 0
    for index in 0..<columns {
      let type = types.load(fromByteOffset: index, as: UInt8.self)
      let bit: UInt64 = 1 << UInt64(index)
      if type == 0 { nulls |= bit }
      let value = try integer(type, body: body, at: &at, size: size, number: number)
      // Of this length a column of reals has no integers.
      if type == 6 && reals & bit != 0 { throw PageError(.unmovable) }
      if !isAfter, (type == 0) != (last.nulls & bit != 0) || value != last.values[index] {
        // NULL comes before every integer.
        let isRising = last.nulls & bit != 0 || (type != 0 && last.values[index] < value)
        guard isRising == (descending & bit == 0) else { throw PageError(.damaged(page: number)) }
        isAfter = true
      }
      last.values[index] = value
      part = EntrySum.adding(type == 0 ? nil : value, to: part)
    }
    let type = types.load(fromByteOffset: columns, as: UInt8.self)
    let row = try integer(type, body: body, at: &at, size: size, number: number)
    guard at == size, type != 0,
      isAfter || (last.values[columns] < row && (nulls != 0 || !move.isUnique))
    else { throw PageError(.damaged(page: number)) }
    last.values[columns] = row
    last.nulls = nulls
    count += 1
    sum &+= EntrySum.finish(part, row: row)
    // Where descending values lead is not needed.
    if move.isInteger && descending & 1 == 0 && nulls & 1 == 0 { try note(last.values[0]) }
    return true
  }

  /// Reads the value of a type, 0 for NULL, and advances past it.
  @inline(__always)
  private func integer(
    _ type: UInt8, body: UnsafeRawPointer, at: inout Int, size: Int, number: UInt32
  ) throws(PageError) -> Int64 {
    // Eight bytes can be read behind every page.
    guard at <= size else { throw PageError(.damaged(page: number)) }
    if type == 0 { return 0 }
    let field = Field(type: UInt64(type), body: body + at)
    let value = field.integer
    // What is spelled out in places, SQLite would write otherwise.
    if Field.type(of: value) != field.type { throw PageError(.unmovable) }
    at += field.size
    return value
  }

  /// Takes an entry of any types, which may have a chain; the bytes of its cell.
  private mutating func addRecord(
    _ page: UnsafeRawPointer, start: Int, number: UInt32
  ) throws(PageError) -> Int {
    guard let payload = Bytes.varint(page, offset: start, limit: PageGeometry.pageSize),
      payload.value < 1 << 31
    else { throw PageError(.damaged(page: number)) }
    let total = Int(payload.value)
    let local = PageGeometry.localSize(total, limit: PageGeometry.indexLocalLimit)
    let end = payload.end + local + (local < total ? 4 : 0)
    guard end <= PageGeometry.pageSize else { throw PageError(.damaged(page: number)) }
    if total <= Self.mostInPlace, local == total,
      try addShort(page + payload.end, total: total, number: number)
    {
      return max(4, end - start)
    }
    if now.bytes.count < total + 8 {
      now.bytes.deallocate()
      now.bytes = .allocate(byteCount: total + total / 4 + 8, alignment: 16)
    }
    try payloads.read(
      page + payload.end, local: local, of: total, page: number, into: now.bytes)
    try parse(total, number: number)
    try take(number)
    swap(&now, &before)
    keepNumbers()
    return max(4, end - start)
  }

  /// The maximum number of bytes of a payload that is read in place.
  private static let mostInPlace = 512

  /// Takes the record at an address, if all of its types have a byte each; else does nothing.
  @inline(__always)
  private mutating func addShort(
    _ record: UnsafeRawPointer, total: Int, number: UInt32
  ) throws(PageError) -> Bool {
    let header = columns + 2
    guard Int(record.load(as: UInt8.self)) == header, total >= header else { return false }
    var body = header
    for index in 0...columns {
      let type = UInt64(record.load(fromByteOffset: 1 + index, as: UInt8.self))
      if type >= 128 { return false }
      guard Field.isValid(type) else { throw PageError(.damaged(page: number)) }
      now.fields[index] = Field(type: type, body: record + body)
      body += Field.size(type: type)
    }
    // Eight bytes can be read behind every page.
    guard body == total else { throw PageError(.damaged(page: number)) }
    try take(number)
    guard let copy = before.bytes.baseAddress else { return false }
    copy.copyMemory(from: record, byteCount: total)
    body = header
    for index in 0...columns {
      let type = now.fields[index].type
      before.fields[index] = Field(type: type, body: UnsafeRawPointer(copy) + body)
      body += Field.size(type: type)
    }
    keepNumbers()
    return true
  }

  /// Finds the fields of the record that is in the buffer.
  private func parse(_ total: Int, number: UInt32) throws(PageError) {
    guard let base = now.bytes.baseAddress,
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
      now.fields[index] = Field(type: type.value, body: base + body)
      body += size
    }
    guard at == end, body == total else { throw PageError(.damaged(page: number)) }
  }

  private mutating func take(_ number: UInt32) throws(PageError) {
    let fields = now.fields
    guard fields[columns].isInteger else { throw PageError(.damaged(page: number)) }
    let row = fields[columns].integer
    guard Field.type(of: row) == fields[columns].type else { throw PageError(.unmovable) }
    if count > 0 {
      if isLastNumbers { before.take(last, width: columns + 1) }
      try requireOrder(row: row, number: number)
    }
    count += 1
    var part: UInt64 = 0
    for index in 0..<columns {
      // What the column would keep otherwise, SQLite makes.
      guard affinities[index].holds(fields[index]),
        !move.isInteger || fields[index].isNull || fields[index].isInteger
      else { throw PageError(.unmovable) }
      part = EntrySum.adding(fields[index], to: part)
    }
    sum &+= EntrySum.finish(part, row: row)
    // Where descending values lead is not needed.
    if move.isInteger && descending & 1 == 0 && !fields[0].isNull { try note(fields[0].integer) }
  }

  /// Keeps the entry in `before` as numbers, if they are all that it has.
  @inline(__always)
  private mutating func keepNumbers() {
    isLastNumbers = false
    guard !hasTexts, columns <= Self.mostNumbers else { return }
    let fields = before.fields
    for index in 0..<columns where !fields[index].isInteger && !fields[index].isNull { return }
    isLastNumbers = true
    last.nulls = 0
    for index in 0...columns {
      if fields[index].isNull { last.nulls |= 1 << UInt64(index) }
      last.values[index] = fields[index].isNull ? 0 : fields[index].integer
    }
  }

  /// Compares the fields of the two entries.
  private func requireOrder(row: Int64, number: UInt32) throws(PageError) {
    var hasNull = false
    for index in 0..<columns {
      let order = FieldOrder.compare(before.fields[index], now.fields[index])
      if order != 0 {
        guard (order < 0) != falls[index] else {
          throw PageError(.damaged(page: number))
        }
        return
      }
      hasNull = hasNull || now.fields[index].isNull
    }
    guard before.fields[columns].integer < row, hasNull || !move.isUnique else {
      throw PageError(.damaged(page: number))
    }
  }

  @inline(__always)
  private mutating func note(_ value: Int64) throws(PageError) {
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
