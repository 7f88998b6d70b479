import Foundation
import StoreNames
import SystemCalls
package import SystemPackage

/// The outcome of the last migration of a store, or the fact that one is running, in a file next to
/// the store.
///
/// `godwit status` shows it. A migration reads nothing from it but whether an output that is there
/// was made by the same call; `godwit verify` reads the way that it states.
package struct OutcomeRecord: Codable, Hashable, Sendable {
  /// The value of `format` in every record, which distinguishes it from other JSON files.
  package static let format = "godwit-status"
  /// The version of the fields; a record of any other is neither read nor replaced.
  package static let version = 1

  /// The states that a record can have; the process may be dead while the state is `running`.
  package enum State: String, Codable, Hashable, Sendable {
    /// As `MigrationState`, without the states that depend on the process.
    case running, interrupted, failed, refused, done

    /// The state in which a run with this exit status has ended.
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
  /// Identifies the run; the status file has the same.
  package var run: Identifier
  /// The path of the store that is read.
  package var source: String
  /// The path of the store that is made, the same as `source` for a migration in place.
  package var destination: String
  /// The path of the work folder, which may be gone.
  package var work: String
  /// `running` until `end` is called.
  package var state = State.running
  /// The process identifier of the coordinator.
  package var process: Int32
  /// When the coordinator started, field 22 of `/proc/PID/stat`; 0 if unknown.
  package var processStart: UInt64
  /// The start of the machine at which the run began, `.none` if unknown.
  package var boot: Identifier
  /// When the run started, in seconds since 1970.
  package var started: Double
  /// When the run ended, in seconds since 1970; nil while it is running.
  package var ended: Double?
  /// The exit status of the run, nil while it is running.
  package var exitStatus: Int32?
  /// What the tool printed at the end: why the run failed, or what it made.
  package var sentences: [String] = []
  /// Rows of the finished store, nil until it is finished.
  package var rows: Int64?
  /// The data that the migration lost, one sentence for each loss.
  package var losses: [String] = []
  /// Identifies the output once it is in its place, in a form that only the coordinator interprets.
  package var made: String?
  /// By which way the result is made; nil until it is found, and where there is nothing to do.
  package var way: RecordedWay?
  /// Where the old store was kept, nil if it was not.
  ///
  /// The file may be gone since.
  package var oldStore: String?
  /// The last store that took the place of the result again, nil if none has.
  package var restored: Restored?

  /// A kept store that was put back in its place.
  package struct Restored: Codable, Hashable, Sendable {
    /// Where it was kept.
    package var path: String
    /// When it took its place, in seconds since 1970.
    package var time: Double
  }

  /// Creates the record of a run that this process starts now.
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

  /// Records the end of the run; at most 100 sentences of 2,000 characters are kept.
  package mutating func end(exitStatus: Int32, sentences: [String], losses: [String] = []) {
    state = State(exitStatus: exitStatus)
    self.exitStatus = exitStatus
    self.sentences = Self.few(sentences)
    self.losses = Self.few(losses)
    ended = Double(WallClock.now()) / 1e9
  }

  /// Records what the result has.
  package mutating func note(rows: Int64, losses: [String]) {
    (self.rows, self.losses) = (rows, Self.few(losses))
  }

  /// Takes over what a run that found its result there does not know: what the run that made it
  /// recorded.
  package mutating func complete(by maker: OutcomeRecord) {
    rows = rows ?? maker.rows
    if losses.isEmpty { losses = maker.losses }
    oldStore = oldStore ?? maker.oldStore
  }

  /// Records that a kept store has taken the place of the result.
  package mutating func restore(_ kept: FilePath) {
    restored = Restored(path: kept.string, time: Double(WallClock.now()) / 1e9)
  }

  /// What has become of the result and of the old store since, as far as it can be seen now.
  package var sequel: [String] {
    var sentences: [String] = []
    if let restored {
      let format = Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: .gmt)
      let time = Date(timeIntervalSince1970: restored.time).formatted(format)
      sentences.append("At \(time) \(restored.path) was put back in place.")
    }
    if let oldStore {
      let path = FilePath(oldStore)
      let isThere = (try? Files.fileStatusIfPresent(path, followLinks: false))?.kind == .file
      if isThere {
        sentences.append("The old store is kept as \(path).")
      } else if restored == nil {
        sentences.append("The old store is no longer kept.")
      }
    }
    return Self.few(sentences)
  }

  /// Bounds the size of the record, whatever the number and the length of sentences.
  private static func few(_ sentences: [String]) -> [String] {
    let (most, longest) = (100, 2_000)
    var result = sentences.prefix(most).map { sentence in
      sentence.count > longest ? sentence.prefix(longest) + "…" : sentence
    }
    if sentences.count > most { result.append("… and \(sentences.count - most) more") }
    return result
  }

  /// Whether the process that wrote the record may still be running, as far as this one can see.
  package var isOfLivingProcess: Bool {
    let own = Surroundings.now()
    return state == .running && !own.isAfterRestart(since: boot)
      && own.presence(process, processStart) != .gone
  }

  /// The work folder, nil unless the record has an absolute path.
  package var workFolder: FilePath? {
    let path = FilePath(work)
    return path.isAbsolute && !work.utf8.contains(0) ? path : nil
  }
}

