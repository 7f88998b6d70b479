/// A trigger of a store.
package struct Trigger: Hashable, Codable, Sendable {
  /// The name.
  package var name: String
  /// The table whose changes fire it.
  package var table: String
  /// The `CREATE TRIGGER` statement.
  package var statement: String

  /// Takes the statement as `sqlite_schema` has it.
  package init(name: String, table: String, statement: String) {
    self.name = name
    self.table = table
    self.statement = statement
  }

  /// A trigger that fires for each row: its statement as Core Data writes it.
  init(name: String, event: String, table: String, condition: String = "", body: String) {
    let name = SQL.identifier(name: name)
    let on = SQL.identifier(name: table)
    self.init(
      name: name, table: table,
      statement:
        "CREATE TRIGGER \(name) AFTER \(event) ON \(on) FOR EACH ROW \(condition)BEGIN \(body)END")
  }
}
