package import MappingFiles
package import ModelFiles
package import ObjectMigration
package import Survey
package import SystemCalls

extension MigrationError: DisposedError {
  /// What the error means for the work done before it.
  package var disposition: ErrorDisposition {
    switch self {
    case .diskFull: .noSpace
    case .alreadyRunning, .interrupted: .system
    case .workerNotStarted: [.workReusable, .retryable]
    case .workerForeign, .workersDoubled, .outputEndless, .shardUnseen: .system
    case .manifestUnreadable: .device
    // The result may be damaged by its device, or because the source is.
    case .resultDamaged: [.workReusable, .deviceFailed, .sourceSuspect]
    case .accountsDiffer, .verificationFailed: .fault
    case .manifestForeign: [.workSuspect]
    case .workOrderFailed(_, _, let reason): reason.disposition
    case .folderNotWritable(_, let cause): cause.knownDisposition
    case .sourceModelMissing(_, _, let unreadable):
      unreadable.map(\.disposition).first { $0.contains(.deviceFailed) } ?? .refusal
    case .mappingsUnreadable(let files):
      files.map { $0.error.knownDisposition }.first { $0.contains(.deviceFailed) } ?? .refusal
    case .joinTableUnknown, .unsupported, .impossible, .stepImpossible, .routeMissing,
      .versionOrderUnknown, .versionNameUnknown, .noMappingFits, .mappingMismatch,
      .mappingProblems, .mappingSet, .losses, .consentUnknown, .foreignModel, .outputExists,
      .nameTooLong, .keptListUnreadable, .nothingKept, .keptChanged, .keptMissing, .keptUnlisted,
      .otherRun,
      .settingUnreadable, .settingUnknown, .mappingElsewhere, .workFolderForeign:
      .refusal
    }
  }
}

extension WorkerLifecycle.Reason {
  /// What the end of a worker means for the work of the others.
  fileprivate var disposition: ErrorDisposition {
    switch self {
    case .failed(let failure): failure.disposition
    // Most likely for a lack of memory.
    case .killed(signal: 9), .lost: .system
    case .exited, .killed: [.workSuspect]
    }
  }
}

extension SourceDamage: DisposedError {
  /// What the error means for the work done before it.
  package var disposition: ErrorDisposition { [.workSuspect] }
}

extension SalvageableDamage: DisposedError {
  /// What the error means for the work done before it.
  package var disposition: ErrorDisposition { [.workSuspect] }
}

extension ModelFileError: DisposedError {
  /// What the error means for the work done before it.
  package var disposition: ErrorDisposition {
    if case .unreadable(let errno) = problem { errno.disposition } else { .refusal }
  }
}

extension MappingFileError: DisposedError {
  /// What the error means for the work done before it.
  package var disposition: ErrorDisposition {
    if case .damaged(.unreadable(let errno)) = problem { errno.disposition } else { .refusal }
  }
}

extension ObjectMigrationError: DisposedError {
  /// What the error means for the work done before it: that of what a policy or an expression met.
  package var disposition: ErrorDisposition {
    (cause as? any DisposedError)?.disposition ?? .refusal
  }
}
