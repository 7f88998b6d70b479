import Foundation

/// How far a worker is with its work order.
package struct WorkProgress: Hashable, Codable, Sendable {
  /// Source rows that are migrated.
  package var rows: UInt64 = 0
  /// Source bytes that are migrated.
  package var bytes: UInt64 = 0
  /// The primary key of the source row that was migrated last.
  package var lastKey: Int64 = 0
  /// The destination table whose rows are being migrated.
  package var table = ""
  /// Whether the worker waits because the run is held.
  package var isPaused = false
  /// The peak private memory of the worker, in bytes; 0 in the coordinator's own process.
  package var peakMemory: UInt64 = 0

  /// Creates the progress of a worker that has not begun.
  package init() {}
}

/// How fast a worker may go.
package struct WorkPace: Hashable, Codable, Sendable {
  /// Whether the worker waits.
  package var isHeld = false
  /// Source bytes per second, 0 for no limit.
  package var rate: UInt64 = 0

  /// Creates a pace without limits.
  package init(isHeld: Bool = false, rate: UInt64 = 0) {
    (self.isHeld, self.rate) = (isHeld, rate)
  }
}

/// The coordinator, as its workers know it.
package protocol WorkerLink: Sendable {
  /// Passes on how far the worker is.
  func report(_ progress: WorkProgress)
  /// How fast the worker may go now.
  var pace: WorkPace { get }
  /// Reserves an extent of the result, which no other worker gets; its number, from 0.
  ///
  /// - Throws: the failure to reserve one.
  func claimExtent() throws -> Int64
}

/// What a worker process writes to standard output, a line each.
package enum WorkerMessage: Hashable, Codable, Sendable {
  /// The worker has its order; it waits for a pace before it begins.
  case started(WorkerProgram)
  /// How far the worker is.
  case progress(WorkProgress)
  /// The worker needs an extent of the result.
  case claim
  /// The shard is complete.
  case made(ShardManifest)
  /// The order failed: the exit status, facts for the coordinator, and a text for the status file.
  case failed(status: Int32, facts: String, text: String)
}

/// What the coordinator writes to a worker's standard input after the work order, a line each.
package enum CoordinatorMessage: Hashable, Codable, Sendable {
  /// How fast the worker may go; repeated every second.
  case pace(WorkPace)
  /// The number of the extent that the worker has claimed.
  case extent(Int64)
}

/// The program of a worker and the machine on which it runs.
package struct WorkerProgram: Hashable, Codable, Sendable {
  /// The version of Godwit.
  package var version = GodwitVersion.current
  /// The commit of the build, nil if unknown.
  package var commit: String?
  /// The size of the executable in bytes.
  package var bytes: Int64
  /// The name of the machine or node.
  package var host: String

  /// Creates the description of a program of this version.
  package init(commit: String?, bytes: Int64, host: String) {
    (self.commit, self.bytes, self.host) = (commit, bytes, host)
  }

  /// Whether both are the same program, on whatever machine.
  package func isSame(as other: WorkerProgram) -> Bool {
    (version, commit, bytes) == (other.version, other.commit, other.bytes)
  }
}

/// Messages as lines of text.
///
/// A launcher may print lines of its own. The mark distinguishes Godwit's lines.
package enum MessageLine {
  /// The bytes with which each line of a worker begins.
  package static let mark = Array("godwit-worker ".utf8)

  /// A message as a line with its end.
  package static func encoded(_ message: some Encodable) throws -> [UInt8] {
    mark + Array(try PlanCoding.encoder.encode(message)) + [UInt8(ascii: "\n")]
  }

  /// The message of a line without its end; nil if the line has no mark or no such message.
  package static func decoded<Message: Decodable>(
    _ line: some Collection<UInt8>, as type: Message.Type
  ) -> Message? {
    guard line.starts(with: mark) else { return nil }
    return try? PlanCoding.decoder.decode(type, from: Data(line.dropFirst(mark.count)))
  }
}

/// Cuts a stream of bytes into lines.
package struct LineBuffer: Sendable {
  private var rest: [UInt8] = []
  /// How many bytes of `rest` have no end of a line.
  private var searched = 0

  /// Creates an empty buffer.
  package init() {}

  /// The bytes after the last line that was removed.
  package var count: Int { rest.count }

  /// Adds bytes of the stream.
  package mutating func append(_ bytes: some Sequence<UInt8>) { rest += bytes }

  /// Removes the first line and returns it without its end; nil until it is complete.
  package mutating func next() -> [UInt8]? {
    guard let end = rest[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
      searched = rest.count
      return nil
    }
    var line = Array(rest[..<end])
    rest.removeSubrange(...end)
    searched = 0
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    return line
  }
}
