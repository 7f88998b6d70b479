import Mapping
import MappingFiles
import ModelFiles
import ObjectModel
import TestSupport
import Testing

@Suite(.needsCorpus) struct SplitOfRealMappingsTests {
  private func split(_ name: String) throws -> MappingSplit {
    let file = try CorpusMappings.read(name)
    return MappingSplit(
      mapping: file.mapping, source: try #require(file.source?.model),
      destination: try #require(file.destination?.model))
  }

  @Test(arguments: CorpusMappings.documents.filter { $0.contains("altstore") })
  func `AltStore's mappings split off what no relationship reaches`(name: String) throws {
    let pieces = try split(name).pieces.map { Set($0.entityMappings.map(\.name)) }
    #expect(pieces.contains(["RefreshAttemptToRefreshAttempt"]))
    #expect(pieces.max { $0.count < $1.count }?.contains("StoreAppToStoreApp") == true)
    if name.hasSuffix("AltStoreToAltStore2.xcmappingmodel") {
      // The policy of StoreApp may fill the relationships of the new news items.
      #expect(pieces.contains { $0.contains("NewsItem") && $0.contains("SourceToSource") })
    } else {
      // A mapping that makes no objects, such as that of the new AppID, goes with the first piece.
      let rest = pieces.map { $0.subtracting(["AppID"]) }
      #expect(rest.contains(["PatreonAccountToPatreonAccount"]))
      #expect(pieces.count == 3)
    }
  }

  @Test(arguments: CorpusMappings.documents.filter { $0.contains("openemu") })
  func `OpenEmu's mappings are all related, and the relationships are named`(name: String) throws {
    let split = try split(name)
    #expect(split.pieces.count == 1)
    #expect(
      split.links.contains(
        MappingLink(
          cause: .association, mapping: "ROMToROM", property: "saveStates",
          other: "SaveStateToSaveState")))
    #expect(
      split.links.contains(
        MappingLink(
          cause: .association, mapping: "CollectionFolderToCollectionFolder",
          property: "subcollections", other: "CollectionToCollection")))
  }

  @Test func `bookmigration's mappings cannot be split further`() throws {
    for name in ["Model1_to_Model2", "Model2_to_Model3", "Model2_to_Model3_User"] {
      #expect(try split("bookmigration/\(name).xcmappingmodel").pieces.count == 1)
    }
  }

  @Test func `bookmigration's own two mapping models make one migration by stored keys`() throws {
    let files = try ["Model2_to_Model3_User", "Model2_to_Model3"].map {
      try CorpusMappings.read("bookmigration/\($0).xcmappingmodel")
    }
    let set = MappingSet(
      pieces: files.map { .init(name: "\($0.path)", mapping: $0.mapping) },
      source: try #require(files[0].source?.model),
      destination: try #require(files[0].destination?.model))
    #expect(set.problems.isEmpty)
    #expect(
      set.storedKeyLinks == [
        MappingLink(cause: .policy, mapping: "File", property: "user", other: "UserToUser")
      ])
  }

  @Test func `a source entity that a mapping model leaves out is reported`() throws {
    let file = try CorpusMappings.read("mappings/openemu/1.1 to 1.2.xcmappingmodel")
    let set = MappingSet(
      pieces: [.init(name: "1.1 to 1.2", mapping: file.mapping)],
      source: try #require(file.source?.model),
      destination: try #require(file.destination?.model))
    #expect(set.problems.isEmpty)
    #expect(set.leftOut == [MappingSetProblem(.removed(entity: "ImageThumbnail"))])
  }

  @Test func `a mapping model made for another version names what changed`() throws {
    let name = "mappings/altstore/AltStore5ToAltStore6.xcmappingmodel"
    let file = try CorpusMappings.read(name)
    let newest = try CorpusMappings.bundle(of: name).version(named: "AltStore 9").model()
    let mismatches = file.mapping.mismatches(
      .destination, model: newest, original: file.destination?.model)
    #expect(
      mismatches.map(\.reason) == [
        .entityChanged([.propertyAdded("error")]),
        .entityChanged([.propertyAdded("hasAlternateIcon"), .propertyAdded("needsResign")]),
      ])
  }
}
