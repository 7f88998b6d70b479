import Foundation
import SystemPackage
import Testing

@testable import Godwit

@Suite struct MigrationSearchTests {
  @Test(arguments: [
    ("/d/Shop.sqlite.godwit", true, MigrationTrace.migration("/d/Shop.sqlite")),
    ("/d/Shop.sqlite.godwit-1f2e3d4c", true, .migration("/d/Shop.sqlite.godwit-1f2e3d4c")),
    ("/d/Shop.sqlite.godwit-status.json", false, .migration("/d/Shop.sqlite")),
    ("/d/Shop.sqlite.godwit-status.json", true, .migration("/d/Shop.sqlite.godwit-status.json")),
    ("/d/.godwit", true, .nothing),
    ("/d/.godwit-status.json", false, .nothing),
    ("/d/Shop.sqlite.godwit", false, .nothing),
    ("/d/.git", true, .nothing),
    ("/d/stores", true, .folder),
    ("/d/Shop.sqlite", false, .nothing),
  ])
  func `names tell what belongs to a migration`(
    path: FilePath, isFolder: Bool, trace: MigrationTrace
  ) {
    #expect(MigrationTrace(path, isFolder: isFolder) == trace)
  }

  private func folder() throws -> URL {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "search-\(UUID().uuidString)").resolvingSymlinksInPath()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  private func make(_ path: String, in folder: URL) throws {
    let url = folder.appending(path: path)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data("{}".utf8).write(to: url)
  }

  @Test func `migrations are found at any depth that is allowed, once, and through no link`() throws
  {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let deep = (1...20).map { "d\($0)" }.joined(separator: "/")
    try make("A.sqlite.godwit-status.json", in: folder)
    try make("A.sqlite.godwit/status.mdb", in: folder)
    try make("within/B.sqlite.godwit-status.json", in: folder)
    try make(".hidden/C.sqlite.godwit-status.json", in: folder)
    try make("A.sqlite.godwit/D.sqlite.godwit-status.json", in: folder)
    try make("\(deep)/E.sqlite.godwit-status.json", in: folder)
    let other = try self.folder()
    defer { try? FileManager.default.removeItem(at: other) }
    try make("F.sqlite.godwit-status.json", in: other)
    try FileManager.default.createSymbolicLink(
      at: folder.appending(path: "link"), withDestinationURL: other)
    try FileManager.default.createSymbolicLink(
      at: folder.appending(path: "G.sqlite.godwit"), withDestinationURL: other)
    let places = [folder, folder.appending(path: "within"), folder]
    let search = MigrationSearch(places.map { FilePath($0.path) })
    #expect(search.paths.map { $0.lastComponent?.string } == ["A.sqlite", "B.sqlite"])
    #expect(search.gaps.count == 1 && search.gaps[0].contains("too deep"))
  }

  @Test func `a folder that is not there is told, and so is what is too much`() throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    #expect(MigrationSearch([FilePath(folder.appending(path: "no").path)]).gaps.count == 1)
    for number in 0...MigrationSearch.maximumPaths {
      try make("\(number).sqlite.godwit-status.json", in: folder)
    }
    let search = MigrationSearch([FilePath(folder.path)])
    #expect(search.paths.count == MigrationSearch.maximumPaths)
    #expect(search.gaps.count == 1)
  }
}
