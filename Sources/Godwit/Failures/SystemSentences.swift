import LMDB
import Mapping
import MigrationCoordinator
import MigrationEngine
import MigrationStatus
import MigrationWorker
import PageEngine
import SystemCalls
import SystemPackage

// Errors of system calls.
extension MigrationFailure {
  init(_ error: SystemCallError) {
    if error.isOfWrongKind, let path = error.path {
      self.init(specialFile: path)
      file = path
      return
    }
    self.init(errno: error.errno, operation: error.operation.rawValue, path: error.path)
  }

  init(_ error: Errno) { self.init(errno: error, operation: "an access", path: nil) }

  init(errno: Errno, operation: String, path: FilePath?) {
    let file = path.map { "\($0)" } ?? "a file"
    switch errno {
    case .noSuchFileOrDirectory:
      self.init(missing: file)
    case let errno where errno.isOfFullDisk: self.init(diskOf: path)
    case let errno where Self.isPermission(errno):
      self.init(
        .cannotCreate,
        "\(file) cannot be written or read (\(errno)): check permissions.")
    case .fileExists, .notDirectory, .isDirectory, .tooManySymbolicLinkLevels:
      self.init(
        .cannotCreate, kind: errno == .tooManySymbolicLinkLevels ? nil : .fileExists,
        "\(file) is not of the expected kind (\(errno)): check the path.")
    case .noMemory, .resourceTemporarilyUnavailable, .tooManyOpenFiles,
      .tooManyOpenFilesInSystem:
      self.init(
        .system,
        "the system refuses memory, processes or open files (\(errno), at \(file)): free some, or "
          + "use fewer \(option: .workers), and try again.")
    case .resourceBusy:
      self.init(
        .inUse, "\(file) is in use (\(errno)): close whatever has it and try again.")
    case let errno where errno.isOfDevice:
      self.init(
        .cannotWrite,
        "\(operation) of \(file) failed: the disk reports a fault (\(errno)): check it, and start "
          + "the same command again.")
    case .fileTooLarge:
      self.init(
        .cannotWrite,
        "\(file) is larger than its file system or a limit allows: use another one.")
    default: self.init(.cannotWrite, "\(operation) of \(file) failed: \(errno).")
    }
    self.file = path
  }

  /// Describes a model or a mapping model that is there and cannot be read.
  init(unreadable file: String, _ errno: Errno) {
    if errno.disposition.contains(.workReusable) {
      self.init(errno: errno, operation: "reading", path: FilePath(file))
    } else if Self.isPermission(errno) {
      self.init(.cannotCreate, "\(file) cannot be read (\(errno)): check its permissions.")
    } else {
      self.init(.notFound, "\(file) cannot be read (\(errno)): check the path.")
    }
  }

  /// Describes a pipe, a socket or a device where a file is expected.
  init(specialFile path: some CustomStringConvertible) {
    self.init(
      .cannotCreate, kind: .fileExists,
      "\(path) is a pipe, a socket or a device, which is not read: name a file.")
  }

  static func isPermission(_ errno: Errno) -> Bool {
    [.permissionDenied, .readOnlyFileSystem, .notPermitted].contains(errno)
  }

  /// Describes a file that does not exist.
  init(missing path: some CustomStringConvertible) {
    self.init(.notFound, "\(path) does not exist: check the path.")
  }

  /// Describes a disk that became full.
  init(diskOf path: FilePath?) {
    guard let path else {
      self.init(.cannotWrite, kind: .diskFull, "a disk is full: free space and try again.")
      return
    }
    let left = try? Files.freeSpace(at: Files.parent(of: path))
    let room = left.map { ", \(ByteText(Int64(clamping: $0))) are free" } ?? ""
    self.init(
      .cannotWrite, kind: .diskFull, at: path,
      "\(path) does not fit on its disk\(room): free space there, or name another place with "
        + "\(option: .work) or \(option: .output).")
  }
}

