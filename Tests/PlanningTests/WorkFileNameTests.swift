import Planning
import SystemPackage
import Testing

struct WorkFileNameTests {
  @Test(arguments: [
    "plan.json", "plan.json.4711.2.tmp", "status.mdb", "status.mdb-lock", "claims", "renumbered",
    "lookups", "lookups.making",
    "dropped.sqlite", "dropped.sqlite.making", "places.sqlite", "places.sqlite.making",
    "places.sqlite.making-journal", "skeleton.sqlite",
    "source.sqlite-wal", "source.pages", "result.sqlite", "result.sqlite-journal", "shard-7.json",
    "shard-7.2.sqlite",
    "shard-7.2.sqlite-journal", "shard-7.2.links", "step-3.sqlite", "step-3.json", "swap.json",
  ])
  func `names that a migration gives are its own`(name: String) throws {
    #expect(WorkFileName(try #require(FilePath.Component(name))) == .file)
  }

  @Test func `folders, mark and lock are told apart`() {
    #expect(WorkFileName("godwit.json") == .keeper)
    #expect(WorkFileName("godwit.json.12.1.tmp") == .keeper)
    #expect(WorkFileName("godwit.lock") == .keeper)
    #expect(WorkFileName("step-3.godwit") == .stageFolder)
    #expect(WorkFileName(".step-3_SUPPORT") == .stageSupport)
  }

  @Test(arguments: [
    "Shop.sqlite", "lock", "plan.json.tmp", "plan.json.a.2.tmp", "shard-.json", "shard-x.json",
    "shard-7.sqlite", "shard-7.2.3.sqlite", "shard-7..sqlite", "step-.sqlite", "step-3",
    "notes.txt",
    "result.sqlite.bak", "Result.sqlite", "step-3.godwit.old", ".Shop_SUPPORT", "claims~", ".tmp",
    "source.sqlite-wal-wal", "shard-99999999999.json",
  ])
  func `any other name is somebody else's`(name: String) throws {
    #expect(WorkFileName(try #require(FilePath.Component(name))) == nil)
  }
}
