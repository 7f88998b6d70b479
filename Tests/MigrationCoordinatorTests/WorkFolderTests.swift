import Foundation
import Planning
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

@Suite(.scratchFolder) struct WorkFolderTests {
  private let destination: FilePath
  private let paths: MigrationPaths

  init() throws {
    destination = try Files.resolved(ScratchFolder.current).appending("Shop.sqlite")
    paths = MigrationPaths(destination: destination)
  }

  private func write(_ path: FilePath, _ text: String = "x") throws {
    try Files.writeFileAtomically(Array(text.utf8), to: path)
  }

  private func fault(_ paths: MigrationPaths) -> WorkFolderFault? {
    let error = #expect(throws: PlaceError.self) {
      try Workspace.open(paths, store: destination)
    }
    guard case .workFolderForeign(_, let fault)? = error else { return nil }
    return fault
  }

  @Test func `a temporary folder goes with the run, and takes nothing that is too large`() throws {
    var workspace = Workspace.temporary(for: destination)
    let folder = try #require(workspace?.paths.work)
    #expect(workspace?.isTemporary == true)
    #expect(try Files.fileStatus(folder).mode == 0o700)
    try workspace?.requireSpace(DiskNeed(sourceBytes: 8 << 20))
    for bytes in [64 << 20, Int64.max] {
      #expect(throws: Workspace.NeedsFolder.self) {
        try workspace?.requireSpace(DiskNeed(sourceBytes: bytes))
      }
    }
    try write(folder.appending("result.sqlite"))
    workspace = nil
    #expect(try Files.fileStatusIfPresent(folder) == nil)
    #expect(try Files.listDirectory(Files.parent(of: destination)) == [])
    #expect(Workspace.temporary(for: destination.appending("none.sqlite")) == nil)
  }

  @Test func `a folder without the mark is left alone`() throws {
    try Files.createDirectory(paths.work)
    let file = paths.work.appending("plan.json")
    try write(file)
    #expect(fault(paths) == .unmarked(holds: "plan.json"))
    #expect(try Files.listDirectory(paths.work).map(\.string) == ["plan.json"])
  }

  @Test func `a file, a link and a folder of another version or destination are left alone`() throws
  {
    try write(paths.work)
    #expect(fault(paths) == .noFolder)
    try Files.remove(paths.work)
    let other = paths.work.removingLastComponent().appending("other")
    try Files.createDirectory(other)
    try FileManager.default.createSymbolicLink(
      atPath: paths.work.string, withDestinationPath: other.string)
    #expect(fault(paths) == .link)
    try Files.remove(paths.work)
    try Files.createDirectory(paths.work)
    try write(paths.mark, #"{"format":2}"#)
    #expect(fault(paths) == .otherFormat(2))
    try Files.remove(paths.mark)
    let mark = WorkFolder.Mark(id: UUID(), store: "/s", destination: "/d", madeParent: false)
    try Files.writeFileAtomically(Array(JSONEncoder().encode(mark)), to: paths.mark)
    #expect(fault(paths) == .otherDestination("/d"))
    #expect(try Files.listDirectory(other).isEmpty)
  }

  @Test func `an empty folder is marked, and goes when everything is done`() throws {
    try Files.createDirectory(paths.work)
    try write(paths.work.appending("godwit.json.1.2.tmp"))
    let workspace = try Workspace.open(paths, store: destination)
    #expect(try WorkFolder(path: paths.work).mark()?.destination == destination.string)
    try write(paths.plan)
    try write(paths.shard(order: 1, attempt: 2))
    #expect(try workspace.remove().isEmpty)
    #expect(try Files.fileStatusIfPresent(paths.work) == nil)
  }

  @Test func `what Godwit did not make stays, with the mark`() throws {
    let workspace = try Workspace.open(paths, store: destination)
    let foreign = paths.work.appending("photos")
    try Files.createDirectory(foreign)
    try write(foreign.appending("plan.json"))
    let outside = destination.removingLastComponent().appending("precious")
    try write(outside)
    try FileManager.default.createSymbolicLink(
      atPath: paths.plan.string, withDestinationPath: outside.string)
    try write(paths.manifest(1))
    #expect(try Set(workspace.remove()) == [foreign, paths.plan])
    #expect(
      try Files.listDirectory(paths.work).map(\.string)
        == ["godwit.json", "godwit.lock", "photos", "plan.json"])
    #expect(try Files.listDirectory(foreign).count == 1)
    #expect(try Files.fileStatus(outside).size == 1)
  }

  @Test func `a folder that is named with --work holds a folder of its own`() throws {
    let parent = destination.removingLastComponent().appending("fast")
    let below = MigrationPaths(destination: destination, below: parent)
    #expect(below.work.removingLastComponent() == parent)
    let workspace = try Workspace.open(below, store: destination)
    try workspace.remove()
    #expect(try Files.fileStatusIfPresent(parent) == nil)
    try Files.createDirectory(parent)
    try write(parent.appending("bystander"))
    try Workspace.open(below, store: destination).remove()
    #expect(try Files.listDirectory(parent).map(\.string) == ["bystander"])
  }

  @Test func `one destination has one migration at a time`() throws {
    let workspace = try Workspace.open(paths, store: destination)
    let error = #expect(throws: PlaceError.self) {
      try Workspace.open(paths, store: destination)
    }
    guard case .alreadyRunning? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    try workspace.remove()
  }

  @Test func `a journal names kept stores beside its destination, or nothing`() throws {
    let workspace = try Workspace.open(paths, store: destination)
    let journal = SwapJournal(paths)
    try write(destination)
    let names = [
      "precious", "sub/Shop.sqlite.before-20260101-000000", "../precious",
      "Shop.sqlite.before-20260101-000000",
    ]
    try Files.createDirectory(destination.removingLastComponent().appending("sub"))
    for name in names {
      let file = destination.removingLastComponent().appending(name)
      try write(file)
      var replaced = SwapJournal.Replaced(
        store: .init(try Files.fileStatus(destination)),
        keptFile: .init(try Files.fileStatus(file)))
      replaced.kept = name
      try journal.begin(
        .init(result: .init(try Files.fileStatus(paths.mark)), replaced: replaced))
      try journal.recover()
      let isOwn = name == names.last
      #expect(try (Files.fileStatusIfPresent(file) == nil) == isOwn, "\(name)")
      try Files.remove(file)
    }
    try workspace.remove()
  }
}
