import Expressions
import Foundation
import GRDB
import Godwit
import LMDB
import MigrationWorker
import ModelFiles
import ObjectModel
import PageEngine
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator
@testable import MigrationStatus

/// What failures say, and with which exit status.
@Suite struct FailureTests {
  private func failure(_ error: any Error) -> MigrationFailure { MigrationFailure(error) }

  private static let places: [(PageError.Problem, Godwit.ExitStatus)] = [
    (.read(Errno.ioError.rawValue), .cannotWrite),
    (.read(Errno.permissionDenied.rawValue), .cannotCreate),
    (.write(Errno.noSpace.rawValue), .cannotWrite),
    (.write(Errno.diskQuotaExceeded.rawValue), .cannotWrite),
    (.write(Errno.fileTooLarge.rawValue), .cannotWrite),
    (.write(Errno.readOnlyFileSystem.rawValue), .cannotCreate),
    (.write(Errno.noMemory.rawValue), .system), (.damaged(page: 17), .damaged),
    (.miswritten(page: 3), .cannotWrite), (.endOfFile, .damaged), (.keysOutOfOrder, .damaged),
    (.duplicateKeys, .damaged), (.fileFull, .impossible), (.valueTooLong, .impossible),
  ]

  @Test(arguments: places)
  func `what goes wrong with pages has its sentence and status`(
    problem: PageError.Problem, status: Godwit.ExitStatus
  ) {
    let failure = failure(PageError(problem).at(file: "/data/Shop.sqlite", table: "ZITEM"))
    #expect(failure.exitStatus == status)
    let sentence = failure.sentences.first ?? ""
    #expect(failure.sentences.count == 1 && !sentence.contains("unexpected error"))
    #expect(sentence.contains("/data/Shop.sqlite") || problem == .fileFull)
    // All that a programmer would write.
    #expect(!sentence.contains("(page:") && !sentence.contains("PageError"))
  }

  static let fullDisks: [any Error] = [
    SystemCallError(operation: .write, path: "/data/New.sqlite", errno: .noSpace),
    Errno.diskQuotaExceeded,
    StoreError(problem: .diskFull, store: "/data/New.sqlite"),
    DatabaseError(resultCode: .SQLITE_FULL),
    PageError(.write(Errno.noSpace.rawValue), file: "/data/New.sqlite"),
    PlaceError.folderNotWritable(
      "/data", cause: SystemCallError(operation: .write, path: "/data", errno: .noSpace)),
    WorkError.workOrderFailed(
      order: 1, attempts: 1,
      .reported(
        WorkerFailure(
          exitStatus: 74, kind: "diskFull", sentences: ["New.sqlite does not fit."],
          file: "/data/New.sqlite", disposition: .noSpace))),
  ]

  @Test(arguments: fullDisks.indices)
  func `a full disk is one kind of failure, whoever meets it`(index: Int) {
    let error = Self.fullDisks[index]
    #expect(StoreError.disposition(of: error) == .noSpace)
    #expect(failure(error).kind == .diskFull && failure(error).exitStatus == .cannotWrite)
  }

  static let deviceErrors: [any Error] = [
    SystemCallError(operation: .read, path: "/data/Shop.sqlite", errno: .ioError),
    Errno.ioError,
    StoreError(reading: "/data/Shop.sqlite", cause: Errno.ioError),
    DatabaseError(resultCode: .SQLITE_IOERR_READ),
    PageError(.read(Errno.ioError.rawValue)),
    ModelFileError(.unreadable(.ioError), file: "/data/Shop.mom"),
    PlaceError.folderNotWritable(
      "/data", cause: SystemCallError(operation: .status, path: "/data", errno: .ioError)),
    MigrationError.sourceModelMissing(
      store: "/data/Shop.sqlite", searched: [],
      unreadable: [ModelFileError(.unreadable(.ioError), file: "/data/Shop.mom")]),
  ]

  @Test(arguments: deviceErrors.indices)
  func `an error of a device is one, wherever it arises`(index: Int) {
    let error = Self.deviceErrors[index]
    #expect(StoreError.disposition(of: error).contains(.device))
    #expect(!StoreError.disposition(of: error).contains(.sourceSuspect))
    let failure = failure(error)
    #expect(failure.exitStatus == .cannotWrite)
    for word in ["(operation:", "Error(", "damaged", "permission", "backup"] {
      #expect(!failure.description.contains(word), "\(failure)")
    }
  }

