import StoreFormat

/// Copies the records of a table without taking them apart: values that stay side by side go over
/// as bytes, with those between them that are the same for all rows of an entity.
///
/// An unusual record, or one with a value that its new column would store in another form, is left
/// to the program, which handles each value.
final class RecordCopier {
  /// What a column of a source record may hold.
  private struct Column {
    /// Kinds of values that stay as they are, a bit each.
    var allowed: UInt16 = ValueKinds.all
    /// Whether it is noted where it is.
    var isNoted = false

    /// What is to be done about a value of a serial type below 128: the bytes that it takes, or
    /// `looked` where there is more to it.
    func verdict(of type: UInt64) -> UInt8 {
      let isUsual = allowed & ValueKinds.kind(of: type) != 0 && !isNoted && type != 1 && type != 7
      return isUsual ? UInt8(Field.size(type: type)) : RecordCopier.looked
    }
  }

  private static let looked: UInt8 = 0xff

  /// Where a record has a column.
  private struct Note {
    var type: UInt64 = 0
    var at = 0
    var body = 0
  }

  /// Neighbours in a record that is made.
  private struct Part {
    /// The notes where they begin and end in the source record; -1 for constants.
    var first = -1
    var last = -1
    /// The serial types and values of constants.
    var types = UnsafeRawBufferPointer(start: nil, count: 0)
    var bodies = UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// A record that is to be copied.
  struct Measure {
    /// The place of its entity.
    fileprivate(set) var entity: Int
    /// The bytes of the record that it becomes, and of the head of that.
    fileprivate(set) var size: Int
    fileprivate var head: Int
  }

  private let count: Int
  private let columns: UnsafeMutablePointer<Column>
  /// The verdicts of each column, by types below 128.
  private let verdicts: UnsafeMutablePointer<UInt8>
  private let notes: UnsafeMutablePointer<Note>
  /// The note of the column with the entity number.
  private let entityNote: Int
  /// The parts of each entity, one entity after the other, and where each begins.
  private let parts: UnsafeMutablePointer<Part>
  private let firstParts: UnsafeMutablePointer<Int>
  private let program: FieldProgram
  /// Values of the row that are wanted: their notes, -1 where `constants` has them, by entities.
  private let wanted: [(place: Int, notes: [Int], constants: [Field])]
  private let kept: [UnsafeMutableRawBufferPointer]

  /// Takes a program, the form of the records that it reads, and the places of values that somebody
  /// wants to have of each row; nil where the program does more than copy values and put the same
  /// ones everywhere.
  init?(_ program: FieldProgram, form: TableForm, wanted places: Set<Int>) {
    guard let origins = program.origins, let number = form.places.firstIndex(of: 1) else {
      return nil
    }
    var columns = form.isReal.map { _ in Column() }
    guard let sources = Self.sources(of: origins, form: form, columns: &columns) else { return nil }
    var noted: Set = [number, columns.count]
    for list in sources {
      for place in list.indices {
        guard let column = list[place] else { continue }
        if place == 0 || list[place - 1] != column - 1 { noted.insert(column) }
        if place == list.count - 1 || list[place + 1] != column + 1 { noted.insert(column + 1) }
        if places.contains(place) { noted.insert(column) }
      }
    }
    let order = noted.sorted()
    for column in order where column < columns.count { columns[column].isNoted = true }
    let notes = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
    count = columns.count
    self.program = program
    guard let entityNote = notes[number] else { preconditionFailure("entity numbers are noted") }
    self.entityNote = entityNote
    wanted = places.sorted().map { place in
      (
        place, sources.map { $0[place].flatMap { notes[$0] } ?? -1 },
        origins.map { if case .constant(let field) = $0[place] { field } else { .null } }
      )
    }
    self.columns = .allocate(capacity: max(1, count))
    self.columns.initialize(from: columns, count: count)
    verdicts = .allocate(capacity: max(1, count * 128))
    for (place, column) in columns.enumerated() {
      for type in 0..<128 { verdicts[place * 128 + type] = column.verdict(of: UInt64(type)) }
    }
    self.notes = .allocate(capacity: order.count)
    self.notes.initialize(repeating: Note(), count: order.count)
    var kept: [UnsafeMutableRawBufferPointer] = []
    let all = zip(origins, sources).map { origins, sources in
      Self.parts(of: origins, sources: sources, notes: notes, keeping: &kept)
    }
    parts = .allocate(capacity: max(1, all.joined().count))
    firstParts = .allocate(capacity: all.count + 1)
    var first = 0
    for (entity, list) in all.enumerated() {
      firstParts[entity] = first
      for part in list {
        (parts + first).initialize(to: part)
        first += 1
      }
    }
    firstParts[all.count] = first
    self.kept = kept
  }

