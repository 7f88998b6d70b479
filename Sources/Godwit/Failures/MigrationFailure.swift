import Fleets
public import Foundation
import Mapping
import MappingFiles
import MigrationCoordinator
import MigrationEngine
import MigrationStatus
import MigrationWorker
import ModelFiles
import ObjectMigration
import ObjectModel
import PageEngine
import Planning
import Schema
import StoreFormat
import StoreGenerator
import Survey
import SystemCalls
public import SystemPackage

/// Why something failed: in sentences with the file and what to do, and as values.
///
/// ```swift
/// do {
///   try await migration.run()
/// } catch where error.kind == .lossRefused {
///   for reason in error.reasons { ask(reason.entity, reason.property, reason.count) }
/// }
/// ```
///
/// As an `NSError` it has Core Data's domain (`NSCocoaErrorDomain`) and codes.
public struct MigrationFailure: Error, Sendable, CustomStringConvertible {
  /// The kinds of failures, for programs that react to them; more kinds may be added.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// The request contradicts itself or names what does not exist.
    case invalidRequest
    /// The store, a model or a mapping model does not exist.
    case fileNotFound
    /// A file is damaged, or of another kind than expected.
    case fileDamaged
    /// The path of a new file is taken.
    case fileExists
    /// A permission is missing.
    case noPermission
    /// A file cannot be written.
    case cannotWrite
    /// A disk is full, or has too little free space.
    case diskFull
    /// Another process uses or migrates the store.
    case inUse
    /// The system has too little memory, or too few processes or open files.
    case systemResources
    /// The store's own model was not found (Core Data's 134130).
    case sourceModelMissing
    /// No mapping model leads to the target, and none can be inferred (134140, 134190).
    case mappingModelMissing
    /// Mapping models that were named or found cannot be used.
    case mappingModelUnusable
    /// The two models have no entity in common (134100).
    case modelsUnrelated
    /// The store has features that cannot be migrated.
    case storeUnsupported
    /// The store cannot be migrated, for the reasons in ``MigrationFailure/reasons``.
    case notMigratable
    /// Data would be lost without consent.
    case lossRefused
    /// Objects of the result violate validation rules of the model (1560) or a uniqueness
    /// constraint (134111).
    case objectsInvalid
    /// A policy failed, or cancelled the migration (134170, 134120).
    case policyFailed
    /// Two stores differ, or could not be compared completely.
    case storesDiffer
    /// The task was cancelled, or the migration interrupted; the next run resumes it (134120).
    case interrupted
    /// No migration runs that could be paused, changed or cancelled.
    case notRunning
    /// An interrupted run has left work that was made for something else.
    case otherRun
    /// The program is not prepared to be its own worker.
    case workerForgotten
    /// A fault of Godwit itself.
    case fault
  }

  /// What to do after an interruption, as the end of a sentence.
  package static let goesOn = "start the same command again to resume"

  /// One sentence; for a refused migration, one for the refusal and then one per reason.
  public let sentences: [String]
  /// The kind of the failure.
  public internal(set) var kind: Kind
  /// The exit status with which `godwit` ends.
  public let exitStatus: ExitStatus
  /// The code with which Core Data fails in the same case, nil if it has none.
  public let coreDataCode: Int?
  /// The file concerned, nil if there is none.
  public internal(set) var file: FilePath?
  /// The line of the file, from 1; nil where it is not known.
  public internal(set) var line: Int?
  /// All reasons, with their places and codes; empty if the kind suffices.
  public internal(set) var reasons: [Reason] = []

  /// All sentences, one per line.
  public var description: String { sentences.joined(separator: "\n") }

  /// Creates a failure of several sentences; its kind follows from the exit status unless given.
  package init(
    _ exitStatus: ExitStatus, kind: Kind? = nil, at file: FilePath? = nil, _ sentences: [String],
    reasons: [Reason] = [], code: Int? = nil
  ) {
    self.sentences = sentences
    self.exitStatus = exitStatus
    self.kind = kind ?? Kind(exitStatus)
    self.file = file
    self.reasons = reasons
    coreDataCode = code
  }

  /// Creates a failure of one sentence; its kind follows from the exit status unless given.
  package init(
    _ exitStatus: ExitStatus, kind: Kind? = nil, at file: FilePath? = nil, _ sentence: String,
    code: Int? = nil
  ) {
    self.init(exitStatus, kind: kind, at: file, [sentence], code: code)
  }

  /// Describes any error: a `CancellationError` as an interruption, an unknown error as a fault of
  /// Godwit.
  public init(_ error: any Error) {
    if let failure = error as? MigrationFailure {
      self = failure
      return
    }
    var described = Self.described(error)
    let disposition = StoreError.disposition(of: error)
    if described.exitStatus != .cannotWrite, disposition.contains(.deviceFailed) {
      // Neither the store nor the request is the reason.
      described = MigrationFailure(.cannotWrite, at: described.file, described.sentences)
    }
    if disposition.contains(.diskFull) { described.kind = .diskFull }
    self = described
  }

  private static func described(_ error: any Error) -> MigrationFailure {
    switch error {
    case let error as StoreError: Self(error)
    case let error as SourceDamage: Self(error)
    case let error as SalvageableDamage: Self(error)
    case let error as ModelFileError: Self(error)
    case let error as MappingFileError: Self(error)
    case let error as ObjectMigrationError: Self(error)
    case let error as MigrationError: Self(error)
    case let error as PlaceError: Self(error)
    case let error as WorkError: Self(error)
    case let error as FleetError: Self(error)
    case let error as SystemCallError: Self(error)
    case let error as Errno: Self(error)
    case let error as PageError: Self(error)
    case let error as ShardError: Self(error)
    case let error as StatusError: Self(error)
    case let error as UnknownVersionHash: Self(unknownHash: error)
    case let error as SchemaError: Self(error)
    case let error as GenerationError: Self(generating: error)
    case is CancellationError: Self(.interrupted, "interrupted: \(Self.goesOn).")
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
    let code = CoreDataCode.inferredMappingModel
    let unknown = error.places.map { place in
      place.type == .composite
        ? "\(place.entity).\(place.property) is a composite attribute or an element of one, and is "
          + "derived or part of a uniqueness constraint. How Core Data stores that is not known: "
          + "remove it from the derivation or the constraint. [\(code.rawValue)]"
        : "\(place.entity).\(place.property) is of type \(place.type.name), whose columns are not "
          + "known."
    }
    self.init(.impossible, unknown + error.tableRefusals.map(\.sentence))
  }
}

