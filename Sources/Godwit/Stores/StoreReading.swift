import StoreFormat

/// How far a pass over a large table is, while a store is checked, planned for or inspected.
///
/// A store is read in several passes, whose number is not known beforehand, so the share is that of
/// one pass.
///
/// ```swift
/// let preparation = try await StoreReading.reporting(to: {
///   print($0.table, $0.share)
/// }) {
///   try await StoreMigration(store: "Shop.sqlite", to: "Shop.momd").prepare()
/// }
/// ```
public struct StoreReading: Hashable, Sendable {
  /// The table.
  public let table: String
  /// The share of its rows that the pass has read, 0 to 1.
  public let share: Double

  /// Calls `report` on any thread, several times a second, while `body` reads large tables.
  public static func reporting<Result>(
    to report: @escaping @Sendable (StoreReading) -> Void, during body: () throws -> Result
  ) rethrows -> Result {
    try TableReading.$report.withValue({ report(StoreReading($0)) }, operation: body)
  }

  /// Calls `report` on any thread, several times a second, while `body` reads large tables.
  public static func reporting<Result>(
    to report: @escaping @Sendable (StoreReading) -> Void,
    isolation: isolated (any Actor)? = #isolation, during body: () async throws -> Result
  ) async rethrows -> Result {
    try await TableReading.$report.withValue({ report(StoreReading($0)) }, operation: body)
  }

  private init(_ reading: TableReading) { (table, share) = (reading.table, reading.share) }
}