  deinit {
    columns.deallocate()
    verdicts.deallocate()
    notes.deallocate()
    parts.deallocate()
    firstParts.deallocate()
    for bytes in kept { bytes.deallocate() }
  }

  /// The record column of each value, by entities, nil for a constant; nil where a field has none.
  ///
  /// - Parameter columns: learn which kinds of values stay as they are.
  private static func sources(
    of origins: [[FieldProgram.Origin]], form: TableForm, columns: inout [Column]
  ) -> [[Int?]]? {
    var result: [[Int?]] = []
    for entity in origins {
      var list: [Int?] = []
      for origin in entity {
        guard case .field(let field, let affinity, let takesNull) = origin else {
          list.append(nil)
          continue
        }
        guard let column = form.places.firstIndex(of: field) else { return nil }
        var kinds = affinity.usual
        if form.isReal[column] { kinds &= ~ValueKinds.integers }
        if !takesNull { kinds &= ~ValueKinds.null }
        columns[column].allowed &= kinds
        list.append(column)
      }
      result.append(list)
    }
    return result
  }

  /// What a record of one entity is made of.
  private static func parts(
    of origins: [FieldProgram.Origin], sources: [Int?], notes: [Int: Int],
    keeping kept: inout [UnsafeMutableRawBufferPointer]
  ) -> [Part] {
    var result: [Part] = []
    var place = 0
    while place < sources.count {
      let start = place
      var part = Part()
      if let column = sources[place] {
        repeat {
          place += 1
        } while place < sources.count
          && sources[place] == column + place - start
        guard let first = notes[column], let last = notes[column + place - start] else {
          preconditionFailure("both ends of a run are noted")
        }
        (part.first, part.last) = (first, last)
      } else {
        var constants: [Field] = []
        while place < sources.count, case .constant(let field) = origins[place] {
          constants.append(field)
          place += 1
        }
        (part.types, part.bodies) = encoded(constants, keeping: &kept)
      }
      result.append(part)
    }
    return result
  }

  /// The serial types and the bodies of values that follow one another.
  private static func encoded(
    _ fields: [Field], keeping kept: inout [UnsafeMutableRawBufferPointer]
  ) -> (UnsafeRawBufferPointer, UnsafeRawBufferPointer) {
    let size = fields.reduce(0) { $0 + $1.size }
    let bytes = UnsafeMutableRawBufferPointer.allocate(
      byteCount: size + 9 * fields.count + 8, alignment: 8)
    kept.append(bytes)
    guard let base = bytes.baseAddress else { preconditionFailure("there are constants") }
    var (at, body) = (0, 0)
    for field in fields {
      if let from = field.body { (base + body).copyMemory(from: from, byteCount: field.size) }
      body += field.size
      at += Bytes.putVarint(field.type, at: base + size + at)
    }
    return (
      UnsafeRawBufferPointer(start: base + size, count: at),
      UnsafeRawBufferPointer(start: base, count: size)
    )
  }

  // MARK: Records

  /// Checks a record that is completely on its page, after the program has checked its key; nil if
  /// the program has to make the row.
  @inline(__always)
  func measure(
    _ record: UnsafeRawPointer, total: Int, key: Int64, _ outcome: FieldProgram.KeyOutcome
  ) -> Measure? {
    let end = Int(record.load(as: UInt8.self))
    guard end < 128, end <= total else { return nil }
    var (at, body, column, note) = (1, end, 0, 0)
    while at < end {
      guard column < count else { return nil }
      let byte = record.load(fromByteOffset: at, as: UInt8.self)
      if byte < 128 {
        let verdict = verdicts[column &<< 7 &+ Int(byte)]
        if verdict != Self.looked {
          (at, body, column) = (at &+ 1, body &+ Int(verdict), column &+ 1)
          continue
        }
      }
      guard
        let type = type(
          byte, of: record, at: at, end: end, body: body, total: total, column: column)
      else { return nil }
      if columns[column].isNoted {
        notes[note] = Note(type: type, at: at, body: body)
        note &+= 1
      }
      at &+= byte < 128 ? 1 : 2
      (body, column) = (body &+ Field.size(type: type), column &+ 1)
    }
    guard column == count, at == end, body == total else { return nil }
    notes[note] = Note(type: 0, at: at, body: body)
    let number = notes[entityNote]
    guard number.type > 0, number.type < 10, number.type != 7,
      let entity = program.taker(
        of: Field(type: number.type, body: record + number.body).integer, key: key, outcome),
      entity < program.entityCount
    else { return nil }
    var (head, size) = (1, 0)
    for index in firstParts[entity]..<firstParts[entity &+ 1] {
      let part = parts[index]
      if part.first < 0 {
        head &+= part.types.count
        size &+= part.bodies.count
      } else {
        head &+= notes[part.last].at &- notes[part.first].at
        size &+= notes[part.last].body &- notes[part.first].body
      }
    }
    guard head < 128, head + size <= PageGeometry.tableLocalLimit else { return nil }
    return Measure(entity: entity, size: head + size, head: head)
  }

