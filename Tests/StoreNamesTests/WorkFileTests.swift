import MigrationStatus
import Planning
import StoreNames
import SystemPackage
import Testing

struct WorkFileTests {
  @Test(arguments: [
    "plan.json", "plan.json.4711.2.tmp", "status.mdb", "status.mdb-lock", "claims", "renumbered",
    "lookups", "lookups.making",
    "dropped.sqlite", "dropped.sqlite.making", "places.sqlite", "places.sqlite.making",
    "places.sqlite.making-journal", "keys", "result.sqlite-kept", "result.sqlite-fenced",
    "source.sqlite-wal", "source.pages", "result.sqlite", "result.sqlite-journal", "shard-7.json",
    "shard-7.2.sqlite",
    "shard-7.2.sqlite-journal", "shard-7.2.links", "stage-3.sqlite", "stage-3.json", "swap.json",
  ])
  func `names that a migration gives are its own`(name: String) throws {
    #expect(WorkFile(try #require(FilePath.Component(name))) != nil)
  }

  @Test func `what is derived from a name is known by it`() {
    #expect(WorkFile("godwit.json.12.1.tmp") == .mark)
    #expect(WorkFile("godwit.lock") == .lock)
    #expect(WorkFile("result.sqlite-link") == .result)
    #expect(WorkFile("stage-3.godwit") == .stageFolder)
    #expect(WorkFile(".stage-3_SUPPORT") == .stageSupport)
    #expect(WorkFile("shard-17.2.sqlite-journal") == .shard)
  }

  @Test func `every file is known by the name that it is given`() throws {
    for file in WorkFile.allCases {
      let path = file.path(in: "/w", 7, 1_234_567_890)
      #expect(WorkFile(try #require(path.lastComponent)) == file)
      let unfinished = WorkFile.unfinished(path)
      #expect(WorkFile(try #require(unfinished.lastComponent)) == file)
    }
    #expect(
      WorkFile.links(ofShard: WorkFile.shard.path(in: "/w", 7, 2)) == "/w/shard-7.2.links")
  }

  @Test func `a status file has the name by which watchers search for it`() {
    let paths = MigrationPaths(destination: "/data/Shop.sqlite")
    #expect(StatusPlace(of: paths.work).file == paths.status)
  }

  @Test(arguments: [
    "Shop.sqlite", "lock", "plan.json.tmp", "plan.json.a.2.tmp", "shard-.json", "shard-x.json",
    "shard-7.sqlite", "shard-7.2.3.sqlite", "shard-7..sqlite", "stage-.sqlite", "stage-3",
    "notes.txt",
    "result.sqlite.bak", "Result.sqlite", "stage-3.godwit.old", ".Shop_SUPPORT", "claims~", ".tmp",
    "skeleton.sqlite", "shard-#.json",
    "source.sqlite-wal-wal", "shard-99999999999.json",
  ])
  func `any other name is somebody else's`(name: String) throws {
    #expect(WorkFile(try #require(FilePath.Component(name))) == nil)
  }
}
