package import MigrationStatus

/// Hears of phases and work orders as they begin and end, from any thread.
package protocol RunObserver: Sendable {
  /// A phase of a stage, from 1, begins, and the one before it has ended; the last one may be done
  /// or failed.
  func began(_ phase: Phase, stage: Int)
  /// A worker begins an attempt at a work order; no other attempt of the run has that number.
  func began(_ order: RunRecording.OrderSpan, number: Int)
  /// The worker of that number has ended.
  func ended(number: Int, isDone: Bool)
}