  /// The serial type that begins with a byte, if the value stays as it is.
  @inline(__always)
  private func type(
    _ byte: UInt8, of record: UnsafeRawPointer, at: Int, end: Int, body: Int, total: Int,
    column: Int
  ) -> UInt64? {
    var type = UInt64(byte)
    if byte >= 128 {
      guard at &+ 1 < end else { return nil }
      let low = UInt64(record.load(fromByteOffset: at &+ 1, as: UInt8.self))
      type = (type & 127) << 7 | low
      // A longer one is that of no value on this page, or not in its shortest form.
      guard low < 128, type >= 128 else { return nil }
    }
    guard columns[column].allowed & ValueKinds.kind(of: type) != 0 else { return nil }
    if type == 1 {
      if body >= total || Field.isOutspelled(record + body) { return nil }
    } else if type == 7 {
      let field = Field(type: 7, body: record + body)
      if body &+ 8 > total || !Affinity.numeric.keeps(field) { return nil }
    }
    return type
  }

  /// Writes what becomes of a record that was measured last.
  @inline(__always)
  func write(_ record: UnsafeRawPointer, _ measure: Measure, to: UnsafeMutableRawPointer) {
    to.storeBytes(of: UInt8(measure.head), as: UInt8.self)
    let end = to + measure.size
    let all = firstParts[measure.entity]..<firstParts[measure.entity &+ 1]
    var at = to + 1
    for index in all {
      let part = parts[index]
      if part.first < 0 {
        Self.copy(part.types.baseAddress, part.types.count, to: &at, end: end)
      } else {
        let (first, last) = (notes[part.first].at, notes[part.last].at)
        Self.copy(record + first, last &- first, to: &at, end: end)
      }
    }
    for index in all {
      let part = parts[index]
      if part.first < 0 {
        Self.copy(part.bodies.baseAddress, part.bodies.count, to: &at, end: end)
      } else {
        let (first, last) = (notes[part.first].body, notes[part.last].body)
        Self.copy(record + first, last &- first, to: &at, end: end)
      }
    }
  }

  /// Copies bytes.
  ///
  /// More than `count` may be read and written; what comes after them is written later.
  @inline(__always)
  private static func copy(
    _ from: UnsafeRawPointer?, _ count: Int, to: inout UnsafeMutableRawPointer,
    end: UnsafeMutableRawPointer
  ) {
    guard count > 0, let from else { return }
    if count <= 8, to + 8 <= end {
      to.storeBytes(of: from.loadUnaligned(as: UInt64.self), as: UInt64.self)
    } else {
      to.copyMemory(from: from, byteCount: count)
    }
    to += count
  }

  /// Puts the values that are wanted where the program makes rows.
  @inline(__always)
  func show(_ record: UnsafeRawPointer, _ measure: Measure) {
    if wanted.isEmpty { return }
    for value in wanted {
      let note = value.notes[measure.entity]
      program.output[value.place] =
        note < 0
        ? value.constants[measure.entity]
        : Field(type: notes[note].type, body: record + notes[note].body)
    }
  }
}

/// Kinds of values by their serial types, a bit each: those of numbers have bits of their own.
private enum ValueKinds {
  static let null: UInt16 = 1
  static let integers: UInt16 = 0b11_0111_1110
  static let real: UInt16 = 1 << 7
  static let blob: UInt16 = 1 << 12
  static let text: UInt16 = 1 << 13
  static let all = null | integers | real | blob | text

  @inline(__always)
  static func kind(of type: UInt64) -> UInt16 { 1 &<< UInt16(type < 12 ? type : 12 | type & 1) }
}

extension Affinity {
  /// The kinds of values that a column keeps as they are, reals with a fraction among them.
  fileprivate var usual: UInt16 {
    switch self {
    case .none: ValueKinds.all
    case .text: ValueKinds.null | ValueKinds.blob | ValueKinds.text
    case .integer, .numeric: ValueKinds.null | ValueKinds.integers | ValueKinds.real
    case .real: ValueKinds.null | ValueKinds.integers & ~(1 << 6) | ValueKinds.real
    }
  }
}
