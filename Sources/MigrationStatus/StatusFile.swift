import LMDB
import Synchronization
package import SystemCalls
package import SystemPackage

// (1) Each key has one writer: the coordinator writes `run`, and the part of a work order while no
//     worker runs it; a worker writes its own part. The requests, `control`, are written by the
//     requesting processes, each in a transaction that reads them first.
// (2) No decision of a migration rests on the file. After a power cut it may be old or damaged;
//     whether a work order is done follows from its manifest.
// (3) No fault of the file reaches the migration: an update that fails is dropped and counted.
// (4) A process opens the file once. Workers inside the coordinator's process share its
//     `StatusFile`.

/// The status file, open for writing by the migration itself.
package final class StatusFile: Sendable {
  /// The most that the file may grow to, in bytes: enough for some 80,000 parts.
  ///
  /// It takes only the space that it uses.
  package static let mapSize = 64 << 20
  static let tables = ["run", "part"]
  static let controlTable = "control"
  static let runKey = Array("run".utf8)
  static let controlKey = Array("control".utf8)

  /// The path of the file; its lock file has the suffix `-lock`.
  package let path: FilePath
  let environment: LMDBEnvironment
  private let dropped = Atomic<UInt32>(0)
  private let lost = Atomic<Bool>(false)
  private let writer: TimedWriter
  /// Reading needs no lock and no map, so nothing that befalls the file harms this process.
  private let reader: LMDBReader

  deinit { writer.end() }

  private init(
    _ environment: LMDBEnvironment, writer: TimedWriter
  ) throws(LMDBError) {
    self.environment = environment
    self.writer = writer
    path = environment.path
    reader = try LMDBReader(path: path)
  }

  /// Creates an empty file, replacing an old one, by the coordinator before any worker starts.
  ///
  /// - Throws: `StatusError`, also for a network file system, or `SystemCallError`.
  package static func create(_ path: FilePath) throws -> StatusFile {
    try create(path, mapSize: mapSize)
  }

  static func create(_ path: FilePath, mapSize: Int) throws -> StatusFile {
    if try Files.isOnNetworkFileSystem(Files.parent(of: path)) {
      throw StatusError(problem: .networkFileSystem, path: path)
    }
    try remove(path)
    return try open(path, access: .create(mapSize: mapSize))
  }

  /// Opens the file that the coordinator created, by a worker process.
  ///
  /// - Throws: `StatusError`, also where others hold it up.
  package static func openForWriting(_ path: FilePath) throws -> StatusFile {
    try open(path, access: .write)
  }

  /// Removes the file and its lock file; processes that have them open keep them.
  package static func remove(_ path: FilePath) throws(SystemCallError) {
    try Files.remove(path)
    try Files.remove(FilePath(path.string + "-lock"))
  }

  private static func open(
    _ path: FilePath, access: LMDBEnvironment.Access
  ) throws -> StatusFile {
    let writer = TimedWriter()
    let opened = Mutex<Result<LMDBEnvironment, LMDBError>?>(nil)
    let isInTime = writer.perform(within: patience) {
      let result = Result { () throws(LMDBError) in
        let environment = try LMDBEnvironment(
          path: path, tables: tables + [controlTable], access: access)
        // Slots of killed readers; `put` clears them again when the map is full.
        _ = try? environment.clearDeadReaders()
        return environment
      }
      opened.withLock { $0 = result }
    }
    do {
      guard isInTime, let result = opened.withLock({ $0 }) else {
        throw LMDBError(operation: .open, path: path, problem: .busy)
      }
      return try StatusError.converting { () throws(LMDBError) in
        try StatusFile(try result.get(), writer: writer)
      }
    } catch {
      writer.end()
      throw error
    }
  }
}

// MARK: - Writing

extension StatusFile {
  /// The updates of this process that failed and were dropped.
  package var droppedUpdates: UInt32 { dropped.load(ordering: .relaxed) }

  /// Replaces the run's record; a failure is counted in `droppedUpdates`.
  package func write(run: RunRecord) {
    put([(Self.runKey, run.encoded())], in: environment.table(name: "run"))
  }

  /// Replaces the record of one work order; a failure is counted in `droppedUpdates`.
  package func write(part: OrderRecord) {
    write(parts: [part])
  }

  /// Replaces the records of several work orders in one transaction.
  package func write(parts: [OrderRecord]) {
    put(
      parts.map { (OrderRecord.key(workOrder: $0.workOrder), $0.encoded()) },
      in: environment.table(name: "part"))
  }

