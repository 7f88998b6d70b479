import CLMDB
import Foundation
import LMDB
import Synchronization
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationStatus

/// The value of an environment that a test's own process opens beside the one of the test.
private func environment(
  _ path: String, _ access: LMDBEnvironment.Access
) throws -> LMDBEnvironment {
  try LMDBEnvironment(path: FilePath(path), tables: ["run", "part"], access: access)
}

/// Begins to read as other programs do, by the library, and does not end.
private func readForever(_ path: String) {
  var (environment, transaction) = (nil as OpaquePointer?, nil as OpaquePointer?)
  let flags = UInt32(MDB_NOSUBDIR | MDB_NOTLS | MDB_RDONLY)
  guard mdb_env_create(&environment) == 0, mdb_env_open(environment, path, flags, 0o644) == 0,
    mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction) == 0
  else { exit(1) }
}

private func newRun() -> RunRecord {
  RunRecord(
    run: .random(), boot: Processes.bootID.flatMap { Identifier($0) } ?? .none,
    coordinator: Processes.own,
    coordinatorStart: Processes.startTime(of: Processes.own) ?? 0, at: WallClock.now())
}

@Suite(.scratchFolder) struct StatusFileTests {
  private let path = ScratchFolder.current.appending("status.mdb")

  private func parts(_ count: UInt32) -> [OrderRecord] {
    (0..<count).map {
      OrderRecord(workOrder: $0, partition: $0 / 2, rowsTotal: 10, bytesTotal: 100)
    }
  }

