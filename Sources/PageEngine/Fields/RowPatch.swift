import Planning
package import RowPrograms

/// What changes in the rows of a table whose leaves move: entity numbers, and masks of history.
package struct RowPatch: Hashable, Codable, Sendable {
  /// What becomes of the rows of one entity.
  package struct Entity: Hashable, Codable, Sendable {
    /// The number in the source.
    package var source: Int64
    /// The number in the destination.
    package var destination: Int64
    /// Where the bits of the mask go; nil where it stays as it is.
    package var mask: MaskChange?

    /// Takes the numbers of an entity before and after.
    package init(source: Int64, destination: Int64, mask: MaskChange? = nil) {
      self.source = source
      self.destination = destination
      self.mask = mask
    }
  }

  /// A column with the entity numbers of objects that rows refer to.
  package struct Numbers: Hashable, Codable, Sendable {
    /// The column, of the record's.
    package var column: Int
    /// What becomes of the numbers.
    package var map: [TableProgram.Renumbering]

    /// Takes a column and all numbers that it may have.
    package init(column: Int, map: [TableProgram.Renumbering]) {
      self.column = column
      self.map = map
    }
  }

  /// The column with the number of the row's entity.
  package var entityColumn: Int
  /// The entities that rows may have.
  package var entities: [Entity]
  /// Other columns with entity numbers.
  package var numbers: [Numbers]
  /// The column with a mask of properties.
  package var maskColumn: Int?

  /// Takes the columns by their places in a record.
  package init(
    entityColumn: Int, entities: [Entity], numbers: [Numbers] = [], maskColumn: Int? = nil
  ) {
    self.entityColumn = entityColumn
    self.entities = entities
    self.numbers = numbers
    self.maskColumn = maskColumn
  }

  /// The columns whose values may change, rising.
  package var columns: [Int] {
    Set([entityColumn] + numbers.map(\.column) + [maskColumn].compactMap(\.self)).sorted()
  }
}

/// Patches records where they lie, as long as no value changes its length.
final class RowPatcher {
  /// What became of a record.
  enum Outcome {
    /// It is as it has to be, in the place where it was.
    case inPlace
    /// Some of its values have other lengths: `layOut` lays it out again.
    case resized
    /// It has to be made row by row.
    case unknown
  }

  private struct Place {
    var type: UInt64 = 0
    /// Where the record has the type, and the value.
    var at = 0
    var body = 0
  }

  private let count: Int
  /// The columns whose values may change, rising; then -1.
  private let columns: UnsafeMutablePointer<Int>
  private let places: UnsafeMutablePointer<Place>
  private var next = 0
  /// The numbers of each entity before and after.
  private let entities: UnsafeMutableBufferPointer<(source: Int64, destination: Int64)>
  private let masks: UnsafeMutableBufferPointer<Unmanaged<MaskBuffer>?>
  private let numbers: [(place: Int, map: [TableProgram.Renumbering])]
  private let hasNumbers: Bool
  private let entityPlace: Int
  private let maskPlace: Int
  /// For each of the columns, the value that does not fit where it was.
  private let resized: UnsafeMutableBufferPointer<Field?>
  private var isResized = false
  private let scratch: UnsafeMutableRawPointer
  private var lastEntity = 0
  /// For each entity, its rows and those whose masks name more properties than are known.
  private let counts: UnsafeMutableBufferPointer<Int64>

  init(_ patch: RowPatch) {
    let columns = patch.columns
    count = columns.count
    self.columns = .allocate(capacity: count + 1)
    places = .allocate(capacity: count)
    places.initialize(repeating: Place(), count: count)
    for (index, column) in (columns + [-1]).enumerated() { self.columns[index] = column }
    entities = .allocate(capacity: max(1, patch.entities.count))
    masks = .allocate(capacity: max(1, patch.entities.count))
    entities.initialize(repeating: (.min, .min))
    masks.initialize(repeating: nil)
    for (index, entity) in patch.entities.enumerated() {
      entities[index] = (entity.source, entity.destination)
      masks[index] = entity.mask.map { Unmanaged.passRetained(MaskBuffer($0)) }
    }
    entityPlace = columns.firstIndex(of: patch.entityColumn) ?? 0
    numbers = patch.numbers.map { (columns.firstIndex(of: $0.column) ?? 0, $0.map) }
    hasNumbers = !numbers.isEmpty
    maskPlace = patch.maskColumn.flatMap { columns.firstIndex(of: $0) } ?? 0
    resized = .allocate(capacity: count)
    resized.initialize(repeating: nil)
    scratch = .allocate(byteCount: 8 * count, alignment: 8)
    counts = .allocate(capacity: 2 * entities.count)
    counts.initialize(repeating: 0)
  }

  deinit {
    columns.deallocate()
    places.deallocate()
    entities.deallocate()
    for mask in masks { mask?.release() }
    masks.deallocate()
    resized.deallocate()
    scratch.deallocate()
    counts.deallocate()
  }

  // MARK: Places

  /// Begins with another record; the first column to note.
  @inline(__always)
  func begin() -> Int {
    next = 0
    return columns[0]
  }

  /// Notes where a column is; the next one, -1 after the last.
  @inline(__always)
  func note(type: UInt64, at: Int, body: Int) -> Int {
    places[next] = Place(type: type, at: at, body: body)
    next &+= 1
    return columns[next]
  }

  // MARK: Accounts