// Errors of the page engine.
extension MigrationFailure {
  init(_ error: PageError) {
    let file = error.file.map { "\($0)" } ?? "the store"
    let table = error.table.map { " in table \($0)" } ?? ""
    switch error.problem {
    case .read(let code):
      self.init(errno: Errno(rawValue: code), operation: "reading", path: error.file)
    case .write(let code):
      self.init(errno: Errno(rawValue: code), operation: "writing", path: error.file)
    case .damaged(let page):
      let place = page == 0 ? "" : ", page \(page)"
      self.init(
        .damaged,
        "\(file) is damaged\(table)\(place): restore it from a backup, or \(Self.wayOut)")
    case .endOfFile:
      self.init(
        .damaged, "\(file) ends too early\(table): copy it again from a backup.")
    case .keysOutOfOrder:
      self.init(
        .damaged,
        "\(file) has keys out of order\(table): restore it from a backup, or \(Self.wayOut)"
      )
    case .indexDiffers(let index, let entries, let rows):
      let numbers =
        entries == rows
        ? "not those of its rows"
        : "\(entries), and there \(rows == 1 ? "is" : "are") "
          + "\(CountText(rows, "row"))"
      self.init(
        .damaged,
        "\(file) is damaged\(table): the entries of its index \(index) are \(numbers): restore it "
          + "from a backup, or \(Self.wayOut)")
    case .duplicateKeys:
      self.init(
        .damaged,
        "\(file) has objects\(table) with equal values in a unique index: remove the duplicates "
          + "first.")
    case .miswritten(let page):
      let name = error.file.map { "\($0)" } ?? "the new store"
      self.init(
        .cannotWrite,
        "\(name) does not have the content that was written (page \(page)): nothing was replaced; "
          + "check the disk.")
    case .fileFull:
      self.init(
        .impossible, "the new store would be larger than an SQLite file can be.")
    case .valueTooLong:
      self.init(
        .impossible, "\(file) holds a value\(table) that is longer than SQLite allows.")
    case .keyUnsupported, .unmovable:
      self.init(
        .bug,
        "unexpected error, please report it, and try \(choice: .engine(.sql)): "
          + "\(error.problem)\(table)")
    }
    self.file = error.file
  }
}

// Errors of workers and of the status file.
extension MigrationFailure {
  init(_ error: ShardError) {
    let place = error.table.map { " in \($0)" } ?? ""
    switch error.problem {
    case .orderUnreadable(let reason):
      self.init(.bug, "the work order cannot be read: \(reason)")
    case .orderIncomplete: self.init(.bug, "the work order lacks a program\(place).")
    case .digestsDiffer(let read, let written):
      self.init(
        .bug,
        "\(GroupedText(read)) rows were read and \(GroupedText(written)) written\(place), and they "
          + "differ: nothing was replaced; please report it.")
    case .externalNameDamaged:
      self.init(
        .damaged,
        "a value that should name an external file does not\(place): restore the store from a backup."
      )
    case .coordinatorGone: self.init(.interrupted, "the coordinator has ended.")
    }
  }

  /// Describes a work order that failed for good.
  init(order: Int, attempts: Int, fault: WorkerFault) {
    let tries = attempts == 1 ? "one attempt" : "\(attempts) attempts"
    let order = "work order \(order) failed after \(tries)"
    switch fault {
    case .reported(let failure):
      let status = ExitStatus(rawValue: failure.exitStatus) ?? .bug
      self.init(
        status, kind: Kind(rawValue: failure.kind), at: failure.file.map { FilePath($0) },
        failure.sentences + (attempts == 1 ? [] : ["\(order)."]),
        code: failure.coreDataCode)
    case .exited(let code, let message):
      let said = message.isEmpty ? "its worker ended with exit status \(code)." : message
      self.init(.bug, "\(order): \(said)")
    case .killed(9):
      self.init(
        .system,
        "\(order): its worker was killed (signal 9), most likely for lack of memory: free some, or "
          + "use fewer \(option: .workers), and start the same command again.")
    case .killed(let signal):
      self.init(
        .bug, "\(order): its worker was ended by signal \(signal); please report it.")
    case .lost(let status, let host?):
      self.init(
        .inUse,
        "\(order): its worker on \(host) was lost, and the launcher ended with status \(status): "
          + "check that machine, and start the same command again; completed work is kept.")
    case .lost(let status, nil):
      self.init(
        .inUse,
        "\(order): the launcher ended with status \(status) and started no worker: run it with "
          + "`true` after it to see why, then start the same command again.")
    }
  }

  init(_ error: StatusError) {
    switch error.problem {
    case .networkFileSystem:
      self.init(
        .cannotCreate, "\(error.path) is on another machine, which shares no status.")
    case .empty: self.init(.notFound, "\(error.path) has no status yet: try again.")
    case .unsupportedVersion(let version):
      self.init(
        .impossible,
        "\(error.path) has version \(version), and only \(RunRecord.version) is known: read it "
          + "with the Godwit that wrote it.")
    case .damagedRecord:
      self.init(
        .damaged,
        "\(error.path) is damaged: the migration itself does not depend on it.")
    case .database(.system(let errno), _):
      self.init(errno: errno, operation: "reading", path: error.path)
    case .database(.alreadyOpen, _), .database(.readersFull, _), .database(.busy, _):
      self.init(.inUse, "\(error.path) cannot be read just now: try again.")
    case .database:
      self.init(
        .damaged,
        "\(error.path) is not a status file, or is damaged: the migration itself does not depend "
          + "on it.")
    }
  }
}

extension DiskShortage {
  fileprivate var uses: String { purposes.joined(separator: ", ") }

  /// Where free space is missing and for what, as a sentence.
  package var sentence: String {
    "\(path) has \(ByteText(available)) free and \(ByteText(needed)) are needed (\(uses)): free space "
      + "there, or name another place with \(option: .work) or \(option: .output)."
      + (neededByEdit.map {
        " With \(choice: .engine(.edit)), which changes the store itself, \(ByteText($0)) are "
          + "enough."
      } ?? "")
  }
}
