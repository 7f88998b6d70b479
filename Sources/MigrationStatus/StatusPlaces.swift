import StoreNames
import SystemCalls
package import SystemPackage

/// The places where status files and records of a migration may lie, for any path that leads to it.
///
/// Contents are not trusted: only regular files count, no link is followed below the given path,
/// and a record leads to a work folder only if the status file in it has the same run.
package struct StatusPlaces: Sendable {
  /// The most entries of a folder that are searched for work folders or records.
  private static let mostEntries = 10_000

  /// Work folders, the likeliest first.
  private let folders: [FilePath]
  /// Records, the likeliest first.
  private let records: [OutcomeFile]
  /// The path without links.
  private let resolved: FilePath

  /// Takes a path as a user gives it: a store, an output, a work folder, or a folder of work
  /// folders.
  package init(_ path: FilePath) {
    let resolved =
      (try? Files.resolved(path)) ?? (try? Files.resolvedFolder(of: path)) ?? path
    self.resolved = resolved
    var folders: [FilePath] = []
    var stores = [resolved]
    if resolved.lastComponent.flatMap(WorkFile.init) == .status {
      folders.append(Files.parent(of: resolved))
    } else if Self.kind(of: resolved) == .directory {
      folders.append(resolved)
      // The folders in a work folder are those of its stages, which are no migrations.
      if Self.kind(of: StatusPlace(of: resolved).file) != .file {
        folders += Self.workFolders(in: resolved)
      }
    }
    // The folder may be gone, but its name has that of the store.
    for folder in folders + [resolved] {
      if let store = StoreCompanion.work.store(of: folder) { stores.append(store) }
    }
    folders.append(StoreCompanion.work.path(of: resolved))
    self.folders = folders
    var records = stores.map { OutcomeFile(beside: $0) }
    if StoreCompanion.record.store(of: resolved) != nil { records.append(OutcomeFile(resolved)) }
    self.records = records
  }

  /// The status file of the run that began last, and its record, whichever exist.
  struct Found {
    var reader: StatusReader?
    var record: OutcomeRecord?
  }

  /// Searches all places; `open` is a status file that this process has open and must not open
  /// twice.
  ///
  /// - Throws: the failure to read one of them, if nothing else was found.
  func find(open: StatusReader?) throws -> Found {
    var search = Search(open: open)
    for folder in folders { search.look(in: folder, for: nil) }
    for file in records { search.look(at: file) }
    // Next to a store that is only read there is no record: its outputs may lie in its folder.
    if search.isEmpty {
      for file in Self.records(besides: resolved) { search.look(at: file, of: resolved) }
    }
    for record in search.records {
      if let folder = record.workFolder {
        search.look(in: folder, for: record.run)
      }
    }
    return try search.found()
  }

  private struct Search {
    let open: StatusReader?
    var readers: [(reader: StatusReader, run: RunRecord)] = []
    var records: [OutcomeRecord] = []
    var failure: (any Error)?

    /// Whether nothing was found, readable or not.
    var isEmpty: Bool { readers.isEmpty && records.isEmpty && failure == nil }

    mutating func look(in folder: FilePath, for wanted: Identifier?) {
      let place = StatusPlace(of: folder)
      let path = place.file
      guard place.isOwn, kind(of: path) == .file,
        !readers.contains(where: { $0.reader.path == path })
      else { return }
      do {
        let reader = try open.flatMap { $0.path == path ? $0 : nil } ?? StatusReader.open(path)
        let run = try reader.read().run
        if wanted == nil || run.run == wanted { readers.append((reader, run)) }
      } catch let error as StatusError where error.problem == .empty {
        // Its run has not written its first record yet.
      } catch {
        failure = failure ?? error
      }
    }

    mutating func look(at file: OutcomeFile) {
      do {
        if let record = try file.read() { records.append(record) }
      } catch {
        failure = failure ?? error
      }
    }

    /// Reads a record that may be that of another store.
    mutating func look(at file: OutcomeFile, of source: FilePath) {
      guard let record = try? file.read(), record.source == source.string else { return }
      records.append(record)
    }

    func found() throws -> Found {
      let latest = readers.max { $0.run.startedAt < $1.run.startedAt }
      let record =
        records.first { $0.run == latest?.run.run } ?? records.max { $0.started < $1.started }
      if latest == nil, record == nil, let failure { throw failure }
      return Found(reader: latest?.reader, record: record)
    }
  }

  /// The status file of a stage, by that of the run: `stage-2.godwit/status.mdb` next to it; nil if
  /// there is none.
  static func file(ofStage number: UInt32, of status: FilePath) -> FilePath? {
    let folder = WorkFile.stageFolder.path(in: Files.parent(of: status), Int(number))
    let file = WorkFile.status.path(in: folder)
    return kind(of: folder) == .directory && kind(of: file) == .file ? file : nil
  }

  private static func kind(of path: FilePath) -> FileStatus.Kind? {
    (try? Files.fileStatusIfPresent(path, followLinks: false))?.kind
  }

  /// The records in the folder of a store.
  private static func records(besides store: FilePath) -> [OutcomeFile] {
    guard kind(of: store) == .file else { return [] }
    let folder = Files.parent(of: store)
    guard let names = try? Files.listDirectory(folder), names.count <= mostEntries else {
      return []
    }
    return names.filter { $0.string.hasSuffix(StoreCompanion.record.rawValue) }
      .map { OutcomeFile(folder.appending($0)) }
  }

  /// The folders in a folder that `--work` may have made, by their names.
  private static func workFolders(in folder: FilePath) -> [FilePath] {
    guard let names = try? Files.listDirectory(folder), names.count <= mostEntries else {
      return []
    }
    return names.filter { $0.string.contains(StoreCompanion.work.rawValue) }.map {
      folder.appending($0)
    }
    .filter { kind(of: $0) == .directory }
  }
}
