import Foundation
import LMDB
import SystemCalls
import SystemPackage

/// A run of a fleet on this machine, as `state.mdb` has it.
package struct FleetRun: Codable, Hashable, Sendable {
  /// A store that is being migrated.
  package struct Store: Codable, Hashable, Sendable {
    /// The place of the store in the list; nil where an earlier version wrote it.
    package var number: Int?
    /// The path of the store.
    package var store: String
    /// The size of the store, in bytes.
    package var bytes: Int64
    /// The time at which its migration began, in seconds since 1970.
    package var began: Double
    /// Whether it takes much longer than stores of its size.
    package var isSlow = false

    /// Creates a store whose migration begins now.
    package init(number: Int, store: String, bytes: Int64, began: Double) {
      (self.number, self.store, self.bytes, self.began) = (number, store, bytes, began)
    }
  }

  /// The time of creation of the fleet, by which a state is known to be of it.
  package var fleet: Double
  /// The process that runs the fleet.
  package var process = Processes.own
  /// When this process started, field 22 of `/proc/PID/stat`.
  package var processStart = Processes.startTime(of: Processes.own) ?? 0
  /// The start of the machine at which the run began.
  package var boot = Processes.bootID
  /// The time at which the run began, in seconds since 1970.
  package var started: Double
  /// The time of this record, in seconds since 1970.
  package var updated: Double
  /// Whether the run has ended, with everything on the disk.
  package var isOver = false
  /// The number of worker processes.
  package var jobs: Int
  /// The stores and bytes that this run has done.
  package var storesDone = 0
  package var bytesDone: Int64 = 0
  /// The results of all stores.
  package var tally = FleetTally()
  /// The stores that are being migrated.
  package var running: [Store] = []
  /// Why the run stopped before the end of the list, as a sentence.
  package var stopped: String?

  /// Creates the record of a run that begins now.
  package init(fleet: Double, started: Double, jobs: Int) {
    self.fleet = fleet
    self.started = started
    updated = started
    self.jobs = jobs
  }

  /// Whether the process of the run is alive.
  package var isRunning: Bool {
    !isOver && boot == Processes.bootID && Processes.isAlive(process, startTime: processStart)
  }
}

// (1) One process writes, under the lock of the fleet. A state whose writer did not see the machine
// stop may be damaged, since LMDB does not sync commits, so it is not opened again: the stores and
// their records show what is done.
// (2) `run` is small, so watchers read one page and not a record per store.

