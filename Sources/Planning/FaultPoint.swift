/// The moments at which a test may have a process of a migration die; no release build acts on one.
///
/// The oracle of kills reads all of them from the tool, so that a new one is tested without being
/// named twice.
package enum FaultPoint: String, CaseIterable, Sendable {
  /// Of the first attempt at work order 1: rows are in the shard, and others are not.
  case workerFirstFlush = "worker:first-flush"
  /// Of the same attempt: rows have been reported a second time.
  case workerSecondFlush = "worker:second-flush"
  /// All rows are in the shard, which is neither synced nor declared done.
  case workerLastFlush = "worker:last-flush"
  /// The coordinator executes an order itself, and all rows are in the shard.
  case coordinatorExecuting = "coordinator:executing"
  /// A work order is done.
  case coordinatorMigrating = "coordinator:migrating"
  /// The result is complete, and has no name yet.
  case coordinatorAssembled = "coordinator:assembled"
  /// The store of a stage has its name, and no marker shows that it is complete.
  case coordinatorStageNamed = "coordinator:stage-named"
  /// A stage is done, and the next one has not begun.
  case coordinatorStageDone = "coordinator:stage-done"
  /// The output has its name, and the work folder is still there.
  case coordinatorOutput = "coordinator:output"
  /// A journal states what the swap will do, and nothing is done yet.
  case coordinatorJournaled = "coordinator:journaled"
  /// The old store has the second name under which it will be kept.
  case coordinatorKept = "coordinator:kept"
  /// The new store has the name of the old one, and the folder is not synced.
  case coordinatorSwapped = "coordinator:swapped"
  /// The new store of an instant swap is next to the old one, synced, under a temporary name.
  case instantWritten = "instant:written"
  /// The list of kept stores names the old one, which has no second name yet.
  case instantListed = "instant:listed"
  /// The old store has its second name, on the disk.
  case instantKept = "instant:kept"
  /// The new store has the name of the old one, and the folder is not synced.
  case instantSwapped = "instant:swapped"

  /// Whether the point is in the swap of a store that a fleet migrates in memory.
  package var isOfInstantSwap: Bool { rawValue.hasPrefix("instant:") }

  /// The environment variable that names the point at which a process dies.
  package static let variable = "GODWIT_FAULT"
  /// The one that has the tool list all points if it is `list`.
  package static let listVariable = "GODWIT_FAULTS"
}
