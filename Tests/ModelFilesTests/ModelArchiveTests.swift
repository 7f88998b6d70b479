import Expressions
import KeyedArchives
import ModelFiles
import ObjectModel
import TestSupport
import Testing

@Suite struct ModelArchiveTests {
  /// Why an archive of Core Data's may differ from ours.
  enum Explanation: Hashable {
    /// The model compiler of an older Xcode: a flag kept as a number, a mutable set, no empty
    /// dictionary.
    case olderCompiler
    /// Fetch indexes came with framework 847.
    case noFetchIndexesYet
    /// Two stores of framework 865 list indexes twice, one of them in subentities too.
    case indexesListedTwice
    /// The store was created by its application and never migrated: class names are kept, empty
    /// lists of indexes are absent, lists come in hash order.
    case neverMigrated
    /// The source was edited after the store was written, where no hash tells.
    case editedLater
  }

  @Test(.needsCorpus, .scratchFolder, arguments: CachedModel.withSources)
  func `an archive says what Core Data's own says`(store: String) throws {
    let cached = try CachedModel(store)
    let theirs = try ArchiveGraph(try #require(cached.archive))
    let sources = try #require(CachedModel.sources[cached.hashes])
    let unexplained = try sources.map { source in
      try ArchiveGraph(try ModelArchive.encode(source).bytes).differences(from: theirs).filter {
        Self.explanation($0, store, cached.frameworkVersion, theirs) == nil
      }
    }
    #expect(unexplained.min { $0.count < $1.count } == [], "framework \(cached.frameworkVersion)")
  }

  static func explanation(
    _ difference: ArchiveGraph.Difference, _ store: String, _ framework: Int64,
    _ theirs: ArchiveGraph
  ) -> Explanation? {
    let (key, pair) = (difference.key, (difference.ours, difference.theirs))
    let isOfIndexes =
      key == "NSFetchIndexDescriptions" || key == "NSCompoundIndexes"
      || difference.object.hasSuffix("]")
    switch key {
    case "NSDefaultValue" where pair == ("false", "0") || pair == ("true", "1"):
      return .olderCompiler
    case "NSVersionIdentifiers" where pair.1.hasPrefix("NSMutableSet"): return .olderCompiler
    case "NSSubentities" where pair == ("NSMutableDictionary []", "nil"): return .olderCompiler
    default: break
    }
    for edit in editedLater where store.hasSuffix(edit.store) {
      if difference.object.hasSuffix(edit.property) && key == edit.key { return .editedLater }
    }
    if isOfIndexes && framework < 847 { return .noFetchIndexesYet }
    if isOfIndexes && framework == 865 { return .indexesListedTwice }
    if theirs.namesClasses && (isOfIndexes || key == "NSClassNameForEntity") {
      return .neverMigrated
    }
    return nil
  }

  static let editedLater = [
    (store: "SampleModel_V1.sqlite", property: ".color", key: "NSAttributeValueClassName"),
    (store: "store2-53-0.sqlite", property: ".isSilenced", key: "NSRenamingIdentifier"),
    (store: "store2-87-0.sqlite", property: "", key: "NSValueTransformerName"),
  ]

  @Test(.needsCorpus, .scratchFolder)
  func `two stores that a recent framework migrated agree without any explanation`() throws {
    for store in [
      "samplemodel/Fixtures/SampleModel_V2.sqlite",
      "wal-example/CoreDataMigration_Example_3.sqlite",
    ] {
      let cached = try CachedModel(store)
      let source = try #require(CachedModel.sources[cached.hashes]?.first)
      let ours = try ArchiveGraph(try ModelArchive.encode(source).bytes)
      #expect(ours.differences(from: try ArchiveGraph(try #require(cached.archive))).isEmpty)
    }
  }

  @Test(.needsCorpus, arguments: Corpus.files(endingIn: ".xcdatamodel/contents"))
  func `a model reads back from its archive`(name: String) throws {
    let model = try ModelDocument.model(decoding: try Corpus.bytes(name))
    let again = try CompiledModel.model(decoding: try ModelArchive.encode(model).bytes)
    #expect(again.configurations == model.configurations)
    #expect(again.fetchRequestTemplates == model.fetchRequestTemplates)
    #expect(again.versionIdentifiers == model.versionIdentifiers)
    #expect(again.entities.count == model.entities.count && !model.entities.isEmpty)
    for (one, other) in zip(again.entities, model.entities) {
      #expect(one == other.asMigrated, "\(other.name)")
    }
  }

  @Test(arguments: ["0.0", "12.50", "-0.001", "99999999999999999999999999999999999999", "0"])
  func `a decimal default survives`(digits: String) throws {
    var attribute = Attribute(name: "price", type: .decimal)
    attribute.defaultValue = .decimal(digits)
    var entity = Entity("Thing")
    entity.attributes = [attribute]
    let model = try ManagedObjectModel(entities: [entity])
    let again = try CompiledModel.model(decoding: try ModelArchive.encode(model).bytes)
    #expect(again.entities[0].attributes[0].defaultValue == .decimal(digits))
  }

  @Test func `a partial index that is not understood is left out and named`() throws {
    var entity = Entity("Thing")
    entity.attributes = [Attribute(name: "a", type: .string)]
    entity.fetchIndexes = [
      FetchIndex(
        name: "odd", elements: [.init(property: "a")], partialPredicate: .unparsed("SUBQUERY(x)")),
      FetchIndex(name: "plain", elements: [.init(property: "a", isAscending: false)]),
    ]
    let model = try ManagedObjectModel(entities: [entity])
    let encoded = try ModelArchive.encode(model)
    #expect(
      encoded.leftOut == [
        ModelFileError(.cannotArchive("fetch index odd (SUBQUERY(x))"), entity: "Thing")
      ])
    let again = try CompiledModel.model(decoding: encoded.bytes)
    #expect(again.entities[0].fetchIndexes.map(\.name) == ["plain"])
  }