/// The results of a fleet on this machine: an LMDB file with a record per store.
package final class FleetState {
  private let path: FilePath
  private let environment: LMDBEnvironment
  private let encoder = JSONEncoder()
  private let decoder = JSONDecoder()

  private static let tables = ["run", "results"]
  private static let runKey = Array("run".utf8)

  /// Opens the state of a fleet, or creates one; one that may be damaged, or is of another fleet,
  /// is removed.
  ///
  /// - Throws: `SystemCallError`, `FleetError`.
  package init(_ folder: FleetFolder, of manifest: FleetManifest) throws {
    if try Files.fileStatusIfPresent(folder.state, followLinks: false) != nil {
      let run = try? Self.readRun(folder)
      let isSound = run.map { $0.isOver || $0.boot == Processes.bootID } ?? false
      if !isSound || run?.fleet != manifest.created {
        for path in [folder.state, FilePath("\(folder.state)-lock")] {
          try Files.removeRegularFile(path)
        }
      }
    }
    // A process with another size would damage the file, so it follows from the manifest alone.
    let size = (1 << 30) + manifest.stores * 4096
    path = folder.state
    environment = try Self.explaining(path) { [path] in
      try LMDBEnvironment(path: path, tables: Self.tables, access: .create(mapSize: size))
    }
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  }

  /// Turns errors of LMDB into those of the system, or of a fleet.
  private static func explaining<Result>(
    _ path: FilePath, _ body: () throws -> Result
  ) throws -> Result {
    do {
      return try body()
    } catch let error as LMDBError {
      switch error.problem {
      case .system(let errno):
        throw SystemCallError(operation: .write, path: path, errno: errno)
      case .busy:
        throw SystemCallError(operation: .read, path: path, errno: .resourceTemporarilyUnavailable)
      default: throw FleetError(problem: .stateDamaged, path: path)
      }
    }
  }

  private static func key(_ number: Int) -> [UInt8] {
    withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) }
  }

  /// Calls `body` with each result of the fleet, in the order of the list.
  package func forEach(stores: Int, body: (StoreResult) -> Void) throws {
    let results = environment.table(name: "results")
    for start in stride(from: 0, to: stores, by: Self.chunk) {
      let found = try Self.explaining(path) {
        try environment.write { transaction throws(LMDBError) in
          var found: [[UInt8]] = []
          for number in start..<min(stores, start + Self.chunk) {
            if let value = try transaction.value(at: Self.key(number), in: results) {
              found.append(value)
            }
          }
          return found
        }
      }
      for value in found {
        if let result = try? decoder.decode(StoreResult.self, from: Data(value)) { body(result) }
      }
    }
  }

  /// Writes results and the record of the run at once.
  ///
  /// - Parameter syncs: whether they are written through to the disk as well.
  package func write(_ results: [StoreResult], run: FleetRun, syncs: Bool) throws {
    let values = try results.map { (Self.key($0.number), Array(try encoder.encode($0))) }
    let record = Array(try encoder.encode(run))
    try Self.explaining(path) {
      try environment.write { transaction throws(LMDBError) in
        for (key, value) in values {
          try transaction.put(value, at: key, in: environment.table(name: "results"))
        }
        try transaction.put(record, at: Self.runKey, in: environment.table(name: "run"))
      }
      if syncs { try environment.sync() }
    }
  }

  // MARK: Readers in other processes

  /// The record of the last run; nil where there is none.
  ///
  /// - Throws: `FleetError` with `stateDamaged`, `SystemCallError`.
  package static func readRun(_ folder: FleetFolder) throws -> FleetRun? {
    guard try Files.fileStatusIfPresent(folder.state, followLinks: false)?.kind == .file else {
      return nil
    }
    let entries = try explaining(folder.state) {
      try LMDBReader(path: folder.state).entries(of: ["run"])["run"]
    }
    guard let value = entries?.first(where: { $0.key == runKey })?.value else { return nil }
    return try? JSONDecoder().decode(FleetRun.self, from: Data(value))
  }

  /// Calls `body` with each result, in the order of the list; some are held in memory at a time.
  static func readResults(_ folder: FleetFolder, body: (StoreResult) throws -> Void) throws {
    var start: Int? = 0
    while let first = start {
      let found = try results(of: folder, from: first, limit: chunk)
      start = found.count == chunk ? found.last.map { $0.number + 1 } : nil
      for result in found { try body(result) }
    }
  }

  /// The result of one store; nil where it has none.
  package static func result(of number: Int, in folder: FleetFolder) throws -> StoreResult? {
    guard number >= 0 else { return nil }
    return try results(of: folder, from: number, limit: 1).first { $0.number == number }
  }

  /// The results that are read, or held in memory, at a time.
  private static let chunk = 1024

  private static func results(
    of folder: FleetFolder, from number: Int, limit: Int
  ) throws -> [StoreResult] {
    guard try Files.fileStatusIfPresent(folder.state, followLinks: false)?.kind == .file else {
      return []
    }
    let entries = try explaining(folder.state) {
      try LMDBReader(path: folder.state).entries(
        of: "results", from: key(number), limit: limit)
    }
    let decoder = JSONDecoder()
    return try entries.map { entry in
      guard let result = try? decoder.decode(StoreResult.self, from: Data(entry.value)),
        key(result.number) == entry.key
      else { throw FleetError(problem: .stateDamaged, path: folder.state) }
      return result
    }
  }
}
