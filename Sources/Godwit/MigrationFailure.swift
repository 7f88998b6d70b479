import MappingFiles
import MigrationCoordinator
import MigrationEngine
import MigrationStatus
import MigrationWorker
import ModelFiles
import ObjectMigration
import ObjectModel
import PageEngine
import Schema
import StoreFormat
import StoreGenerator
import SystemCalls
import SystemPackage

/// Why a migration failed, in sentences that name the file and say what to do.
public struct MigrationFailure: Error, Sendable, CustomStringConvertible {
  /// One sentence; for an impossible migration one per reason, after a first one that says so.
  public let sentences: [String]
  /// What a tool ends with.
  public let exitStatus: ExitStatus
  /// The code that Core Data has for this failure, if it has one.
  public let coreDataCode: Int?

  /// The sentences, a line each.
  public var description: String { sentences.joined(separator: "\n") }

  package init(_ exitStatus: ExitStatus, _ sentences: [String], code: Int? = nil) {
    self.sentences = sentences
    self.exitStatus = exitStatus
    coreDataCode = code
  }

  package init(_ exitStatus: ExitStatus, _ sentence: String, code: Int? = nil) {
    self.init(exitStatus, [sentence], code: code)
  }

  /// Puts any error of a migration into sentences.
  package init(_ error: any Error) {
    switch error {
    case let error as MigrationFailure: self = error
    case let error as StoreError: self.init(error)
    case let error as ModelFileError: self.init(error)
    case let error as MappingFileError: self.init(error)
    case let error as ObjectMigrationError: self.init(error)
    case let error as MigrationError: self.init(error)
    case let error as SystemCallError: self.init(error)
    case let error as Errno: self.init(error)
    case let error as PageError: self.init(error)
    case let error as ShardError: self.init(error)
    case let error as StatusError: self.init(error)
    case let error as UnknownVersionHash: self.init(error)
    case let error as SchemaError: self.init(error)
    case let error as GenerationError: self.init(generating: error)
    case is CancellationError:
      self.init(.interrupted, "interrupted: start the same command again to go on.")
    default:
      if let error = StoreError(ofSQLite: error) {
        self.init(error)
      } else if let failure = MigrationFailure(ofPart: error) {
        self = failure
      } else {
        self.init(.bug, "unexpected error, please report it: \(error)")
      }
    }
  }

  init(_ error: SchemaError) {
    self.init(
      .impossible,
      error.places.map {
        "\($0.entity).\($0.property) is of type \($0.type.name), whose columns are not known: "
          + "Godwit does not guess."
      })
  }
}
