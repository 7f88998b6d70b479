import Foundation
import LMDB
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct LMDBTests {
  private let path = ScratchFolder.current.appending("test.mdb")

  private func create(mapSize: Int = 1 << 20) throws -> LMDBEnvironment {
    try LMDBEnvironment(path: path, tables: ["words"], access: .create(mapSize: mapSize))
  }

  @Test func `what is put is found, ordered by its bytes`() throws {
    let environment = try create()
    let words = environment.table(name: "words")
    try environment.write { transaction throws(LMDBError) in
      try transaction.put([3], at: [2], in: words)
      try transaction.put([], at: [1], in: words)
      try transaction.put([9, 9], at: [2, 0], in: words)
    }
    let entries = try environment.read { transaction throws(LMDBError) in
      try transaction.entries(of: words)
    }
    #expect(entries.map(\.key) == [[1], [2], [2, 0]])
    #expect(entries.map(\.value) == [[], [3], [9, 9]])
    let deleted = try environment.write { transaction throws(LMDBError) in
      let once = try transaction.delete([2], in: words)
      let twice = try transaction.delete([2], in: words)
      return [once, twice]
    }
    #expect(deleted == [true, false])
    let found = try environment.read { transaction throws(LMDBError) in
      [try transaction.value(at: [2], in: words), try transaction.value(at: [1], in: words)]
    }
    #expect(found == [nil, []])
  }

  @Test func `a write that throws changes nothing`() throws {
    let environment = try create()
    let words = environment.table(name: "words")
    #expect(throws: LMDBError.self) {
      try environment.write { transaction throws(LMDBError) in
        try transaction.put([1], at: [1], in: words)
        try transaction.put([1], at: [], in: words)
      }
    }
    let before = environment.lastTransaction
    let count = try environment.read { transaction throws(LMDBError) in
      try transaction.entries(of: words).count
    }
    #expect(count == 0)
    #expect(environment.lastTransaction == before)
  }

  @Test func `a file is open once in a process, by whatever name`() throws {
    let link = ScratchFolder.current.appending("link.mdb")
    do {
      let environment = try create()
      try FileManager.default.createSymbolicLink(
        atPath: link.string, withDestinationPath: path.string)
      for name in [path, link] {
        let error = #expect(throws: LMDBError.self) {
          try LMDBEnvironment(path: name, tables: [], access: .readOnly)
        }
        #expect(error?.problem == .alreadyOpen)
      }
      withExtendedLifetime(environment) {}
    }
    _ = try LMDBEnvironment(path: path, tables: ["words"], access: .readOnly)
  }

  @Test func `only creating makes a file or a table`() throws {
    for access in [LMDBEnvironment.Access.write, .readOnly] {
      let error = #expect(throws: LMDBError.self) {
        try LMDBEnvironment(path: path, tables: ["words"], access: access)
      }
      #expect(error?.problem == .system(.noSuchFileOrDirectory))
    }
    #expect(!FileManager.default.fileExists(atPath: path.string))
    _ = try create()
    for access in [LMDBEnvironment.Access.write, .readOnly] {
      let error = #expect(throws: LMDBError.self) {
        try LMDBEnvironment(path: path, tables: ["words", "names"], access: access)
      }
      #expect(error?.problem == .missingTable("names"))
    }
  }

  @Test func `a reader writes nothing`() throws {
    _ = try create()
    let reader = try LMDBEnvironment(path: path, tables: ["words"], access: .readOnly)
    let error = #expect(throws: LMDBError.self) {
      try reader.write { transaction throws(LMDBError) in
        try transaction.put([1], at: [1], in: reader.table(name: "words"))
      }
    }
    #expect(error?.operation == .begin)
    #expect(error?.problem == .system(.permissionDenied))
  }

  @Test func `a full map is told, and what fits is written afterwards`() throws {
    let environment = try create(mapSize: 65_536)
    let words = environment.table(name: "words")
    let error = #expect(throws: LMDBError.self) {
      try environment.write { transaction throws(LMDBError) in
        try transaction.put([UInt8](repeating: 1, count: 100_000), at: [1], in: words)
      }
    }
    #expect(error?.problem == .mapFull)
    try environment.write { transaction throws(LMDBError) in
      try transaction.put([1], at: [1], in: words)
    }
    try environment.sync()
  }

  @Test func `no file of another format, and none cut short, is opened`() throws {
    try Data("SQLite format 3\0".utf8 + [UInt8](repeating: 0, count: 9000))
      .write(to: URL(filePath: path.string))
    #expect(throws: LMDBError.self) {
      try LMDBEnvironment(path: path, tables: ["words"], access: .readOnly)
    }
    try FileManager.default.removeItem(atPath: path.string)
    do {
      let environment = try create()
      try environment.write { transaction throws(LMDBError) in
        for key in 0..<200 as Range<UInt8> {
          try transaction.put(
            [UInt8](repeating: 1, count: 400), at: [key], in: environment.table(name: "words"))
        }
      }
    }
    try FileHandle(forWritingTo: URL(filePath: path.string)).truncate(atOffset: 20_480)
    let error = #expect(throws: LMDBError.self) {
      try LMDBEnvironment(path: path, tables: ["words"], access: .readOnly)
    }
    #expect(error?.problem == .truncated)
  }

  @Test func `a write inside a write is a bug`() async {
    await #expect(processExitsWith: .failure) {
      let path = FilePath("/tmp/godwit-\(UUID().uuidString).mdb")
      let environment = try LMDBEnvironment(
        path: path, tables: [], access: .create(mapSize: 1 << 20))
      for file in [path.string, path.string + "-lock"] {
        try FileManager.default.removeItem(atPath: file)
      }
      try environment.write { _ throws(LMDBError) in
        try environment.write { _ throws(LMDBError) in }
      }
    }
  }

  /// The bytes of a file with one word in it, under another name and without a lock file.
  private func copyWithoutLock() throws -> FilePath {
    let copy = ScratchFolder.current.appending("copy.mdb")
    do {
      let environment = try create()
      try environment.write { transaction throws(LMDBError) in
        try transaction.put([1], at: [1], in: environment.table(name: "words"))
      }
    }
    try FileManager.default.copyItem(atPath: path.string, toPath: copy.string)
    return copy
  }

  /// Makes the file tell of one more commit, as a writer in another process would.
  private func commit(_ path: FilePath) throws {
    let file = try FileDescriptor.open(path, .readWrite, options: .closeOnExec)
    // The number of the last commit, in either of the first two pages: the higher one counts.
    for offset in [144, 4096 + 144] as [Int64] {
      var number: UInt64 = 0
      _ = try withUnsafeMutableBytes(of: &number) {
        try file.read(fromAbsoluteOffset: offset, into: $0)
      }
      number += 2
      _ = try withUnsafeBytes(of: number) { try file.write(toAbsoluteOffset: offset, $0) }
    }
    try file.close()
  }

  @Test func `a reader without a lock file makes none, and reads again what was overtaken`() throws
  {
    let copy = try copyWithoutLock()
    let environment = try LMDBEnvironment(path: copy, tables: ["words"], access: .readOnly)
    #expect(environment.locking == .none)
    var reads = 0
    let value = try environment.read { transaction throws(LMDBError) in
      reads += 1
      if reads == 1 { try? commit(copy) }
      return try transaction.value(at: [1], in: environment.table(name: "words"))
    }
    #expect(value == [1] && reads == 2)
    #expect(!FileManager.default.fileExists(atPath: copy.string + "-lock"))
  }

  @Test func `a reader without a lock gives up where every read is overtaken`() throws {
    let copy = try copyWithoutLock()
    let environment = try LMDBEnvironment(path: copy, tables: ["words"], access: .readOnly)
    let error = #expect(throws: LMDBError.self) {
      try environment.read { transaction throws(LMDBError) in
        try? commit(copy)
        return try transaction.value(at: [1], in: environment.table(name: "words"))
      }
    }
    #expect(error?.problem == .busy)
  }

  @Test func `a reader that may lock does`() throws {
    _ = try copyWithoutLock()
    let environment = try LMDBEnvironment(path: path, tables: ["words"], access: .readOnly)
    #expect(environment.locking == .shared)
  }
}
