import Dispatch
import GRDB
import Schema
import Synchronization
import SystemCalls
package import SystemPackage

/// SQLite's `integrity_check` of an unchanging file, on several threads.
///
/// What `FileProof` shows to be sound is not checked again. Of the rest, a large file is checked
/// table by table, each with its indexes; what only the whole file shows (free pages, the pointer
/// map, unowned pages) is checked by `quick_check`, which compares no index with its table.
package final class IntegrityCheck: Sendable {
  private struct State {
    /// The pragmas that no thread has started.
    var waiting: [String] = []
    /// What each part found, by its place.
    var found: [Int: [String]] = [:]
    var begun = 0
    var failure: StoreError?
    var connections: [StoreConnection] = []
    var isStopped = false
  }

  private let path: FilePath
  /// The bytes of pages that each thread may keep.
  private let cacheBytes: Int64
  private let state = Mutex(State())
  private let running = DispatchGroup()
  private let threads: Int

  /// The size of a file from which it is checked in parts.
  static let leastBytes: Int64 = 32 << 20
  /// The maximum number of lines per part.
  private static let limit = 100

  /// Starts to check a file.
  ///
  /// - Parameters:
  ///   - threads: the maximum number at a time; by default one per processor.
  ///   - cacheBytes: what all of them may keep of the file in memory, at least 2 MiB each: entries
  ///     of an index are looked up in the order of its table, of one of 3,000,000 integers in half
  ///     the time with 16 MiB instead of 2.
  /// - Throws: `StoreError`, if a file that is checked in parts cannot be opened; for others
  ///   `lines` has the error.
  package init(
    _ path: FilePath, threads: Int = ThreadPool.processors,
    cacheBytes: Int64 = 32 << 20
  ) throws(StoreError) {
    self.path = path
    let bytes = (try? SourceFile(path).byteCount) ?? 0
    let parts = try Self.parts(of: path, bytes: bytes)
    self.threads = max(1, threads)
    self.cacheBytes = max(2 << 20, cacheBytes / Int64(max(1, min(threads, parts.count))))
    if bytes < Self.leastBytes {
      // It is read before a thread has started.
      prepare(parts)
      work()
    } else {
      // Queues of its own, which have threads of their own: those that all tasks share are as many
      // as processors, and may all be waiting for this.
      DispatchQueue(label: "check").async(group: running) { [self] in
        for number in 0..<min(self.threads, prepare(parts)) {
          DispatchQueue(label: "check \(number)").async(group: running) { [self] in work() }
        }
      }
    }
  }

  /// Shows that all is well, or leaves the parts to SQLite; how many are left.
  @discardableResult
  private func prepare(_ parts: [String]) -> Int {
    let proof = FileProof(path) { [self] in state.withLock { $0.isStopped } }
    let left = proof?.asked(threads: threads)?.map { Self.pragma(of: $0) } ?? parts
    state.withLock { $0.waiting = left }
    return left.count
  }

  private static func parts(of path: FilePath, bytes: Int64) throws(StoreError) -> [String] {
    let whole = "PRAGMA integrity_check(\(limit))"
    guard bytes >= leastBytes else { return [whole] }
    let connection = try StoreConnection.immutable(path)
    let tables: [String]
    do {
      tables = try connection.run { db in
        let names = try String.fetchAll(
          db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
        // The longest first; tables of unknown size count as longest.
        let sizes = names.map { name in
          (try? Int64.fetchOne(db, sql: "SELECT max(rowid) FROM \(SQL.quoted(name: name))")) ?? .max
        }
        return zip(names, sizes).sorted { $0.1 > $1.1 }.map(\.0)
      }
    } catch {
      // The check of the whole file reports errors of the schema.
      guard error.problem == .damaged else { throw error }
      return [whole]
    }
    return ["PRAGMA quick_check(\(limit))"]
      + (["sqlite_schema"] + tables).map { pragma(of: $0) }
  }

  private static func pragma(of table: String) -> String {
    "PRAGMA integrity_check(\(SQL.quoted(name: table)))"
  }

  // MARK: Threads

  private func work() {
    guard state.withLock({ !$0.waiting.isEmpty }) else { return }
    do {
      let connection = try StoreConnection.immutable(path)
      state.withLock { $0.connections.append(connection) }
      try connection.run { db in
        try db.execute(sql: "PRAGMA cache_size = -\(cacheBytes / 1024)")
      }
      while let (place, pragma) = next() {
        let lines = try connection.run { try Self.answers(pragma, db: $0) }
        state.withLock { $0.found[place] = lines }
      }
    } catch {
      state.withLock { state in
        if !state.isStopped { state.failure = state.failure ?? error }
        state.waiting = []
      }
    }
  }

  private func next() -> (place: Int, pragma: String)? {
    state.withLock { state in
      guard !state.isStopped, !state.waiting.isEmpty else { return nil }
      defer { state.begun += 1 }
      return (state.begun, state.waiting.removeFirst())
    }
  }

  /// What a check answers besides that all is well, a line each.
  ///
  /// What a damaged cell makes of the memory behind its page may end a check in the middle: that is
  /// an answer too. A page that the device does not give is none: it is thrown.
  static func answers(_ pragma: String, db: Database) throws -> [String] {
    var told: [String] = []
    do {
      let rows = try String.fetchCursor(db, sql: pragma)
      while let row = try rows.next() {
        if let code = unread(row) { throw DatabaseError(resultCode: code, message: row) }
        told.append(row)
      }
    } catch let error as DatabaseError
      where [.SQLITE_CORRUPT, .SQLITE_TOOBIG].contains(error.resultCode)
    {
      told.append(error.message ?? "\(error.resultCode)")
    }
    return told.flatMap { $0.split(separator: "\n").map(String.init) }
      .filter { $0 != "ok" && !$0.hasPrefix("***") }
  }

  /// The error with which a page could not be read, if a line reports one.
  ///
  /// SQLite's texts (btree.c, checkTreePage and checkList): "Page 3: unable to get the page. error
  /// code=266", "failed to get page 25".
  private static func unread(_ line: String) -> ResultCode? {
    // Of most stores that is the only line, and an expression takes long to compile.
    if line == "ok" { return nil }
    // A page of an overflow chain, whose number is within the file.
    if line.contains("failed to get page") { return .SQLITE_IOERR_READ }
    guard let found = line.firstMatch(of: /unable to get the page\. error code=([0-9]+)/),
      let number = CInt(found.1)
    else { return nil }
    let code = ResultCode(rawValue: number)
    return [.SQLITE_IOERR, .SQLITE_NOMEM].contains(code.primaryResultCode) ? code : nil
  }

  // MARK: Answers

  /// Waits for the end; all that SQLite found, a line each, and none twice.
  ///
  /// - Throws: `StoreError`, if the file cannot be read for another reason than what is found.
  package func lines() throws(StoreError) -> [String] {
    running.wait()
    let (found, failure) = state.withLock { ($0.found, $0.failure) }
    if let failure { throw failure }
    var told: Set<String> = []
    return found.sorted { $0.key < $1.key }.flatMap(\.value).filter { told.insert($0).inserted }
  }

  /// Ends the check, and waits until no thread reads the file.
  package func stop() {
    let connections = state.withLock { state in
      state.isStopped = true
      return state.connections
    }
    for connection in connections { connection.queue.interrupt() }
    running.wait()
  }
}
