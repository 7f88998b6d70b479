import LMDB
import Synchronization
package import SystemCalls
package import SystemPackage

// (1) Each key has one writer: the coordinator writes `run`, and the part of a work order while no
//     worker runs it; a worker writes its own part.
// (2) The file is never the truth. After a power cut it may be old or damaged, and what says
// whether
//     a part is done is the part itself.
// (3) No fault of the file reaches the migration: an update that fails is dropped and counted.
// (4) A process opens the file once. Workers inside the coordinator's process share its
// `StatusFile`.

/// The file in which a migration tells how far it is, open for writing.
package final class StatusFile: Sendable {
  /// Enough for some 80,000 parts; the file takes only what it holds.
  package static let mapSize = 64 << 20
  static let tables = ["run", "part"]
  static let runKey = Array("run".utf8)

  package let path: FilePath
  let environment: LMDBEnvironment
  private let dropped = Atomic<UInt32>(0)

  private init(_ environment: LMDBEnvironment) {
    self.environment = environment
    path = environment.path
  }

  /// Makes an empty file in the place of an old one: the coordinator, before any worker starts.
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

  /// Opens the file that the coordinator made: a worker in a process of its own.
  package static func openForWriting(_ path: FilePath) throws -> StatusFile {
    try open(path, access: .write)
  }

  /// Removes the file; who has it open keeps a file without a name.
  package static func remove(_ path: FilePath) throws(SystemCallError) {
    try Files.remove(path)
    try Files.remove(FilePath(path.string + "-lock"))
  }

  private static func open(
    _ path: FilePath, access: LMDBEnvironment.Access
  ) throws -> StatusFile {
    let environment = try StatusError.converting { () throws(LMDBError) in
      try LMDBEnvironment(path: path, tables: tables, access: access)
    }
    let file = StatusFile(environment)
    // Leftovers of processes that were killed; what cannot be cleared now is when the map is full.
    _ = try? environment.clearDeadReaders()
    return file
  }
}

// MARK: - Writing

extension StatusFile {
  /// The updates of this process that were lost.
  package var droppedUpdates: UInt32 { dropped.load(ordering: .relaxed) }

  package func write(run: RunRecord) {
    put([(Self.runKey, run.encoded())], in: environment.table(name: "run"))
  }

  package func write(part: PartRecord) {
    write(parts: [part])
  }

  /// Writes several parts in one step, such as all of a new plan.
  package func write(parts: [PartRecord]) {
    put(
      parts.map { (PartRecord.key(workOrder: $0.workOrder), $0.encoded()) },
      in: environment.table(name: "part"))
  }

  /// Returns when the file is on the disk, so that a power cut now would cost little.
  package func sync() {
    do throws(LMDBError) {
      try environment.sync()
    } catch {
      dropped.add(1, ordering: .relaxed)
    }
  }

  private func put(_ entries: [(key: [UInt8], value: [UInt8])], in table: LMDBTable) {
    do throws(LMDBError) {
      do throws(LMDBError) {
        try commit(entries, in: table)
      } catch  where error.problem == .mapFull || error.problem == .readersFull {
        // A killed reader keeps old pages from being used again.
        try environment.clearDeadReaders()
        try commit(entries, in: table)
      }
    } catch {
      dropped.add(1, ordering: .relaxed)
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
  /// The run, or nil before its first record.
  package func run() throws(StatusError) -> RunRecord? {
    try StatusContents.run(in: environment)
  }

  /// The part of a work order, or nil when none was planned.
  package func part(workOrder: UInt32) throws(StatusError) -> PartRecord? {
    try StatusContents.part(workOrder: workOrder, in: environment)
  }

  /// What a reader in another process would see now.
  package func snapshot() throws(StatusError) -> StatusSnapshot {
    StatusSnapshot(contents: try StatusContents(environment), surroundings: .now())
  }
}
