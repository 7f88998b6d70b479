import LMDB
import SystemPackage

/// All records of a status file, read in one transaction.
struct StatusContents {
  var run: RunRecord
  var parts: [PartRecord]

  init(run: RunRecord, parts: [PartRecord]) {
    self.run = run
    self.parts = parts
  }

  init(_ environment: LMDBEnvironment) throws(StatusError) {
    let (runTable, partTable) = (environment.table(name: "run"), environment.table(name: "part"))
    let (run, parts) = try StatusError.converting { () throws(LMDBError) in
      try environment.read { transaction throws(LMDBError) in
        (
          try transaction.value(at: StatusFile.runKey, in: runTable),
          try transaction.entries(of: partTable)
        )
      }
    }
    guard let run else { throw StatusError(problem: .empty, path: environment.path) }
    self.run = try Self.decode(run, path: environment.path)
    var decoded: [PartRecord] = []
    for entry in parts {
      decoded.append(try Self.decode(entry.value, key: entry.key, path: environment.path))
    }
    self.parts = decoded
  }

  /// The record of the run, nil before it is first written.
  static func run(in environment: LMDBEnvironment) throws(StatusError) -> RunRecord? {
    let table = environment.table(name: "run")
    let bytes = try StatusError.converting { () throws(LMDBError) in
      try environment.read { transaction throws(LMDBError) in
        try transaction.value(at: StatusFile.runKey, in: table)
      }
    }
    guard let bytes else { return nil }
    return try decode(bytes, path: environment.path)
  }

  /// The record of a work order, nil before the plan is written.
  static func part(
    workOrder: UInt32, in environment: LMDBEnvironment
  ) throws(StatusError) -> PartRecord? {
    let (key, table) = (PartRecord.key(workOrder: workOrder), environment.table(name: "part"))
    let bytes = try StatusError.converting { () throws(LMDBError) in
      try environment.read { transaction throws(LMDBError) in
        try transaction.value(at: key, in: table)
      }
    }
    guard let bytes else { return nil }
    return try decode(bytes, key: key, path: environment.path)
  }

  private static func decode(
    _ bytes: [UInt8], path: FilePath
  ) throws(StatusError) -> RunRecord {
    do throws(RecordError) {
      return try RunRecord(decoding: bytes)
    } catch {
      throw StatusError(error: error, record: .run, path: path)
    }
  }

  private static func decode(
    _ bytes: [UInt8], key: [UInt8], path: FilePath
  ) throws(StatusError) -> PartRecord {
    let number = key.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    do throws(RecordError) {
      let part = try PartRecord(decoding: bytes)
      guard PartRecord.key(workOrder: part.workOrder) == key else { throw .damaged }
      return part
    } catch {
      throw StatusError(error: error, record: .part(number), path: path)
    }
  }
}

extension StatusError {
  fileprivate init(error: RecordError, record: Record, path: FilePath) {
    switch error {
    case .unsupportedVersion(let version):
      self.init(problem: .unsupportedVersion(version), path: path)
    case .damaged:
      self.init(problem: .damagedRecord(record), path: path)
    }
  }

  static func converting<Result>(
    _ body: () throws(LMDBError) -> Result
  ) throws(StatusError) -> Result {
    do throws(LMDBError) {
      return try body()
    } catch {
      throw StatusError(
        problem: .database(error.problem, during: error.operation), path: error.path)
    }
  }
}
