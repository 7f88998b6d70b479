import StoreNames
import SystemCalls
package import SystemPackage

/// The place of the status file of one work folder.
///
/// It is in the folder, unless another machine keeps that, which LMDB cannot do with. Then it is in
/// a folder of this machine, by the owner of the work folder and the checksum of its path, so that
/// a command that names the work folder finds it.
package struct StatusPlace: Hashable, Sendable {
  /// The status file.
  package let file: FilePath
  /// The folders to make for it, the outer first; none where it is in the work folder.
  private var made: [FilePath] = []
  /// The user to whom the work folder belongs.
  private var owner: UInt32 = 0

  /// Takes the path of a work folder without links.
  package init(of work: FilePath) {
    guard (try? Files.isOnNetworkFileSystem(work)) == true,
      let owner = try? Files.fileStatus(work).owner
    else {
      self.init(file: WorkFile.status.path(in: work))
      return
    }
    self.init(elsewhere: work, owner: owner, in: "/tmp")
  }

  private init(file: FilePath) { self.file = file }

  /// The place where the work folder is another machine's.
  init(elsewhere work: FilePath, owner: UInt32, in base: FilePath) {
    var (folder, stages) = (work, [] as [FilePath.Component])
    // The status of a stage is next to that of its run.
    while let last = folder.lastComponent, WorkFile(last) == .stageFolder {
      stages.insert(last, at: 0)
      folder.removeLastComponent()
    }
    let number = Array(folder.string.utf8).withUnsafeBytes { Checksum.of($0) }
    made = [base.appending("godwit-\(owner)")]
    for name in ["\(String(number, radix: 16))\(StoreCompanion.work.rawValue)"]
      + stages.map(\.string)
    {
      made.append(made[made.count - 1].appending(name))
    }
    file = WorkFile.status.path(in: made[made.count - 1])
    self.owner = owner
  }

  /// Makes the folders.
  ///
  /// - Throws: `SystemCallError`, with `.fileExists` where another user made one of them.
  package func prepare() throws {
    for folder in made { try Files.createDirectory(folder, mode: .ownerReadWriteExecute) }
    if !isOwn {
      throw SystemCallError(operation: .createDirectory, path: file, errno: .fileExists)
    }
  }

  /// Whether the folders are what the owner of the work folder or root has made.
  var isOwn: Bool {
    made.allSatisfy { folder in
      guard let found = try? Files.fileStatusIfPresent(folder, followLinks: false) else {
        return false
      }
      return found.kind == .directory && [owner, 0, Processes.user].contains(found.owner)
    }
  }

  /// Removes a status file that is not in the work folder, which is about to be removed.
  package func remove() throws {
    guard made.count > 1, isOwn else { return }
    try StatusFile.remove(file)
    try Files.removeDirectory(made[made.count - 1])
  }
}
