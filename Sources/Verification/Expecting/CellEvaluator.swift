import ObjectModel
import Schema
import SystemPackage

/// The value that a cell should have.
struct ExpectedCell {
  /// nil if it is unknown.
  var value: RawValue?
  /// Another value that is allowed too.
  var alternative: RawValue?

  init(_ value: RawValue?, or alternative: RawValue? = nil) {
    self.value = value
    self.alternative = alternative
  }
}

/// Applies rules to the rows of a source.
final class CellEvaluator {
  private let source: RawStore
  private let affinity: Affinity
  private let files: ExternalFolders
  private var lookUps: [String: RawStatement] = [:]
  /// How many values would come from external files that are missing.
  private(set) var missingFiles: Int64 = 0

  init(source: RawStore, affinity: Affinity, files: ExternalFolders) {
    self.source = source
    self.affinity = affinity
    self.files = files
  }

  func cell(rule: CellRule, row: RawStatement) throws -> ExpectedCell {
    switch rule {
    case .constant(let value): return ExpectedCell(value)
    case .copy(let place, let other): return ExpectedCell(row.value(column: place).or(other))
    case .number(let place, let type, let other):
      return ExpectedCell(try number(value: row.value(column: place), as: type).or(other))
    case .tagged(let place, let other):
      return ExpectedCell(try tagged(row.value(column: place)).or(other))
    case .untagged(let place, let other):
      let value = row.value(column: place)
      return value == .null ? ExpectedCell(other) : ExpectedCell(try untagged(value))
    case .key(let reference):
      return try key(reference: reference, row: row, value: row.value(column: reference.key))
    case .entity(let reference): return try entity(reference: reference, row: row)
    case .place(let reference, let place):
      return try key(reference: reference, row: row, value: row.value(column: place))
    case .firstOwner(let table, let column, let entities):
      return ExpectedCell(
        try firstOwner(table, column: column, entities: entities, of: row.value(column: 0)))
    case .paired(let pairs, let column):
      return ExpectedCell(try paired(pairs, column: column, of: row.value(column: 0)))
    case .owner(let rule, let family):
      guard let key = try cell(rule: rule, row: row).value, key != .null,
        let number = try entityNumber(of: key, in: family.table).flatMap({ family.kept[$0] })
      else { return ExpectedCell(.null) }
      return ExpectedCell(.integer(number))
    case .stray(let place):
      return ExpectedCell(.null, or: place.map(row.value))
    case .free: return ExpectedCell(nil)
    }
  }

  // MARK: Attributes

  /// Truncates a real towards zero; everything but zero is true.
  private func number(value: RawValue, as type: AttributeType) throws -> RawValue {
    switch (value, type.numberKind) {
    case (.null, _): return .null
    case (.integer(let number), .boolean): return .integer(number == 0 ? 0 : 1)
    case (.real(let bits), .boolean): return .integer(Double(bitPattern: bits) == 0 ? 0 : 1)
    case (_, .boolean): return .integer(1)
    case (.integer, .integer): return value
    case (_, .integer): return try affinity.asInteger(value)
    case (.integer(let number), .real): return .double(number: Double(number))
    case (.real, .real): return value
    case (_, .real): return try affinity.asReal(value)
    case (_, .decimal), (_, nil): return value
    }
  }

  private func tagged(_ value: RawValue) throws -> RawValue {
    switch value {
    case .blob(let bytes), .text(let bytes): .blob([ExternalValue.inlineTag] + bytes)
    case .integer, .real: try tagged(affinity.asText(value))
    case .null: value
    }
  }

  /// What has no tag, as no value of Core Data's has, stays as it is.
  private func untagged(_ value: RawValue) throws -> RawValue? {
    guard case .blob(let bytes) = value else { return value }
    if bytes.first == ExternalValue.inlineTag { return .blob(Array(bytes.dropFirst())) }
    guard bytes.first == ExternalValue.fileTag else { return value }
    guard let name = ExternalValue.fileName(in: bytes), let path = try files.path(of: name) else {
      missingFiles += 1
      return nil
    }
    return .blob(try FileBytes.all(of: path))
  }

