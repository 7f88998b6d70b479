import Fleets
import Foundation
import MigrationCoordinator
import MigrationStatus
import ObjectMigration
import Survey
import Synchronization
import SystemCalls
import SystemPackage

/// Migrates the stores of a fleet in a worker process, which lives as long as the run.
///
/// Orders come on standard input, answers go to standard output (`FleetMessage`, `FleetAnswer`).
final class FleetWorker: Sendable {
  private let setup: FleetSetup
  private let policies: MigrationPolicies
  private let executor: ThreadExecutor
  private let answers: Mutex<FileDescriptor>
  private let memory = MemoryFolder()
  private let bases = Mutex<[FleetSettings: Base]>([:])
  private let tasks = Mutex<[Int: Task<Void, Never>]>([:])

  /// The part of the migrations by one set of options that is made once.
  private struct Base {
    var migration: StoreMigration
    var target: MigrationTarget
    var shared: SharedWork
  }

  private init(
    _ setup: FleetSetup, policies: MigrationPolicies, executor: ThreadExecutor,
    answers: FileDescriptor
  ) {
    self.setup = setup
    self.policies = policies
    self.executor = executor
    self.answers = Mutex(answers)
  }

  /// Executes all orders, and returns the exit status of the process.
  static func executeOrders(of coordinator: Int32, policies: MigrationPolicies) -> Int32 {
    MemoryUse.shareHeap()
    do {
      let answers = try WorkerDispatch.takeStandardOutput()
      try Processes.dieWithParent(coordinator)
      _ = try Processes.raiseDescriptorLimit()
      let lines = LineReader(open: .standardInput)
      guard case .setUp(let setup)? = try message(lines),
        let executor = ThreadExecutor(threads: setup.threads)
      else { return ExitStatus.system.rawValue }
      let worker = FleetWorker(setup, policies: policies, executor: executor, answers: answers)
      worker.send(.ready)
      while let message = try message(lines) { worker.obey(message) }
      worker.waitForAll()
      return 0
    } catch {
      // The coordinator sees the orders that are left, and tries each again.
      return ExitStatus.bug.rawValue
    }
  }

  private static func message(_ lines: LineReader) throws -> FleetMessage? {
    guard let line = try lines.next(), line.isWhole else { return nil }
    return try JSONDecoder().decode(FleetMessage.self, from: Data(line.bytes))
  }

  private func obey(_ message: FleetMessage) {
    switch message {
    case .setUp: break
    case .cancel:
      for task in tasks.withLock({ Array($0.values) }) { task.cancel() }
    case .migrate(let order):
      tasks.withLock { tasks in
        tasks[order.number] = Task(executorPreference: executor) {
          let answer = await self.answer(to: order)
          self.tasks.withLock { $0[order.number] = nil }
          self.send(answer)
        }
      }
    }
  }

  private func waitForAll() {
    let done = DispatchSemaphore(value: 0)
    Task {
      while let task = tasks.withLock({ $0.values.first }) { await task.value }
      done.signal()
    }
    done.wait()
  }

  private func send(_ answer: FleetAnswer) {
    answers.withLock { descriptor in
      // If the line is cut, the coordinator is gone.
      _ = try? descriptor.writeAll(answer.encoded())
    }
  }

  // MARK: One store

  private func answer(to order: FleetOrder) async -> FleetAnswer {
    let began = WallClock.now()
    var result = StoreResult(
      number: order.number, store: order.store.store, outcome: .failed, bytes: order.store.bytes)
    do {
      try Task.checkCancellation()
      let base = try base(for: order.store.options)
      let migration = migration(order, base: base)
      if let output = migration.output { try Self.makeFolder(Files.parent(of: output)) }
      take(
        try await migration.run(for: base.target), of: migration, into: &result)
    } catch {
      let failure = MigrationFailure(error)
      guard failure.kind != .interrupted else { return .cancelled(number: order.number) }
      result.take(failure)
    }
    let now = WallClock.now()
    result.attempts = order.attempt
    result.seconds = Double(now - began) / 1e9
    result.time = Double(now) / 1e9
    result.node = Processes.node
    return .ended(result)
  }

  /// Makes the folder of an output, and those around it.
  private static func makeFolder(_ folder: FilePath) throws {
    if try Files.fileStatusIfPresent(folder) != nil { return }
    let parent = Files.parent(of: folder)
    try makeFolder(parent)
    if try Files.createDirectory(folder) { try Files.syncDirectory(parent) }
  }

