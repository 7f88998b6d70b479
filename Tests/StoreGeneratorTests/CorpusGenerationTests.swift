import ModelFiles
import ObjectModel
import StoreFormat
import StoreGenerator
import SystemPackage
import TestSupport
import Testing

/// Models from real applications.
@Suite(.scratchFolder, .needsCorpus) struct CorpusGenerationTests {
  static let bundles = Corpus.folder == nil ? [] : models

  private static var models: [String] {
    var found: Set<String> = []
    for file in Corpus.files(endingIn: "contents") + Corpus.files(endingIn: ".mom") {
      let parts = file.split(separator: "/")
      guard
        let end = parts.firstIndex(where: {
          $0.hasSuffix(".xcdatamodeld") || $0.hasSuffix(".momd") || $0.hasSuffix(".xcdatamodel")
            || $0.hasSuffix(".mom")
        })
      else { continue }
      found.insert(parts[...end].joined(separator: "/"))
    }
    return found.sorted()
  }

  @Test func `there are models of applications`() { #expect(Self.bundles.count >= 10) }

  @Test(arguments: bundles)
  func `a store of a real model keeps its promises`(name: String) throws {
    let versions = try ModelBundle(Corpus.path(name)).versions
    #expect(!versions.isEmpty)
    // One bundle has 90 versions, of which neighbours differ little.
    for (index, version) in versions.enumerated()
    where index % 8 == 0 || index == versions.count - 1 {
      let model = try version.model()
      let store = ScratchFolder.current.appending("\(version.name).sqlite")
      let report = try StoreGenerator(model: model, rows: 500, seed: 1).generate(to: store)
      try StoreConnection.immutable(store).run { db in
        try StoreChecks(model, db, report).all(rows: 500)
      }
    }
  }
}
