import SystemCalls
package import SystemPackage

/// Where what is told of a migration may be found, by its source, its output or its folder.
///
/// Everything found is read as what anybody may have put there: only plain files count, no link is
/// followed below the path that was asked for, and a record leads to a work folder only where the
/// status file in it is of the same run.
package struct StatusPlaces: Sendable {
  private static let workSuffix = ".godwit"
  private static let statusName: FilePath.Component = "status.mdb"
  /// So many entries of a folder are looked at.
  private static let mostEntries = 10_000

  /// Work folders, the likeliest first.
  private let folders: [FilePath]
  /// Records, the likeliest first.
  private let records: [OutcomeFile]

  /// Takes a path as a user gives it: a store, an output, a work folder or one that holds some.
  package init(_ path: FilePath) {
    let resolved =
      (try? Files.resolved(path)) ?? (try? Files.resolvedFolder(of: path)) ?? path
    var folders: [FilePath] = []
    var stores = [resolved]
    if resolved.lastComponent == Self.statusName {
      folders.append(Files.parent(of: resolved))
    } else if Self.kind(of: resolved) == .directory {
      folders += [resolved] + Self.workFolders(in: resolved)
    }
    // The folder may be gone: its name tells whose it was.
    for folder in folders + [resolved] {
      if folder.string.hasSuffix(Self.workSuffix) {
        stores.append(FilePath(String(folder.string.dropLast(Self.workSuffix.count))))
      }
    }
    folders.append(FilePath(resolved.string + Self.workSuffix))
    self.folders = folders
    var records = stores.map { OutcomeFile(beside: $0) }
    if resolved.string.hasSuffix(OutcomeFile.suffix) { records.append(OutcomeFile(resolved)) }
    self.records = records
  }

  /// What is told, as far as anything is: the status file of the run that began last, and the
  /// record of it.
  struct Found {
    var reader: StatusReader?
    var record: OutcomeRecord?
  }

  /// Looks now; `open` is a status file that this process has open, which may not be opened twice.
  ///
  /// - Throws: the failure to read where nothing else was found.
  func find(open: StatusReader?) throws -> Found {
    var search = Search(open: open)
    for folder in folders { search.look(in: folder.appending(Self.statusName), for: nil) }
    for file in records { search.look(at: file) }
    for record in search.records {
      if let folder = record.workFolder {
        search.look(in: folder.appending(Self.statusName), for: record.run)
      }
    }
    return try search.found()
  }

  private struct Search {
    let open: StatusReader?
    var readers: [(reader: StatusReader, run: RunRecord)] = []
    var records: [OutcomeRecord] = []
    var failure: (any Error)?

    mutating func look(in path: FilePath, for wanted: Identifier?) {
      guard kind(of: path) == .file, !readers.contains(where: { $0.reader.path == path })
      else { return }
      do {
        let reader = try open.flatMap { $0.path == path ? $0 : nil } ?? StatusReader.open(path)
        let run = try reader.read().run
        if wanted == nil || run.run == wanted { readers.append((reader, run)) }
      } catch let error as StatusError where error.problem == .empty {
        // The run that made it has said nothing yet.
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

    func found() throws -> Found {
      let latest = readers.max { $0.run.startedAt < $1.run.startedAt }
      let record =
        records.first { $0.run == latest?.run.run } ?? records.max { $0.started < $1.started }
      if latest == nil, record == nil, let failure { throw failure }
      return Found(reader: latest?.reader, record: record)
    }
  }

  private static func kind(of path: FilePath) -> FileStatus.Kind? {
    (try? Files.fileStatusIfPresent(path, followLinks: false))?.kind
  }

  /// The marked folders that `--work` had made in a folder.
  private static func workFolders(in folder: FilePath) -> [FilePath] {
    guard let names = try? Files.listDirectory(folder), names.count <= mostEntries else {
      return []
    }
    return names.filter { $0.string.contains(workSuffix) }.map { folder.appending($0) }
      .filter { kind(of: $0) == .directory }
  }
}
