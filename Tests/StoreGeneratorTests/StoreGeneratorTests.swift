import Foundation
import GRDB
import ObjectModel
import Schema
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import StoreGenerator

@Suite(.scratchFolder) struct StoreGeneratorTests {
  private var store: FilePath { ScratchFolder.current.appending("Made.sqlite") }

  private func names(in folder: FilePath = ScratchFolder.current) throws -> [String] {
    try Files.listDirectory(folder).map(\.string)
  }

  private func read<Result>(
    _ path: FilePath, _ body: (Database) throws -> Result
  ) throws -> Result {
    try StoreConnection.immutable(path).run(body)
  }

  @Test(
    arguments: SampleModels.all.keys.sorted(), [0, 1, 2, 3, 7, 12, 100, 1_001] as [Int64])
  func `a generated store keeps every promise of its model`(name: String, rows: Int64) throws {
    let make = try #require(SampleModels.all[name])
    let model = try make()
    let generator = try StoreGenerator(model: model, rows: rows, seed: 5)
    let report = try generator.generate(to: store)
    try read(store) { try StoreChecks(model, $0, report).all(rows: rows) }
  }

  @Test(arguments: SampleModels.all.keys.sorted())
  func `a seed makes the same bytes again, another seed makes others`(name: String) throws {
    let make = try #require(SampleModels.all[name])
    let model = try make()
    let folder = ScratchFolder.current
    func bytes(_ name: String, _ seed: UInt64) throws -> [UInt8] {
      let path = folder.appending(name)
      _ = try StoreGenerator(model: model, rows: 1_500, seed: seed).generate(to: path)
      return try Files.readFile(path, limit: 1 << 30)
    }
    let first = try bytes("first.sqlite", 1)
    #expect(try bytes("again.sqlite", 1) == first)
    #expect(try bytes("other.sqlite", 2) != first)
  }

  @Test func `stores of other sizes or models have other identifiers`() throws {
    func uuid(_ model: ManagedObjectModel, _ rows: Int64) throws -> String {
      let path = ScratchFolder.current.appending("\(UUID().uuidString).sqlite")
      _ = try StoreGenerator(model: model, rows: rows, seed: 1).generate(to: path)
      return try StoreReader(immutable: path).metadata().uuid
    }
    let models = [try SampleModels.attributes(), try SampleModels.toOnes()]
    let found = try models.flatMap { model in try [10, 11].map { try uuid(model, $0) } }
    #expect(Set(found).count == 4)
    #expect(try uuid(models[0], 10) == found[0])
  }

