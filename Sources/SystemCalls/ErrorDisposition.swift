package import SystemPackage

/// What an error means for the work that was done before it, and for the next attempt.
///
/// An error is given its disposition where it arises, from its facts.
package struct ErrorDisposition: OptionSet, Hashable, Codable, Sendable {
  /// The bits of the facts.
  package let rawValue: UInt8

  /// Takes the bits of the facts.
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Another attempt may succeed at once, as after a lack of memory.
  package static let retryable = Self(rawValue: 1)
  /// The cause lies outside the data: a later run can resume the work done so far.
  package static let workReusable = Self(rawValue: 2)
  /// The work done so far cannot be trusted.
  package static let workSuspect = Self(rawValue: 4)
  /// Damage of the source may be the cause.
  package static let sourceSuspect = Self(rawValue: 8)
  /// A device failed to read or write.
  package static let deviceFailed = Self(rawValue: 16)
  /// A file system or a quota has no room left.
  package static let diskFull = Self(rawValue: 32)

  /// The inputs or the request are the cause: earlier work is as good as before.
  package static let refusal: Self = []
  /// The system refuses something, and may grant it to a later run.
  package static let system: Self = [.workReusable]
  /// A file system or a quota has no room left, and may have some for a later run.
  package static let noSpace: Self = [.workReusable, .diskFull]
  /// A device failed.
  package static let device: Self = [.workReusable, .deviceFailed]
  /// The source is damaged.
  package static let damage: Self = [.workSuspect, .sourceSuspect]
  /// An error without a known cause: a fault of the program, or damage that looks like one.
  package static let fault: Self = [.workSuspect, .sourceSuspect]
}

/// An error that states its disposition.
package protocol DisposedError: Error {
  /// How the error affects work that is already done.
  var disposition: ErrorDisposition { get }
}

extension Error {
  /// How the error affects work that is already done; a fault where its type does not state it.
  package var knownDisposition: ErrorDisposition {
    switch self {
    case let error as any DisposedError: error.disposition
    case is CancellationError: .system
    default: .fault
    }
  }
}

extension Errno: DisposedError {
  /// How the error affects work that is already done.
  package var disposition: ErrorDisposition {
    switch self {
    case .noMemory, .resourceTemporarilyUnavailable, .tooManyOpenFiles, .tooManyOpenFilesInSystem:
      [.workReusable, .retryable]
    case .noSuchFileOrDirectory, .permissionDenied, .notPermitted, .readOnlyFileSystem,
      .fileExists, .notDirectory, .isDirectory, .tooManySymbolicLinkLevels:
      .refusal
    case .ioError, .noSuchAddressOrDevice, .operationNotSupportedByDevice,
      .staleNFSFileHandle, .timedOut:
      .device
    case .noSpace, .diskQuotaExceeded: .noSpace
    default: .system
    }
  }

  /// Whether a file system or a quota has no room left.
  package var isOfFullDisk: Bool { disposition.contains(.diskFull) }

  /// Whether a device failed, rather than the request or the system.
  package var isOfDevice: Bool { disposition.contains(.deviceFailed) }
}

extension SystemCallError: DisposedError {
  /// How the error affects work that is already done.
  package var disposition: ErrorDisposition { isOfWrongKind ? .refusal : errno.disposition }
}

/// The result of a body; nil where it throws.
///
/// - Throws: what the system or a device refuses, since what could not be read may be there.
package func ifReadable<Result>(_ body: () throws -> Result) throws -> Result? {
  do {
    return try body()
  } catch {
    if error.knownDisposition.contains(.workReusable) { throw error }
    return nil
  }
}
