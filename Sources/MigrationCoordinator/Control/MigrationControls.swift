package import SystemPackage

/// What holds a migration or slows it down from its start.
package struct MigrationControls: Hashable, Sendable {
  /// While this file is there, the migration is paused.
  package var pauseFile: FilePath?
  /// While this file is there, a finished result waits for its swap; created empty at the start.
  package var swapFile: FilePath?
  /// Source bytes per second that all workers together may read, 0 for no limit.
  package var rate: UInt64 = 0

  /// Creates controls that hold nothing.
  package init() {}
}
