import ObjectMigration
import ObjectModel
import Schema

/// Compares the rows of one table in two stores, in the order of their keys.
struct TableMerge {
  /// A property and the columns that hold it.
  struct Property {
    /// The entity that declares it, or that has the relationship.
    let entity: String
    let name: String
    /// Its columns by their places among those of the table.
    var columns: [Int]
    /// Whether values may lie in files.
    var isExternal = false
  }

  let table: EntityTable
  let first: RowCursor
  let second: RowCursor
  private let properties: [Property]
  /// The columns of places in ordered relationships.
  private let places: [Int]
  /// The columns of places that differ in some row.
  private(set) var moved: Set<Int> = []

  init(_ table: EntityTable, first: ObjectReader, second: ObjectReader) throws {
    self.table = table
    // The bytes of one text differ by the encoding.
    let isAlike = first.encoding == second.encoding
    self.first = try RowCursor(table, reader: first, leavesLong: isAlike)
    self.second = try RowCursor(table, reader: second, leavesLong: isAlike)
    properties = Self.properties(of: table, model: first.schema.model)
    places = table.columns.indices.filter {
      switch table.columns[$0].role {
      case .toOneOrder, .ownerOrder: true
      case .primaryKey, .entityNumber, .optimisticLock, .attribute, .toOne, .toOneEntity, .owner:
        false
      }
    }
  }

  private static func properties(of table: EntityTable, model: ManagedObjectModel) -> [Property] {
    var result: [Property] = []
    for (place, column) in table.columns.enumerated() {
      switch column.role {
      case .attribute(let entity, let name):
        let attribute = model.entity(name: entity)?.leafAttributes.first { $0.name == name }
        result.append(
          Property(
            entity: entity, name: name, columns: [place],
            isExternal: attribute?.storesBinaryDataExternally ?? false))
      case .toOne(let entity, let name):
        result.append(Property(entity: entity, name: name, columns: [place]))
      case .owner(let entity, let name):
        result.append(Property(entity: entity, name: "\(entity).\(name)", columns: [place]))
      case .toOneEntity(let entity, let name):
        let known = result.firstIndex { $0.entity == entity && $0.name == name }
        if let known { result[known].columns.append(place) }
      case .primaryKey, .entityNumber, .optimisticLock, .toOneOrder, .ownerOrder: break
      }
    }
    return result
  }

  /// Compares all rows.
  mutating func compareRows(into result: inout StoreDifferences) throws {
    var (one, other) = (try first.next(), try second.next())
    while one != nil || other != nil {
      switch (one, other) {
      case (let a?, let b?) where a == b:
        try compare(a, &result)
        (one, other) = (try first.next(), try second.next())
      case (let a?, let b) where b.map({ a < $0 }) ?? true:
        result.note(.onlyInFirst, of: first.entity, key: a)
        one = try first.next()
      default:
        guard let b = other else { break }
        result.note(.onlyInSecond, of: second.entity, key: b)
        other = try second.next()
      }
    }
  }

  private mutating func compare(_ key: Int64, _ result: inout StoreDifferences) throws {
    let entity = first.entity
    result.entities[entity, default: .init()].compared += 1
    var differs = false
    if !first.row.isSame(column: RowCursor.entityColumn, as: second.row) {
      let names: (String?, String?) = (first.entity, second.entity)
      result.note(.entity, of: entity, key: key) { names }
      differs = true
    }
    for property in properties {
      if try isSame(property, key: key, entity: entity, &result) { continue }
      differs = true
      try result.note(
        .value, of: entity, key: key, property: property.name,
        values: { try values(of: property, key: key) })
    }
    for place in places
    where !moved.contains(place)
      && !first.row.isSame(column: RowCursor.firstColumn + place, as: second.row)
    {
      moved.insert(place)
    }
    if differs { result.entities[entity, default: .init()].differing += 1 }
  }

  // MARK: Values

  private func isSame(
    _ property: Property, key: Int64, entity: String, _ result: inout StoreDifferences
  ) throws -> Bool {
    for column in property.columns {
      let place = RowCursor.firstColumn + column
      let isLong = (first.hasLong || second.hasLong) && table.columns[column].mayBeLong
      let isInFile =
        property.isExternal
        && [first.row, second.row].contains { $0.firstByte(column: place) == ExternalTag.file }
      if isLong || isInFile {
        do {
          guard try isSameContent(column, key: key, isExternal: property.isExternal) else {
            return false
          }
        } catch let fault as ValueBytes.Fault {
          result.noteNotCompared("\(entity).\(property.name)", why: fault.words)
        }
      } else if !first.row.isSame(column: place, as: second.row) {
        return false
      }
    }
    return true
  }

  /// Compares two cells part by part, wherever their bytes are.
  ///
  /// - Throws: `ValueBytes.Fault` where the bytes of neither can be had.
  private func isSameContent(_ column: Int, key: Int64, isExternal: Bool) throws -> Bool {
    let cells = (
      try first.cells.cell(column: column, key: key, head: 1),
      try second.cells.cell(column: column, key: key, head: 1)
    )
    switch cells {
    case (.text?, .text?): return try isSameBytes(column, key: key, isExternal: false)
    case (.blob?, .blob?): return try isSameBytes(column, key: key, isExternal: isExternal)
    default: return cells.0 == cells.1
    }
  }

  private func isSameBytes(_ column: Int, key: Int64, isExternal: Bool) throws -> Bool {
    let (one, fault) = try Self.bytes(
      first.cells.handle(column: column, key: key), isExternal: isExternal, of: first.reader)
    defer { one?.close() }
    let (other, otherFault) = try Self.bytes(
      second.cells.handle(column: column, key: key), isExternal: isExternal, of: second.reader)
    defer { other?.close() }
    guard let one, let other else {
      if let fault, otherFault != nil { throw fault }
      return false
    }
    return try one.isSame(as: other)
  }

  private static func bytes(
    _ handle: BlobHandle, isExternal: Bool, of reader: ObjectReader
  ) throws -> (ValueBytes?, ValueBytes.Fault?) {
    do {
      return (
        try ValueBytes(of: handle, isExternal: isExternal, support: reader.support), nil
      )
    } catch let fault as ValueBytes.Fault {
      return (nil, fault)
    }
  }

  /// Both values as people read them.
  private func values(of property: Property, key: Int64) throws -> (String?, String?) {
    let one = try first.words(of: property, key: key)
    let other = try second.words(of: property, key: key)
    return (one, one == other ? "\(other), and differs after the shown part" : other)
  }
}