  /// Replaces the requests to the run, before the first request.
  package func write(control: ControlRecord) {
    put([(Self.controlKey, control.encoded())], in: environment.table(name: Self.controlTable))
  }

  /// Changes the requests to the run, and counts the request.
  ///
  /// - Returns: the record as it is now, nil if the run takes no requests.
  /// - Throws: `StatusError`, also where others hold the file up.
  package func change(
    _ body: @escaping @Sendable (inout ControlRecord) -> Void
  ) throws(StatusError) -> ControlRecord? {
    let changed = Mutex<Result<ControlRecord?, LMDBError>?>(nil)
    let table = environment.table(name: Self.controlTable)
    let isDone = writer.perform(within: Self.patience) { [environment] in
      let result = Result { () throws(LMDBError) in
        try environment.write { transaction throws(LMDBError) -> ControlRecord? in
          guard let bytes = try transaction.value(at: Self.controlKey, in: table),
            var record = try? ControlRecord(decoding: bytes)
          else { return nil }
          body(&record)
          record.number &+= 1
          try transaction.put(record.encoded(), at: Self.controlKey, in: table)
          return record
        }
      }
      changed.withLock { $0 = result }
    }
    guard isDone, let result = changed.withLock({ $0 }) else {
      throw StatusError(problem: .database(.busy, during: .put), path: path)
    }
    return try StatusError.converting { () throws(LMDBError) in try result.get() }
  }

  /// Writes the file through to the disk, where a power cut spares it; a failure is counted.
  package func sync() {
    do throws(LMDBError) {
      try environment.sync()
    } catch {
      dropped.add(1, ordering: .relaxed)
    }
  }

  private func put(_ entries: [(key: [UInt8], value: [UInt8])], in table: LMDBTable) {
    let isDone = writer.perform(within: Self.patience) { [self] in
      write(entries, in: table)
    }
    if !isDone { drop() }
  }

  /// So long may other writers hold an update up.
  private static let patience: Duration = .seconds(2)

  /// Whether updates go nowhere any more: the file is damaged, or its lock is held for good.
  package var isLost: Bool {
    lost.load(ordering: .relaxed) || writer.isStuck || !environment.isSound
  }

  private func drop() { dropped.add(1, ordering: .relaxed) }

  private func write(_ entries: [(key: [UInt8], value: [UInt8])], in table: LMDBTable) {
    do throws(LMDBError) {
      do throws(LMDBError) {
        try commit(entries, in: table)
      } catch  where error.problem == .mapFull || error.problem == .readersFull {
        // A killed reader keeps old pages from being used again.
        try environment.clearDeadReaders()
        try commit(entries, in: table)
      }
    } catch {
      if error.problem == .truncated { lost.store(true, ordering: .relaxed) }
      drop()
    }
  }

  private func commit(
    _ entries: [(key: [UInt8], value: [UInt8])], in table: LMDBTable
  ) throws(LMDBError) {
    try environment.write { transaction throws(LMDBError) in
      for entry in entries { try transaction.put(entry.value, at: entry.key, in: table) }
    }
  }
}

// MARK: - Reading

extension StatusFile {
  /// The run's record, nil before it is first written.
  ///
  /// - Throws: `StatusError`.
  package func runRecord() throws(StatusError) -> RunRecord? {
    try StatusContents.runRecord(in: reader)
  }

  /// The requests to the run, nil before the record is first written.
  ///
  /// - Throws: `StatusError`.
  package func control() throws(StatusError) -> ControlRecord? {
    try StatusContents.control(in: reader)
  }

  /// The record of a work order, nil if none was planned.
  ///
  /// - Throws: `StatusError`.
  package func part(workOrder: UInt32) throws(StatusError) -> OrderRecord? {
    try StatusContents.part(workOrder: workOrder, in: reader)
  }

  /// The progress of the current phase, by the present records.
  ///
  /// - Throws: `StatusError`.
  package func advance() throws(StatusError) -> RunAdvance {
    RunAdvance(try StatusContents(reader))
  }

  /// The state that a reader in another process would see now.
  ///
  /// - Throws: `StatusError`.
  package func snapshot() throws(StatusError) -> StatusSnapshot {
    StatusSnapshot(contents: try StatusContents(reader), surroundings: .now())
  }
}
