import Schema
import StoreFormat

/// Compares derived attributes, R-trees and the triggers that keep them.
extension VerificationRun {
  /// Compares the triggers with those that the model requires, in the forms of the old store.
  func compareTriggers(_ schema: StoreSchema, from source: StoreSchema) {
    var left = Dictionary(
      catalog.names.triggers.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    for trigger in wantedTriggers(schema, from: source) {
      let found = left.removeValue(forKey: trigger.name)
      guard found != trigger else { continue }
      note(
        .init(
          .trigger, table: trigger.table, column: trigger.name, expected: trigger.statement,
          actual: found?.statement))
    }
    for trigger in left.values.sorted(by: { $0.name < $1.name }) {
      note(
        .init(.trigger, table: trigger.table, column: trigger.name, actual: trigger.statement))
    }
  }

  private func wantedTriggers(_ schema: StoreSchema, from source: StoreSchema) -> [Trigger] {
    let derived = schema.derived.map { attribute in
      var result = attribute
      result.namesNumbers = source.derived.contains {
        $0.namesNumbers && $0.isContinued(by: attribute)
      }
      return result
    }
    let open = schema.openDerivations.filter(source.openDerivations.contains)
    let kept = source.keptTriggers.filter { trigger in open.contains { $0.isKept(by: trigger) } }
    return schema.spatialIndexes.flatMap(\.triggers) + derived.flatMap(\.triggers) + kept
  }

  /// Compares every value of a known form with what the new store derives.
  ///
  /// One that differs is right only where the old store has the same, and derived as much as the
  /// new one: nothing of what it is computed of has changed.
  func compareDerived(_ schema: StoreSchema, from source: StoreSchema) throws {
    for attribute in schema.derived where catalog.hasColumn(attribute.column, in: attribute.table) {
      try judge(attribute.table) {
        let before = source.derived.first { $0.isContinued(by: attribute) }
        try compare(attribute, continuing: before)
      }
    }
  }

  private func compare(
    _ attribute: DerivedAttribute, continuing before: DerivedAttribute?
  ) throws {
    let value = attribute.value(ofRow: "t")
    let column = "t.\(SQL.identifier(name: attribute.column))"
    let rows = try new.prepare(
      "SELECT t.Z_PK, \(column), \(value) FROM \(SQL.identifier(name: attribute.table)) AS t "
        + "WHERE \(column) IS NOT \(value) ORDER BY 1")
    let old = try before.map { before in
      try self.old.prepare(
        "SELECT t.\(SQL.identifier(name: before.column)), \(before.value(ofRow: "t")) "
          + "FROM \(SQL.identifier(name: before.table)) AS t WHERE t.Z_PK = ?")
    }
    while try rows.step() {
      let (key, found, derived) = (
        rows.value(column: 0), rows.value(column: 1), rows.value(column: 2)
      )
      if let carried = try old?.row(values: [key]), carried == [found, derived] { continue }
      note(
        .init(
          .value, table: attribute.table, key: "\(key)", column: attribute.column,
          expected: "\(derived)", actual: "\(found)"))
    }
  }

  /// Compares the points of R-trees with the coordinates of the rows.
  func compareTrees(_ schema: StoreSchema) throws {
    let statements = catalog.names.virtualTables
    for tree in schema.spatialIndexes {
      guard statements[tree.name] == tree.createStatement else {
        note(
          .init(
            .indexMissing, table: tree.table, column: tree.name, expected: tree.createStatement,
            actual: statements[tree.name]))
        continue
      }
      try judge(tree.name) {
        for row in try new.rows(sql: tree.strayKeys + " LIMIT \(order.limit)") {
          note(
            .init(
              .indexEntry, table: tree.table, key: "\(row[0])", column: tree.name,
              expected: "the coordinates of the row"))
        }
        let answer = try new.rows(sql: "SELECT rtreecheck(?)", bindings: [.text(tree.name)])
        if answer.first?.first != .text("ok") {
          note(
            .init(.indexEntry, table: tree.table, column: tree.name, actual: "\(answer)"))
        }
      }
    }
  }
}

extension DerivedAttribute {
  /// Whether another model's attribute is the same one.
  fileprivate func isContinued(by other: DerivedAttribute) -> Bool {
    entity == other.entity && attribute == other.attribute
  }
}