  @Test func `a row that is too long is told with its table, its key and what it needs`() {
    let row = LongRow(table: "ZITEM", key: 7, bytes: 100 << 20, memory: 64 << 20)
    let error = StoreError(problem: .rowTooLong(row), store: "/data/Shop.sqlite")
    #expect(failure(error).exitStatus == .system)
    #expect(
      failure(error).sentences == [
        "/data/Shop.sqlite: row 7 of table ZITEM has 100.0 MiB, and a process needs 300.0 MiB of "
          + "memory to copy it; each has 64.0 MiB: raise resources.memory, use fewer "
          + "resources.workers, or engine = .pages."
      ])
    #expect(!failure(StoreError(problem: .rowTooLong(nil), store: "/data")).sentences.isEmpty)
  }

  @Test func `a damaged page is told with its table and its number`() {
    let error = PageError(.damaged(page: 17)).at(file: "/data/Shop.sqlite", table: "ZITEM")
    #expect(
      failure(error).sentences == [
        "/data/Shop.sqlite is damaged in table ZITEM, page 17: restore it from a backup, or "
          + "migrate the readable part with `choices.salvagesDamaged`."
      ])
  }

  @Test(arguments: [
    (Errno.noSuchFileOrDirectory, Godwit.ExitStatus.notFound), (.noSpace, .cannotWrite),
    (.diskQuotaExceeded, .cannotWrite), (.ioError, .cannotWrite),
    (.permissionDenied, .cannotCreate), (.notPermitted, .cannotCreate),
    (.readOnlyFileSystem, .cannotCreate), (.tooManyOpenFiles, .system),
    (.tooManyOpenFilesInSystem, .system), (.noMemory, .system),
    (.resourceTemporarilyUnavailable, .system), (.resourceBusy, .inUse),
    (.fileTooLarge, .cannotWrite), (.notDirectory, .cannotCreate), (.isDirectory, .cannotCreate),
    (.tooManySymbolicLinkLevels, .cannotCreate), (.staleNFSFileHandle, .cannotWrite),
  ])
  func `what the system answers has its sentence and status, with a path and without`(
    errno: Errno, status: Godwit.ExitStatus
  ) {
    let named = failure(SystemCallError(operation: .write, path: "/data/New.sqlite", errno: errno))
    #expect(named.exitStatus == status && named.sentences[0].contains("/data/New.sqlite"))
    let bare = failure(errno)
    #expect(bare.exitStatus == status && !bare.sentences[0].contains("unexpected error"))
  }

  @Test(arguments: [
    (ResultCode.SQLITE_CORRUPT, Godwit.ExitStatus.damaged), (.SQLITE_NOTADB, .damaged),
    (.SQLITE_FULL, .cannotWrite), (.SQLITE_IOERR, .cannotWrite),
    (.SQLITE_CANTOPEN, .cannotCreate), (.SQLITE_PERM, .cannotCreate),
    (.SQLITE_READONLY, .cannotCreate), (.SQLITE_BUSY, .inUse), (.SQLITE_LOCKED, .inUse),
    (.SQLITE_NOMEM, .system),
  ])
  func `what SQLite answers has its sentence and status`(
    code: ResultCode, status: Godwit.ExitStatus
  ) {
    let failure = failure(DatabaseError(resultCode: code))
    #expect(failure.exitStatus == status)
    #expect(!failure.sentences[0].contains("unexpected error"))
  }

  @Test func `a full disk is told with what is free on it`() throws {
    for error in [
      StoreError(problem: .diskFull, store: "/tmp/New.sqlite"),
      SystemCallError(operation: .write, path: "/tmp/New.sqlite", errno: .noSpace),
      PageError(.write(Errno.noSpace.rawValue), file: "/tmp/New.sqlite"),
    ] as [any Error] {
      let sentence = failure(error).sentences[0]
      #expect(sentence.contains("/tmp/New.sqlite does not fit on its disk"))
      #expect(sentence.contains("are free"))
    }
  }

  @Test func `a process that cannot be started is no fault of ours`() {
    let failure = failure(
      WorkError.workerNotStarted(cause: Errno.resourceTemporarilyUnavailable))
    #expect(failure.exitStatus == .system)
  }

  @Test func `a worker that is killed for want of memory is told so, and one that crashes too`() {
    func told(_ reason: WorkerFault) -> MigrationFailure {
      failure(WorkError.workOrderFailed(order: 3, attempts: 3, reason))
    }
    #expect(told(.killed(signal: 9)).exitStatus == .system)
    #expect(told(.killed(signal: 9)).sentences[0].contains("memory"))
    #expect(told(.killed(signal: 11)).exitStatus == .bug)
    #expect(told(.exited(3, message: "")).exitStatus == .bug)
  }

  @Test func `a status file that cannot be read has its sentence`() {
    for problem in [
      StatusError.Problem.empty, .networkFileSystem, .unsupportedVersion(9), .damagedRecord(.run),
      .database(.truncated, during: .open), .database(.busy, during: .begin),
      .database(.system(.permissionDenied), during: .open), .database(.alreadyOpen, during: .open),
      .database(.library(code: -30793), during: .open),
    ] {
      let failure = failure(StatusError(problem: problem, path: "/data/status.mdb"))
      #expect(failure.exitStatus != .bug && failure.sentences[0].contains("/data/status.mdb"))
    }
  }

  @Test func `a part of a file that cannot be read is none either`() {
    struct Wanted: Decodable { var name: String }
    let decoding = #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Wanted.self, from: Data(#"{"name": 3}"#.utf8))
    }
    for error in [
      decoding, ModelError(problem: .entityDefinedTwice, entity: "Item"),
      FormatError(problem: .tooComplex, text: "x", column: 1),
    ] as [(any Error)?] {
      guard let error else { continue }
      #expect(failure(error).exitStatus != .bug, "\(error)")
    }
  }

  @Test func `what nobody foresaw is a fault of ours`() {
    struct Odd: Error {}
    #expect(failure(Odd()).exitStatus == .bug)
    #expect(failure(Odd()).sentences[0].contains("report it"))
  }
}
