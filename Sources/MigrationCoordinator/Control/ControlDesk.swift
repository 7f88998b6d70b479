import Foundation
import Logging
import MigrationStatus
import Planning
import SystemCalls
import SystemPackage

// (1) Only the coordinator obeys requests; workers follow the pace that it sends them.
// (2) A request that cannot be read changes nothing. Once the status file is lost, the run is no
//     longer paused, since only that file can end a pause.
// (3) The thread that publishes the status reads requests, so that a paused coordinator resumes on
//     request.

/// Handles pause, cancel and rate requests, and blocks the coordinator while paused.
///
/// All stages of a migration share one desk.
final class ControlDesk: @unchecked Sendable {
  // @unchecked: `condition` guards all that changes.
  private let condition = NSCondition()
  private let controls: MigrationControls
  private let logger: Logger

  private var asked: ControlRecord?
  private var answeredAt: Int64 = 0
  private var cancel: (@Sendable () -> Void)?
  private var hasPauseFile = false
  /// The file that holds back the swap, where this run has made it.
  private var ownSwapFile: FileStatus?
  private var swapWaits = false
  private var coordinatorWaits = false
  private var workersStand = false
  private var workersRunning = 0
  private var limit: Int
  private var limitChanged: (@Sendable (Int) -> Void)?

  init(controls: MigrationControls, workers: Int, logger: Logger) {
    self.controls = controls
    self.logger = logger
    limit = max(1, workers)
  }

  /// How long the coordinator sleeps between two checks of pause and swap files.
  private static let pause = 0.1

  private func locked<Result>(_ body: () throws -> Result) rethrows -> Result {
    condition.lock()
    defer { condition.unlock() }
    return try body()
  }
}

// MARK: - Requests

extension ControlDesk {
  /// The record with which a run begins.
  func record(of run: Identifier) -> ControlRecord { locked { firstRecord(of: run) } }

  private func firstRecord(of run: Identifier) -> ControlRecord {
    ControlRecord(run: run, workers: UInt32(clamping: limit), rate: controls.rate)
  }

  /// Sets what a request to cancel does, on any thread; it happens at once if there was one.
  func whenCancelled(_ body: @escaping @Sendable () -> Void) {
    let isAsked = locked {
      cancel = body
      return asked?.wish == .cancel
    }
    if isAsked { body() }
  }

  /// Ends a pause that no request can end.
  func loseRequests() {
    locked {
      if asked?.wish == .pause { asked?.wish = .run }
      condition.broadcast()
    }
  }

  /// Reads the present request of a run, and checks the files that hold it.
  func look(at found: ControlRecord?, of run: Identifier) {
    let hasFile = controls.pauseFile.map { Self.isThere($0) } ?? false
    var told: [(Logger.Message, Logger.Metadata)] = []
    var actions: [@Sendable () -> Void] = []
    locked {
      if hasFile != hasPauseFile {
        hasPauseFile = hasFile
        let words: Logger.Message = hasFile ? "paused by a file" : "the pause file was removed"
        told.append((words, ["file": "\(controls.pauseFile ?? "")"]))
      }
      if let found, found.run == run, found.number > asked?.number ?? 0 {
        told += changes(to: found)
        asked = found
        answeredAt = WallClock.now()
        if found.wish == .cancel, let cancel { actions.append(cancel) }
        let range = MigrationRequest.workerRange
        let wanted = min(range.upperBound, max(range.lowerBound, Int(found.workers)))
        if wanted != limit {
          limit = wanted
          if let limitChanged { actions.append { limitChanged(wanted) } }
        }
      }
      condition.broadcast()
    }
    for (words, facts) in told { logger.notice(words, metadata: facts) }
    for action in actions { action() }
  }

  /// What a request changes, as it is logged.
  private func changes(to next: ControlRecord) -> [(Logger.Message, Logger.Metadata)] {
    let before = asked ?? firstRecord(of: next.run)
    let by: Logger.Metadata = ["by": "\(next.asker)"]
    var told: [(Logger.Message, Logger.Metadata)] = []
    if next.wish != before.wish {
      switch next.wish {
      case .run: told.append(("resumed", by))
      case .pause: told.append(("paused", by))
      case .cancel: told.append(("cancelled", by))
      }
    }
    if next.workers != before.workers {
      told.append(("another number of workers", by.merging(["workers": "\(next.workers)"]) { $1 }))
    }
    if next.rate != before.rate {
      let rate =
        next.rate == 0 ? "no limit" : "at most \(ControlRecord.text(rate: next.rate)) a second"
      told.append(("another rate", by.merging(["rate": "\(rate)"]) { $1 }))
    }
    return told
  }

  private static func isThere(_ path: FilePath) -> Bool {
    // A folder that cannot be read any more holds nothing.
    (try? Files.fileStatusIfPresent(path, followLinks: false)) != nil
  }
}

extension ControlRecord {
  /// Who made the request, and when.
  var asker: String {
    let format = Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: .gmt)
    let time = Date(timeIntervalSince1970: Double(askedAt) / 1e9).formatted(format)
    return "\(user) (process \(process)) at \(time)"
  }
}