  @Test func `a disk without room is found before anything is written`() throws {
    let generator = try StoreGenerator(
      model: SampleModels.attributes(), rows: StoreGenerator.fewRows, seed: 1)
    let error = #expect(throws: GenerationError.self) {
      try generator.requireRoom(for: store, free: 1 << 20)
    }
    guard case .spaceMissing(let needed, 1 << 20)? = error?.problem else {
      Issue.record("\(error as Any)")
      return
    }
    try generator.requireRoom(for: store, free: needed)
    let few = try generator.resized(to: StoreGenerator.fewRows - 1)
    try few.requireRoom(for: store, free: 0)
    // The estimate is that of the store.
    let made = try generator.resized(to: 20_000).generate(to: store)
    let expected = Double(needed) / Double(StoreGenerator.fewRows) * 20_000
    #expect(abs(Double(made.storeBytes + made.externalBytes) / expected - 1) < 0.2)
  }

  @Test func `values fill their types, gaps and overflow pages`() throws {
    let model = try SampleModels.attributes()
    _ = try StoreGenerator(model: model, rows: 4_000, seed: 3).generate(to: store)
    try read(store) { db in
      func share(_ condition: String) throws -> Double {
        try Double.fetchOne(db, sql: "SELECT avg(\(condition)) FROM ZTHING") ?? -1
      }
      #expect((0.1...0.15).contains(try share("ZOPTIONALSTRING IS NULL")))
      #expect((0.1...0.15).contains(try share("ZOPTIONALBINARY IS NULL")))
      #expect((0.001...0.03).contains(try share("length(CAST(ZSTRING AS BLOB)) >= 5000")))
      #expect((0.01...0.05).contains(try share("length(ZBINARY) BETWEEN 5000 AND 40000")))
      #expect(try share("ZINTEGER16 IN (-32768, 32767)") > 0)
      #expect(try share("ZINTEGER64 = (-9223372036854775807 - 1)") > 0)
      #expect((0.4...0.6).contains(try share("ZBOOLEAN")))
      #expect((0.4...0.6).contains(try share("ZDATE < 0")))
      #expect(try share("ZDATE <> round(ZDATE)") > 0.9)
      #expect(try share("length(ZUUID) = 16") == 1)
      #expect(try share("ZRATING BETWEEN 1 AND 5") == 1)
      #expect(try share("ZSHARE BETWEEN 0.25 AND 0.75") == 1)
      #expect(try share("ZZIP = '12345'") == 1)
      let texts = try String.fetchSet(db, sql: "SELECT ZSTRING FROM ZTHING")
      #expect(texts.contains { $0.contains("日") } && texts.contains { $0.contains("👩‍👩‍👧‍👦") })
      let codes = try String.fetchAll(db, sql: "SELECT ZCODE FROM ZTHING")
      #expect(codes.allSatisfy { (4...9).contains($0.utf16.count) })
      let floats = try Double.fetchAll(db, sql: "SELECT ZFLOAT FROM ZTHING")
      #expect(floats.count > 100 && floats.allSatisfy { Double(Float($0)) == $0 })
    }
  }

  @Test func `external files lie beside the store under the names that it gives`() throws {
    let model = try SampleModels.attributes()
    let report = try StoreGenerator(model: model, rows: 500, seed: 3).generate(to: store)
    let folder = ScratchFolder.current.appending(".Made_SUPPORT/_EXTERNAL_DATA")
    var named: [String] = []
    try read(store) { db in
      for column in ["ZPHOTO", "ZSCAN"] {
        let others = try Int64.fetchOne(
          db, sql: "SELECT count(*) FROM ZTHING WHERE substr(\(column), 1, 1) > X'02'")
        #expect(others == 0)
        let files = try String.fetchAll(
          db,
          sql: """
            SELECT CAST(substr(\(column), 2, 36) AS TEXT) FROM ZTHING
            WHERE substr(\(column), 1, 1) = X'02' AND length(\(column)) = 38
            AND substr(\(column), 38) = X'00'
            """)
        #expect(files.count == 10)
        named += files
      }
    }
    #expect(try names(in: folder) == named.sorted())
    #expect(report.externalFiles == 20)
    let sizes = try named.map { Int64(try Files.fileStatus(folder.appending($0)).size) }
    #expect(sizes.allSatisfy { $0 > 131_072 })
    #expect(sizes.reduce(0, +) == report.externalBytes)
  }

  @Test func `external files stay under twenty megabytes, and one row has one`() throws {
    let model = try SampleModels.attributes()
    let many = try StoreGenerator(model: model, rows: 9_000, seed: 3).generate(to: store)
    #expect(many.externalFiles > 100 && many.externalBytes < 20_000_000)
    let one = try StoreGenerator(model: model, rows: 1, seed: 3)
      .generate(to: ScratchFolder.current.appending("one.sqlite"))
    #expect(one.externalFiles == 2)
  }

  @Test func `entities of one table take turns, and some keys are missing`() throws {
    let model = try SampleModels.toOnes()
    _ = try StoreGenerator(model: model, rows: 4_000, seed: 3).generate(to: store)
    try read(store) { db in
      let missing = try Double.fetchOne(
        db, sql: "SELECT 1.0 - count(*) * 1.0 / max(Z_PK) FROM ZBOOK")
      #expect((0.008...0.012).contains(missing ?? 0))
      let numbers = try Int64.fetchAll(db, sql: "SELECT Z_ENT FROM ZBOOK ORDER BY Z_PK LIMIT 100")
      #expect(Set(numbers).count == 2)
      #expect(zip(numbers, numbers.dropFirst()).filter { $0 != $1 }.count > 30)
    }
  }

  @Test func `to-one relationships spread over owners within their limits`() throws {
    let model = try SampleModels.toOnes()
    _ = try StoreGenerator(model: model, rows: 4_000, seed: 3).generate(to: store)
    try read(store) { db in
      func number(_ sql: String) throws -> Double { try Double.fetchOne(db, sql: sql) ?? -1 }
      #expect(
        (0.1...0.15).contains(try number("SELECT avg(ZSEQUELOF IS NULL) FROM ZBOOK")))
      let least = try number(
        """
        SELECT min((SELECT count(*) FROM ZBOOK WHERE ZPUBLISHER = p.Z_PK)) FROM ZPUBLISHER AS p
        """)
      #expect(least >= 1)
      let offers = try Int64.fetchSet(
        db,
        sql: "SELECT (SELECT count(*) FROM ZBOOK WHERE ZSELLER = p.Z_PK) FROM ZPUBLISHER AS p")
      #expect(offers.isSubset(of: [1, 2]))
      let sequels = try Int64.fetchSet(
        db, sql: "SELECT (SELECT count(*) FROM ZBOOK WHERE ZSEQUELOF = p.Z_PK) FROM ZBOOK AS p")
      #expect(sequels.isSuperset(of: [0, 1, 2, 3, 4, 5]))
      let sorted = try number(
        """
        SELECT avg(a.Z_FOK_SEQUELOF < b.Z_FOK_SEQUELOF) FROM ZBOOK AS a JOIN ZBOOK AS b
        ON a.ZSEQUELOF = b.ZSEQUELOF AND a.Z_PK < b.Z_PK
        """)
      #expect((0.4...0.6).contains(sorted))
    }
  }

  @Test func `many-to-many relationships have about two pairs for each object`() throws {
    let model = try SampleModels.manyToManys()
    let report = try StoreGenerator(model: model, rows: 6_000, seed: 3).generate(to: store)
    let counts = Dictionary(uniqueKeysWithValues: report.joinTables.map { ($0.name, $0.rows) })
    #expect(counts.filter { !$0.key.hasSuffix("PARTNERS") }.count > 1)
    for (name, rows) in counts where !name.hasSuffix("PARTNERS") {
      #expect((3_500...8_500).contains(rows), "\(name)")
    }
    try read(store) { db in
      let alone = try Int64.fetchOne(
        db, sql: "SELECT count(*) FROM ZTAG WHERE Z_PK NOT IN (SELECT Z_2TAGS FROM Z_1TAGS)")
      #expect(alone == 0)
    }
  }

  @Test func `derived attributes agree with what they are derived from`() throws {
    let model = try SampleModels.derived()
    let report = try StoreGenerator(model: model, rows: 3_000, seed: 3).generate(to: store)
    #expect(report.notes.map(\.property) == ["lastTitle"])
    #expect(report.notes.map(\.reason) == [.derivationNotComputed])
    try read(store) { db in
      for wrong in [
        "ZCHAT WHERE ZLENGTH <> (SELECT count(*) FROM ZMESSAGE WHERE ZCHAT = ZCHAT.Z_PK)",
        "ZCHAT WHERE (ZTITLE IS NULL) <> (ZSEARCHTITLE IS NULL)",
        "ZCHAT WHERE ZLENGTH IS NULL OR ZLABELCOUNT IS NULL OR ZCHANGED IS NULL",
        "ZMESSAGE AS m WHERE m.ZCHATTITLE IS NOT (SELECT ZTITLE FROM ZCHAT WHERE Z_PK = m.ZCHAT)",
      ] {
        #expect(try Int64.fetchOne(db, sql: "SELECT count(*) FROM \(wrong)") == 0, "\(wrong)")
      }
      let rows = try Row.fetchAll(
        db, sql: "SELECT ZTITLE, ZSEARCHTITLE FROM ZCHAT WHERE ZTITLE IS NOT NULL LIMIT 200")
      #expect(rows.count > 10)
      for row in rows {
        let title: String = row[0]
        let folded = title.folding(
          options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
        #expect(row[1] == folded)
      }
    }
  }

  @Test func `the store says of itself what its model says`() throws {
    var model = try SampleModels.toOnes()
    model.versionIdentifiers = ["seven"]
    _ = try StoreGenerator(model: model, rows: 60, seed: 3)
      .generate(to: store, modelCache: Array("not really an archive".utf8))
    let reader = try StoreReader(immutable: store)
    let metadata = try reader.metadata()
    let hashes = try model.versionHashes()
    #expect(metadata.versionHashes == hashes)
    #expect(metadata.versionIdentifiers == ["seven"])
    #expect(metadata.hashesVersion == 3 && metadata.frameworkVersion == 1345)
    #expect(UUID(uuidString: metadata.uuid) != nil)
    let numbers = try read(store) { db in
      try ["PRAGMA page_size", "PRAGMA auto_vacuum", "SELECT count(*) FROM Z_MODELCACHE"].map {
        try Int64.fetchOne(db, sql: $0)
      }
    }
    #expect(numbers == [4096, 2, 1])
  }

  @Test(arguments: JournalMode.allCases)
  func `the header names the journal mode, and nothing lies beside the store`(
    mode: JournalMode
  ) throws {
    let model = try SampleModels.toOnes()
    _ = try StoreGenerator(model: model, rows: 60, seed: 3).generate(to: store, journalMode: mode)
    let header = try Files.readFile(store, limit: 1 << 24)[18...19]
    #expect(Array(header) == (mode == .wal ? [2, 2] : [1, 1]))
    #expect(try names() == ["Made.sqlite"])
    let connection = try StoreConnection.writable(store)
    #expect(
      try connection.run { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == mode.rawValue)
    #expect(
      try connection.run { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
  }
}
