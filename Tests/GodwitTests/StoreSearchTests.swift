import Foundation
import SystemPackage
import Testing

@testable import Godwit

@Suite struct StoreSearchTests {
  private static let beside: Set<String> = [
    "Shop.sqlite", "Shop.sqlite-wal", "plain", "plain-wal", "Kept.sqlite.godwit-kept.json",
  ]

  @Test(arguments: [
    ("Shop.sqlite-wal", FolderMember.part),
    ("Shop.sqlite-shm", .part),
    ("Gone.sqlite-wal", .passedOver(.looseLog)),
    (".Shop_SUPPORT", .part),
    (".DS_Store", .passedOver(.hidden)),
    ("Shop.sqlite.godwit-status.json", .passedOver(.workFile)),
    ("Shop.sqlite", .file(isNamedLikeStore: true, hasLog: true)),
    ("Shop.STORE", .file(isNamedLikeStore: true, hasLog: false)),
    ("plain", .file(isNamedLikeStore: false, hasLog: true)),
    ("Shop.sqlite.before-20260101-000000", .file(isNamedLikeStore: false, hasLog: false)),
    ("Kept.sqlite.before-20260101-000000", .passedOver(.keptStore)),
    ("Kept.sqlite.before-20260101-000000.2.undo", .passedOver(.keptStore)),
    ("Kept.sqlite.after-20260101-000000", .passedOver(.keptStore)),
  ])
  func `what a file is follows from its name and from those beside it`(
    name: String, member: FolderMember
  ) {
    #expect(FolderMember(name: name, isFolder: false, beside: Self.beside) == member)
  }

  @Test func `work folders, models and hidden folders are never gone into`() {
    func member(_ name: String) -> FolderMember {
      FolderMember(name: name, isFolder: true, beside: [])
    }
    #expect(member("Shop.sqlite.godwit") == .passedOver(.workFile))
    #expect(member("Shop.sqlite.godwit-1f2e3d4c") == .passedOver(.workFile))
    #expect(member(".git") == .passedOver(.hidden))
    #expect(member(".Shop_SUPPORT") == .part)
    #expect(member("Shop.xcdatamodeld") == .passedOver(.model))
    #expect(member("Shop.momd") == .passedOver(.model))
    #expect(member("1to2.xcmappingmodel") == .passedOver(.model))
    #expect(member("Fixtures") == .folder)
  }

  @Test func `stores in folders are found, once however often they are named`() throws {
    let given = try GivenStore(Model.note)
    let folder = given.folder.appending(path: "Fixtures/old")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let store = folder.appending(path: "V1.sqlite")
    try FileManager.default.copyItem(at: given.store, to: store)
    try Data("no store".utf8).write(to: folder.appending(path: "README.md"))
    try Data("no store".utf8).write(to: folder.appending(path: "V2.sqlite"))
    try FileManager.default.createSymbolicLink(
      atPath: folder.appending(path: "loop").path, withDestinationPath: "../..")
    let places = [store, folder, folder.deletingLastPathComponent(), folder]
    let search = StoreSearch(places.map { FilePath($0.path) })
    #expect(search.entries.map(\.path.lastComponent) == ["V1.sqlite", "V2.sqlite"])
    #expect(search.entries.allSatisfy { $0.failure == nil })
    #expect(search.passedOver.map(\.reason) == [.noStore, .link])
  }

  @Test func `a folder without a store is a failure, and so is one that is not there`() throws {
    let given = try GivenStore(Model.note)
    let folder = given.folder.appending(path: "Empty/within")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data().write(to: folder.appending(path: "notes.txt"))
    let empty = FilePath(folder.deletingLastPathComponent().path)
    let search = StoreSearch([empty, FilePath(given.folder.appending(path: "Gone").path)])
    #expect(search.entries.map(\.failure?.exitStatus) == [.notFound, nil])
    #expect(search.entries[0].failure?.sentences[0].contains("1 entry was skipped") == true)
  }

  @Test func `a folder that has too much in it is told once, with what was found until then`()
    throws
  {
    let given = try GivenStore(Model.note)
    for name in ["a", "b", "c", "d"] {
      let folder = given.folder.appending(path: "Wide/\(name)/within")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try FileManager.default.copyItem(
        at: given.store, to: folder.appending(path: "Shop.sqlite"))
    }
    let wide = FilePath(given.folder.appending(path: "Wide").path)
    let search = StoreSearch([wide, FilePath(given.store.path)], mostMembers: 7)
    #expect(search.entries.count == 3)
    #expect(search.entries[0].failure == nil)
    #expect(search.entries[1].path == wide)
    #expect(search.entries[1].failure?.exitStatus == .usage)
    #expect(search.entries[2].path.string == given.store.path)
    #expect(StoreSearch([wide], mostMembers: 12).entries.allSatisfy { $0.failure == nil })
  }
}