extension OutcomeRecord {
  private enum CodingKeys: CodingKey {
    case format, version, run, source, destination, work, state, process, processStart, boot
    case started, ended, exitStatus, sentences, rows, losses, made, way, oldStore, restored
  }

  /// Reads a record of this version.
  ///
  /// - Throws: `DecodingError` or `RecordError`, for anything else.
  package init(decoding bytes: [UInt8]) throws {
    let record = try JSONDecoder().decode(Self.self, from: Data(bytes))
    guard record.format == Self.format, record.version == Self.version else {
      throw RecordError.damaged
    }
    self = record
  }

  /// The record as JSON with sorted keys, ending in a newline.
  package func encoded() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self)) + [UInt8(ascii: "\n")]
  }
}

// (1) A file that is not such a record is never written, replaced or removed.
// (2) No link is followed, neither in reading nor in writing.
// (3) There is the old record or the new one, never a part of one.

/// The file of an outcome record.
package struct OutcomeFile: Hashable, Sendable {
  private static let mostBytes = 1 << 20

  /// The path of the file, which may not exist.
  package let path: FilePath

  /// Names a file; touches nothing.
  package init(_ path: FilePath) { self.path = path }

  /// The file of a store: `/data/Shop.sqlite.godwit-status.json`.
  package init(beside store: FilePath) { path = StoreCompanion.record.path(of: store) }

  /// The record, nil if the file does not exist.
  ///
  /// - Throws: `SystemCallError`, `RecordError` or `DecodingError`, if the path names anything but
  ///   a record of at most 1 MiB in a regular file.
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

  /// Creates the file or replaces an older record in it, by a rename.
  ///
  /// - Throws: as `read`, if the path names anything else, and for failures to write.
  package func write(_ record: OutcomeRecord, mode: FilePermissions) throws {
    let isReplacing = try read() != nil
    let temporary = FilePath("\(path).\(Self.mark(UInt32.random(in: 0 ... .max))).tmp")
    let file = try FileDescriptor.open(
      temporary, .writeOnly, options: [.create, .exclusiveCreate, .noFollow, .closeOnExec],
      permissions: mode)
    do {
      try file.closeAfter {
        // Another run treats it as abandoned once no process holds it.
        _ = try FileLock.holds(file, path: temporary)
        try file.writeAll(record.encoded())
        // A power cut could leave an empty file, which no later run would replace.
        try Files.syncFile(file)
        if isReplacing {
          try Files.rename(temporary, to: path)
        } else {
          try Files.renameNoReplace(temporary, to: path)
        }
      }
    } catch {
      _ = try? Files.remove(temporary)  // the failure that counts is the first
      throw error
    }
  }

  /// Changes the record of a run that has ended; does nothing where there is none.
  ///
  /// - Throws: as `read` and `write`.
  package func change(_ body: (inout OutcomeRecord) -> Void) throws {
    guard var record = try read(), !record.isOfLivingProcess else { return }
    let mode = try Files.fileStatus(path, followLinks: false).mode
    body(&record)
    try write(record, mode: FilePermissions(rawValue: CInterop.Mode(mode & 0o777)))
  }

  /// Removes files of this user that `write` made and that no process writes any more.
  ///
  /// - Parameter names: the names in the folder among which they are; nil reads the folder.
  package func removeAbandoned(among names: [FilePath.Component]? = nil) throws {
    guard let name = path.lastComponent?.string else { return }
    let folder = Files.parent(of: path)
    for entry in try names ?? Files.listDirectory(folder) {
      if let rest = entry.string.rest(behind: name), Self.isTemporary(rest) {
        try Self.removeAbandoned(folder.appending(entry))
      }
    }
  }

  private static func removeAbandoned(_ path: FilePath) throws {
    guard let status = try Files.fileStatusIfPresent(path, followLinks: false),
      status.kind == .file, status.owner == Processes.user
    else { return }
    do {
      let file = try FileDescriptor.open(
        path, .readWrite, options: [.noFollow, .nonBlocking, .closeOnExec])
      try file.closeAfter {
        if try FileLock.holds(file, path: path) { try Files.remove(path) }
      }
    } catch Errno.noSuchFileOrDirectory {
      // Its writer has given it the record's name meanwhile.
    }
  }

  /// The longest of what is put behind the name of a store.
  package static let longestSuffix = "\(StoreCompanion.record.rawValue).1f2e3d4c.tmp"

  private static func mark(_ number: UInt32) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }

  /// Whether `.1f2e3d4c.tmp`, or `.UUID.tmp` of earlier versions, follows the name of a record in
  /// the name of a file.
  package static func isTemporary(_ rest: Substring) -> Bool {
    guard rest.hasPrefix("."), rest.hasSuffix(".tmp") else { return false }
    let name = String(rest.dropFirst().dropLast(".tmp".count))
    return Identifier(name) != nil || UInt32(name, radix: 16).map(mark) == name
  }
}