extension MigrationFailure: Encodable {
  private enum CodingKeys: CodingKey {
    case kind, exitStatus, coreDataCode, file, sentences, reasons
  }

  /// Encodes the failure as `godwit … --json` prints it (docs/schemas/error.schema.json).
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(kind.rawValue, forKey: .kind)
    try container.encode(exitStatus.rawValue, forKey: .exitStatus)
    try container.encodeIfPresent(coreDataCode, forKey: .coreDataCode)
    try container.encodeIfPresent(file?.string, forKey: .file)
    try container.encode(sentences, forKey: .sentences)
    try container.encode(reasons, forKey: .reasons)
  }
}

/// The output of a failed command with `--json`.
package struct FailureDocument: Encodable {
  private var version = 1
  private var error: MigrationFailure

  /// Takes why it failed.
  package init(_ failure: MigrationFailure) { error = failure }
}

extension MigrationFailure: LocalizedError, CustomNSError {
  /// All sentences, one per line, like `localizedDescription`.
  public var errorDescription: String? { description }

  /// The reasons, one per line; nil if there are none.
  public var failureReason: String? {
    reasons.isEmpty ? nil : reasons.map(\.description).joined(separator: "\n")
  }

  /// Core Data's domain, `NSCocoaErrorDomain`.
  public static var errorDomain: String { NSCocoaErrorDomain }

  /// Core Data's code if it has one, otherwise Foundation's for the file, otherwise 134110 for any
  /// failed migration.
  public var errorCode: Int { coreDataCode ?? kind.cocoaCode }

  /// The entries of Core Data: `reason`, `entity` and `property` of the first reason, all reasons
  /// as errors under `NSDetailedErrors`, the path of the file under `NSFilePath`.
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
  /// The kind that an exit status implies.
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

  /// The code for a failure to which Core Data assigns no special one.
  var cocoaCode: Int {
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
      .storesDiffer, .notRunning, .otherRun, .workerForgotten, .fault:
      134110
    }
  }
}
