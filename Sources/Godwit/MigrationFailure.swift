public import Foundation
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
public import SystemPackage

/// Why something failed: in sentences that name the file and say what to do, and as values.
///
/// ```swift
/// do {
///   try await migration.run()
/// } catch let failure as MigrationFailure where failure.kind == .lossRefused {
///   for reason in failure.reasons { ask(reason.entity, reason.property, reason.count) }
/// }
/// ```
///
/// As an `NSError` it has Core Data's domain (`NSCocoaErrorDomain`) and codes.
public struct MigrationFailure: Error, Sendable, CustomStringConvertible {
  /// What failed, for programs that go on by it; more kinds may follow.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// What was asked for contradicts itself or names what there is not.
    case invalidRequest
    /// The store, a model or a mapping model is not there.
    case fileNotFound
    /// A file is damaged, or none of the kind that was asked for.
    case fileDamaged
    /// Something has the name of what is to be written.
    case fileExists
    /// A permission is missing.
    case noPermission
    /// A file cannot be written.
    case cannotWrite
    /// A disk is full or too small.
    case diskFull
    /// Somebody else has the store, or migrates it.
    case inUse
    /// The system has too little memory, or too few processes or open files.
    case systemResources
    /// Nobody has the model that the store was made with (Core Data's 134130).
    case sourceModelMissing
    /// No mapping model leads to the target, and none can be inferred (134140, 134190).
    case mappingModelMissing
    /// Mapping models that were named or found cannot be used.
    case mappingModelUnusable
    /// The two models have no entity in common (134100).
    case modelsUnrelated
    /// The store holds what cannot be carried over.
    case storeUnsupported
    /// The store cannot be migrated, for the reasons in ``MigrationFailure/reasons``.
    case notMigratable
    /// Data would be lost that nobody has allowed to be lost.
    case lossRefused
    /// Objects of the result break rules of the model (1560), or are equal where a uniqueness
    /// constraint tells them apart (134111).
    case objectsInvalid
    /// A policy failed, or ended the migration (134170, 134120).
    case policyFailed
    /// Two stores differ, or could not be compared in full.
    case storesDiffer
    /// The migration was interrupted; the next run goes on (134120).
    case interrupted
    /// The program is not prepared to be its own worker.
    case workerForgotten
    /// A fault of Godwit itself.
    case fault
  }

  /// One sentence; for an impossible migration one per reason, after a first one that says so.
  public let sentences: [String]
  /// What failed.
  public private(set) var kind: Kind
  /// The exit status that `godwit` ends with.
  public let exitStatus: ExitStatus
  /// The code that Core Data has for this failure, if it has one.
  public let coreDataCode: Int?
  /// The file that it is about, where it is about one.
  public private(set) var file: FilePath?
  /// All reasons, where there is more to say than the kind: of each the place and the code.
  public private(set) var reasons: [Reason] = []

  /// All sentences, a line each.
  public var description: String { sentences.joined(separator: "\n") }

  package init(
    _ exitStatus: ExitStatus, kind: Kind? = nil, _ sentences: [String], code: Int? = nil
  ) {
    self.sentences = sentences
    self.exitStatus = exitStatus
    self.kind = kind ?? Kind(exitStatus)
    coreDataCode = code
  }

  package init(
    _ exitStatus: ExitStatus, kind: Kind? = nil, _ sentence: String, code: Int? = nil
  ) {
    self.init(exitStatus, kind: kind, [sentence], code: code)
  }

  /// The failure that an error stands for: of `CancellationError` an interruption, of an error that
  /// is none of Godwit's a fault.
  public init(_ error: any Error) {
    if let failure = error as? MigrationFailure {
      self = failure
      return
    }
    self = Self.sentences(of: error)
    let facts = FailureFacts(error)
    kind = facts.kind ?? kind
    file = facts.file
    reasons = facts.reasons
  }

  private static func sentences(of error: any Error) -> MigrationFailure {
    switch error {
    case let error as StoreError: Self(error)
    case let error as ModelFileError: Self(error)
    case let error as MappingFileError: Self(error)
    case let error as ObjectMigrationError: Self(error)
    case let error as MigrationError: Self(error)
    case let error as SystemCallError: Self(error)
    case let error as Errno: Self(error)
    case let error as PageError: Self(error)
    case let error as ShardError: Self(error)
    case let error as StatusError: Self(error)
    case let error as UnknownVersionHash: Self(error)
    case let error as SchemaError: Self(error)
    case let error as GenerationError: Self(generating: error)
    case is CancellationError:
      Self(.interrupted, "interrupted: start the same command again to go on.")
    default:
      if let error = StoreError(ofSQLite: error) {
        Self(error)
      } else if let failure = MigrationFailure(ofPart: error) {
        failure
      } else {
        Self(.bug, "unexpected error, please report it: \(error)")
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

extension MigrationFailure: LocalizedError, CustomNSError {
  /// All sentences, a line each; `localizedDescription` is the same.
  public var errorDescription: String? { description }

  /// The reasons, a line each, where there are any.
  public var failureReason: String? {
    reasons.isEmpty ? nil : reasons.map(\.description).joined(separator: "\n")
  }

  /// Core Data's: `NSCocoaErrorDomain`.
  public static var errorDomain: String { NSCocoaErrorDomain }

  /// Core Data's code where it has one, else Foundation's for the file, else that of any failed
  /// migration, 134110.
  public var errorCode: Int { coreDataCode ?? kind.cocoaCode }

  /// What Core Data puts there: `reason`, `entity` and `property` of the first reason, and all of
  /// them as errors under `NSDetailedErrors`; the path of the file under `NSFilePath`.
  public var errorUserInfo: [String: Any] {
    var info: [String: Any] = [NSLocalizedDescriptionKey: description]
    if let failureReason { info[NSLocalizedFailureReasonErrorKey] = failureReason }
    if let file {
      info[NSFilePathErrorKey] = file.string
      info[NSURLErrorKey] = URL(filePath: file.string)
    }
    if let first = reasons.first { info.merge(first.userInfo) { old, _ in old } }
    if reasons.count > 1 { info["NSDetailedErrors"] = reasons.map(\.error) }
    return info
  }
}

extension MigrationFailure.Kind {
  /// What an exit status says by itself.
  init(_ status: ExitStatus) {
    self =
      switch status {
      case .usage: .invalidRequest
      case .damaged: .fileDamaged
      case .notFound: .fileNotFound
      case .inUse: .inUse
      case .system: .systemResources
      case .cannotCreate: .noPermission
      case .cannotWrite: .cannotWrite
      case .interrupted: .interrupted
      case .impossible: .notMigratable
      case .bug, .done: .fault
      }
  }

  /// The code of a failure for which Core Data has no special one.
  fileprivate var cocoaCode: Int {
    switch self {
    case .fileNotFound: CocoaError.Code.fileReadNoSuchFile.rawValue
    case .fileDamaged: CocoaError.Code.fileReadCorruptFile.rawValue
    case .fileExists: CocoaError.Code.fileWriteFileExists.rawValue
    case .noPermission: CocoaError.Code.fileWriteNoPermission.rawValue
    case .cannotWrite: CocoaError.Code.fileWriteUnknown.rawValue
    case .diskFull: CocoaError.Code.fileWriteOutOfSpace.rawValue
    case .inUse: CocoaError.Code.fileLocking.rawValue
    case .modelsUnrelated: 134100
    case .sourceModelMissing: 134130
    case .mappingModelMissing, .mappingModelUnusable: 134140
    case .interrupted: 134120
    case .policyFailed: 134170
    case .objectsInvalid: 1560
    case .invalidRequest, .systemResources, .storeUnsupported, .notMigratable, .lossRefused,
      .storesDiffer, .workerForgotten, .fault:
      134110
    }
  }
}