  @Test func `a fetched property may name what it is fetched for`() throws {
    let request = FetchRequest(
      entityName: "Thing", predicate: ValuePredicate(parsing: "a == $FETCH_SOURCE.a"))
    var entity = Entity("Thing")
    entity.attributes = [Attribute(name: "a", type: .string)]
    entity.fetchedProperties = [FetchedProperty(name: "alike", request: request)]
    let encoded = try ModelArchive.encode(try ManagedObjectModel(entities: [entity]))
    #expect(encoded.leftOut.isEmpty)
    let again = try CompiledModel.model(decoding: encoded.bytes).entities[0].fetchedProperties
    #expect(again.map(\.request.predicate) == [request.predicate])
  }

  @Test func `a fetched property whose predicate has no archived form is left out`() throws {
    let request = FetchRequest(
      entityName: "Thing", predicate: ValuePredicate(parsing: "a CONTAINS[c] $FETCH_SOURCE.a"))
    var entity = Entity("Thing")
    entity.attributes = [Attribute(name: "a", type: .string)]
    entity.fetchedProperties = [FetchedProperty(name: "alike", request: request)]
    let encoded = try ModelArchive.encode(try ManagedObjectModel(entities: [entity]))
    #expect(encoded.leftOut.map(\.property) == ["alike"])
    #expect(try CompiledModel.model(decoding: encoded.bytes).entities[0].attributes.count == 1)
  }
}

extension Entity {
  /// What remains after a migration: no class names, no validation, no settings that are not known.
  fileprivate var asMigrated: Entity {
    var entity = self
    entity.className = nil
    for index in entity.attributes.indices {
      entity.attributes[index].limits = .init()
      entity.attributes[index].unread.removeAll { $0.part == .setting }
    }
    return entity
  }
}
