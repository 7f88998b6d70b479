package import MigrationEngine
package import RowPrograms

/// Makes rows of one table from those of another, without allocating anything for a row.
///
/// Fields 0, 1 and 2 of a source row are its key, its entity number and its save count; fields 1
/// and 2 of a destination row are the same, and field 0 is NULL, as a record holds the key.
package final class FieldProgram {
  /// What became of a row.
  package enum Outcome { case made, leftBehind, unknown }

  /// The fields of a destination row, its key, entity number and save count included.
  package let width: Int
  /// The place of the last row's entity.
  package var entity: Int { lastEntity }
  private var lastEntity = 0
  /// Source rows that became none.
  package private(set) var leftBehind: Int64 = 0
  /// Counts numbers that no list has or that floating point may not hold, and rows whose numbers
  /// were not checked here.
  package private(set) var strays: Int64 = 0
  /// Rows made, by the places of their entities.
  private let made: UnsafeMutablePointer<Int64>
  /// Rows made with a mask that names more properties than are known, likewise.
  private var wide: [Int64]
  /// Whether the last row is one of them.
  private var isWide = false
  /// The destination row; valid until the next one.
  package let output: UnsafeMutablePointer<Field>
  private let columns: Int
  /// The field of a source row that decides by which steps it is made.
  private let entityField: Int
  /// The field of a destination row with the entity number.
  private let entityOutput: Int
  private let entities: [(source: Int64, destination: Int64)]
  /// How many there are.
  let entityCount: Int
  private let entityNumbers: UnsafeMutablePointer<(source: Int64, destination: Int64)>
  /// For each entity, a step for each column.
  private let steps: UnsafeMutablePointer<FieldStep>
  private var constants: UnsafeMutableBufferPointer<Field>
  private var lists: UnsafeMutableBufferPointer<UnsafeMutableBufferPointer<(Int64, Int64)>>
  private var masks: [MaskBuffer] = []
  /// By the places of entities, the keys of source rows that do not become what they stand for.
  private var others: [RowKeyReader.Table?]
  /// The same for a loop over rows, which counts no references; `others` keeps them alive.
  private let othersOfRows: UnsafeMutablePointer<Unmanaged<RowKeyReader.Table>?>
  /// Whether there are any.
  private var isDivided = false
  /// Whether the key of a row alone can show that it is left behind.
  private(set) var isLeftByKey = false
  private var eithers: [(FieldStep, FieldStep)] = []
  private var untagged: [UntaggedValue] = []
  private var keyed: [(step: FieldStep, untaken: RowKeyReader.Table)] = []
  /// What is looked up of the entities of other rows.
  var lookUps: [EntityLookUp] = []
  /// Numbers by the keys of rows, and the columns whose places they are.
  var listed: [NumberReader] = []
  var places: [(column: Int, list: Int)] = []
  /// Why something could not be looked up.
  var failure: PageError?
  private var kept: [UnsafeMutableRawPointer] = []
  let scratch: UnsafeMutableRawPointer
  /// The encoding of all texts, in the source and in the result.
  let encoding: TextEncoding

  /// Takes the entity numbers before and after, and the number of columns after the first three.
  ///
  /// - Parameters:
  ///   - entityField: the field of a source row with the entity number that decides; where it is
  ///     another than field 1, rows keep what they have in field 1.
  ///   - entityOutput: the field of a destination row with that number.
  package init(
    entities: [(source: Int64, destination: Int64)], columns: Int, entityField: Int = 1,
    entityOutput: Int = 1, encoding: TextEncoding = .utf8
  ) {
    self.entities = entities
    entityCount = entities.count
    self.encoding = encoding
    self.columns = columns
    self.entityField = entityField
    self.entityOutput = entityOutput
    width = columns + 3
    scratch = .allocate(byteCount: width * 8, alignment: 8)
    output = .allocate(capacity: width)
    output.initialize(repeating: .null, count: width)
    entityNumbers = .allocate(capacity: max(1, entities.count))
    for (index, entity) in entities.enumerated() { entityNumbers[index] = entity }
    made = .allocate(capacity: max(1, entities.count))
    made.initialize(repeating: 0, count: max(1, entities.count))
    wide = entities.map { _ in 0 }
    others = entities.map { _ in nil }
    othersOfRows = .allocate(capacity: max(1, entities.count))
    othersOfRows.initialize(repeating: nil, count: max(1, entities.count))
    let count = max(1, entities.count * columns)
    steps = .allocate(capacity: count)
    steps.initialize(repeating: FieldStep(kind: .constant), count: count)
    constants = .allocate(capacity: 1)
    constants.initialize(repeating: .null)
    lists = .allocate(capacity: 0)
  }

  deinit {
    scratch.deallocate()
    output.deallocate()
    made.deallocate()
    entityNumbers.deallocate()
    othersOfRows.deallocate()
    steps.deallocate()
    constants.deallocate()
    for list in lists { list.deallocate() }
    lists.deallocate()
    for pointer in kept { pointer.deallocate() }
  }

  /// Sets how one column is made for the rows of one entity, both by their places.
  package func set(_ step: FieldStep, entity: Int, column: Int) {
    precondition(entity < entities.count && column < columns, "a step has a place")
    let known =
      switch step.kind {
      case .remasked: masks.count
      case .keyed: keyed.count
      case .either: eithers.count
      case .untagged: untagged.count
      case .entityFiltered, .numbered: lookUps.count
      case .listed: listed.count
      default: max(1, lists.count)
      }
    precondition(step.constant < constants.count && step.list < known, "a step's parts exist")
    steps[entity * columns + column] = step
  }

  /// Keeps a value, in the form in which its column keeps it.
  package func add(constant field: Field) -> Int {
    let copy = UnsafeMutableRawPointer.allocate(byteCount: max(8, field.size), alignment: 8)
    kept.append(copy)
    var own = field
    if let body = field.body { copy.copyMemory(from: body, byteCount: field.size) }
    own.body = UnsafeRawPointer(copy)
    let larger = UnsafeMutableBufferPointer<Field>.allocate(capacity: constants.count + 1)
    _ = larger.initialize(from: constants)
    larger.initializeElement(at: constants.count, to: own)
    constants.deallocate()
    constants = larger
    return constants.count - 1
  }

  /// Keeps a list of numbers, and what each becomes.
  package func add(list: [(Int64, Int64)]) -> Int {
    let own = UnsafeMutableBufferPointer<(Int64, Int64)>.allocate(capacity: list.count)
    for (index, entry) in list.enumerated() { own.initializeElement(at: index, to: entry) }
    let larger = UnsafeMutableBufferPointer<UnsafeMutableBufferPointer<(Int64, Int64)>>.allocate(
      capacity: lists.count + 1)
    _ = larger.initialize(from: lists)
    larger.initializeElement(at: lists.count, to: own)
    lists.deallocate()
    lists = larger
    return lists.count - 1
  }

  /// Keeps where each bit of a mask goes, and room for a mask.
  package func add(mask change: MaskChange) -> Int {
    masks.append(MaskBuffer(change))
    return masks.count - 1
  }

  /// Has rows with these keys become nothing that the entity at that place stands for.
  package func leave(_ keys: RowKeyReader.Table, entity: Int) {
    others[entity] = keys
    othersOfRows[entity] = .passUnretained(keys)
    isDivided = true
    isLeftByKey = entities.allSatisfy { $0.source == entities[0].source }
  }

  /// Keeps two steps; the second one applies where the first one does not.
  package func add(_ step: FieldStep, else other: FieldStep) -> Int {
    eithers.append((step, other))
    return eithers.count - 1
  }

  /// Keeps what takes the tags off the values of one column.
  func add(untagged values: UntaggedValue) -> Int {
    untagged.append(values)
    return untagged.count - 1
  }

  /// Keeps a step that makes a value where a key is none of these.
  package func add(_ step: FieldStep, unlessIn keys: RowKeyReader.Table) -> Int {
    keyed.append((step, keys))
    return keyed.count - 1
  }

  /// Takes a row that was made elsewhere, and whether its mask names more properties than are
  /// known.
  package func take(_ row: UnsafePointer<Field>, isWide: Bool = false) {
    strays += 1
    self.isWide = isWide
    for index in 1..<width { output[index] = row[index] }
    let number = row[entityOutput]
    guard number.isInteger else { return }
    for index in entities.indices where entityNumbers[index].destination == number.integer {
      lastEntity = index
    }
  }

  // MARK: Copies

  /// Where a value of a destination row comes from as it is.
  enum Origin {
    case constant(Field)
    /// A field of the source row, which a column of some affinity keeps, NULL if it takes that.
    case field(Int, Affinity, takesNull: Bool)
  }

  /// Where the values of each entity's rows come from; nil where one is made in another way.
  var origins: [[Origin]]? {
    guard entityField == 1, entityOutput == 1, places.isEmpty else { return nil }
    var result: [[Origin]] = []
    for (entity, number) in entities.enumerated() {
      let own = UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8)
      kept.append(own)
      var list: [Origin] = [
        .constant(.null), .constant(Field(value: number.destination, scratch: own)),
        .field(2, .integer, takesNull: true),
      ]
      for column in 0..<columns {
        let step = steps[entity * columns + column]
        switch step.kind {
        case .constant: list.append(.constant(constants[Int(step.constant)]))
        case .copy:
          list.append(.field(Int(step.source), step.affinity, takesNull: step.constant == 0))
        default: return nil
        }
      }
      result.append(list)
    }
    return result
  }

  /// The place of the entity that takes a row; `entityCount` where none does, nil where that cannot
  /// be read.
  ///
  /// - Parameter outcome: what the key of the row decides.
  @inline(__always)
  func taker(
    of number: Int64, key: @autoclosure () -> Int64?, _ outcome: KeyOutcome = .unknown
  ) -> Int? {
    if case .taken(let place) = outcome {
      return entityNumbers[place].source == number ? place : entityCount
    }
    guard let first = place(of: number) else { return entityCount }
    guard isDivided else { return first }
    guard let key = key() else { return nil }
    return taken(key, from: first)
  }

  // MARK: Accounts

  /// Counts a row of an entity by its place.
  @inline(__always)
  func noteMade(entity: Int) { made[entity] &+= 1 }

  /// Counts the row that was made last.
  @inline(__always)
  package func noteMade() {
    made[lastEntity] &+= 1
    if isWide {
      wide[lastEntity] += 1
      isWide = false
    }
  }

  /// Counts a row that became none although its entity has a place.
  package func noteLeftBehind() {
    leftBehind += 1
    isWide = false
  }

  /// Rows made of each entity, by its destination number.
  package var rowsMade: [(destination: Int64, rows: Int64)] {
    entities.indices.map { (entities[$0].destination, made[$0]) }
  }

  /// Rows whose masks name more properties than are known; nil if no mask is rebuilt.
  package var wideMasks: [(destination: Int64, rows: Int64)]? {
    masks.isEmpty ? nil : entities.indices.map { (entities[$0].destination, wide[$0]) }
  }

  // MARK: Rows

  /// Makes the destination row of a source row; `unknown` where SQLite has to make it.
  package func make(_ fields: UnsafePointer<Field>) -> Outcome { assembled(fields) }

  @inline(__always)
  func assembled(_ fields: UnsafePointer<Field>) -> Outcome {
    let number = fields[entityField]
    guard number.isInteger else {
      guard number.isNull else { return .unknown }
      leftBehind += 1
      return .leftBehind
    }
    guard
      let entity = taker(
        of: number.integer, key: fields[0].isInteger ? fields[0].integer : nil)
    else { return .unknown }
    guard entity < entityCount else {
      leftBehind += 1
      return .leftBehind
    }
    lastEntity = entity
    if entityField == 1 {
      output[1] = Field(value: entityNumbers[entity].destination, scratch: scratch + 8)
    } else {
      guard fields[1].isInteger || fields[1].isNull else { return .unknown }
      output[1] = fields[1]
    }
    let count = fields[2]
    if count.isInteger || count.isNull {
      output[2] = count
    } else {
      guard
        let made = Affinity.integer.applied(
          to: count, scratch: scratch + 16, encoding: encoding)
      else {
        return .unknown
      }
      output[2] = made
    }
    let own = steps + entity * columns
    for index in 0..<columns {
      let step = own[index]
      let field = fields[Int(step.source)]
      if step.kind == .copy {
        // What a column keeps as it comes, for the most part.
        if field.isNull {
          output[index + 3] = constants[Int(step.constant)]
        } else if step.affinity.keeps(field) {
          output[index + 3] = field
        } else {
          guard
            let made = step.affinity.applied(
              to: field, scratch: scratch + (index + 3) * 8, encoding: encoding)
          else { return .unknown }
          output[index + 3] = made
        }
      } else {
        guard
          let made = value(step: step, field: field, fields: fields, own: scratch + (index + 3) * 8)
        else {
          return .unknown
        }
        output[index + 3] = made
      }
    }
    return .made
  }

  /// What the key of a row decides, independent of its fields.
  enum KeyOutcome {
    /// The row becomes nothing.
    case leftBehind
    /// If anything takes the row, then the entity at this place.
    case taken(Int)
    /// Nothing.
    case unknown
  }

  /// Checks the key of a row, and counts the row if it is left behind.
  @inline(__always)
  func look(at key: Int64) -> KeyOutcome {
    guard isLeftByKey, let place = taken(key, from: 0) else { return .unknown }
    if place < entityCount { return .taken(place) }
    leftBehind += 1
    return .leftBehind
  }

  @inline(__always)
  private func place(of number: Int64) -> Int? {
    for index in 0..<entityCount where entityNumbers[index].source == number { return index }
    return nil
  }

  /// The decision for a key, among the entities from `first` on that have its number.
  @inline(__always)
  private func taken(_ key: Int64, from first: Int) -> Int? {
    let number = entityNumbers[first].source
    for index in first..<entityCount where entityNumbers[index].source == number {
      guard let keys = othersOfRows[index] else { return index }
      guard let isOther = keys._withUnsafeGuaranteedRef({ $0.contains(key) }) else { return nil }
      if !isOther { return index }
    }
    return entityCount
  }

  private func value(
    step: FieldStep, field: Field, fields: UnsafePointer<Field>,
    own: UnsafeMutableRawPointer
  ) -> Field? {
    let affinity = step.affinity
    switch step.kind {
    case .constant: return constants[Int(step.constant)]
    case .filtered:
      let filter = fields[Int(step.number)]
      if filter.isNull { return .null }
      guard filter.isInteger else { return nil }
      guard found(filter.integer, list: Int(step.list)) != nil else {
        strays += 1
        return .null
      }
      return affinity.applied(to: field, scratch: own, encoding: encoding)
    case .renumbered:
      if field.isNull { return .null }
      guard field.isInteger else { return nil }
      guard let number = found(field.integer, list: Int(step.list)) else {
        strays += 1
        return .null
      }
      return affinity.applied(
        to: Field(value: number, scratch: own), scratch: own, encoding: encoding)
    case .remasked:
      isWide = masks[Int(step.list)].widens(field)
      return masks[Int(step.list)].applied(to: field)
    case .keyed:
      let (inner, untaken) = keyed[Int(step.list)]
      if field.isInteger {
        guard let isUntaken = untaken.contains(field.integer) else { return nil }
        if isUntaken { return .null }
      } else if !field.isNull {
        return nil
      }
      return value(step: inner, field: fields[Int(inner.source)], fields: fields, own: own)
    case .either:
      let (first, second) = eithers[Int(step.list)]
      let made = value(step: first, field: fields[Int(first.source)], fields: fields, own: own)
      guard let made, made.isNull else { return made }
      return value(step: second, field: fields[Int(second.source)], fields: fields, own: own)
    case .untagged:
      if field.isNull { return constants[Int(step.constant)] }
      guard let bytes = untagged[Int(step.list)].value(of: field) else { return nil }
      return affinity.applied(to: bytes, scratch: own, encoding: encoding)
    case .entityFiltered, .numbered, .listed:
      return lookedUp(step: step, field: field, fields: fields, own: own)
    case .copy, .toInteger, .toBoolean, .toReal:
      if field.isNull { return constants[Int(step.constant)] }
      guard let number = step.kind.converted(field, own: own) else { return nil }
      // The coordinator reports the changed value.
      if step.kind == .toReal, field.isInteger, !field.integer.isSurelyExactInReal { strays += 1 }
      return affinity.applied(to: number, scratch: own, encoding: encoding)
    }
  }

  private func found(_ number: Int64, list: Int) -> Int64? {
    for entry in lists[list] where entry.0 == number { return entry.1 }
    return nil
  }
}
