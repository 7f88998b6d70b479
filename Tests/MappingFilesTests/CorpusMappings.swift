import Mapping
import MappingFiles
import ModelFiles
import ObjectModel
import SystemPackage
import TestSupport

/// The mapping models of the corpus, and the models beside them.
enum CorpusMappings {
  static let documents = Corpus.files(endingIn: ".xcmappingmodel")
  static let compiled = Corpus.files(endingIn: ".cdm")

  static func read(_ name: String) throws -> MappingFile {
    try MappingFile.read(Corpus.path(name))
  }

  /// The bundle that a mapping model of the corpus belongs to.
  static func bundle(of name: String) throws -> ModelBundle {
    let folder = name.split(separator: "/").dropLast().joined(separator: "/")
    let bundle =
      switch folder {
      case "samplemodel/MappingModels", "samplemodel/Fixtures":
        Corpus.files(endingIn: ".xcdatamodeld").first { $0.hasPrefix("samplemodel/") }
      default: Corpus.files(endingIn: ".xcdatamodeld").first { $0.hasPrefix(folder + "/") }
      }
    return try ModelBundle(Corpus.path(bundle ?? folder))
  }

  /// The names of the versions whose entities the mappings of that side were made for.
  static func versions(_ side: MappingSide, of file: MappingFile, _ name: String) throws
    -> [String]
  {
    try bundle(of: name).versions.filter {
      file.mapping.fits(side, hashes: try $0.model().versionHashes())
    }.map(\.name)
  }
}
