import Foundation
import SystemCalls
package import SystemPackage

/// What became of the last migration of a store, or that one runs: a small file beside the store.
///
/// Like the status file it is a courtesy and never the truth.
package struct OutcomeRecord: Codable, Hashable, Sendable {
  package static let format = "godwit-status"
  package static let version = 1

  package enum State: String, Codable, Hashable, Sendable {
    case running, interrupted, failed, refused, done

    /// The state that a run has ended in.
    package init(exitStatus: Int32) {
      self =
        switch exitStatus {
        case 0: .done
        case MigrationState.interruptedStatus: .interrupted
        case MigrationState.refusedStatus: .refused
        default: .failed
        }
    }
  }

  private var format = Self.format
  private var version = Self.version
  package var run: Identifier
  package var source: String
  package var destination: String
  package var work: String
  package var state = State.running
  package var process: Int32
  package var processStart: UInt64
  package var boot: Identifier
  /// Seconds since 1970.
  package var started: Double
  package var ended: Double?
  package var exitStatus: Int32?
  /// What the tool said at the end: why it failed, or what it made.
  package var sentences: [String] = []
  package var rows: Int64?
  /// What was lost, a sentence for each.
  package var losses: [String] = []
  /// What a finished run knows its output by, opaque here.
  package var made: String?

  /// A run of this process that starts now.
  package init(run: Identifier, source: FilePath, destination: FilePath, work: FilePath) {
    self.run = run
    self.source = source.string
    self.destination = destination.string
    self.work = work.string
    process = Processes.own
    processStart = Processes.startTime(of: Processes.own) ?? 0
    boot = Processes.bootID.flatMap { Identifier($0) } ?? .none
    started = Double(WallClock.now()) / 1e9
  }

  /// Ends the run.
  package mutating func end(exitStatus: Int32, sentences: [String], losses: [String] = []) {
    state = State(exitStatus: exitStatus)
    self.exitStatus = exitStatus
    self.sentences = Self.few(sentences)
    self.losses = Self.few(losses)
    ended = Double(WallClock.now()) / 1e9
  }

  /// The record stays small, whatever there is to say.
  private static func few(_ sentences: [String]) -> [String] {
    let (most, longest) = (100, 2_000)
    var result = sentences.prefix(most).map { sentence in
      sentence.count > longest ? sentence.prefix(longest) + "…" : sentence
    }
    if sentences.count > most { result.append("… and \(sentences.count - most) more") }
    return result
  }

  /// Whether the process that wrote it may still be at work, as far as this one sees.
  package var isOfLivingProcess: Bool {
    let own = Surroundings.now()
    return state == .running && !own.isAfterRestart(since: boot)
      && own.presence(process, processStart) != .gone
  }

  /// The work folder, if the record names one by its whole path.
  package var workFolder: FilePath? {
    let path = FilePath(work)
    return path.isAbsolute && !work.utf8.contains(0) ? path : nil
  }
}

extension OutcomeRecord {
  private enum CodingKeys: CodingKey {
    case format, version, run, source, destination, work, state, process, processStart, boot
    case started, ended, exitStatus, sentences, rows, losses, made
  }

  /// Takes only what this version wrote or might have written.
  package init(decoding bytes: [UInt8]) throws {
    let record = try JSONDecoder().decode(Self.self, from: Data(bytes))
    guard record.format == Self.format, record.version == Self.version else {
      throw RecordError.damaged
    }
    self = record
  }

  package func encoded() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self)) + [UInt8(ascii: "\n")]
  }
}

// (1) A file that is not such a record is never written, replaced or removed.
// (2) No link is followed, neither in reading nor in writing.
// (3) There is the old record or the new one, never a part of one.

/// The file that a record is kept in.
package struct OutcomeFile: Hashable, Sendable {
  package static let suffix = ".godwit-status.json"
  private static let mostBytes = 1 << 20

  package let path: FilePath

  package init(_ path: FilePath) { self.path = path }

  /// The file of a store: `/data/Shop.sqlite.godwit-status.json`.
  package init(beside store: FilePath) { path = FilePath("\(store)\(Self.suffix)") }

  /// The record; nil where the name is free.
  ///
  /// - Throws: where something else has the name, or where it cannot be read.
  package func read() throws -> OutcomeRecord? {
    guard let status = try Files.fileStatusIfPresent(path, followLinks: false) else { return nil }
    guard status.kind == .file else {
      throw SystemCallError(operation: .open, path: path, errno: .fileExists)
    }
    // A pipe that took the name since would block without `nonBlocking`.
    let file = try FileDescriptor.open(
      path, .readOnly, options: [.noFollow, .nonBlocking, .closeOnExec])
    return try file.closeAfter {
      guard try Files.fileStatus(of: file).kind == .file else {
        throw SystemCallError(operation: .open, path: path, errno: .fileExists)
      }
      return try OutcomeRecord(
        decoding: Files.readToEnd(file, limit: Self.mostBytes))
    }
  }

  /// Writes the record where there is none or another one.
  package func write(_ record: OutcomeRecord, mode: FilePermissions) throws {
    let isReplacing = try read() != nil
    let temporary = FilePath("\(path).\(Identifier.random()).tmp")
    let file = try FileDescriptor.open(
      temporary, .writeOnly, options: [.create, .exclusiveCreate, .noFollow, .closeOnExec],
      permissions: mode)
    do {
      try file.closeAfter {
        try file.writeAll(record.encoded())
        // After a power cut an empty file would be nobody's.
        try Files.syncFile(file)
      }
      if isReplacing {
        try Files.rename(temporary, to: path)
      } else {
        try Files.renameNoReplace(temporary, to: path)
      }
    } catch {
      _ = try? Files.remove(temporary)  // the failure that counts is the first
      throw error
    }
  }
}
