import Foundation
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationStatus

@Suite(.scratchFolder) struct StatusPlaceTests {
  private var base: FilePath { ScratchFolder.current }
  private let work: FilePath = "/shared/Shop.sqlite.godwit"

  private func place(_ work: FilePath, owner: UInt32 = Processes.user) -> StatusPlace {
    StatusPlace(elsewhere: work, owner: owner, in: base)
  }

  @Test func `a work folder of this machine has its status file in it`() throws {
    let place = StatusPlace(of: base)
    #expect(place.file == base.appending("status.mdb") && place.isOwn)
    try place.prepare()
    try place.remove()
    #expect(try Files.listDirectory(base).isEmpty)
    #expect(StatusPlace(of: "/nonexistent").file == "/nonexistent/status.mdb")
  }

  @Test func `one of another machine has it here, by its path, and takes it along`() throws {
    let (one, other) = (place(work), place("/shared/Other.sqlite.godwit"))
    #expect(one.file != other.file && one.file == place(work).file)
    #expect(!one.isOwn)
    try one.prepare()
    #expect(one.isOwn && !other.isOwn)
    _ = try StatusFile.create(one.file)
    try one.remove()
    #expect(try Files.fileStatusIfPresent(Files.parent(of: one.file)) == nil)
  }

  @Test func `the status of a stage is where that of its run leads`() throws {
    let stage = place(work.appending("stage-2.godwit"))
    try stage.prepare()
    _ = try StatusFile.create(stage.file)
    #expect(StatusPlaces.file(ofStage: 2, of: place(work).file) == stage.file)
  }

  @Test func `what somebody else has made is not used`() throws {
    try Files.createDirectory(base.appending("elsewhere"))
    let link = base.appending("godwit-\(Processes.user)")
    try "elsewhere".withCString { target in
      try #require(link.withPlatformString { symlink(target, $0) } == 0)
    }
    #expect(throws: SystemCallError.self) { try place(work).prepare() }
    #expect(!place(work).isOwn)
  }
}
