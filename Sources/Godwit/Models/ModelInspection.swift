public import Foundation
import ModelFiles
import ObjectModel
import SystemCalls
public import SystemPackage

/// The contents of a model bundle or a single version.
///
/// ```swift
/// let model = try ModelInspection(of: "Shop.xcdatamodeld", version: "Shop 2")
/// let names = model.versions[0].entities.map(\.name)
/// ```
public struct ModelInspection: Hashable, Sendable, Encodable {
  /// A version of the model.
  public struct Version: Hashable, Sendable, Encodable {
    /// The name of the version.
    public var name: String
    /// Whether it is the bundle's current version.
    public var isCurrent: Bool
    /// Its version identifiers.
    public var identifiers: [String] = []
    /// Its checksum, by which Core Data's staged migrations refer to versions; nil if it is not
    /// known.
    public var checksum: String?
    /// The entities of each configuration, by its name.
    public var configurations: [String: [String]] = [:]
    /// Its entities.
    public var entities: [Entity] = []
    /// Parts of the file that could not be read, one sentence each.
    public var unread: [String] = []
    /// Why the version cannot be read at all, nil if it can.
    public var unreadable: String?
  }

  private var version = 1
  private var kind = "model"
  /// The path of the bundle or the version.
  public private(set) var path: String
  /// Its versions.
  public private(set) var versions: [Version]

  /// Reads a model bundle, a single version, or a folder or application that contains one.
  ///
  /// - Parameters:
  ///   - path: the bundle, version, folder or application.
  ///   - version: the only version of the bundle to read; nil reads all.
  /// - Throws: `MigrationFailure`, if there is none, or none that can be read.
  public init(of path: FilePath, version: String? = nil) throws(MigrationFailure) {
    self = try MigrationFailure.catching { try ModelInspection(reading: path, version: version) }
  }

  /// Reads a model bundle, a single version, or a folder or application that contains one.
  ///
  /// - Parameters:
  ///   - model: the bundle, version, folder or application.
  ///   - version: the only version of the bundle to read; nil reads all.
  /// - Throws: `MigrationFailure`, if there is none, or none that can be read.
  public init(of model: URL, version: String? = nil) throws(MigrationFailure) {
    try self.init(of: FilePath(model), version: version)
  }

  /// Whether a path is that of a model, by its name or because it is a folder.
  public static func isModel(_ path: FilePath) -> Bool {
    ["xcdatamodeld", "xcdatamodel", "momd", "mom"].contains(path.extension)
      || (try? Files.fileStatusIfPresent(path)?.isDirectory) == true
  }

  private init(reading path: FilePath, version name: String?) throws {
    let bundle = try ModelBundle(path)
    let current = try? bundle.current()
    let named = try name.map { [try bundle.version(named: $0)] } ?? bundle.versions
    self.path = "\(bundle.path)"
    versions = named.map { Version(version: $0, isCurrent: $0 == current) }
    // One unreadable version of several is listed with the others; a single one is an error.
    if versions.count == 1, versions[0].unreadable != nil { _ = try named[0].model() }
  }

  /// The output of `godwit inspect`: of several versions an overview, of one all of it.
  public var summary: String {
    versions.map { version in
      let mark = version.isCurrent ? " (current)" : ""
      let entities = version.entities.flatMap { entity in
        ["  \(entity.heading)"] + (versions.count == 1 ? entity.lines.map { "    \($0)" } : [])
      }
      let configurations = version.configurations.sorted { $0.key < $1.key }.map {
        "  configuration \($0.key): \($0.value.joined(separator: ", "))"
      }
      let unreadable = version.unreadable.map { ["  \($0)"] } ?? []
      return
        (["\(version.name)\(mark)"] + entities + (versions.count == 1 ? configurations : [])
        + unreadable + version.unread.map { "  \($0)" }).joined(separator: "\n")
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
      configurations = model.configurations.mapValues { $0.sorted() }
      entities = model.entities.map { .init(entity: $0, in: model) }
      unread = model.unreadSentences(of: "\(version.path)")
    } catch {
      unreadable = MigrationFailure(error as any Error).sentences.joined(separator: " ")
    }
  }
}
