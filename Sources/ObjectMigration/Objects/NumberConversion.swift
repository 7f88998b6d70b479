import Expressions
import ObjectModel
import Schema

extension ManagedObject {
  /// The value of an attribute as another one of the destination stores it.
  ///
  /// An attribute of the same form has it as it is. Between numeric types it is what conversion by
  /// rows makes of it, whatever the column has: a number that is none of its type is kept, and a
  /// text or bytes are cast as SQLite casts them, which an assessment counts as changed.
  ///
  /// - Throws: `ObjectMigrationError`, if the type cannot hold the value.
  func converted(
    _ name: String, replacingNull replacement: AttributeValue, to new: AttributeForm
  ) throws -> StoredValue {
    let (attribute, stored) = try storedValue(name)
    if attribute.form == new, stored != .null { return stored }
    let old = attribute.form.type
    let value: AttributeValue =
      if old == .boolean, case .integer(let number) = stored { .integer(number) } else {
        try context.value(stored: stored, of: attribute)
      }
    do {
      return try AttributeConversion.stored(value == .null ? replacement : value, for: new)
    } catch let error as ObjectMigrationError {
      guard value != .null, old.isNumeric, let kind = new.type.numberKind else { throw error }
      // Of numbers that the old type can hold, the assessment has found those that do not fit.
      if case .valueOutOfRange = error.problem, old.canOverflow(as: new.type) { throw error }
      return try cast(stored, to: kind)
    }
  }

  private func cast(_ value: StoredValue, to kind: NumberKind) throws -> StoredValue {
    let result =
      switch kind {
      case .integer: "CAST(? AS INTEGER)"
      case .real: "CAST(? AS REAL)"
      case .boolean: "? <> 0"
      case .decimal: "?"
      }
    let statement = try context.statements.statement(sql: "SELECT \(result)")
    defer { statement.reset() }
    statement.bind(value, at: 1)
    _ = try statement.step()
    return statement.value(column: 0)
  }
}