// MARK: - The run's record

extension ControlDesk {
  /// Writes what holds the run into its record.
  func apply(to record: inout RunRecord) {
    locked {
      (record.hold, record.holdReason) = hold
      record.isStanding = record.hold != .none && (coordinatorWaits || workersStand)
      record.rate = asked?.rate ?? controls.rate
      record.workerRate = workerRate
      record.workersWanted = UInt32(clamping: limit)
      (record.controlNumber, record.controlAt) = (asked?.number ?? 0, answeredAt)
    }
  }

  /// The pace of each worker.
  var pace: WorkPace { locked { WorkPace(isHeld: hold.0 != .none, rate: workerRate) } }

  /// The share of each worker in the rate, 0 for no limit.
  private var workerRate: UInt64 {
    let rate = asked?.rate ?? controls.rate
    return rate == 0 ? 0 : max(1, rate / UInt64(max(1, workersRunning)))
  }

  /// Why the run is held, and by whom.
  private var hold: (RunRecord.Hold, String) {
    if let asked, asked.wish == .pause { return (.asked, asked.asker) }
    if hasPauseFile, let file = controls.pauseFile { return (.pauseFile, file.string) }
    if swapWaits, let file = controls.swapFile { return (.swap, file.string) }
    return (.none, "")
  }

  /// Whether anything holds the run, even if not all workers are paused yet.
  var isHeld: Bool { locked { hold.0 != .none } }

  /// Whether nothing is left but the swap, which a file holds back.
  var isReady: Bool { locked { swapWaits } }

  /// Reads the parts of the present stage: whether all workers are paused.
  func note(workersStand: Bool) { locked { self.workersStand = workersStand } }
}

// MARK: - Workers

extension ControlDesk {
  /// How many workers may run at once.
  var workers: Int { locked { limit } }

  /// Bytes that workers may read in a second, all together; 0 for no limit.
  var rate: UInt64 { locked { asked?.rate ?? controls.rate } }

  /// The limits of workers from now on, as they change.
  var limits: AsyncStream<Int> {
    AsyncStream { continuation in
      locked { limitChanged = { continuation.yield($0) } }
      continuation.onTermination = { [weak self] _ in self?.forgetLimits() }
    }
  }

  private func forgetLimits() { locked { limitChanged = nil } }

  /// Takes how many workers run, among which the rate is divided.
  func note(workersRunning count: Int) { locked { workersRunning = count } }
}

// MARK: - Waiting

extension ControlDesk {
  /// Waits while the run is paused.
  ///
  /// - Throws: `CancellationError`, if the migration is cancelled, also during the wait.
  func pass() throws {
    try Task.checkCancellation()
    try wait { [.asked, .pauseFile].contains(hold.0) }
  }

  /// Waits while the run is paused, without holding the thread.
  ///
  /// - Throws: `CancellationError`, if the migration is cancelled, also during the wait.
  func passPatiently() async throws {
    try Task.checkCancellation()
    while locked({ [.asked, .pauseFile].contains(hold.0) }) {
      try await Task.sleep(for: .milliseconds(100))
    }
  }

  /// Creates the file that holds back the swap, unless it is there.
  ///
  /// - Throws: `SystemCallError`, if it cannot be created.
  func prepareSwap() throws {
    guard let file = controls.swapFile, !Self.isThere(file) else { return }
    let made = try Files.open(
      file, mode: .writeOnly, options: [.create, .noFollow], permissions: .ownerReadWrite)
    let status = try made.closeAfter { try Files.fileStatus(of: made) }
    locked { ownSwapFile = status }
  }

  /// Removes the file that holds back the swap, if this run has made it and it is still empty:
  /// nothing is left to be swapped.
  func removeSwapFile() {
    guard let file = controls.swapFile, let own = locked({ ownSwapFile }) else { return }
    do {
      guard let found = try Files.fileStatusIfPresent(file, followLinks: false),
        found.isSameFile(as: own), found.size == 0
      else { return }
      try Files.removeRegularFile(file)
    } catch {
      logger.notice(
        "the file that held the swap stays", metadata: ["file": "\(file)", "error": "\(error)"])
    }
  }

  /// Waits until the file that holds back the swap is gone.
  ///
  /// - Throws: `CancellationError`, if the migration is cancelled, also during the wait.
  func waitToSwap() throws {
    try pass()
    guard let file = controls.swapFile, Self.isThere(file) else { return }
    logger.notice("ready; remove the file to swap", metadata: ["file": "\(file)"])
    locked { swapWaits = true }
    defer { locked { swapWaits = false } }
    try wait { Self.isThere(file) || [.asked, .pauseFile].contains(hold.0) }
  }

  private func wait(while isHeld: () -> Bool) throws {
    condition.lock()
    defer {
      coordinatorWaits = false
      condition.unlock()
    }
    while isHeld() {
      coordinatorWaits = true
      _ = condition.wait(until: Date(timeIntervalSinceNow: Self.pause))
      try Task.checkCancellation()
    }
  }
}
