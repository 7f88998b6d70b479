import LMDB
import SystemPackage

/// All records of a status file, read in one transaction.
struct StatusContents {
  var run: RunRecord
  var parts: [OrderRecord]

  init(run: RunRecord, parts: [OrderRecord]) {
    self.run = run
    self.parts = parts
  }

  init(_ reader: LMDBReader) throws(StatusError) {
    let tables = try StatusError.converting { () throws(LMDBError) in
      try reader.entries(of: StatusFile.tables)
    }
    guard let run = tables["run"]?.first(where: { $0.key == StatusFile.runKey }) else {
      // A table that has something else has been damaged.
      let isEmpty = tables["run"]?.isEmpty != false
      throw StatusError(problem: isEmpty ? .empty : .damagedRecord(.run), path: reader.path)
    }
    self.run = try Self.decode(run.value, path: reader.path)
    parts = []
    for entry in tables["part"] ?? [] {
      parts.append(try Self.decode(entry.value, key: entry.key, path: reader.path))
    }
  }

  /// The record of the run, nil before it is first written.
  static func runRecord(in reader: LMDBReader) throws(StatusError) -> RunRecord? {
    guard let bytes = try value(at: StatusFile.runKey, of: "run", in: reader) else { return nil }
    return try decode(bytes, path: reader.path)
  }

  /// The requests to the run, nil before the record is first written.
  static func control(in reader: LMDBReader) throws(StatusError) -> ControlRecord? {
    guard let bytes = try value(at: StatusFile.controlKey, of: StatusFile.controlTable, in: reader)
    else { return nil }
    do throws(RecordError) {
      return try ControlRecord(decoding: bytes)
    } catch {
      throw StatusError(error: error, record: .control, path: reader.path)
    }
  }

  /// The record of a work order, nil before the plan is written.
  static func part(workOrder: UInt32, in reader: LMDBReader) throws(StatusError) -> OrderRecord? {
    let key = OrderRecord.key(workOrder: workOrder)
    guard let bytes = try value(at: key, of: "part", in: reader) else { return nil }
    return try decode(bytes, key: key, path: reader.path)
  }

  private static func value(
    at key: [UInt8], of table: String, in reader: LMDBReader
  ) throws(StatusError) -> [UInt8]? {
    let entries = try StatusError.converting { () throws(LMDBError) in
      try reader.entries(of: [table])
    }
    return entries[table]?.first { $0.key == key }?.value
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
  ) throws(StatusError) -> OrderRecord {
    let number = key.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    do throws(RecordError) {
      let part = try OrderRecord(decoding: bytes)
      guard OrderRecord.key(workOrder: part.workOrder) == key else { throw .damaged }
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
