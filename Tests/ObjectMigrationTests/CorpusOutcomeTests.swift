import Foundation
import Godwit
import ObjectMigration
import ObjectModel
import SystemPackage
import TestPolicies
import TestSupport
import Testing

@Suite(.needsCorpus, .scratchFolder) struct CorpusOutcomeTests {
  @Test(arguments: [
    "samplemodel/MappingModels/V2toV3.xcmappingmodel", "samplemodel/Fixtures/V2toV3.cdm",
  ])
  func `cars get ten makers and keep their owners`(mapping: String) throws {
    let migration = CorpusMigration(
      bundle: "samplemodel/SampleModel.xcdatamodeld",
      policies: .ofCorpus)
    let store = try Corpus.copyStore(
      "samplemodel/Fixtures/SampleModel_V2.sqlite", to: ScratchFolder.current)
    let (result, report) = try migration.step(
      store, from: "SampleModel2", to: "SampleModel3", by: [mapping])
    let query = try Query(result)
    #expect(report.violations.count == 0)
    #expect(try query.number("SELECT count(*) FROM ZCAR") == 125)
    #expect(try query.number("SELECT count(*) FROM ZMAKER") == 10)
    #expect(try query.number("SELECT count(DISTINCT ZNAME) FROM ZMAKER") == 10)
    #expect(try query.number("SELECT count(*) FROM ZCAR WHERE ZCREATEDBY IS NOT NULL") == 125)
    #expect(try query.number("SELECT count(*) FROM ZCAR WHERE ZOWNER IS NOT NULL") == 118)
    // The pairs of previous owners are those of owners.
    let join = try #require(
      try query.texts(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'Z!_%PREV%' ESCAPE '!'"
      ).first)
    #expect(join == "Z_1PREVIOUSOWNERS")
    #expect(
      try query.number(
        """
        SELECT count(*) FROM \(join) AS j JOIN ZCAR AS c ON c.Z_PK = j.Z_1PREVIOUSCARS
        AND c.ZOWNER = j.Z_5PREVIOUSOWNERS
        """) == 118)
    #expect(try query.number("SELECT count(*) FROM \(join)") == 118)
    #expect(try query.texts("PRAGMA integrity_check") == ["ok"])
    let before = try Query(store)
    let list =
      "SELECT Z_PK || ' ' || ZNUMBERPLATE || ' ' || ifnull(ZOWNER, '') FROM ZCAR ORDER BY Z_PK"
    #expect(try query.texts(list) == before.texts(list))
  }

  @Test func `books find their authors and files over two steps and three mapping models`() throws {
    let migration = CorpusMigration(
      bundle: "bookmigration/Model.xcdatamodeld",
      policies: .ofCorpus)
    let store = try Corpus.copyStore("bookmigration/Model1.sqlite", to: ScratchFolder.current)
    let second = try migration.step(
      store, from: "Model1", to: "Model2",
      by: ["bookmigration/Model1_to_Model2.xcmappingmodel"])
    let between = try Query(second.store)
    #expect(try between.number("SELECT count(*) FROM ZAUTHOR") == 3)
    let third = try migration.step(
      second.store, from: "Model2", to: "Model3",
      by: [
        "bookmigration/Model2_to_Model3_User.xcmappingmodel",
        "bookmigration/Model2_to_Model3.xcmappingmodel",
      ])
    let query = try Query(third.store)
    #expect(try query.number("SELECT count(*) FROM ZAUTHOR") == 3)
    #expect(
      try query.number("SELECT count(*) FROM ZAUTHOR WHERE ZNAME = 'Franz Kafka'") == 1)
    #expect(try query.number("SELECT count(*) FROM ZBOOK") == 4)
    #expect(try query.number("SELECT count(*) FROM ZUSER") == 3)
    #expect(try query.number("SELECT count(*) FROM ZFILE WHERE ZBOOK IS NOT NULL") == 4)
    #expect(try query.number("SELECT count(DISTINCT ZUSER) FROM ZFILE") == 1)
    #expect(try query.texts("PRAGMA integrity_check") == ["ok"])
  }

  @Test func `posts get colors of their own over two steps`() throws {
    let migration = CorpusMigration(
      bundle: "wal-example/CoreDataMigration_Example.xcdatamodeld",
      policies: .ofCorpus)
    let store = try Corpus.copyStore(
      "wal-example/CoreDataMigration_Example_1.sqlite", to: ScratchFolder.current)
    let second = try migration.step(
      store, from: "CoreDataMigration_Example", to: "CoreDataMigration_Example 2",
      by: ["wal-example/Migration1to2.xcmappingmodel"])
    #expect(try Query(second.store).number("SELECT count(*) FROM ZPOST") == 1001)
    let third = try migration.step(
      second.store, from: "CoreDataMigration_Example 2", to: "CoreDataMigration_Example 3",
      by: ["wal-example/Migration2to3.xcmappingmodel"])
    let query = try Query(third.store)
    #expect(try query.number("SELECT count(*) FROM ZPOST") == 1001)
    #expect(try query.number("SELECT count(*) FROM ZCOLOR") == 1001)
    #expect(
      try query.number(
        "SELECT count(*) FROM ZPOST AS p JOIN ZCOLOR AS c ON p.ZCOLOR = c.Z_PK AND c.ZPOST = p.Z_PK"
      ) == 1001)
  }
}