  private func base(for options: FleetSettings?) throws -> Base {
    let settings = try options.map { try setup.settings.overridden(by: $0) } ?? setup.settings
    return try bases.withLock { bases in
      if let known = bases[settings] { return known }
      var migration = try StoreMigration(store: "", by: settings)
      migration.policies = policies
      migration.executesSmallOrders = true
      migration.skipsStatusOfShortRuns = true
      let target = try MigrationTarget(migration.target, configuration: migration.configuration)
      let made = Base(
        migration: migration, target: target,
        shared: SharedWork(target: target.core, executor: executor, memory: memory))
      bases[settings] = made
      return made
    }
  }

  private func migration(_ order: FleetOrder, base: Base) -> StoreMigration {
    var migration = base.migration
    migration.store = FilePath(order.store.store)
    migration.output = order.store.output.map { FilePath($0) }
    migration.resources.workers = max(1, order.workers)
    migration.resources.memory = order.memory
    if order.verifiesFully { migration.checks.result = .full }
    migration.lastRun = LastRun()
    migration.shared = base.shared
    return migration
  }

  private func take(
    _ made: StoreMigration.Result, of migration: StoreMigration, into result: inout StoreResult
  ) {
    result.rows = made.rows
    result.version = made.steps.first?.from.first
    let all = made.core.losses + made.core.chosenLosses
    result.losses = all.isEmpty ? nil : all.count
    let losses = FleetLoss.summed(all.map { FleetLoss($0) })
    result.lost = losses.isEmpty ? nil : losses
    result.lacksLog = made.core.lacksLog
    result.oldStore = made.oldStore?.string
    switch made.outcome {
    case .migrated: result.outcome = .migrated
    case .copied: result.outcome = .copied
    case .finishedEarlier, .alreadyThere:
      result.outcome = .migrated
      result.wasFound = true
      if migration.keepsOld { result.oldStore = result.oldStore ?? keptStore(of: migration.store) }
    case .alreadyCurrent:
      result.outcome = .current
      result.rows = nil
      if migration.output == nil { find(migration, into: &result) }
    }
  }

  /// Finds out whether an earlier run of the fleet has migrated a store, and was stopped before it
  /// recorded that.
  private func find(_ migration: StoreMigration, into result: inout StoreResult) {
    // An unreadable record does not matter: the store is current anyway.
    let record = try? OutcomeFile(beside: Files.resolved(migration.store)).read()
    if let record, record.state == .done, record.restored == nil, record.rows != nil,
      record.started >= setup.created
    {
      result.rows = record.rows
      result.oldStore = migration.keepsOld ? record.oldStore : nil
    } else if migration.keepsOld, let kept = keptStore(of: migration.store) {
      result.oldStore = kept
    } else {
      return
    }
    result.outcome = .migrated
    result.wasFound = true
  }

  /// The old store that a migration has kept since the fleet was created.
  private func keptStore(of store: FilePath) -> String? {
    guard let kept = try? MigratedStore(store).contents().kept.last, kept.kind == .before,
      let date = kept.date, date.timeIntervalSince1970 >= setup.created
    else { return nil }
    return kept.path
  }
}

extension StoreMigration {
  /// Whether the old store is kept next to the new one, which has its place.
  fileprivate var keepsOld: Bool {
    output == nil && (!handover.discardsOld || choices.salvagesDamaged)
  }
}

extension StoreResult {
  /// Takes the facts and the sentences of a failure.
  mutating func take(_ failure: MigrationFailure) {
    outcome = .failed
    reason = failure.kind.rawValue
    exitStatus = failure.exitStatus.rawValue
    sentences = failure.sentences.prefix(20).map { String($0.prefix(2000)) }
    isRetryable = failure.mayPass ? true : nil
  }
}

extension MigrationFailure {
  /// Whether the cause may pass by itself.
  var mayPass: Bool {
    [.inUse, .diskFull, .systemResources, .cannotWrite, .interrupted].contains(kind)
  }
}

extension FilePath {
  /// The path from the root on, links as they are.
  var absolute: FilePath {
    isAbsolute
      ? lexicallyNormalized()
      : FilePath(FileManager.default.currentDirectoryPath).pushing(self).lexicallyNormalized()
  }
}
