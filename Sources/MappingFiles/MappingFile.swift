package import Mapping
import ModelFiles
package import ObjectModel
package import SystemPackage

/// A mapping model with the models that its file contains or names.
package struct MappingFile: Sendable {
  /// The three forms of mapping models.
  package enum Form: String, Hashable, Sendable {
    /// Xcode's compiled form, `.cdm`.
    case compiled
    /// Xcode's source, `.xcmappingmodel`.
    case document
    /// The JSON of docs/reference/mapping-file.md.
    case json
  }

  /// Where a model of the mapping was read from.
  package enum ModelOrigin: Hashable, Sendable {
    /// From the mapping document.
    case embedded
    /// From this path, which the document names, because its own copy could not be read; the model
    /// may have changed since.
    case namedPath(FilePath)
  }

  /// A model of the mapping.
  package struct Model: Sendable {
    /// The model itself.
    package var model: ManagedObjectModel
    /// Where it was read from.
    package var origin: ModelOrigin
  }

  /// The two versions that a mapping model was made for, by the checksums of their hashes.
  package struct Versions: Hashable, Sendable {
    /// The checksum of the model before the migration.
    package var source: String
    /// The checksum of the model after the migration.
    package var destination: String

    /// Takes the checksums of two models.
    package init(source: String, destination: String) {
      (self.source, self.destination) = (source, destination)
    }

    /// Computes the checksums of two models; nil where a hash is not known.
    package init?(from source: ManagedObjectModel, to destination: ManagedObjectModel) {
      guard let old = try? source.versionHashes(), let new = try? destination.versionHashes() else {
        return nil
      }
      self.init(source: old.checksum, destination: new.checksum)
    }
  }

  /// The path of the mapping model.
  package var path: FilePath
  /// The form of the file, by its extension.
  package var form: Form
  /// The mapping model itself.
  package var mapping: MappingModel
  /// The model before the migration; nil unless the file is a document.
  package var source: Model?
  /// The model after the migration; nil unless the file is a document.
  package var destination: Model?
  /// The versions that the file embeds or names; nil where it names none.
  package private(set) var versions: Versions?
  /// Parts of the file that the mapping model does not show.
  package private(set) var notes: [MappingNote] = []

  /// Reads a mapping model in any of the three forms.
  ///
  /// - Throws: `MappingFileError` with the file.
  package static func read(_ path: FilePath) throws(MappingFileError) -> MappingFile {
    do throws(MappingFileError) {
      var file = try readForm(path)
      file.notes += file.mapping.mappingsWithoutSource.map {
        MappingNote(.makesNoObjects, mapping: $0)
      }
      return file
    } catch {
      throw error.at(file: path)
    }
  }

  private static func readForm(_ path: FilePath) throws(MappingFileError) -> MappingFile {
    switch path.extension {
    case "xcmappingmodel": return try document(path: path, file: path.appending("xcmapping.xml"))
    case "xml": return try document(path: path, file: path)
    case "cdm":
      let (mapping, notes) = try CompiledMapping.noted(decoding: try bytes(file: path))
      return MappingFile(path: path, form: .compiled, mapping: mapping, notes: notes)
    case "json":
      let (mapping, versions) = try MappingTextReader.file(decoding: try bytes(file: path))
      return MappingFile(path: path, form: .json, mapping: mapping, versions: versions)
    default: throw MappingFileError(.unknownForm)
    }
  }

  /// Whether a JSON file declares to be a mapping model; other JSON files may be next to a model.
  package static func claimsToBeMapping(_ path: FilePath) -> Bool {
    guard let bytes = try? bytes(file: path) else { return false }
    return String(decoding: bytes, as: UTF8.self).contains(MappingText.format)
  }

  /// Reads only the entity mappings of a file that cannot be read otherwise, to find the versions
  /// that it is for.
  ///
  /// nil if not even that can be read.
  package static func outline(path: FilePath) -> MappingFile? {
    switch path.extension {
    case "cdm":
      guard let mapping = try? CompiledMapping.outline(decoding: bytes(file: path)) else {
        return nil
      }
      return MappingFile(path: path, form: .compiled, mapping: mapping)
    case "xcmappingmodel":
      let file = path.appending("xcmapping.xml")
      guard let document = try? MappingDocument(decoding: bytes(file: file)),
        let source = document.models.source, let destination = document.models.destination,
        let mapping = try? document.outline(source: source, destination: destination)
      else { return nil }
      return MappingFile(
        path: path, form: .document, mapping: mapping,
        source: Model(model: source, origin: .embedded),
        destination: Model(model: destination, origin: .embedded),
        versions: Versions(from: source, to: destination))
    default: return nil
    }
  }

  private static func bytes(file: FilePath) throws(MappingFileError) -> [UInt8] {
    do {
      return try FileBytes.read(file)
    } catch {
      throw MappingFileError(error)
    }
  }

  private static func document(
    path: FilePath, file: FilePath
  ) throws(MappingFileError) -> MappingFile {
    let document = try MappingDocument(decoding: try bytes(file: file))
    let models = document.models
    let source = try model(
      side: .source, embedded: models.source, named: models.sourcePath, models: models, beside: path
    )
    let destination = try model(
      side: .destination, embedded: models.destination, named: models.destinationPath,
      models: models, beside: path)
    return MappingFile(
      path: path, form: .document,
      mapping: try document.mapping(source: source.model, destination: destination.model),
      source: source, destination: destination,
      versions: Versions(from: source.model, to: destination.model), notes: try document.notes())
  }

  /// The embedded model, or else the one at the path in the document.
  ///
  /// - Throws: why the embedded model could not be read, if there is neither.
  private static func model(
    side: MappingSide, embedded: ManagedObjectModel?, named: String?,
    models: MappingDocument.Models, beside path: FilePath
  ) throws(MappingFileError) -> Model {
    if let embedded { return Model(model: embedded, origin: .embedded) }
    let relative = FilePath(named ?? "")
    for folder in folders(above: path) where !relative.isEmpty && relative.isRelative {
      // The path is relative to the project; a copy of a part of it may lack the first folders.
      var tail = relative
      while !tail.isEmpty {
        let candidate = folder.appending(tail.components)
        if let model = try? ModelVersion(name: "", path: candidate).model() {
          return Model(model: model, origin: .namedPath(candidate))
        }
        tail = FilePath(root: nil, tail.components.dropFirst())
      }
    }
    let problem = models.problems.first { $0.concerns(side) } ?? models.problems.first
    throw problem ?? MappingFileError(.notAMappingModel)
  }

  private static func folders(above path: FilePath) -> [FilePath] {
    var result: [FilePath] = []
    var folder = path.removingLastComponent()
    while result.count < 12 {
      result.append(folder.isEmpty ? FilePath(".") : folder)
      if folder.components.isEmpty { break }
      folder.removeLastComponent()
    }
    return result
  }
}

extension MappingModel {
  /// The names of mappings that give attributes values and have no source objects: Core Data makes
  /// no object by them.
  fileprivate var mappingsWithoutSource: [String] {
    entityMappings.filter { mapping in
      mapping.sourceEntityName == nil && mapping.sourceExpression == nil
        && mapping.ownPolicyClassName == nil && mapping.newObjects == nil
        && mapping.attributeMappings.contains { $0.valueExpression != nil }
    }.map(\.name)
  }
}

extension MappingFileError {
  fileprivate func concerns(_ side: MappingSide) -> Bool {
    switch problem {
    case .embeddedModel(let other, _): other == side
    case .incomplete(_, let key): key == "\(side.rawValue)modeldata"
    default: false
    }
  }
}
