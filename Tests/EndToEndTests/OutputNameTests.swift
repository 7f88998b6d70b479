import Foundation
import SystemPackage
import TestSupport
import Testing

/// Names of new files that belong to a store, or leave no room for names made from them.
@Suite(.scratchFolder) struct OutputNameTests {
  static let sample = FilePath(#filePath).removingLastComponent().removingLastComponent()
    .removingLastComponent().appending("docs/sample/Library.xcdatamodeld")
  private var folder: FilePath { ScratchFolder.current }
  private var store: FilePath { folder.appending("S.sqlite") }
  private var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.string).sorted() }
  }

  private func generate(_ name: String) async throws -> FilePath {
    let path = folder.appending(name)
    let made = try await BuiltTool.run([
      "generate", Self.sample.string, "--version", "Library 1", "--rows", "20", "--output",
      path.string,
    ])
    try #require(made.status == 0, "\(made.standardError)")
    return path
  }

  static let suffixes = [
    "-wal", "-shm", "-journal", ".godwit", ".godwit-status.json", ".godwit-kept.json",
    ".before-20260101-120000", ".after-20260101-120000.2", ".godwit/x",
  ]
  /// Each command with an option that names a file to write; the file comes last.
  static let commands: [[String]] = [
    ["migrate", "STORE", "--to", "MODEL", "--output"],
    ["migrate", "STORE", "--to", "MODEL", "--output", "OTHER", "--report"],
    ["migrate", "STORE", "--to", "MODEL", "--output", "OTHER", "--postpone-swap"],
    ["migrate", "STORE", "--to", "MODEL", "--output", "OTHER", "--pause-file"],
    ["check", "STORE", "--to", "MODEL", "--junit"],
    ["check", "STORE", "--to", "MODEL", "--report"],
    ["plan", "STORE", "--to", "MODEL", "--graph"],
    ["status", "STORE", "--prometheus", "--output"],
    ["generate", "MODEL", "--rows", "2", "--output"],
    ["map", "--from", "STORE", "--to", "MODEL", "--output"],
  ]

  private func command(_ words: [String], writing path: String) -> [String] {
    words.map { word in
      switch word {
      case "STORE": store.string
      case "MODEL": Self.sample.string
      case "OTHER": folder.appending("Other.sqlite").string
      default: word
      }
    } + [path]
  }

  @Test func `a store that is named like the output's log is no log to remove`() async throws {
    let source = try await generate("S.sqlite-wal")
    let run = try await BuiltTool.run([
      "migrate", source.string, "--to", Self.sample.string, "--output", store.string,
    ])
    #expect(run.status == 73)
    #expect(run.standardError.contains("has a name that is reserved for the store \(store)"))
    #expect(!run.standardError.contains("file or remove it."))
    #expect(try names.contains("S.sqlite-wal") && !names.contains("S.sqlite"))
  }

  @Test func `a store whose name leaves no room for a record has none`() async throws {
    let long = folder.appending(String(repeating: "a", count: 237))
    try FileManager.default.moveItem(
      atPath: try await generate("S.sqlite").string, toPath: long.string)
    let run = try await BuiltTool.run(["status", long.string])
    #expect(run.status == 66)
    #expect(run.standardError.contains("no migration of"))
  }

  @Test(arguments: commands)
  func `no option writes to a name that belongs to a store`(words: [String]) async throws {
    _ = try await generate("S.sqlite")
    let other = try await generate("T.sqlite")
    for path in [store, other] {
      try FileManager.default.createDirectory(
        atPath: "\(path).godwit", withIntermediateDirectories: true)
    }
    let before = try names
    let suffixes =
      switch (words[0], words.last) {
      case ("plan", _): [".godwit/x.svg"]
      case ("check", "--report"): [".godwit/x.html"]
      default: Self.suffixes
      }
    for path in [store, other] {
      for suffix in suffixes {
        let outcome = try await BuiltTool.run(command(words, writing: "\(path)\(suffix)"))
        #expect(outcome.status == 73, "\(path)\(suffix): \(outcome.standardError)")
        #expect(
          outcome.standardError.contains("is reserved for the store"),
          "\(path)\(suffix): \(outcome.standardError)")
        #expect(try names == before)
      }
    }
  }

  @Test func `a model is not exported into a folder that belongs to a store`() async throws {
    _ = try await generate("S.sqlite")
    let work = folder.appending("S.sqlite.godwit")
    try FileManager.default.createDirectory(
      atPath: work.string, withIntermediateDirectories: true)
    let outcome = try await BuiltTool.run([
      "model", "export", store.string, "--output", work.appending("M.xcdatamodel").string,
    ])
    #expect(outcome.status == 73, "\(outcome.standardError)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: work.string) == [])
  }

  @Test func `the folder of external files takes no other file`() async throws {
    _ = try await generate("S.sqlite")
    let before = try names
    let outcome = try await BuiltTool.run([
      "migrate", store.string, "--to", Self.sample.string, "--output",
      folder.appending(".S_SUPPORT").string,
    ])
    #expect(outcome.status == 73, "\(outcome.standardError)")
    #expect(try names == before)
  }

  @Test(arguments: ["notes-wal", "S.sqlite.before-lunch", "S.sqlite-copy", "U.sqlite-walls"])
  func `a name that no store has made is free`(name: String) async throws {
    _ = try await generate("S.sqlite")
    let outcome = try await BuiltTool.run([
      "migrate", store.string, "--to", Self.sample.string, "--output",
      folder.appending(name).string,
    ])
    #expect(outcome.status == 0, "\(outcome.standardError)")
    #expect(try names.contains(name))
  }

  // MARK: Long names

  private func name(bytes: Int) -> String { String(repeating: "x", count: bytes - 7) + ".sqlite" }

  @Test(arguments: [197, 208, 223])
  func `the record of an output with a long name is written`(bytes: Int) async throws {
    _ = try await generate("S.sqlite")
    let output = folder.appending(name(bytes: bytes))
    let words = ["migrate", store.string, "--to", Self.sample.string, "--output", output.string]
    #expect(try await BuiltTool.run(words, keepsRecord: true).status == 0)
    #expect(try await BuiltTool.run(["status", output.string]).status == 0)
    #expect(try await BuiltTool.run(words, keepsRecord: true).status == 0)
  }

  @Test(arguments: [197, 215, 219])
  func `a store with a long name is replaced, with a record and a list`(bytes: Int) async throws {
    let store = folder.appending(name(bytes: bytes))
    let made = try await generate("S.sqlite")
    try FileManager.default.moveItem(atPath: made.string, toPath: store.string)
    let outcome = try await BuiltTool.run(
      ["migrate", store.string, "--to", Self.sample.string], keepsRecord: true)
    #expect(outcome.status == 0, "\(outcome.standardError)")
    #expect(try await BuiltTool.run(["status", store.string]).status == 0)
    #expect(try await BuiltTool.run(["rollback", store.string]).status == 0)
  }

  @Test(arguments: [(bytes: 224, hasOutput: true), (bytes: 220, hasOutput: false)])
  func `a name without room for the others is refused first`(
    bytes: Int, hasOutput: Bool
  ) async throws {
    let store = try await generate("S.sqlite")
    let long = folder.appending(name(bytes: bytes))
    var words = ["migrate", store.string, "--to", Self.sample.string, "--output", long.string]
    if !hasOutput {
      try FileManager.default.moveItem(atPath: store.string, toPath: long.string)
      words = ["migrate", long.string, "--to", Self.sample.string]
    }
    let before = try names
    let outcome = try await BuiltTool.run(words, keepsRecord: true)
    #expect(outcome.status == 64, "\(outcome.standardError)")
    // A refusal is recorded as well.
    #expect(try names.filter { !$0.hasSuffix(".godwit-status.json") } == before)
  }

  @Test func `a sample store needs room for the names of its unfinished files`() async throws {
    let words = ["generate", Self.sample.string, "--rows", "2", "--output"]
    let long = try await BuiltTool.run(words + [folder.appending(name(bytes: 203)).string])
    #expect(long.status == 64, "\(long.standardError)")
    #expect(try names == [])
    let fits = try await BuiltTool.run(words + [folder.appending(name(bytes: 202)).string])
    #expect(fits.status == 0, "\(fits.standardError)")
  }
}
