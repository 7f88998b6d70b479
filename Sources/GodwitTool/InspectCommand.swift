import ArgumentParser
import Foundation
import Godwit
import MigrationCoordinator
import ModelFiles
import ObjectModel
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

struct InspectCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect", abstract: "Shows what a store, a model bundle or a model contains.")

  @Argument(help: "A store, a model bundle, a single version, or a folder or app with a model.")
  var path: FilePath

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Where the store's own model may be found.", valueName: "path"))
  var models: [FilePath] = []

  @Flag(help: "Print JSON.")
  var json = false

  func run() throws {
    let isModel =
      ["xcdatamodeld", "xcdatamodel", "momd", "mom"].contains(path.extension)
      || (try? Files.fileStatusIfPresent(path)?.isDirectory) == true
    if isModel {
      let description = try BundleDescription(path)
      try show(description, description.text)
    } else {
      let description = try StoreDescription(path, models: models)
      try show(description, description.text)
    }
  }
}

extension InspectCommand {
  private func show(_ description: some Encodable, _ text: String) throws {
    if json {
      Terminal.standardOutput.line(try JSONOutput.text(description))
    } else {
      Terminal.standardOutput.lines(text)
    }
  }
}

/// What a model bundle holds, as `inspect` shows it.
struct BundleDescription: Encodable {
  struct Version: Encodable {
    struct EntityDescription: Encodable {
      var name: String
      var superentity: String?
      var isAbstract: Bool
      var attributes: [String: String]
      var relationships: [String: String]
      var versionHash: String?
      /// Why the hash is not known, where it is not.
      var versionHashUnknown: String?
    }

    var name: String
    var isCurrent: Bool
    var identifiers: [String] = []
    var checksum: String?
    var entities: [EntityDescription] = []
    /// Parts of the file that could not be read.
    var unread: [String] = []
    /// Why the version cannot be read at all, where it cannot.
    var unreadable: String?
  }

  var kind = "model"
  var path: String
  var versions: [Version]

  init(_ path: FilePath) throws {
    let bundle = try ModelBundle(path)
    let current = try? bundle.current()
    self.path = "\(bundle.path)"
    versions = bundle.versions.map { Version($0, isCurrent: $0 == current) }
    // One version of several that cannot be read is told beside the others; one alone is an error.
    if versions.count == 1, versions[0].unreadable != nil { _ = try bundle.versions[0].model() }
  }

  var text: String {
    versions.map { version in
      let mark = version.isCurrent ? " (current)" : ""
      let entities = version.entities.map { entity in
        let parent = entity.superentity.map { ": \($0)" } ?? ""
        let hash = entity.versionHash.map { String($0.prefix(16)) } ?? "hash unknown"
        return "  \(entity.name)\(parent)  \(hash)  \(entity.attributes.count) attributes, "
          + "\(entity.relationships.count) relationships"
      }
      let unreadable = version.unreadable.map { ["  \($0)"] } ?? []
      return (["\(version.name)\(mark)"] + entities + unreadable + version.unread.map { "  \($0)" })
        .joined(separator: "\n")
    }.joined(separator: "\n")
  }
}

extension BundleDescription.Version {
  init(_ version: ModelVersion, isCurrent: Bool) {
    (name, self.isCurrent) = (version.name, isCurrent)
    do throws(ModelFileError) {
      let model = try version.model()
      identifiers = model.versionIdentifiers
      checksum = (try? model.versionHashes())?.checksum
      entities = model.entities.map { .init($0, in: model) }
      unread = model.unreadSentences(of: "\(version.path)")
    } catch {
      unreadable = MigrationFailure(error as any Error).sentences.joined(separator: " ")
    }
  }
}

extension BundleDescription.Version.EntityDescription {
  init(_ entity: Entity, in model: ManagedObjectModel) {
    name = entity.name
    superentity = entity.superentityName
    isAbstract = entity.isAbstract
    attributes = Dictionary(
      uniqueKeysWithValues: entity.attributes.map {
        ($0.name, $0.type.name + ($0.isTransient ? ", transient" : ""))
      })
    relationships = Dictionary(
      uniqueKeysWithValues: entity.relationships.map {
        (
          $0.name,
          ($0.isToMany ? ($0.isOrdered ? "ordered " : "") + "to many " : "to one ")
            + $0.destinationEntityName
        )
      })
    do {
      versionHash = try model.versionHash(of: entity).hexadecimal
    } catch {
      versionHashUnknown =
        "\([error.entity, error.property].compactMap(\.self).joined(separator: ".")): \(error.reason)"
    }
  }
}
