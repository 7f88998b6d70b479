import Fleets
import Foundation
import MigrationCoordinator
import SystemCalls
import SystemPackage

extension StoreFleet {
  /// Migrates the stores, and returns the outcomes as they become durable.
  ///
  /// - Parameters:
  ///   - selection: the stores to migrate.
  ///   - notice: is called with news that are no outcomes, on any thread.
  /// - Returns: a sequence that throws `MigrationFailure`: with status 75 if the run was stopped,
  ///   by a cancellation, the canary or the limit of failures.
  public func run(
    _ selection: Selection = .waiting, notice: @escaping @Sendable (Notice) -> Void = { _ in }
  ) -> Outcomes {
    Outcomes { try await migrate(selection, notice: notice, body: $0) }
  }

  /// Runs the fleet; `body` is called with each result once it is durable, by one thread at a time.
  func migrate(
    _ selection: Selection, notice: @escaping @Sendable (Notice) -> Void,
    body: @escaping @Sendable (StoreResult) -> Void
  ) async throws {
    try WorkerDispatch.requireCoordinator(workers: workerExecutable)
    try folder.requireList(of: manifest)
    let migration = try StoreMigration(store: "", by: manifest.settings)
    // Else each store would fail for a model that is gone.
    _ = try MigrationTarget(migration.target, configuration: migration.configuration)
    let lock = try acquireLock()
    defer { withExtendedLifetime(lock) {} }
    let (recorder, past) = try openResults()
    let runner = FleetRunner(
      FleetSetup(
        settings: manifest.settings, created: manifest.created,
        threads: FleetRunner.threads(jobs: max(1, jobs), memory: memory)),
      limits: .init(
        jobs: max(1, jobs), memory: max(64 << 20, memory), retries: max(0, retries),
        failures: mostFailures),
      executable: workerExecutable, logger: logger, recorder: recorder)
    // Cancellation must not end workers at once: they are requested to stop at a safe point.
    let work = Task {
      try await runPhases(runner, selection: selection, past: past, notice: notice)
    }
    let publisher = Task {
      let clock = ContinuousClock()
      var pause = Duration.milliseconds(200)
      while !Task.isCancelled {
        try? await Task.sleep(for: pause)
        do {
          // At most a tenth of the time goes into results.
          let time = try clock.measure { try publish(recorder, notice: notice, body: body) }
          pause = max(.milliseconds(200), time * 10)
        } catch {
          runner.stop(because: "results cannot be written", cancels: true)
          throw error
        }
      }
    }
    let outcome: Swift.Result<Void, any Error> = await withTaskCancellationHandler {
      await work.result
    } onCancel: {
      runner.stop(because: "interrupted", cancels: true)
    }
    publisher.cancel()
    let failedToPublish = await publisher.result
    let last = try recorder.flush(isOver: true, stopped: runner.stopReason)
    last.results.forEach(body)
    try outcome.get()
    try failedToPublish.get()
    if let reason = runner.stopReason {
      throw MigrationFailure(
        .interrupted, "\(path): \(reason); \(command: .runFleet("\(path)")) resumes with the rest.")
    }
  }

  private func publish(
    _ recorder: FleetRecorder, notice: @Sendable (Notice) -> Void,
    body: @Sendable (StoreResult) -> Void
  ) throws {
    let (results, slow) = try recorder.flush()
    results.forEach(body)
    let now = Double(WallClock.now()) / 1e9
    for store in slow {
      notice(.slow(FilePath(store.store), seconds: now - store.began))
    }
  }

  private func runPhases(
    _ runner: FleetRunner, selection: Selection, past: FleetPast,
    notice: @Sendable (Notice) -> Void
  ) async throws {
    var past = past
    if canary > 0, selection == .waiting {
      let numbers = try FleetCanary(of: canary, in: folder, element: element?.core, past: past)
        .numbers
      let before = runner.recorder.run.tally.count(.failed)
      try await runner.executeOrders(
        of: try source(.only(numbers), past: past, verifiesFully: true))
      if runner.isStopping { return }
      let failed = runner.recorder.run.tally.count(.failed) - before
      if failed > 0 {
        return runner.stop(
          because: "\(failed) of the \(CountText(numbers.count, "store")) of the canary failed",
          cancels: false)
      }
      notice(.canaryPassed(stores: numbers.count))
      past.note(done: numbers)
    }
    try await runner.executeOrders(of: try source(selection.core, past: past))
  }

  private func source(
    _ selection: FleetSelection, past: FleetPast, verifiesFully: Bool = false
  ) throws -> sending OrderSource {
    try OrderSource(
      FleetListReader(folder, element: element?.core), past: past, selection: selection,
      jobs: max(1, jobs), memory: max(64 << 20, memory), verifiesFully: verifiesFully)
  }

  private var mostFailures: Int? {
    switch failureLimit {
    case .none: nil
    case .stores(let count): count
    case .share(let share): Int(Double(manifest.stores) * share)
    }
  }

  // MARK: Results

  /// Whether results go to a file of their own: those of an element, and of any run on a file
  /// system of several machines, where LMDB must not be used.
  private var usesResultsFile: Bool {
    get throws { try element != nil || Files.isOnNetworkFileSystem(folder.path) }
  }

  private func acquireLock() throws -> FileLock {
    var path = folder.lock
    if let element {
      try Files.createDirectory(folder.results)
      path = folder.results.appending("e\(element.number)-of-\(element.count).lock")
    }
    guard let lock = try FileLock.acquire(path) else {
      throw FleetError(problem: .running, path: path)
    }
    return lock
  }

  func openResults() throws -> (FleetRecorder, FleetPast) {
    let now = Double(WallClock.now()) / 1e9
    var run = FleetRun(fleet: manifest.created, started: now, jobs: max(1, jobs))
    if try usesResultsFile {
      guard let element = element?.core ?? FleetElement(number: 0, count: 1) else {
        preconditionFailure("0 of 1 is an element")
      }
      let past = try FleetPast(element, in: folder, stores: manifest.stores)
      run.tally = past.tally
      let file = try ResultsFile(of: element, in: folder, at: now)
      return (FleetRecorder(.file(file), run: run, open: past.open), past)
    }
    let state = try FleetState(folder, of: manifest)
    // Elements may have run before, on whatever machine.
    let past =
      try ResultsFile.all(in: folder).isEmpty
      ? FleetPast(state, stores: manifest.stores)
      : FleetPast(FleetLedger(folder, of: manifest), stores: manifest.stores)
    run.tally = past.tally
    let recorder = FleetRecorder(.state(state), run: run, open: past.open)
    _ = try recorder.flush()
    return (recorder, past)
  }
}

extension StoreFleet.Selection {
  var core: FleetSelection {
    switch self {
    case .waiting: .waiting
    case .failed: .failed
    case .rolledBack: .rolledBack
    }
  }
}
