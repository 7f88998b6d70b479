/// How far a pass over a large table of a store is.
package struct TableReading: Hashable, Sendable {
  /// The table.
  package let table: String
  /// The share of its ranges that are done, 0 to 1.
  package let share: Double

  /// Called on any thread after each range of a pass that begins while it is bound.
  @TaskLocal package static var report: (@Sendable (TableReading) -> Void)?
}
