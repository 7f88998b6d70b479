import Foundation
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

@Suite(.scratchFolder) struct DiskNeedTests {
  private let mebibyte: Int64 = 1 << 20

  @Test func `pages take little more than the result, tables of workers as much again`() {
    let source = 1000 * mebibyte
    let pages = DiskNeed(sourceBytes: source, shardTenths: 1)
    #expect(pages.bytes == 1224 * mebibyte)
    #expect(DiskNeed(sourceBytes: source).bytes == 2524 * mebibyte)
    #expect(DiskNeed(sourceBytes: 0).bytes == 24 * mebibyte)
    let legs = DiskNeed(
      sourceBytes: source, stages: 3, shardTenths: 1, externalBytes: 10 * mebibyte)
    #expect(legs.bytes == pages.bytes + 1130 * mebibyte)
    #expect(legs.external == 10 * mebibyte)
    #expect(DiskNeed(sourceBytes: .max, stages: 2, externalBytes: .max).bytes == .max)
  }

  @Test func `what goes to one file system counts together, and each is checked`() {
    let wanted: [(folder: FilePath, bytes: Int64, purpose: String)] = [
      ("/a/work", 60, "work"), ("/b", 30, "the new store"), ("/a", 50, "external files"),
      ("/c", 0, "nothing"),
    ]
    func find(_ room: [String: Int64]) -> [DiskShortage] {
      DiskShortage.find(
        wanted: wanted, device: { $0.string.hasPrefix("/a") ? 1 : 2 },
        room: { room[$0.string.hasPrefix("/a") ? "a" : "b"] ?? 0 })
    }
    #expect(find(["a": 110, "b": 30]).isEmpty)
    // Each of the two would fit alone.
    #expect(
      find(["a": 109, "b": 30]) == [
        DiskShortage(
          path: "/a/work", needed: 110, available: 109, purposes: ["work", "external files"])
      ])
    #expect(find(["a": 109, "b": 29]).map(\.path) == ["/a/work", "/b"])
  }

  @Test func `nothing is written where a disk has too little room`() async throws {
    let given = try GivenMigration()
    let paths = given.request().paths
    let workspace = try Workspace.open(paths, store: given.store)
    let error = #expect(throws: MigrationError.self) {
      try workspace.requireSpace(DiskNeed(sourceBytes: 1 << 60))
    }
    guard case .diskFull(let shortages)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(shortages.count == 1 && shortages[0].available < shortages[0].needed)
    try workspace.requireSpace(DiskNeed(sourceBytes: 1))
  }
}
