import Expressions
import Mapping
import MappingFiles
import ModelFiles
import ObjectModel
import SystemPackage
import TestSupport
import Testing

@Suite(.needsCorpus) struct RealMappingsTests {
  @Test func `the corpus holds eighteen documents and a compiled one`() {
    #expect(CorpusMappings.documents.count == 18)
    #expect(CorpusMappings.compiled.count == 1)
  }

  @Test(arguments: CorpusMappings.documents)
  func `a document is read with the models embedded in it`(name: String) throws {
    let file = try CorpusMappings.read(name)
    #expect(file.form == .document)
    #expect(file.mapping.entityMappings.isEmpty == false)
    #expect(file.source?.origin == .embedded)
    #expect(file.destination?.origin == .embedded)
    for mapping in file.mapping.entityMappings {
      #expect((mapping.sourceEntityName == nil) == (mapping.sourceVersionHash == nil))
      #expect((mapping.destinationEntityName == nil) == (mapping.destinationVersionHash == nil))
    }
  }

  @Test func `the two forms of one mapping model are equal`() throws {
    let document = try CorpusMappings.read("samplemodel/MappingModels/V2toV3.xcmappingmodel")
    let compiled = try CorpusMappings.read("samplemodel/Fixtures/V2toV3.cdm")
    #expect(!document.mapping.entityMappings.isEmpty)
    for (one, other) in zip(document.mapping.entityMappings, compiled.mapping.entityMappings) {
      #expect(one == other)
      let written = one.attributeMappings + one.relationshipMappings
      let expected = other.attributeMappings + other.relationshipMappings
      for (first, second) in zip(written, expected) { #expect(first == second, "\(one.name)") }
    }
    #expect(document.mapping == compiled.mapping)
  }

  static let versions: [String: (from: [String], to: [String])] = [
    "bookmigration/Model1_to_Model2": (["Model1"], ["Model2"]),
    "bookmigration/Model2_to_Model3": (["Model2"], ["Model3"]),
    "bookmigration/Model2_to_Model3_User": (["Model2"], ["Model3"]),
    "mappings/altstore/AltStoreToAltStore2": (["AltStore"], ["AltStore 2"]),
    "mappings/altstore/AltStore2ToAltStore3": (["AltStore 2"], ["AltStore 3"]),
    "mappings/altstore/AltStore3ToAltStore4": (["AltStore 3"], ["AltStore 4"]),
    "mappings/altstore/AltStore4ToAltStore5": (["AltStore 4"], ["AltStore 5"]),
    "mappings/altstore/AltStore5ToAltStore6": (["AltStore 5"], ["AltStore 6"]),
    "mappings/altstore/AltStore6ToAltStore7": (["AltStore 6"], ["AltStore 7", "AltStore 8"]),
    "mappings/altstore/AltStore8ToAltStore9": (["AltStore 7", "AltStore 8"], ["AltStore 9"]),
    "mappings/openemu/1.0 Beta to 0.2": (["OEDatabase"], ["OEDatabase 0.2"]),
    "mappings/openemu/0.2 to 0.3": (["OEDatabase 0.2"], ["OEDatabase 0.3"]),
    "mappings/openemu/1.0 Beta 4 to 1.0": (["OEDatabase 0.5"], ["OEDatabase 1.0"]),
    "mappings/openemu/1.1 to 1.2": (["OEDatabase 1.1"], ["OEDatabase 1.2"]),
    "mappings/openemu/1.2 to 1.3": (["OEDatabase 1.2"], ["OEDatabase 1.3"]),
    "samplemodel/MappingModels/V2toV3": (["SampleModel2"], ["SampleModel3"]),
    "wal-example/Migration1to2": (
      ["CoreDataMigration_Example"], ["CoreDataMigration_Example 2"]
    ),
    "wal-example/Migration2to3": (
      ["CoreDataMigration_Example 2"], ["CoreDataMigration_Example 3"]
    ),
  ]

  @Test(arguments: CorpusMappings.documents)
  func `a document fits the versions that it was made for`(name: String) throws {
    let file = try CorpusMappings.read(name)
    let expected = try #require(Self.versions[String(name.dropLast(".xcmappingmodel".count))])
    #expect(try CorpusMappings.versions(.source, of: file, name) == expected.from)
    #expect(try CorpusMappings.versions(.destination, of: file, name) == expected.to)
  }

  @Test func `the compiled mapping model fits its versions`() throws {
    let name = CorpusMappings.compiled[0]
    let file = try CorpusMappings.read(name)
    #expect(try CorpusMappings.versions(.source, of: file, name) == ["SampleModel2"])
    #expect(try CorpusMappings.versions(.destination, of: file, name) == ["SampleModel3"])
  }

  @Test(arguments: CorpusMappings.documents + CorpusMappings.compiled)
  func `a mapping model reads back from its JSON`(name: String) throws {
    let mapping = try CorpusMappings.read(name).mapping
    let text = try MappingText.text(mapping: mapping)
    let again = try MappingTextReader.mapping(decoding: Array(text.utf8))
    #expect(again == mapping)
    #expect(try MappingText.text(mapping: again) == text)
  }

  @Test func `mappings that a document does not list are left out`() throws {
    let names = { (name: String) in
      try CorpusMappings.read("bookmigration/\(name).xcmappingmodel").mapping.entityMappings
        .map(\.name)
    }
    #expect(try names("Model2_to_Model3_User") == ["UserToUser"])
    #expect(try names("Model2_to_Model3") == ["File", "BookToBook", "AuthorToAuthor"])
  }

  @Test func `user info and policies arrive`() throws {
    let file = try CorpusMappings.read("bookmigration/Model1_to_Model2.xcmappingmodel")
    let book = try #require(file.mapping.mapping(named: "BookToBook"))
    #expect(book.kind == .custom)
    #expect(book.migrationPolicyClassName == "MHWBookToBookPolicy")
    #expect(book.userInfo == ["modelVersion": .string("2")])
  }

  @Test func `explicit expressions arrive and automatic ones are made`() throws {
    let four = try CorpusMappings.read("mappings/altstore/AltStore4ToAltStore5.xcmappingmodel")
    let app = try #require(four.mapping.mapping(named: "InstalledAppToInstalledApp"))
    let text = { (name: String) in
      (app.attributeMappings + app.relationshipMappings).first { $0.name == name }?
        .valueExpression?.description
    }
    #expect(
      text("isActive")
        == #"FUNCTION($entityPolicy, "defaultIsActiveForBundleID:team:", $source.bundleIdentifier, $source.team)"#
    )
    #expect(text("bundleIdentifier") == "$source.bundleIdentifier")
    #expect(
      text("team")
        == #"FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "TeamToTeam", $source.team)"#
    )
  }
}
