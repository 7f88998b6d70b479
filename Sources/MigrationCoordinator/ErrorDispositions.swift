package import MappingFiles
package import ModelFiles
package import ObjectMigration
package import Survey
package import SystemCalls

extension MigrationError: DisposedError {
  /// How the error affects work that is already done.
  package var disposition: ErrorDisposition {
    switch self {
    case .interrupted: .system
    case .accountsDiffer: .fault
    case .sourceModelMissing(_, _, let unreadable):
      unreadable.map(\.disposition).first { $0.contains(.deviceFailed) } ?? .refusal
    case .mappingsUnreadable(let files):
      files.map { $0.error.knownDisposition }.first { $0.contains(.deviceFailed) } ?? .refusal
    case .joinTableUnknown, .unsupported, .extrasForbidden, .impossible, .stepImpossible,
      .routeMissing,
      .versionOrderUnknown, .versionNameUnknown, .noMappingFits, .mappingMismatch,
      .mappingProblems, .mappingSet, .losses, .consentUnknown, .foreignModel, .settingUnreadable,
      .settingUnknown, .mappingElsewhere:
      .refusal
    }
  }
}

extension PlaceError: DisposedError {
  /// How the error affects work that is already done.
  package var disposition: ErrorDisposition {
    switch self {
    case .diskFull: .noSpace
    case .alreadyRunning: .system
    case .folderNotWritable(_, let cause): cause.knownDisposition
    case .outputExists, .nameTooLong, .keptListUnreadable, .nothingKept, .oldStoreDiscarded,
      .keptChanged, .keptMissing, .keptUnlisted, .keptInPlace, .keptRenamed, .otherRun,
      .storeReserved, .workFolderForeign:
      .refusal
    }
  }
}

extension WorkError: DisposedError {
  /// How the error affects work that is already done.
  package var disposition: ErrorDisposition {
    switch self {
    case .workOrderFailed(_, _, let fault): fault.disposition
    case .workerNotStarted: [.workReusable, .retryable]
    case .workerForeign, .workersDoubled, .outputEndless, .shardUnseen: .system
    case .manifestForeign: [.workSuspect]
    case .manifestUnreadable: .device
    case .verificationFailed: .fault
    // The result may be damaged by its device, or because the source is.
    case .resultDamaged: [.workReusable, .deviceFailed, .sourceSuspect]
    }
  }
}

extension WorkerFault {
  /// What the end of a worker means for the work of the others.
  fileprivate var disposition: ErrorDisposition {
    switch self {
    case .reported(let failure): failure.disposition
    // Most likely for a lack of memory.
    case .killed(signal: 9), .lost: .system
    case .exited, .killed: [.workSuspect]
    }
  }
}

extension SourceDamage: DisposedError {
  /// How the error affects work that is already done.
  package var disposition: ErrorDisposition { [.workSuspect] }
}

extension SalvageableDamage: DisposedError {
  /// How the error affects work that is already done.
  package var disposition: ErrorDisposition { [.workSuspect] }
}

extension ModelFileError: DisposedError {
  /// How the error affects work that is already done.
  package var disposition: ErrorDisposition {
    if case .unreadable(let errno) = problem { errno.disposition } else { .refusal }
  }
}

extension MappingFileError: DisposedError {
  /// How the error affects work that is already done.
  package var disposition: ErrorDisposition {
    if case .damaged(.unreadable(let errno)) = problem { errno.disposition } else { .refusal }
  }
}

extension ObjectMigrationError: DisposedError {
  /// How the error affects work that is already done: that of what a policy or an expression met.
  package var disposition: ErrorDisposition {
    (cause as? any DisposedError)?.disposition ?? .refusal
  }
}
