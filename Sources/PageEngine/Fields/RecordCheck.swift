/// What the rows of a table have to be like for its leaves to be moved as they are.
package struct RowRule: Hashable, Codable, Sendable {
  /// The columns of each record: rows from before a column was added have fewer.
  package var columns: Int
  /// The entity numbers that rows have in `entityColumn`; nil for a join table, whose first two
  /// columns are never NULL.
  package var entities: [Int64]?
  /// The column with the entity number: 1 in a table of objects.
  package var entityColumn: Int

  /// Demands so many columns and, of a table of objects, one of these entity numbers.
  package init(columns: Int, entities: [Int64]?, entityColumn: Int = 1) {
    self.columns = columns
    self.entities = entities
    self.entityColumn = entityColumn
  }
}

/// Reads the head of a record, only as far as needed to know that the row may move.
struct RecordCheck {
  private let columns: Int
  private let entities: [Int64]?
  private let entityColumn: Int
  private let names: NameCollector?
  private let sums: RowSums?
  private let patcher: RowPatcher?
  /// Whether summed values continue beyond the page and have to be read there.
  private(set) var isCut = false
  private var lastType: UInt64 = 0
  private var lastEntity: Int64 = 0

  /// Adds the names of external files in the rows to `names`, and stores summed values for `sums`.
  ///
  /// `patcher` gets the places of the values that it patches; it reads entities itself.
  init(
    rule: RowRule, names: NameCollector?, sums: RowSums? = nil, patcher: RowPatcher? = nil
  ) {
    self.names = names
    self.sums = sums
    self.patcher = patcher
    columns = rule.columns
    entities = rule.entities
    entityColumn = rule.entityColumn
  }

  /// Whether a record may move; `local` of its `total` bytes are on the page.
  mutating func allows(
    _ record: UnsafeRawPointer, local: Int, of total: Int
  ) throws(PageError) -> Bool {
    let header = Int(record.load(as: UInt8.self))
    // A header of 128 bytes and more has its length in two; such rows are written again.
    guard header < 128, header <= local else { return false }
    var count = 0
    var at = 1
    var body = header
    var next = 0
    var wanted = sums?.columns.first ?? -1
    var patched = patcher?.begin() ?? -1
    isCut = false
    // The next column that is needed; negative for none.
    var stop = names == nil ? min(UInt(bitPattern: wanted), UInt(bitPattern: patched)) : 0
    while at < header {
      let start = at
      var type = UInt64(record.load(fromByteOffset: at, as: UInt8.self))
      if type < 128, type != 1, Field.isValid(type), UInt(bitPattern: count) < stop {
        (at, count, body) = (at &+ 1, count &+ 1, body &+ Field.size(type: type))
        continue
      }
      if type < 128 {
        at += 1
      } else {
        guard let long = Bytes.varint(record, offset: at, limit: header) else { return false }
        (type, at) = (long.value, long.end)
      }
      count += 1
      let size = Field.size(type: type)
      guard type < 10 || (size < 1 << 31 && Field.isValid(type)) else { return false }
      if type == 1 && (body >= local || Field.isOutspelled(record + body)) { return false }
      if count - 1 == wanted, let sums {
        if body + size > local { isCut = true }
        sums.fields[next] = Field(type: type, body: record + body)
        next += 1
        wanted = next < sums.columns.count ? sums.columns[next] : -1
      }
      if count - 1 == patched, let patcher {
        patched = patcher.note(type: type, at: start, body: body)
      }
      if let names, ExternalName.isPossible(type), names.columns.contains(count - 1) {
        if body + size <= local {
          try names.add(Field(type: type, body: record + body))
        } else {
          names.miss()
        }
      }
      body += size
      if names == nil { stop = min(UInt(bitPattern: wanted), UInt(bitPattern: patched)) }
    }
    guard count == columns, body == total else { return false }
    let first = UInt64(record.load(fromByteOffset: 1, as: UInt8.self))
    let second = UInt64(record.load(fromByteOffset: 2, as: UInt8.self))
    guard let entities else {
      return first != 0 && first < 10 && first != 7 && second != 0 && second < 10 && second != 7
    }
    guard first == 0 else { return false }
    return patcher != nil || hasEntity(record, local: local, of: entities)
  }

  /// Whether a record whose head is known to be sound is of one of the entities.
  private mutating func hasEntity(
    _ record: UnsafeRawPointer, local: Int, of entities: [Int64]
  ) -> Bool {
    let field: Field
    if entityColumn == 1 {
      let header = Int(record.load(as: UInt8.self))
      let second = UInt64(record.load(fromByteOffset: 2, as: UInt8.self))
      guard header + Field.size(type: second) <= local else { return false }
      field = Field(type: second, body: record + header)
    } else {
      guard let found = self.field(entityColumn, of: record, local: local) else { return false }
      field = found
    }
    guard field.type < 10, field.isInteger else { return false }
    let number = field.integer
    if field.type == lastType && number == lastEntity { return true }
    (lastType, lastEntity) = (field.type, number)
    guard entities.contains(number) else {
      lastType = 0
      return false
    }
    return true
  }

  /// A field of a record whose head is known to be sound; nil if it continues beyond the page.
  private func field(_ column: Int, of record: UnsafeRawPointer, local: Int) -> Field? {
    var body = Int(record.load(as: UInt8.self))
    let header = body
    var at = 1
    for _ in 0..<column {
      guard let type = Bytes.varint(record, offset: at, limit: header) else { return nil }
      body += Field.size(type: type.value)
      at = type.end
    }
    guard let type = Bytes.varint(record, offset: at, limit: header) else { return nil }
    let found = Field(type: type.value, body: record + body)
    return body + found.size <= local ? found : nil
  }
}
