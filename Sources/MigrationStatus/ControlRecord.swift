/// Requests to a running migration, stored in table `control` under the key `control`.
///
/// The coordinator writes it first; processes with a request change it after that. Only the
/// coordinator obeys it; workers follow the run's record.
package struct ControlRecord: Hashable, Sendable {
  /// The first field of every record, by which a reader rejects layouts that it does not know.
  package static let version: UInt32 = 1
  /// Bytes of an encoded record.
  package static let size = 256
  /// Bytes of the field `user`, which cuts longer names between two characters.
  package static let userSize = 128

  /// The kinds of requests, with the numbers that the file stores.
  package enum Wish: UInt32, CaseIterable, Sendable {
    /// It continues.
    case run = 1
    /// It waits, at the next safe point.
    case pause
    /// It stops, and keeps what it has done.
    case cancel
  }

  /// The run of the request; a record of another run has no effect.
  package var run: Identifier
  /// The number of requests so far, 0 in the coordinator's own record.
  package var number: UInt64 = 0
  /// The requested action.
  package var wish = Wish.run
  /// How many workers may run at once.
  package var workers: UInt32
  /// Source bytes per second that all workers together may read, 0 for no limit.
  package var rate: UInt64
  /// When the last request was made, in nanoseconds since 1970.
  package var askedAt: Int64 = 0
  /// The process that made it, 0 before the first.
  package var process: Int32 = 0
  /// The name of the user who made it.
  package var user = ""

  /// Creates the record with which a run begins.
  package init(run: Identifier, workers: UInt32, rate: UInt64) {
    self.run = run
    self.workers = workers
    self.rate = rate
  }

  /// A number of bytes as people type it, in the largest unit in which it is whole.
  package static func text(rate bytes: UInt64) -> String {
    let unit = [("G", 30), ("M", 20), ("K", 10)].first {
      bytes > 0 && bytes.trailingZeroBitCount >= $0.1
    }
    return unit.map { "\(bytes >> UInt64($0.1))\($0.0)" } ?? "\(bytes)"
  }
}

// MARK: - Bytes

extension ControlRecord {
  private enum Offset {
    static let version = 0
    static let wish = 4
    static let run = 8
    static let number = 24
    static let rate = 32
    static let askedAt = 40
    static let workers = 48
    static let process = 52
    static let user = 56  // ...184
    static let checksum = 184  // ...188, then zeros
  }

  /// The record in the layout of docs/reference/status-file.md, "Control".
  package func encoded() -> [UInt8] {
    var writer = RecordWriter(size: Self.size)
    writer.put(Self.version, at: Offset.version)
    writer.put(wish.rawValue, at: Offset.wish)
    writer.put(run.bytes, at: Offset.run)
    writer.put(number, at: Offset.number)
    writer.put(rate, at: Offset.rate)
    writer.put(askedAt, at: Offset.askedAt)
    writer.put(workers, at: Offset.workers)
    writer.put(process, at: Offset.process)
    writer.put(text: user, at: Offset.user, size: Self.userSize)
    return writer.sealed(at: Offset.checksum)
  }

  /// Reads a record in the layout of docs/reference/status-file.md, "Control".
  ///
  /// - Throws: `RecordError`, for another version, another size or an unknown wish.
  package init(decoding bytes: [UInt8]) throws(RecordError) {
    let reader = try RecordReader(
      bytes: bytes, version: Self.version, size: Self.size, checksumAt: Offset.checksum)
    guard let wish = Wish(rawValue: reader.integer(at: Offset.wish)),
      let run = Identifier(bytes[Offset.run..<(Offset.run + Identifier.size)])
    else { throw .damaged }
    self.init(
      run: run, workers: reader.integer(at: Offset.workers),
      rate: reader.integer(at: Offset.rate))
    self.wish = wish
    number = reader.integer(at: Offset.number)
    askedAt = reader.integer(at: Offset.askedAt)
    process = reader.integer(at: Offset.process)
    user = reader.text(at: Offset.user, size: Self.userSize)
  }
}
