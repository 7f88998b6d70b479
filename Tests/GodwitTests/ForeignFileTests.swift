import Foundation
import SystemPackage
import Testing

@testable import Godwit

@Suite struct ForeignFileTests {
  private func sentence(_ name: String, _ bytes: [UInt8]) throws -> String {
    let folder = FileManager.default.temporaryDirectory.appending(path: "foreign-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try Data(bytes).write(to: folder.appending(path: name))
    let error = try #require(throws: MigrationFailure.self) {
      _ = try StoreInspection(of: FilePath(folder.appending(path: name).path))
    }
    return error.sentences[0].replacing("\(folder.path)/", with: "")
  }

  @Test(arguments: [
    (
      "a.gz", [0x1f, 0x8b, 8, 0],
      "a.gz is compressed by gzip, not a store: unpack it first (gunzip)."
    ),
    ("a.zip", [0x50, 0x4b, 3, 4], "a.zip is a zip archive, not a store: unpack it first (unzip)."),
    (
      "a.zst", [0x28, 0xb5, 0x2f, 0xfd],
      "a.zst is compressed by zstd, not a store: unpack it first (unzstd)."
    ),
  ])
  func `an archive is to be unpacked`(name: String, head: [UInt8], expected: String) throws {
    #expect(try sentence(name, head + [UInt8](repeating: 0, count: 600)) == expected)
  }

  @Test func `a pointer of Git LFS, a placeholder and source are told as what they are`() throws {
    #expect(
      try sentence("a.sqlite", Array("version https://git-lfs.github.com/spec/v1\n".utf8))
        .contains("git lfs pull"))
    #expect(try sentence(".a.sqlite.icloud", Array("bplist00".utf8)).contains("iCloud"))
    #expect(try sentence("Item.swift", Array("import SwiftData\n".utf8)).contains("Swift source"))
    #expect(try sentence("a.txt", Array("notes\n".utf8)).contains("is a text file"))
  }

  @Test(arguments: [
    ("a.omo", Array("momv2$srsraori".utf8), "a.omo is an optimized managed object model"),
    ("a.mom", Array("bplist00".utf8), "a.mom is a compiled model"),
    ("a.plist", Array("bplist00".utf8), "a.plist is a binary property list"),
    (
      "a-journal", [0xd9, 0xd5, 5, 0xf9, 0x20, 0xa1, 0x63, 0xd7], "a-journal is a rollback journal"
    ),
    ("a-wal", [0x37, 0x7f, 6, 0x82], "a-wal is a write-ahead log"),
  ])
  func `a part of a model or of a store is named`(
    name: String, head: [UInt8], expected: String
  ) throws {
    let found = try sentence(name, head + [UInt8](repeating: 0xe3, count: 600))
    #expect(found.hasPrefix("\(expected)") && found.contains(", not a store: name the "))
    #expect(!found.contains("encrypted"))
  }

  @Test func `an undo file is named with the command that uses it`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "undo-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let undo = folder.appending(path: "a.sqlite.before-20260101-000000.undo")
    try Data([0xd9, 0xd5, 5, 0xf9, 0x20, 0xa1, 0x63, 0xd7]).write(to: undo)
    func sentence() throws -> String {
      try #require(throws: MigrationFailure.self) {
        _ = try StoreInspection(of: FilePath(undo.path))
      }.sentences[0]
    }
    #expect(try sentence().contains("is a rollback journal of SQLite, not a store"))
    try Data().write(to: folder.appending(path: "a.sqlite.godwit-kept.json"))
    #expect(try sentence().contains("is the undo file of a migration, not a store: "))
  }

  @Test func `a model is not called a folder with a store`() throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let error = try #require(throws: MigrationFailure.self) {
      _ = try StoreInspection(of: FilePath(given.model.path))
    }
    #expect(
      error.sentences[0].hasSuffix(
        "is a model, not a store: name the store that the app has written."))
  }

  @Test func `a store that iCloud has not downloaded is told so`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "cloud-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = FilePath(folder.appending(path: "a.sqlite").path)
    func sentence() throws -> String {
      try #require(throws: MigrationFailure.self) { _ = try StoreInspection(of: store) }
        .sentences[0]
    }
    #expect(try sentence().hasSuffix("does not exist: check the path."))
    try Data().write(to: folder.appending(path: ".a.sqlite.icloud"))
    #expect(try sentence().contains("is in iCloud and not on this disk"))
  }
}
