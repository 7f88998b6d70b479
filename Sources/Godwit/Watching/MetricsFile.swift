public import Foundation
public import SystemPackage

/// A file with the metrics of a migration, for the textfile folder of Prometheus' node exporter.
public struct MetricsFile: Sendable {
  private let file: OutputFile

  /// Checks, before anything else is done, that the file can be written and replaces nothing but an
  /// earlier one.
  ///
  /// - Parameters:
  ///   - path: the file.
  ///   - migration: the path of the migration, whose files are not replaced.
  /// - Throws: `MigrationFailure`, if it cannot.
  public init(_ path: FilePath, of migration: FilePath) throws(MigrationFailure) {
    file = try OutputFile(path, besides: [migration], noun: "metrics file") {
      $0.starts(with: Array(MigrationMetrics.head.utf8))
    }
  }

  /// Checks, before anything else is done, that the file can be written and replaces nothing but an
  /// earlier one.
  ///
  /// - Throws: `MigrationFailure`, if it cannot.
  public init(_ file: URL, of migration: URL) throws(MigrationFailure) {
    try self.init(FilePath(file), of: FilePath(migration))
  }

  /// Writes the metrics, atomically.
  ///
  /// It does not wait for the disk: what is in the file is out of date within seconds.
  ///
  /// - Throws: `MigrationFailure`, if they cannot be written.
  public func write(_ metrics: MigrationMetrics) throws(MigrationFailure) {
    try file.write(metrics.text, as: "the metrics", syncs: false)
  }
}
