import Mapping
import ObjectModel
import RowPrograms
import Schema
import Survey

/// Counts objects of the result that would lack a mandatory to-one relationship.
extension ConditionChecker {
  /// The rows that become objects without the relationship, and were none of those before.
  func missingReferences(_ condition: Condition, before: String?) -> Question? {
    guard let program = made, let name = condition.property,
      let new = destination.model.entity(name: condition.destinationEntity),
      let table = destination.table(of: new), let number = destination.numbers[new.name],
      let rows = program.tables.first(where: { $0.destinationTable == table.name }),
      let column = destination.model.lineage(of: new).lazy.compactMap({
        table.column(role: .toOne(entity: $0.name, name: name))?.name
      }).first,
      let operations = rows.columns.first(where: { $0.name == column })?.operations
    else { return nil }
    let old = before.flatMap { held($0, by: condition.sourceEntity) }
    let tests = makers(condition, number: number, in: rows).compactMap { index -> String? in
      let value = operations[index].expression(schema: "main")
      if let old, old.value == value, old.wasEmptied == nil { return nil }
      let entity = rows.entities[index]
      var parts = ["s.Z_ENT = \(entity.source)"]
      if let others = entity.others { parts.append(others.exclusion(key: "s.Z_PK")) }
      parts.append("(\(value)) IS NULL")
      if let old {
        let had = ["(\(old.value)) IS NOT NULL", old.wasEmptied].compactMap(\.self)
        parts.append("(\(had.joined(separator: " OR ")))")
      }
      return parts.joined(separator: " AND ")
    }
    guard !tests.isEmpty else { return nil }
    let from = SQL.identifier(name: rows.sourceTable)
    return .rows(
      .init(
        from: view.program == nil ? "\(from) AS s" : "main.\(from) AS s",
        test: tests.joined(separator: " OR "), table: rows.sourceTable))
  }

  /// The table of the store whose rows become the objects of a condition.
  func sourceTable(of condition: Condition) -> String? {
    place(name: condition.sourceEntity)?.rows.sourceTable
  }

  /// The places of the source entity in the program of its table, as far as it has objects.
  private func makers(
    _ condition: Condition, number: EntityNumber, in rows: TableProgram
  ) -> [Int] {
    // Between two steps of one program nothing is divided, so the number of the result is enough.
    let own = view.program == nil ? view.schema.numbers[condition.sourceEntity]?.rawValue : nil
    return rows.entities.indices.filter { index in
      let entity = rows.entities[index]
      let count = view.counts[rows.sourceTable]?[EntityNumber(rawValue: entity.source)] ?? 0
      return entity.destination == number.rawValue && count > 0
        && (own.map { $0 == entity.source } ?? true)
    }
  }

  /// The reference of a source relationship in SQL, and which rows have lost theirs by a choice.
  private func held(
    _ relationship: String, by entity: String
  ) -> (value: String, wasEmptied: String?)? {
    guard let place = place(name: entity) else { return nil }
    for level in view.model.lineage(of: place.entity) {
      guard
        let column = place.table.column(role: .toOne(entity: level.name, name: relationship))?.name
      else { continue }
      let emptied = view.program == nil ? emptied : nil
      return (
        place.rows.value(column: column, of: place.number),
        emptied?(level.name, relationship)
      )
    }
    return nil
  }
}