  @Test func `records of another version are not read, and a new run starts without them`() throws {
    var bytes = newRun().encoded()
    bytes[0] = 1
    do {
      let other = try environment(path.string, .create(mapSize: 1 << 20))
      try other.write { transaction throws(LMDBError) in
        try transaction.put(bytes, at: Array("run".utf8), in: other.table(name: "run"))
      }
    }
    do {
      let reader = try StatusReader.open(path)
      #expect(throws: StatusError(problem: .unsupportedVersion(1), path: path)) {
        try reader.snapshot()
      }
    }
    let file = try StatusFile.create(path)
    #expect(try file.runRecord() == nil)
    let run = newRun()
    file.write(run: run)
    #expect(try file.runRecord() == run)
  }

  @Test func `what is written is read, and a new file starts empty`() throws {
    do {
      let file = try StatusFile.create(path)
      #expect(throws: StatusError(problem: .empty, path: path)) { try file.snapshot() }
      let run = newRun()
      file.write(run: run)
      file.write(parts: parts(300))
      file.sync()
      #expect(try file.runRecord() == run)
      #expect(try file.part(workOrder: 299) == parts(300)[299])
      #expect(try file.part(workOrder: 300) == nil)
      let snapshot = try file.snapshot()
      #expect(snapshot.parts.map(\.workOrder) == Array(0..<300))
      #expect(!snapshot.isStale && file.droppedUpdates == 0)
    }
    let again = try StatusFile.create(path)
    #expect(try again.runRecord() == nil)
  }

  @Test func `a file is opened for writing once in a process, and only if it is there`() throws {
    #expect(throws: StatusError.self) { try StatusFile.openForWriting(path) }
    #expect(throws: StatusError.self) { try StatusReader.open(path) }
    let file = try StatusFile.create(path)
    let error = #expect(throws: StatusError.self) { try StatusFile.openForWriting(path) }
    #expect(error?.problem == .database(.alreadyOpen, during: .open))
    file.write(run: newRun())
    #expect(try StatusReader.open(path).snapshot().phase == .surveying)
    withExtendedLifetime(file) {}
  }

  @Test func `a table of the run with something else in it is damaged`() throws {
    let file = try StatusFile.create(path)
    try file.environment.write { transaction throws(LMDBError) in
      try transaction.put([1], at: [2], in: file.environment.table(name: "run"))
    }
    #expect(throws: StatusError(problem: .damagedRecord(.run), path: path)) {
      try file.snapshot()
    }
  }

  @Test func `a reader sees a run of an earlier start of the machine, as stale`() throws {
    do {
      var run = newRun()
      run.boot = .random()
      try StatusFile.create(path).write(run: run)
    }
    let reader = try StatusReader.open(path)
    #expect(try reader.snapshot().isStale)
    #expect(!reader.isReplaced)
    try StatusFile.remove(path)
    #expect(reader.isReplaced)
  }

  @Test func `of several stages the one at work is told, as long as it is of this run`() throws {
    let folder = ScratchFolder.current.appending("Shop.sqlite.godwit")
    func status(_ place: FilePath) throws -> StatusFile {
      try FileManager.default.createDirectory(
        atPath: place.string, withIntermediateDirectories: true)
      return try StatusFile.create(place.appending("status.mdb"))
    }
    let outer = try status(folder)
    var run = newRun()
    run.enter(.migrating, at: WallClock.now())
    (run.stage, run.stages) = (1, 2)
    outer.write(run: run)
    #expect(try outer.runRecord() == run)
    let watch = StatusWatch(folder)
    let before = try #require(try watch.look()?.snapshot)
    #expect(before.stage?.phase == .surveying && before.parts.isEmpty)
    do {
      let inner = try status(folder.appending("stage-1.godwit"))
      var stage = newRun()
      stage.enter(.merging, at: WallClock.now())
      (stage.workOrders, stage.rowsTotal) = (3, 30)
      inner.write(run: stage)
      inner.write(parts: parts(3))
      let found = try #require(try watch.look()?.snapshot)
      #expect(found.stage?.number == 1 && found.stage?.count == 2)
      #expect(found.stage?.phase == .merging && found.stage?.rowsTotal == 30)
      #expect(found.parts.count == 3 && found.phase == .migrating && found.workOrders == 0)
    }
    try FileManager.default.removeItem(atPath: folder.appending("stage-1.godwit").string)
    #expect(try watch.look()?.snapshot?.parts.count == 3)
    // What another process left there is not of this run.
    run.stage = 2
    outer.write(run: run)
    let other = try status(folder.appending("stage-2.godwit"))
    var left = newRun()
    left.coordinatorStart += 1
    other.write(run: left)
    other.write(parts: parts(9))
    let next = try #require(try watch.look()?.snapshot)
    #expect(next.stage?.number == 2 && next.parts.isEmpty && next.stage?.phase == .surveying)
  }

  @Test func `damaged records are told by their place`() throws {
    do {
      let file = try StatusFile.create(path)
      file.write(run: newRun())
      file.write(parts: parts(3))
      try file.environment.write { transaction throws(LMDBError) in
        try transaction.put(
          [1, 2, 3], at: OrderRecord.key(workOrder: 1), in: file.environment.table(name: "part"))
      }
    }
    let reader = try StatusReader.open(path)
    #expect(throws: StatusError(problem: .damagedRecord(.part(1)), path: path)) {
      try reader.snapshot()
    }
  }

  @Test func `four threads write their parts`() throws {
    let file = try StatusFile.create(path)
    let threads = (0..<4 as Range<UInt32>).map { number in
      let done = DispatchSemaphore(value: 0)
      Thread {
        var part = OrderRecord(workOrder: number, partition: 0, rowsTotal: 500, bytesTotal: 0)
        for _ in 0..<500 {
          part.rowsDone += 1
          file.write(part: part)
        }
        done.signal()
      }.start()
      return done
    }
    for thread in threads { thread.wait() }
    for number in 0..<4 as Range<UInt32> {
      #expect(try file.part(workOrder: number)?.rowsDone == 500)
    }
    #expect(file.droppedUpdates == 0)
  }

  @Test func `two processes write`() async throws {
    let file = try StatusFile.create(path)
    file.write(run: newRun())
    file.write(parts: parts(2))
    await #expect(processExitsWith: .exitCode(7)) { [path = path.string as String] in
      let file = try StatusFile.openForWriting(FilePath(path))
      guard var part = try file.part(workOrder: 1) else { exit(1) }
      part.start(process: Processes.own, processStart: 0, at: WallClock.now())
      (part.rowsDone, part.bytesDone) = (6, 60)
      file.write(part: part)
      exit(file.droppedUpdates == 0 ? 7 : 1)
    }
    let part = try #require(try file.part(workOrder: 1))
    #expect(part.rowsDone == 6 && part.attempt == 1 && part.process != Processes.own)
    #expect(try file.snapshot().bytesDone == 0, "the total is the run's")
    #expect(try file.part(workOrder: 0)?.state == .planned)
  }

  @Test func `a writer killed in its transaction changes nothing and blocks nobody`() async throws {
    let file = try StatusFile.create(path)
    let run = newRun()
    file.write(run: run)
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path.string as String] in
      let environment = try environment(path, .write)
      try environment.write { transaction throws(LMDBError) in
        try transaction.put([1], at: Array("run".utf8), in: environment.table(name: "run"))
        kill(getpid(), SIGKILL)
      }
    }
    #expect(try file.runRecord() == run)
    var next = run
    next.workOrders = 5
    file.write(run: next)
    #expect(try file.runRecord() == next)
    #expect(file.droppedUpdates == 0)
  }

  @Test func `a killed reader is cleared when the map is full`() async throws {
    let file = try StatusFile.create(path, mapSize: 256 << 10)
    file.write(run: newRun())
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path.string as String] in
      readForever(path)
      kill(getpid(), SIGKILL)
    }
    for _ in 0..<2000 { file.write(run: newRun()) }
    #expect(file.droppedUpdates == 0)
    #expect(try file.environment.clearDeadReaders() == 0, "cleared on the way")
  }

  @Test func `a new writer clears killed readers`() async throws {
    let file = try StatusFile.create(path)
    file.write(run: newRun())
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path.string as String] in
      readForever(path)
      kill(getpid(), SIGKILL)
    }
    await #expect(processExitsWith: .exitCode(7)) { [path = path.string as String] in
      exit(try StatusFile.openForWriting(FilePath(path)).runRecord()?.phase == .surveying ? 7 : 1)
    }
    #expect(try file.environment.clearDeadReaders() == 0)
  }

  @Test func `updates that do not fit are dropped and counted`() throws {
    let file = try StatusFile.create(path, mapSize: 256 << 10)
    let run = newRun()
    file.write(run: run)
    file.write(parts: parts(2000))
    #expect(file.droppedUpdates > 0)
    let dropped = file.droppedUpdates
    file.write(run: run)
    #expect(file.droppedUpdates == dropped)
    #expect(try file.runRecord() == run)
  }

  @Test func `a flusher publishes counts, changes and the end`() throws {
    let file = try StatusFile.create(path)
    let run = RunFlusher(file: file, record: newRun())
    run.enter(.migrating)
    run.enter(.merging, units: 3)
    run.advance()
    run.advance(units: 9)
    #expect(run.stop())
    let snapshot = try file.snapshot()
    #expect(snapshot.unitsDone == 3 && snapshot.phase == .merging)
    #expect(snapshot.peakMemoryBytes > 0 && snapshot.droppedUpdates == 0)
  }

  @Test func `what changes within an instant is published at its end`() throws {
    let file = try StatusFile.create(path)
    let beats = Atomic(0)
    let started = ContinuousClock.now
    let flusher = RunFlusher(file: file, record: newRun(), every: .milliseconds(100)) {
      beats.add(1, ordering: .relaxed)
      return { _ in }
    }
    for count in 1...500 as ClosedRange<UInt64> {
      flusher.change { $0.rowsTotal = count }
      Thread.sleep(forTimeInterval: 0.0002)
    }
    #expect(flusher.stop())
    let instants = (ContinuousClock.now - started) / .milliseconds(20)
    #expect(beats.load(ordering: .relaxed) <= Int(instants) + 2)
    #expect(try file.runRecord()?.rowsTotal == 500)
  }

  @Test func `a heartbeat goes on without progress`() throws {
    let file = try StatusFile.create(path)
    let record = newRun()
    let flusher = RunFlusher(file: file, record: record, every: .milliseconds(100))
    let deadline = ContinuousClock.now + .seconds(20)
    while try file.runRecord()?.heartbeatAt ?? 0 <= record.heartbeatAt, .now < deadline {
      Thread.sleep(forTimeInterval: 0.05)
    }
    let run = try #require(try file.runRecord())
    #expect(run.heartbeatAt > record.heartbeatAt && run.progressAt == record.progressAt)
    #expect(flusher.stop())
  }
}
