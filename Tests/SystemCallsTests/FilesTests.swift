import Foundation
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct FilesTests {
  private func read(_ path: FilePath) throws -> String {
    String(decoding: try Files.readFile(path, limit: 1 << 24), as: UTF8.self)
  }

  @Test func `an error tells operation, path and number`() throws {
    let missing: FilePath = "/nonexistent/file"
    #expect(
      throws: SystemCallError(operation: .rename, path: missing, errno: .noSuchFileOrDirectory)
    ) {
      try Files.rename(missing, to: missing)
    }
    #expect(throws: SystemCallError(operation: .open, path: missing, errno: .noSuchFileOrDirectory))
    {
      try Files.readFile(missing, limit: 1)
    }
    #expect(
      throws: SystemCallError(
        operation: .listDirectory, path: missing, errno: .noSuchFileOrDirectory)
    ) {
      try Files.listDirectory(missing)
    }
  }

  @Test func `renaming without replacing refuses a name that is taken`() throws {
    let folder = ScratchFolder.current
    let (first, second) = (folder.appending("first"), folder.appending("second"))
    try Files.writeFileAtomically("1".utf8, to: first)
    try Files.writeFileAtomically("2".utf8, to: second)
    #expect(throws: SystemCallError(operation: .rename, path: first, errno: .fileExists)) {
      try Files.renameNoReplace(first, to: second)
    }
    try Files.rename(first, to: second)
    #expect(try read(second) == "1")
    #expect(try Files.fileStatusIfPresent(first) == nil)
  }

  @Test func `writing atomically replaces the file and leaves nothing else`() throws {
    let folder = ScratchFolder.current
    let path = folder.appending("file")
    try Files.writeFileAtomically("old".utf8, to: path)
    try Files.writeFileAtomically("new".utf8, to: path, mode: .ownerReadWrite)
    #expect(try read(path) == "new")
    #expect(try Files.listDirectory(folder).map(\.string) == ["file"])
    #expect(try Files.fileStatus(path).mode == 0o600)
  }

  @Test func `writing atomically onto a folder fails and leaves nothing`() throws {
    let folder = ScratchFolder.current
    let path = folder.appending("folder")
    #expect(try Files.createDirectory(path))
    #expect(throws: SystemCallError.self) { try Files.writeFileAtomically([1], to: path) }
    #expect(try Files.listDirectory(folder).map(\.string) == ["folder"])
  }

  @Test func `reading stops at the limit`() throws {
    let folder = ScratchFolder.current
    let path = folder.appending("file")
    try Files.writeFileAtomically([UInt8](repeating: 7, count: 100_000), to: path)
    #expect(try Files.readFile(path, limit: 100_000).count == 100_000)
    #expect(throws: SystemCallError(operation: .read, path: path, errno: .fileTooLarge)) {
      try Files.readFile(path, limit: 99_999)
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `reading a pipe or a device is refused, and waits for no writer`() throws {
    let pipe = ScratchFolder.current.appending("pipe")
    #expect(mkfifo(pipe.string, 0o600) == 0)
    for path in [pipe, "/dev/zero"] {
      let refused = SystemCallError(wrongKindOf: path)
      #expect(throws: refused) { try Files.readFile(path, limit: 1) }
      #expect(throws: refused) { try Files.readHead(path, count: 1) }
      #expect(throws: refused) { try Files.open(path, mode: .readWrite) }
      #expect(throws: refused) {
        try Files.cloneOrCopy(from: path, to: ScratchFolder.current.appending("copy"))
      }
      #expect(refused.disposition == .refusal)
    }
  }

  @Test func `a copy has the bytes and the mode, and never replaces a file`() throws {
    let folder = ScratchFolder.current
    let (from, to) = (folder.appending("from"), folder.appending("to"))
    let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try Files.writeFileAtomically(bytes, to: from, mode: [.ownerReadWrite, .otherExecute])
    var heard: Int64 = 0
    try Files.cloneOrCopy(from: from, to: to) { heard = $0 }
    #expect(heard == 3_000_000)
    #expect(try Files.readFile(to, limit: 1 << 24) == bytes)
    #expect(try Files.fileStatus(to).mode == 0o601)
    #expect(throws: SystemCallError(operation: .open, path: to, errno: .fileExists)) {
      try Files.cloneOrCopy(from: from, to: to)
    }
  }

  @Test func `a copy reads files that tell no size`() throws {
    let folder = ScratchFolder.current
    let to = folder.appending("to")
    try Files.cloneOrCopy(from: "/proc/self/status", to: to)
    #expect(try Files.fileStatus(to).size > 0)
  }

  @Test func `a stopped copy leaves nothing`() throws {
    struct Stopped: Error {}
    let folder = ScratchFolder.current
    let from = folder.appending("from")
    try Files.writeFileAtomically([1, 2, 3], to: from)
    #expect(throws: Stopped.self) {
      try Files.cloneOrCopy(from: from, to: folder.appending("to")) { _ in throw Stopped() }
    }
    #expect(try Files.listDirectory(folder).map(\.string) == ["from"])
  }

  @Test func `a copy is placed whole, with its attributes, where nothing is`() throws {
    let folder = ScratchFolder.current
    let (from, to) = (folder.appending("from"), folder.appending("to"))
    try #require(Files.makesUnnamedFiles(in: folder))
    #expect(!Files.makesUnnamedFiles(in: folder.appending("none")))
    let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try Files.writeFileAtomically(bytes, to: from, mode: [.ownerReadWrite, .otherExecute])
    var told: FileStatus?
    var isNamed = true
    try Files.placeCopy(of: from, at: to) {
      told = $0
      isNamed = try Files.fileStatusIfPresent(to) != nil
    }
    #expect(!isNamed)
    let status = try Files.fileStatus(to)
    #expect(try Files.readFile(to, limit: 1 << 24) == bytes)
    #expect(status.mode == 0o601)
    // What is told is what is there, but for its name.
    #expect(told?.isSameFile(as: status) == true)
    #expect(told?.size == status.size && told?.modified == status.modified)
    #expect(throws: SystemCallError(operation: .link, path: to, errno: .fileExists)) {
      try Files.placeCopy(of: from, at: to) { _ in }
    }
    struct Stopped: Error {}
    #expect(throws: Stopped.self) {
      try Files.placeCopy(of: from, at: folder.appending("other")) { _ in throw Stopped() }
    }
    #expect(Set(try Files.listDirectory(folder).map(\.string)) == ["from", "to"])
  }

  @Test func `attributes are copied to an existing file`() throws {
    let folder = ScratchFolder.current
    let (from, to) = (folder.appending("from"), folder.appending("to"))
    try Files.writeFileAtomically([], to: from, mode: [.ownerReadWrite, .groupReadWrite])
    try Files.writeFileAtomically([], to: to)
    #expect(try Files.copyAttributes(from: from, to: to))
    #expect(try Files.fileStatus(to).mode == Files.fileStatus(from).mode)
  }

  @Test func `only empty folders and regular files are removed, never what a link leads to`() throws
  {
    let folder = ScratchFolder.current.appending("folder")
    try Files.createDirectory(folder)
    let file = folder.appending("file")
    let link = folder.appending("link")
    try Files.writeFileAtomically([1], to: file)
    try FileManager.default.createSymbolicLink(
      atPath: link.string, withDestinationPath: file.string)
    #expect(try !Files.removeDirectory(folder))
    #expect(try !Files.removeRegularFile(link))
    #expect(try !Files.removeRegularFile(folder))
    #expect(try Files.removeRegularFile(file))
    #expect(try !Files.removeRegularFile(file))
    #expect(try Files.remove(link))
    #expect(try Files.removeDirectory(folder))
    #expect(try !Files.removeDirectory(folder))
  }

  @Test func `a path is resolved with its links, and a new file's folder with its own`() throws {
    let folder = try Files.resolved(ScratchFolder.current)
    let file = folder.appending("file")
    let link = folder.appending("link")
    try Files.writeFileAtomically([1], to: file)
    try FileManager.default.createSymbolicLink(
      atPath: link.string, withDestinationPath: "./../\(folder.lastComponent!.string)/file")
    #expect(try Files.resolved(link) == file)
    #expect(
      try Files.resolvedFolder(of: folder.appending("../\(folder.lastComponent!.string)/new"))
        == folder.appending("new"))
    #expect(throws: SystemCallError.self) { try Files.resolved(folder.appending("none")) }
  }

  @Test func `the status tells size, kind and time`() throws {
    let folder = ScratchFolder.current
    let path = folder.appending("file")
    try Files.writeFileAtomically([1, 2, 3], to: path)
    let status = try Files.fileStatus(path)
    #expect(status.size == 3 && status.kind == .file && !status.isDirectory)
    #expect(status.modified > 1_600_000_000_000_000_000)
    #expect(try Files.fileStatus(folder).isDirectory)
    #expect(!status.isSameFile(as: try Files.fileStatus(folder)))
    #expect(try !Files.createDirectory(folder))
    #expect(throws: SystemCallError(operation: .createDirectory, path: path, errno: .fileExists)) {
      try Files.createDirectory(path)
    }
  }

  @Test func `files and folders are synchronized`() throws {
    let folder = ScratchFolder.current
    let path = folder.appending("file")
    try Files.writeFileAtomically([1], to: path)
    try Files.syncFile(path)
    try Files.syncDirectory(folder)
    #expect(throws: SystemCallError(operation: .open, path: path, errno: .notDirectory)) {
      try Files.syncDirectory(path)
    }
  }

  @Test func `there is free space, and the kernel keeps the file system of processes`() throws {
    #expect(try Files.freeSpace(at: "/") > 0)
    #expect(try !Files.isOnNetworkFileSystem("/proc"))
    #expect(throws: SystemCallError.self) { try Files.freeSpace(at: "/nonexistent") }
  }

  @Test func `a pipe takes what fits, and outlives its reader`() throws {
    let pipe = try MessagePipe()
    let bytes = [UInt8](repeating: 9, count: 1 << 20)
    var written = 0
    while true {
      let count = try pipe.write(bytes[written...])
      if count == 0 { break }
      written += count
    }
    #expect(written > 0 && written < bytes.count)
    let copy = try pipe.reader.duplicate()
    pipe.close()
    #expect(try Files.readToEnd(copy, limit: 1 << 20).count == written)
    try copy.close()
  }

  @Test func `a lock is held once, and free when its value is gone`() throws {
    let folder = ScratchFolder.current
    let path = folder.appending("lock")
    do {
      let lock = try #require(try FileLock.acquire(path))
      #expect(try FileLock.acquire(path) == nil)
      withExtendedLifetime(lock) {}
    }
    #expect(try FileLock.acquire(path) != nil)
  }
}
