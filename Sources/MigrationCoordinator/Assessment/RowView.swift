import GRDB
import Mapping
import ObjectModel
import RowPrograms
import Schema
import StoreFormat
import Survey

/// The rows of a store, or those that a program would make from them.
///
/// The store between two steps of a route need not exist: questions about its rows are translated
/// into questions about the rows that they would be made from.
struct RowView {
  let model: ManagedObjectModel
  let schema: StoreSchema
  /// Makes the rows of the view; nil if the view is of the store itself.
  let program: MigrationProgram?
  /// Rows of the store itself, by table and entity number.
  let counts: TableCounts

  /// The rows of one table.
  struct Rows {
    /// The table of the store, aliased as `s`.
    let from: String
    /// Its name.
    let sourceTable: String
    fileprivate let program: TableProgram?

    /// The number that an entity has in the table of the store, nil if it has no rows there.
    func number(_ number: EntityNumber) -> Int64? {
      guard let program else { return number.rawValue }
      return program.entities.first { $0.destination == number.rawValue }?.source
    }

    /// An SQL expression for a column's value in rows of the entity, or in any row.
    func value(column: String, of number: EntityNumber?) -> String {
      guard let program else { return "s.\(SQL.identifier(name: column))" }
      return program.expression(of: column, entity: number?.rawValue, schema: "main") ?? "NULL"
    }

    /// The column of the store itself from which a column's value in rows of an entity is made; nil
    /// where it is made of none, or of several.
    func sourceColumn(of column: String, in number: EntityNumber) -> String? {
      guard let program else { return column }
      guard let place = program.entities.firstIndex(where: { $0.destination == number.rawValue }),
        let made = program.columns.first(where: { $0.name == column })
      else { return nil }
      return made.operations[place].attributeColumn
    }

    /// An SQL test for rows of any of the entities.
    func isOf(_ numbers: [EntityNumber]) -> String {
      let list = numbers.compactMap { number($0) }.map { "\($0)" }
      return list.isEmpty ? "0" : "s.Z_ENT IN (\(list.joined(separator: ", ")))"
    }
  }

  /// The rows of an entity's table, nil if it would be empty.
  func rows(ofEntity name: String) -> (rows: Rows, table: EntityTable, number: EntityNumber)? {
    guard let entity = model.entity(name: name), let table = schema.table(of: entity),
      let number = schema.numbers[name]
    else { return nil }
    guard let program else {
      let rows = Rows(
        from: "\(SQL.identifier(name: table.name)) AS s", sourceTable: table.name, program: nil)
      return (rows, table, number)
    }
    guard let made = program.tables.first(where: { $0.destinationTable == table.name }) else {
      return nil
    }
    let rows = Rows(
      from: "main.\(SQL.identifier(name: made.sourceTable)) AS s", sourceTable: made.sourceTable,
      program: made)
    return (rows, table, number)
  }

  /// Registers the functions that programs call for external binary data; in counts only whether
  /// there is a value matters, not the contents of its file, nor its tag.
  static func prepare(_ db: Database) {
    for name in ["godwit_external", "godwit_tagged"] {
      db.add(function: DatabaseFunction(name, argumentCount: 1, pure: true) { $0[0] })
    }
  }

  /// How many rows an entity has, without its subentities.
  func count(rows: Rows, number: EntityNumber) -> Int64 {
    guard let own = rows.number(number) else { return 0 }
    return counts[rows.sourceTable]?[EntityNumber(rawValue: own)] ?? 0
  }

  /// How many rows a table of the store has.
  func count(ofTable name: String) -> Int64 { counts[name]?.values.reduce(0, +) ?? 0 }

  /// A query that counts the rows of a join table, nil if it would be empty.
  ///
  /// - Parameters:
  ///   - first: the entities of the objects at the first end; nil for any object, or none.
  ///   - second: the same of the second end.
  func pairCount(_ table: JoinTable, first: [String]?, second: [String]?) -> String? {
    guard let pairs = pairs(table) else { return nil }
    let tests = [(table.first, first), (table.second, second)].compactMap { end, entities in
      entities.map { isOf($0, key: "p.\(SQL.identifier(name: end.keyColumn))") }
    }
    let condition = tests.isEmpty ? "" : " WHERE \(tests.joined(separator: " AND "))"
    return "SELECT count(*) FROM \(pairs) AS p\(condition)"
  }

  /// The rows of a join table, to select from; nil if it would be empty.
  func pairs(_ table: JoinTable) -> String? {
    guard let program else { return SQL.identifier(name: table.name) }
    return program.joins.first { $0.destinationTable == table.name }.map {
      "(\($0.query(in: .all, schema: "main")))"
    }
  }

  /// An SQL test for keys of objects of any of some entities of one table.
  ///
  /// No index serves it: with two such tests SQLite would look up each key of one in an index for
  /// each key of the other, which takes quadratic time.
  func isOf(_ entities: [String], key: String) -> String {
    let places = entities.compactMap { rows(ofEntity: $0) }
    guard let rows = places.first?.rows else { return "0" }
    return "+\(key) IN (SELECT s.Z_PK FROM \(rows.from) WHERE \(rows.isOf(places.map(\.number))))"
  }

  /// Whether some object of an entity, or of one below it, lacks a value of an attribute.
  func lacks(_ attribute: String, inFamilyOf entity: String, reader: StoreReader) throws -> Bool {
    try model.family(of: entity).contains { member in
      guard let place = rows(ofEntity: member.name),
        let level = model.declarer(of: attribute, in: member.name),
        let column = place.table.column(role: .attribute(entity: level, name: attribute))
      else { return false }
      let value = place.rows.value(column: column.name, of: place.number)
      return try reader.number(
        sql: """
          SELECT EXISTS (SELECT 1 FROM \(place.rows.from) \
          WHERE \(place.rows.isOf([place.number])) AND (\(value)) IS NULL)
          """) != 0
    }
  }

  /// Why derived attributes that only Core Data computes do not keep their values in a step that
  /// begins with these rows.
  func derivations(
    _ kept: KeptDerivations, reader: StoreReader
  ) -> (OpenDerivation) throws -> Refusal? {
    { open in
      try kept.obstacle(entity: open.entity, attribute: open.attribute) {
        try lacks($0, inFamilyOf: $1, reader: reader)
      }
    }
  }
}

extension RowView {
  /// The rows of a store itself.
  init(of survey: StoreSurvey) {
    self.init(
      model: survey.model, schema: survey.schema, program: nil, counts: survey.rowCounts)
  }
}
