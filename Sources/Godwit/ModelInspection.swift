public import Foundation
import ModelFiles
import ObjectModel
import SystemCalls
public import SystemPackage

/// The contents of a model bundle or a single version.
public struct ModelInspection: Hashable, Sendable, Encodable {
  /// A version of the model.
  public struct Version: Hashable, Sendable, Encodable {
    /// An entity of the version.
    public struct Entity: Hashable, Sendable, Encodable {
      /// The name of the entity.
      public var name: String
      /// The superentity, nil for a root entity.
      public var superentity: String?
      /// Whether it has no objects of its own.
      public var isAbstract: Bool
      /// The types of the attributes that it declares, by name; of a composite with its elements.
      public var attributes: [String: String]
      /// The destinations of the relationships that it declares, in words, by name.
      public var relationships: [String: String]
      /// Its version hash in hexadecimal digits; nil if it is not known how Core Data computes it.
      public var versionHash: String?
      /// Why the hash is not known, nil if it is.
      public var versionHashUnknown: String?
    }

    /// The name of the version.
    public var name: String
    /// Whether it is the bundle's current version.
    public var isCurrent: Bool
    /// Its version identifiers.
    public var identifiers: [String] = []
    /// Its checksum, by which Core Data's staged migrations refer to versions; nil if it is not
    /// known.
    public var checksum: String?
    /// Its entities.
    public var entities: [Entity] = []
    /// Parts of the file that could not be read, one sentence each.
    public var unread: [String] = []
    /// Why the version cannot be read at all, nil if it can.
    public var unreadable: String?
  }

  private var kind = "model"
  /// The path of the bundle or the version.
  public private(set) var path: String
  /// Its versions.
  public private(set) var versions: [Version]

  /// Reads a model bundle, a single version, or a folder or application that contains one.
  ///
  /// - Throws: `MigrationFailure`, if there is none, or none that can be read.
  public init(of path: FilePath) throws {
    self = try MigrationFailure.catching { try ModelInspection(reading: path) }
  }

  /// Reads a model bundle, a single version, or a folder or application that contains one.
  ///
  /// - Throws: `MigrationFailure`, if there is none, or none that can be read.
  public init(of model: URL) throws { try self.init(of: FilePath(model)) }

  /// Whether a path is that of a model, by its name or because it is a folder.
  public static func isModel(_ path: FilePath) -> Bool {
    ["xcdatamodeld", "xcdatamodel", "momd", "mom"].contains(path.extension)
      || (try? Files.fileStatusIfPresent(path)?.isDirectory) == true
  }

  private init(reading path: FilePath) throws {
    let bundle = try ModelBundle(path)
    let current = try? bundle.current()
    self.path = "\(bundle.path)"
    versions = bundle.versions.map { Version(version: $0, isCurrent: $0 == current) }
    // One unreadable version of several is listed with the others; a single one is an error.
    if versions.count == 1, versions[0].unreadable != nil { _ = try bundle.versions[0].model() }
  }

  /// The output of `godwit inspect`.
  public var summary: String {
    versions.map { version in
      let mark = version.isCurrent ? " (current)" : ""
      let entities = version.entities.map { entity in
        let parent = entity.superentity.map { ": \($0)" } ?? ""
        let hash = entity.versionHash.map { String($0.prefix(16)) } ?? "hash unknown"
        let attributes = CountText(entity.attributes.count, "attribute")
        let relationships = CountText(entity.relationships.count, "relationship")
        return "  \(entity.name)\(parent)  \(hash)  \(attributes), \(relationships)"
      }
      let unreadable = version.unreadable.map { ["  \($0)"] } ?? []
      return (["\(version.name)\(mark)"] + entities + unreadable + version.unread.map { "  \($0)" })
        .joined(separator: "\n")
    }.joined(separator: "\n")
  }
}

extension ModelInspection.Version {
  fileprivate init(version: ModelVersion, isCurrent: Bool) {
    (name, self.isCurrent) = (version.name, isCurrent)
    do throws(ModelFileError) {
      let model = try version.model()
      identifiers = model.versionIdentifiers
      checksum = (try? model.versionHashes())?.checksum
      entities = model.entities.map { .init(entity: $0, in: model) }
      unread = model.unreadSentences(of: "\(version.path)")
    } catch {
      unreadable = MigrationFailure(error as any Error).sentences.joined(separator: " ")
    }
  }
}

extension ModelInspection.Version.Entity {
  fileprivate init(entity: ObjectModel.Entity, in model: ManagedObjectModel) {
    name = entity.name
    superentity = entity.superentityName
    isAbstract = entity.isAbstract
    attributes = Dictionary(
      uniqueKeysWithValues: entity.attributes.map {
        ($0.name, $0.typeWords + ($0.isTransient ? ", transient" : ""))
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

extension ObjectModel.Attribute {
  /// The name of its type, with the elements of a composite in their order.
  fileprivate var typeWords: String {
    elements.isEmpty ? type.name : "\(type.name) (\(elementWords))"
  }

  /// The elements of a composite with their types, in declared order.
  fileprivate var elementWords: String {
    elements.map { "\($0.name) \($0.type.name)" }.joined(separator: ", ")
  }
}

extension ManagedObjectModel {
  /// What each composite attribute consists of, as `Entity.attribute`.
  var compositeWords: [String: String] {
    var result: [String: String] = [:]
    for entity in entities {
      for attribute in entity.attributes where attribute.type == .composite {
        result["\(entity.name).\(attribute.name)"] = attribute.elementWords
      }
    }
    return result
  }
}
