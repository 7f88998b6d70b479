import SystemCalls

/// What has become of a migration, as `status` tells it.
package enum MigrationState: String, Codable, CaseIterable, Hashable, Sendable {
  case running
  /// Its process is there and does not go on.
  case paused
  /// It was asked to stop, and the same command goes on.
  case interrupted
  /// Its process is gone without a word; the same command goes on.
  case dead
  case failed
  /// The store cannot be migrated in this way.
  case refused
  case done

  /// `EX_UNAVAILABLE`, `EX_SOFTWARE`, `EX_TEMPFAIL` and `EX_CONFIG` of `sysexits.h`.
  package static let pausedStatus: Int32 = 69
  package static let unknownFailureStatus: Int32 = 70
  package static let interruptedStatus: Int32 = 75
  package static let refusedStatus: Int32 = 78

  /// Whether something may still change without anybody starting it again.
  package var isOpen: Bool { self == .running || self == .paused }
}

/// The state of a migration with the facts that decided it.
package struct StateDecision: Hashable, Sendable {
  package enum Reason: Hashable, Sendable {
    /// A signal or a debugger has stopped the process.
    case stopped
    /// The process is there and has told nothing for so many seconds.
    case silent(seconds: Int64)
    case gone
    case machineRestarted
  }

  package var state: MigrationState
  package var exitStatus: Int32
  /// Why it is paused or dead.
  package var reason: Reason?
  /// Whether the process was not to be seen, but may be behind a wall: look again in a second.
  package var isUncertain = false
}

extension StateDecision {
  /// So long may a process be silent and not be seen: it may run in another container.
  static let trustedSilence: Int64 = 1_000_000_000
  /// So long may a process be silent that is there.
  static let mostSilence: Int64 = 3_000_000_000

  /// Decides by what the status file and the record beside the store say, as far as there are any;
  /// nil where there is neither.
  ///
  /// Where they tell of two runs, the later one counts.
  init?(status: RunRecord?, record: OutcomeRecord?, surroundings: Surroundings) {
    switch (status, record) {
    case (nil, nil): return nil
    case (let status?, nil): self.init(status: status, surroundings: surroundings)
    case (nil, let record?): self.init(record: record, surroundings: surroundings)
    case (let status?, let record?):
      if status.run == record.run {
        // What a run says last, it says in its record.
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
    }
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

  /// A run that ended without a result.
  private init(ended exitStatus: Int32) {
    switch exitStatus {
    case MigrationState.interruptedStatus:
      self.init(state: .interrupted, exitStatus: exitStatus)
    case MigrationState.refusedStatus: self.init(state: .refused, exitStatus: exitStatus)
    default:
      let isTold = (1...255).contains(exitStatus)
      self.init(
        state: .failed, exitStatus: isTold ? exitStatus : MigrationState.unknownFailureStatus)
    }
  }

  /// A run that has not said how it ended.
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
  /// Nanoseconds since a moment; a moment that is still to come, by a clock that was set, counts.
  fileprivate func silence(since moment: Int64) -> Int64 {
    let (age, overflow) = time.subtractingReportingOverflow(moment)
    return overflow ? .max : Int64(clamping: age.magnitude)
  }
}