  // MARK: Relationships

  /// The entity number of the row with a primary key, nil if there is none.
  func entityNumber(of key: RawValue, in table: String) throws -> Int64? {
    guard key.integer != nil else { return nil }
    return try lookUp(table, key: key) {
      "SELECT Z_ENT FROM \(SQL.identifier(name: table)) WHERE Z_PK = ?"
    }.integer
  }

  /// The first value of the row that a query finds by a key, NULL if there is none; `sql` is called
  /// only once for a name.
  private func lookUp(_ name: String, key: RawValue, sql: () -> String) throws -> RawValue {
    let statement: RawStatement
    if let known = lookUps[name] {
      statement = known
    } else {
      statement = try source.prepare(sql())
      lookUps[name] = statement
    }
    return try statement.row(values: [key])?.first ?? .null
  }

  /// The value that belongs to a reference: its key, or its position in the order.
  private func key(
    reference: Reference, row: RawStatement, value: RawValue
  ) throws -> ExpectedCell {
    let key = row.value(column: reference.key)
    guard key != .null, reference.family.mayLose else { return ExpectedCell(value) }
    let actual = try entityNumber(of: key, in: reference.family.table)
    let stated = reference.entity.map { row.value(column: $0).integer } ?? actual
    guard let actual else { return ExpectedCell(value, or: .null) }
    let isKept = reference.family.kept[actual] != nil
    let isStatedKept = stated.map { reference.family.kept[$0] != nil } ?? false
    if isKept == isStatedKept { return ExpectedCell(isKept ? value : .null) }
    return ExpectedCell(value, or: .null)
  }

  private func entity(reference: Reference, row: RawStatement) throws -> ExpectedCell {
    let key = row.value(column: reference.key)
    func renumbered(_ number: Int64?) -> RawValue {
      number.flatMap { reference.family.kept[$0] }.map { .integer($0) } ?? .null
    }
    if let place = reference.entity {
      let stated = row.value(column: place)
      guard stated == .null, key != .null else { return ExpectedCell(renumbered(stated.integer)) }
      let actual = try entityNumber(of: key, in: reference.family.table)
      return ExpectedCell(.null, or: renumbered(actual))
    }
    if key == .null { return ExpectedCell(.null) }
    return ExpectedCell(renumbered(try entityNumber(of: key, in: reference.family.table)))
  }

  private func firstOwner(
    _ table: String, column: String, entities: [Int64], of key: RawValue
  ) throws -> RawValue {
    try lookUp("\(table).\(column)", key: key) {
      let list = entities.map { "\($0)" }.joined(separator: ", ")
      return
        "SELECT min(Z_PK) FROM \(SQL.identifier(name: table)) WHERE \(SQL.identifier(name: column)) = ? "
        + "AND Z_ENT IN (\(list))"
    }
  }

  /// What the pair of a row has in a column; of several pairs that with the lowest key whose object
  /// has a place.
  private func paired(
    _ pairs: StepReading.Pairs, column: String, of key: RawValue
  ) throws -> RawValue {
    try lookUp("\(pairs.table).\(pairs.targetColumn).\(column)", key: key) {
      let (own, other) = (
        SQL.identifier(name: pairs.targetColumn), SQL.identifier(name: pairs.ownerColumn)
      )
      let list = pairs.owners.kept.keys.sorted().map { "\($0)" }.joined(separator: ", ")
      let test =
        pairs.owners.mayLose
        ? " AND \(other) IN (SELECT Z_PK FROM \(SQL.identifier(name: pairs.owners.table)) "
          + "WHERE Z_ENT IN (\(list)))"
        : ""
      return
        "SELECT \(SQL.identifier(name: column)) FROM \(SQL.identifier(name: pairs.table)) "
        + "WHERE \(own) = ? AND \(other) IS NOT NULL\(test) ORDER BY \(other) LIMIT 1"
    }
  }
}

extension RawValue {
  /// The value, or the other one if it is NULL.
  fileprivate func or(_ other: RawValue) -> RawValue { self == .null ? other : self }
}
