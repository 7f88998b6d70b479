public import Foundation
import MigrationCoordinator
public import SystemPackage

/// A model to migrate to, which is read once, with its versions, for any number of stores.
///
/// Later changes of the model's files are not read.
public struct MigrationTarget: Sendable {
  let core: TargetModel

  /// Reads the current version of each bundle, or the model of a store, and merges them.
  ///
  /// - Throws: `MigrationFailure`, if a model cannot be read, or two contradict each other.
  public init(_ models: [FilePath], configuration: String? = nil) throws(MigrationFailure) {
    core = try MigrationFailure.catching {
      try TargetModel(paths: models, configuration: configuration)
    }
  }

  /// Reads the current version of each bundle, or the model of a store, and merges them.
  ///
  /// - Throws: `MigrationFailure`, if a model cannot be read, or two contradict each other.
  public init(_ models: [URL], configuration: String? = nil) throws(MigrationFailure) {
    try self.init(models.map { FilePath($0) }, configuration: configuration)
  }
}
