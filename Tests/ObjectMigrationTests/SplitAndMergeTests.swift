import Expressions
import Mapping
import ObjectMigration
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct SplitAndMergeTests {
  private func split() throws -> (FilePath, ObjectMigration.Report) {
    let (store, report) = try CorpusMigration().step(
      Herds.makeStore(), from: Herds.together(), to: Herds.apart(), by: [Herds.split()])
    return (store, report)
  }

  @Test func `an entity is split by a predicate, and each object is in one of the parts`() throws {
    let (store, report) = try split()
    let query = try Query(store)
    #expect(report.objectsRead == 8)
    #expect(report.objectsWritten == 8)
    #expect(
      try query.texts("SELECT Z_PK || ZNAME || ZAGE FROM ZHUMAN ORDER BY 1")
        == ["1ann31", "5eve41", "9flo51"])
    #expect(
      try query.texts("SELECT Z_PK || ZNAME || ZAGE FROM ZANIMAL ORDER BY 1")
        == ["2bee2", "3cow10", "4dog14"])
  }

  @Test func `the order within a herd survives a split`() throws {
    let query = try Query(split().0)
    let members = "ZNAME || Z_FOK_HERD FROM %@ WHERE ZHERD = 1 ORDER BY Z_FOK_HERD"
    func list(_ table: String) throws -> [String] {
      try query.texts("SELECT " + members.replacing("%@", with: table))
    }
    #expect(try list("ZHUMAN") == ["eve2048", "ann3072"])
    #expect(try list("ZANIMAL") == ["bee2048", "dog3072"])
  }

  @Test func `pairs of one to one relationships hold on both sides`() throws {
    let query = try Query(split().0)
    #expect(
      try query.texts("SELECT ZNAME || ZPARTNER FROM ZHUMAN WHERE ZPARTNER NOT NULL ORDER BY 1")
        == ["ann5", "eve1"])
    #expect(
      try query.texts("SELECT ZNAME || ZPARTNER FROM ZANIMAL WHERE ZPARTNER NOT NULL ORDER BY 1")
        == ["cow4", "dog3"])
  }

  @Test func `what was split is merged to the same objects`() throws {
    let (back, _) = try CorpusMigration().step(
      split().0, from: Herds.apart(), to: Herds.together(), by: [Herds.merged()])
    let (before, after) = (try Query(Herds.makeStore()), try Query(back))
    for list in [
      """
      SELECT o.ZNAME || ' ' || o.ZAGE || ' ' || o.ZKIND || ' ' || ifnull(h.ZNAME, '') || ' '
        || ifnull(p.ZNAME, '') FROM ZOBJECT AS o LEFT JOIN ZHERD AS h ON h.Z_PK = o.ZHERD
        LEFT JOIN ZOBJECT AS p ON p.Z_PK = o.ZPARTNER ORDER BY o.ZNAME
      """,
      """
      SELECT a.ZNAME || ' ' || b.ZNAME FROM Z_2LIKES AS j
        JOIN ZOBJECT AS a ON a.Z_PK = j.Z_2LIKEDBY JOIN ZOBJECT AS b ON b.Z_PK = j.Z_2LIKES
        ORDER BY 1
      """,
    ] {
      #expect(try after.texts(list) == before.texts(list))
    }
    #expect(try after.texts("SELECT Z_PK || ZNAME FROM ZOBJECT ORDER BY Z_PK").first == "1ann")
    #expect(try after.number("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Object'") == 6)
  }

  @Test func `one mapped side is enough for the other`() throws {
    var mapping = try Herds.split()
    for index in mapping.entityMappings.indices {
      mapping.entityMappings[index].relationshipMappings.removeAll { $0.name == "herd" }
    }
    let (store, _) = try CorpusMigration().step(
      Herds.makeStore(), from: Herds.together(), to: Herds.apart(), by: [mapping])
    #expect(
      try Query(store).texts("SELECT ZNAME FROM ZHUMAN WHERE ZHERD = 1 ORDER BY Z_FOK_HERD")
        == ["eve", "ann"])
  }

  @Test func `a mapping with another key plan gives new keys in the order of the sources`() throws {
    var mapping = try Herds.split()
    mapping.entityMappings.append(
      try Herds.creature("Object", "Human", where: "name == 'bee'", age: "1"))
    mapping.entityMappings[3].name = "AnimalToHuman"
    mapping.entityMappings[3].relationshipMappings = []
    let (store, _) = try CorpusMigration().step(
      Herds.makeStore(), from: Herds.together(), to: Herds.apart(), by: [mapping])
    #expect(
      try Query(store).texts("SELECT Z_PK || ZNAME FROM ZHUMAN ORDER BY Z_PK")
        == ["1ann", "2bee", "5eve", "9flo"])
  }

  @Test func `two runs write the same objects`() throws {
    let list = "SELECT Z_PK || ZNAME || ifnull(ZHERD, '') FROM ZHUMAN ORDER BY Z_PK"
    #expect(try Query(split().0).texts(list) == Query(split().0).texts(list))
  }
}
