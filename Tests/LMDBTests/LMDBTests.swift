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

  /// What a reader finds.
  private func words() throws -> [(key: [UInt8], value: [UInt8])] {
    try LMDBReader(path: path).entries(of: ["words"])["words"] ?? []
  }

  @Test func `what is put is found, ordered by its bytes`() throws {
    let environment = try create()
    let words = environment.table(name: "words")
    try environment.write { transaction throws(LMDBError) in
      try transaction.put([3], at: [2], in: words)
      try transaction.put([], at: [1], in: words)
      try transaction.put([9, 9], at: [2, 0], in: words)
    }
    let entries = try self.words()
    #expect(entries.map(\.key) == [[1], [2], [2, 0]])
    #expect(entries.map(\.value) == [[], [3], [9, 9]])
    let deleted = try environment.write { transaction throws(LMDBError) in
      let once = try transaction.delete([2], in: words)
      let twice = try transaction.delete([2], in: words)
      return [once, twice]
    }
    #expect(deleted == [true, false])
    #expect(try self.words().map(\.key) == [[1], [2, 0]])
  }

  @Test(arguments: [0, 1, 40, 777, 1999, 2000])
  func `entries are read from a key on, in parts`(first: Int) throws {
    let environment = try create(mapSize: 1 << 24)
    let words = environment.table(name: "words")
    func key(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255), 7] }
    try environment.write { transaction throws(LMDBError) in
      for number in 0..<2000 {
        // Some values have pages of their own.
        try transaction.put(
          Array(repeating: 1, count: number % 97 == 0 ? 5000 : 60), at: key(number), in: words)
      }
    }
    let reader = try LMDBReader(path: path)
    var found: [[UInt8]] = []
    var start: [UInt8]? = key(first)
    while let from = start {
      let part = try reader.entries(of: "words", from: from, limit: 300)
      found += part.map(\.key)
      start = part.count == 300 ? part.last.map { $0.key + [0] } : nil
    }
    #expect(found == (first..<2000).map(key))
    // A key that is not there stands for the next one.
    let next = try reader.entries(of: "words", from: Array(key(first).prefix(2)), limit: 1)
    #expect(next.first?.key == (first < 2000 ? key(first) : nil))
    #expect(throws: LMDBError.self) { try reader.entries(of: "none", from: [], limit: 1) }
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
    #expect(try self.words().isEmpty)
    #expect(environment.isSound)
  }

  @Test func `a file is open once in a process, by whatever name`() throws {
    let link = ScratchFolder.current.appending("link.mdb")
    do {
      let environment = try create()
      try FileManager.default.createSymbolicLink(
        atPath: link.string, withDestinationPath: path.string)
      for name in [path, link] {
        let error = #expect(throws: LMDBError.self) {
          try LMDBEnvironment(path: name, tables: [], access: .write)
        }
        #expect(error?.problem == .alreadyOpen)
        // Who only reads takes no lock that another one could lose.
        #expect(try LMDBReader(path: name).entries(of: ["words"]).count == 1)
      }
      withExtendedLifetime(environment) {}
    }
    _ = try LMDBEnvironment(path: path, tables: ["words"], access: .write)
  }

  @Test func `only creating makes a file or a table`() throws {
    func opened(_ tables: [String]) -> [LMDBError.Problem] {
      let errors = [
        #expect(throws: LMDBError.self) {
          try LMDBEnvironment(path: path, tables: tables, access: .write)
        },
        #expect(throws: LMDBError.self) { try LMDBReader(path: path).entries(of: tables) },
      ]
      return errors.compactMap { $0?.problem }
    }
    #expect(
      opened(["words"]) == [.system(.noSuchFileOrDirectory), .system(.noSuchFileOrDirectory)])
    #expect(!FileManager.default.fileExists(atPath: path.string))
    _ = try create()
    #expect(opened(["words", "names"]) == [.missingTable("names"), .missingTable("names")])
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
    #expect(throws: LMDBError.self) { try words() }
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
    #expect(throws: LMDBError(operation: .get, path: path, problem: .truncated)) { try words() }
    #expect(throws: LMDBError(operation: .get, path: path, problem: .truncated)) {
      try LMDBEnvironment(path: path, tables: ["words"], access: .write)
    }
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
}
