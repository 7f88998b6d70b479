import LMDB
import SystemPackage

/// All records of a status file, of one moment.
struct StatusContents {
  var run: RunRecord
  var parts: [PartRecord]

  init(run: RunRecord, parts: [PartRecord]) {
    self.run = run
    self.parts = parts
  }

  init(_ environment: LMDBEnvironment) throws(StatusError) {
    let (runTable, partTable) = (environment.table("run"), environment.table("part"))
    let (run, parts) = try StatusError.converting { () throws(LMDBError) in
      try environment.read { transaction throws(LMDBError) in
        (
          try transaction.value(at: StatusFile.runKey, in: runTable),
          try transaction.entries(of: partTable)
        )
      }
    }
    guard let run else { throw StatusError(problem: .empty, path: environment.path) }
    self.run = try Self.decode(run, environment.path)
    var decoded: [PartRecord] = []
    for entry in parts { decoded.append(try Self.decode(entry.value, entry.key, environment.path)) }
    self.parts = decoded
  }

  static func run(in environment: LMDBEnvironment) throws(StatusError) -> RunRecord? {
    let table = environment.table("run")
    let bytes = try StatusError.converting { () throws(LMDBError) in
      try environment.read { transaction throws(LMDBError) in
        try transaction.value(at: StatusFile.runKey, in: table)
      }
    }
    guard let bytes else { return nil }
    return try decode(bytes, environment.path)
  }

  static func part(
    _ workOrder: UInt32, in environment: LMDBEnvironment
  ) throws(StatusError) -> PartRecord? {
    let (key, table) = (PartRecord.key(workOrder), environment.table("part"))
    let bytes = try StatusError.converting { () throws(LMDBError) in
      try environment.read { transaction throws(LMDBError) in
        try transaction.value(at: key, in: table)
      }
    }
    guard let bytes else { return nil }
    return try decode(bytes, key, environment.path)
  }

  private static func decode(
    _ bytes: [UInt8], _ path: FilePath
  ) throws(StatusError) -> RunRecord {
    do throws(RecordError) {
      return try RunRecord(decoding: bytes)
    } catch {
      throw StatusError(error, .run, path)
    }
  }

  private static func decode(
    _ bytes: [UInt8], _ key: [UInt8], _ path: FilePath
  ) throws(StatusError) -> PartRecord {
    let number = key.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    do throws(RecordError) {
      let part = try PartRecord(decoding: bytes)
      guard PartRecord.key(part.workOrder) == key else { throw .damaged }
      return part
    } catch {
      throw StatusError(error, .part(number), path)
    }
  }
}

extension StatusError {
  fileprivate init(_ error: RecordError, _ record: Record, _ path: FilePath) {
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
