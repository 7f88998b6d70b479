import SystemCalls

/// The state of a running or finished migration, as `godwit status` prints it.
package enum MigrationState: String, Codable, CaseIterable, Hashable, Sendable {
  /// Its process runs and writes heartbeats.
  case running
  /// Somebody paused it, or its process exists, and is stopped or has written no heartbeat for 3 s.
  case paused
  /// The result is made and verified, and a file holds back the swap.
  case ready
  /// It stopped on request; the same command resumes it.
  case interrupted
  /// Its process is gone and recorded no end; the same command resumes it.
  case dead
  /// It ended with an error.
  case failed
  /// Its models, its mapping or its data rule the migration out.
  case refused
  /// It ended with a result, or found nothing to do.
  case done

  /// The exit status of `godwit status` for a paused migration: `EX_UNAVAILABLE` of `sysexits.h`.
  package static let pausedStatus: Int32 = 69
  /// The exit status for a failure that recorded none: `EX_SOFTWARE`.
  package static let unknownFailureStatus: Int32 = 70
  /// The exit status of a migration that was interrupted, or whose process died: `EX_TEMPFAIL`.
  package static let interruptedStatus: Int32 = 75
  /// The exit status of a migration that was refused: `EX_CONFIG`.
  package static let refusedStatus: Int32 = 78
  /// The exit statuses of calls that were rejected as they were given, and migrated nothing:
  /// `EX_USAGE`, `EX_NOINPUT` and `EX_CONFIG`.
  package static let rejectedStatuses: Set<Int32> = [64, 66, refusedStatus]

  /// Whether the state may still change by itself, so that `--watch` continues.
  package var isOpen: Bool { self == .running || self == .paused || self == .ready }
}

/// The state of a migration with the facts behind it.
package struct StateDecision: Hashable, Sendable {
  /// Why a migration counts as paused or dead, or will soon.
  package enum Reason: Hashable, Sendable {
    /// It was requested: by whom, and when.
    case asked(String)
    /// This file holds the run, or its swap.
    case file(String)
    /// A signal or a debugger has stopped the process.
    case stopped
    /// A signal or a debugger has stopped one of its workers.
    case workerStopped(Int32)
    /// The process exists and has written no heartbeat for this long.
    case silent(seconds: Int64)
    /// No process has the recorded identifier and start time.
    case gone
    /// The machine has been restarted since the run began.
    case machineRestarted
  }

  /// The state itself.
  package var state: MigrationState
  /// The exit status with which `godwit status` reports the state.
  package var exitStatus: Int32
  /// Why the migration is paused, ready or dead; of a running one, why it will pause at the next
  /// safe point; otherwise nil.
  package var reason: Reason?
  /// Whether the process is invisible but may run in another container: check again in a second.
  package var isUncertain = false
}

extension StateDecision {
  /// The age of a heartbeat, in nanoseconds, up to which a process that is not found counts as
  /// running: it may run in another container.
  static let trustedSilence: Int64 = 1_000_000_000
  /// The age of a heartbeat, in nanoseconds, beyond which an existing process counts as paused.
  static let mostSilence: Int64 = 3_000_000_000

  /// Decides by the status file and the record next to the store, whichever exist; nil if neither
  /// does.
  ///
  /// If they describe different runs, the later one counts.
  init?(status: RunRecord?, record: OutcomeRecord?, surroundings: Surroundings) {
    switch (status, record) {
    case (nil, nil): return nil
    case (let status?, nil): self.init(status: status, surroundings: surroundings)
    case (nil, let record?): self.init(record: record, surroundings: surroundings)
    case (let status?, let record?):
      if status.run == record.run {
        // A run records its end in the record last of all.
        self =
          record.state == .running
          ? .init(status: status, surroundings: surroundings) : .init(record)
      } else if Double(status.startedAt) / 1e9 >= record.started {
        self.init(status: status, surroundings: surroundings)
      } else {
        self.init(record: record, surroundings: surroundings)
      }
    }
  }

  private init(status: RunRecord, surroundings: Surroundings) {
    switch status.phase {
    case .done: self.init(state: .done, exitStatus: 0)
    case .failed: self.init(ended: status.exitStatus)
    default:
      self.init(
        process: status.coordinator, start: status.coordinatorStart, boot: status.boot,
        heartbeatAt: status.heartbeatAt, surroundings: surroundings)
      if state == .running { hold(status) }
    }
  }

  /// Takes over what holds a run that is alive.
  private mutating func hold(_ status: RunRecord) {
    let held: MigrationState
    switch status.hold {
    case .none: return
    case .asked: (held, reason) = (.paused, .asked(status.holdReason))
    case .pauseFile: (held, reason) = (.paused, .file(status.holdReason))
    case .swap: (held, reason) = (.ready, .file(status.holdReason))
    }
    if status.isStanding { state = held }
    if state == .paused { exitStatus = MigrationState.pausedStatus }
  }

  private init(record: OutcomeRecord, surroundings: Surroundings) {
    guard record.state == .running else {
      self.init(record)
      return
    }
    self.init(
      process: record.process, start: record.processStart, boot: record.boot, heartbeatAt: nil,
      surroundings: surroundings)
  }

  private init(_ ended: OutcomeRecord) {
    if ended.state == .done {
      self.init(state: .done, exitStatus: 0)
    } else {
      self.init(ended: ended.exitStatus ?? 0)
    }
  }

  /// Classifies a run that ended without a result by its exit status.
  private init(ended exitStatus: Int32) {
    switch OutcomeRecord.State(exitStatus: exitStatus) {
    case .interrupted: self.init(state: .interrupted, exitStatus: exitStatus)
    case .refused: self.init(state: .refused, exitStatus: exitStatus)
    case .failed, .done, .running:
      let isKnown = (1...255).contains(exitStatus)
      self.init(
        state: .failed, exitStatus: isKnown ? exitStatus : MigrationState.unknownFailureStatus)
    }
  }

  /// Classifies a run that has not recorded its end by what is known of its process.
  private init(
    process: Int32, start: UInt64, boot: Identifier, heartbeatAt: Int64?,
    surroundings: Surroundings
  ) {
    if surroundings.isAfterRestart(since: boot) {
      self.init(dead: .machineRestarted)
      return
    }
    let silence = heartbeatAt.map { surroundings.silence(since: $0) }
    let presence = surroundings.presence(process, start)
    switch presence {
    case .stopped: self.init(paused: .stopped)
    case .running, .hidden:
      if let silence, silence > Self.mostSilence {
        self.init(paused: .silent(seconds: silence / 1_000_000_000))
      } else {
        self.init(state: .running, exitStatus: 0)
      }
    case .gone:
      if let silence, silence <= Self.trustedSilence {
        self.init(state: .running, exitStatus: 0, isUncertain: true)
      } else {
        self.init(dead: .gone)
      }
    }
  }

  private init(dead reason: Reason) {
    self.init(state: .dead, exitStatus: MigrationState.interruptedStatus, reason: reason)
  }

  private init(paused reason: Reason) {
    self.init(state: .paused, exitStatus: MigrationState.pausedStatus, reason: reason)
  }
}

extension Surroundings {
  /// The distance of a moment from now, in nanoseconds.
  ///
  /// A moment in the future counts alike: the clock may have been set back.
  fileprivate func silence(since moment: Int64) -> Int64 {
    let (age, overflow) = time.subtractingReportingOverflow(moment)
    return overflow ? .max : Int64(clamping: age.magnitude)
  }
}