  /// The rows that were patched.
  var rows: RowCount {
    let rows = entities.indices.map {
      EntityRows(number: entities[$0].destination, rows: counts[2 * $0])
    }
    let wide = entities.indices.map {
      EntityRows(number: entities[$0].destination, rows: counts[2 * $0 + 1])
    }
    return RowCount(
      seen: rows.reduce(0) { $0 + $1.rows }, made: rows, strays: 0,
      wideMasks: masks.contains { $0 != nil } ? wide : nil)
  }

  // MARK: Records

  /// Patches the record whose columns were recorded; `local` of its bytes are on its page.
  @inline(__always)
  func apply(_ record: UnsafeMutableRawPointer, local: Int) -> Outcome {
    if isResized {
      resized.update(repeating: nil)
      isResized = false
    }
    guard next == count, let number = integer(entityPlace, of: record, local: local),
      let entity = entity(number: number)
    else { return .unknown }
    let becomes = entities[entity].destination
    if becomes != number { put(becomes, place: entityPlace, record: record) }
    if hasNumbers, !renumber(record, local: local) { return .unknown }
    counts[2 * entity] &+= 1
    let type = places[maskPlace].type
    if type >= 12, type & 1 == 0, let mask = masks[entity] {
      guard places[maskPlace].body + Field.size(type: type) <= local else { return .unknown }
      mask._withUnsafeGuaranteedRef { put($0, entity: entity, record: record) }
    }
    return isResized ? .resized : .inPlace
  }

  /// Patches the numbers of objects that the row refers to; false where one is none of an entity.
  private func renumber(_ record: UnsafeMutableRawPointer, local: Int) -> Bool {
    for (place, map) in numbers where places[place].type != 0 {
      guard let number = integer(place, of: record, local: local),
        let found = map.first(where: { $0.source == number })
      else { return false }
      if found.destination != number { put(found.destination, place: place, record: record) }
    }
    return true
  }

  @inline(__always)
  private func integer(_ place: Int, of record: UnsafeMutableRawPointer, local: Int) -> Int64? {
    let found = places[place]
    let field = Field(type: found.type, body: UnsafeRawPointer(record) + found.body)
    guard field.isInteger, found.body + field.size <= local else { return nil }
    return field.integer
  }

  @inline(__always)
  private func entity(number: Int64) -> Int? {
    entities[lastEntity].source == number ? lastEntity : otherEntity(number: number)
  }

  private func otherEntity(number: Int64) -> Int? {
    guard let found = entities.firstIndex(where: { $0.source == number }) else { return nil }
    lastEntity = found
    return found
  }

  /// Puts a number where one was, if it takes as many bytes.
  @inline(__always)
  private func put(_ number: Int64, place: Int, record: UnsafeMutableRawPointer) {
    put(Field(value: number, scratch: scratch + 8 * place), place: place, record: record)
  }

  @inline(__always)
  private func put(_ mask: MaskBuffer, entity: Int, record: UnsafeMutableRawPointer) {
    let found = places[maskPlace]
    let field = Field(type: found.type, body: UnsafeRawPointer(record) + found.body)
    if mask.widens(field) { counts[2 * entity + 1] &+= 1 }
    put(mask.applied(to: field), place: maskPlace, record: record)
  }

  @inline(__always)
  private func put(_ field: Field, place: Int, record: UnsafeMutableRawPointer) {
    let found = places[place]
    guard field.size == Field.size(type: found.type),
      Bytes.varintSize(field.type) == Bytes.varintSize(found.type)
    else {
      resized[place] = field
      isResized = true
      return
    }
    _ = Bytes.putVarint(field.type, at: record + found.at)
    if let body = field.body {
      (record + found.body).copyMemory(from: body, byteCount: field.size)
    }
  }

  // MARK: Records of another size

  /// Lays out a whole record with the values that did not fit; its size.
  func layOut(
    _ record: UnsafeRawPointer, total: Int, into buffer: RecordBuffer
  ) throws(PageError) -> UnsafeRawBufferPointer {
    let header = Int(record.load(as: UInt8.self))
    var (headerSize, size) = (header, total)
    for index in 0..<count {
      guard let field = resized[index] else { continue }
      let before = places[index].type
      headerSize += Bytes.varintSize(field.type) - Bytes.varintSize(before)
      size += field.size - Field.size(type: before)
    }
    // Headers of 128 bytes and more, which count their own length in two, are not moved.
    guard headerSize < 128 else { throw PageError(.unmovable) }
    size += headerSize - header
    let room = try buffer.room(for: size)
    guard let base = room.baseAddress else { throw PageError(.unmovable) }
    base.storeBytes(of: UInt8(headerSize), as: UInt8.self)
    var (at, body) = (1, headerSize)
    var (fromType, fromBody) = (1, header)
    for index in 0..<count {
      guard let field = resized[index] else { continue }
      let place = places[index]
      (base + at).copyMemory(from: record + fromType, byteCount: place.at - fromType)
      at += place.at - fromType
      at += Bytes.putVarint(field.type, at: base + at)
      fromType = place.at + Bytes.varintSize(place.type)
      (base + body).copyMemory(from: record + fromBody, byteCount: place.body - fromBody)
      body += place.body - fromBody
      if let own = field.body { (base + body).copyMemory(from: own, byteCount: field.size) }
      body += field.size
      fromBody = place.body + Field.size(type: place.type)
    }
    (base + at).copyMemory(from: record + fromType, byteCount: header - fromType)
    (base + body).copyMemory(from: record + fromBody, byteCount: total - fromBody)
    return UnsafeRawBufferPointer(rebasing: room[..<size])
  }
}
