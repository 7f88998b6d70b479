import Generation
import MappingFiles
import MigrationCoordinator
import MigrationWorker
import ModelFiles
import ObjectMigration
import ObjectModel
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// Why a migration failed, in sentences that name the file and say what to do.
public struct MigrationFailure: Error, Sendable, CustomStringConvertible {
  /// One sentence; for an impossible migration one per reason, after a first one that says so.
  public let sentences: [String]
  public let exitStatus: ExitStatus
  /// The code that Core Data has for this failure, if it has one.
  public let coreDataCode: Int?

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
    case let error as UnknownVersionHash: self.init(error)
    case let error as SchemaError: self.init(error)
    case let error as GenerationError: self.init(generating: error)
    case is CancellationError:
      self.init(.interrupted, "interrupted: start the same command again to go on.")
    default: self.init(.bug, "unexpected error, please report it: \(error)")
    }
  }

  /// The text in which a worker hands its failure to the coordinator.
  static func sentence(ofWorker error: any Error) -> String {
    guard let worker = error as? WorkerError else { return MigrationFailure(error).description }
    let place = worker.table.map { " in \($0)" } ?? ""
    switch worker.problem {
    case .orderUnreadable(let reason): return "the work order cannot be read: \(reason)"
    case .orderIncomplete: return "the work order lacks a program\(place)"
    case .digestsDiffer(let read, let written):
      return "\(read) rows were read and \(written) written\(place), and they are not the same"
    case .externalNameDamaged: return "a value that should name an external file does not\(place)"
    case .coordinatorGone: return "the coordinator is gone"
    }
  }

  private init(_ error: SystemCallError) {
    let file = error.path.map { "\($0)" } ?? "a file"
    switch error.errno {
    case .noSuchFileOrDirectory: self.init(.notFound, "\(file) is not there: check the path.")
    case .noSpace:
      self.init(.cannotWrite, "\(file) does not fit on the disk: free space and try again.")
    case .permissionDenied, .readOnlyFileSystem, .notPermitted:
      self.init(
        .cannotCreate, "\(file) cannot be written or read (\(error.errno)): check permissions.")
    default:
      self.init(.cannotWrite, "\(error.operation.rawValue) of \(file) failed: \(error.errno).")
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
