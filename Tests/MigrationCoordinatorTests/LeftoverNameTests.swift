import Foundation
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

@Suite(.scratchFolder) struct LeftoverNameTests {
  @Test(arguments: ["Shop.sqlite", "Büro – Lager.sqlite", "店.sqlite", "Cafe\u{301}.sqlite"])
  func `leftovers are found and removed whatever letters the name of the store has`(
    name: String
  ) throws {
    let folder = ScratchFolder.current
    let store = folder.appending(name)
    let left = [
      ".godwit-status.json.1f2e3d4c.tmp", ".godwit-kept.json.4711.2.tmp", ".godwit-new.4711.3.tmp",
      ".godwit-result-\(UUID().uuidString)", ".godwit-result-\(UUID().uuidString)-wal",
    ].map { FilePath("\(store)\($0)") }
    // What is composed in another way is another file.
    let other = FilePath("\(folder)/Caf\u{e9}.sqlite.godwit-kept.json.4711.2.tmp")
    for path in left + [other] { try Files.writeFileAtomically([1], to: path) }
    #expect(try Set(StoreUpkeep(of: store).contents().leftovers) == Set(left))
    #expect(try Set(StoreUpkeep(of: store).discard().removed) == Set(left))
    #expect(try Files.listDirectory(folder).map(\.string) == [other.lastComponent?.string])
  }
}
