public import Foundation
import Mapping
import MigrationCoordinator
import ModelFiles
import ObjectModel
import StoreFormat
import SystemCalls
public import SystemPackage

/// Writes a model as an `.xcdatamodel` of the same version, checked after writing.
///
/// The model may be that of a store, such as one of SwiftData, which has no model file.
///
/// ```swift
/// let report = try ModelExport(of: "default.store").write(to: "Shop.xcdatamodel")
/// ```
public struct ModelExport: Sendable {
  /// A store, a model bundle, a single version, or a folder or application with a model.
  public var model: FilePath
  /// The version of the bundle, nil for its current one.
  public var version: String?
  /// Whether parts are left out that a model source cannot express and no version hash covers.
  public var leavesOut = false

  /// Describes the export of a model.
  public init(of model: FilePath) { self.model = model }

  /// Describes the export of a model.
  public init(of model: URL) { self.init(of: FilePath(model)) }

  /// What was written.
  public struct Report: Hashable, Sendable {
    /// The number of entities, which all have the same hashes as before.
    public var entities: Int
    /// Parts that were left out, one sentence each.
    public var leftOut: [String]
  }

  /// Writes the model into a new folder, reads it again and compares.
  ///
  /// - Parameter output: the folder, which has to be free and to end in `.xcdatamodel`.
  /// - Throws: `MigrationFailure`, if a part cannot be expressed or an entity has another hash; no
  ///   folder is left then.
  @discardableResult
  public func write(to output: FilePath) throws(MigrationFailure) -> Report {
    try MigrationFailure.catching {
      guard output.extension == "xcdatamodel" else {
        throw MigrationFailure(exportNamed: output)
      }
      try CompanionName.requireFree(output, besides: [self.model])
      let model = try read()
      let hashes: [String: VersionHash]
      do throws(UnknownVersionHash) {
        hashes = try model.versionHashes()
      } catch {
        throw MigrationFailure(unknownHash: error, in: "\(self.model)")
      }
      let encoded = try ModelSource.encode(model)
      let obstacles = encoded.unsayable.filter { $0.isHashed || !leavesOut }
      guard obstacles.isEmpty else {
        throw MigrationFailure(export: self.model, unsayable: obstacles)
      }
      guard try Files.fileStatusIfPresent(output) == nil,
        try Files.createDirectory(output)
      else {
        throw MigrationFailure(
          .cannotCreate, kind: .fileExists, "\(output) already exists: name a new one.")
      }
      do {
        try Files.writeFileAtomically(encoded.bytes, to: output.appending("contents"))
        try check(output, hashes: hashes, model: encoded.model)
      } catch {
        try Files.removeRegularFile(output.appending("contents"))
        try Files.removeDirectory(output)
        throw error
      }
      return Report(
        entities: hashes.count, leftOut: encoded.unsayable.map(\.sentence))
    }
  }

  /// Writes the model into a new folder, reads it again and compares.
  ///
  /// - Throws: `MigrationFailure`; nothing is left behind then.
  @discardableResult
  public func write(to output: URL) throws(MigrationFailure) -> Report {
    try write(to: FilePath(output))
  }

  private func read() throws -> ManagedObjectModel {
    guard let version else { return try TargetModel.model(at: model) }
    return try ModelBundle(model).version(named: version).model()
  }

  /// Reads what was written, as its users will.
  private func check(
    _ output: FilePath, hashes: [String: VersionHash], model: ManagedObjectModel
  ) throws {
    let read = try ModelBundle(output).current().model()
    let found = read.knownVersionHashes()
    var differing = Set(hashes.keys.filter { found[$0] != hashes[$0] })
    differing.formUnion(found.keys.filter { hashes[$0] == nil })
    for entity in model.entities {
      let other = read.entity(name: entity.name)?.withoutCompositeNames
      if other != entity.withoutCompositeNames { differing.insert(entity.name) }
    }
    let isWhole =
      read.versionIdentifiers == model.versionIdentifiers
      && read.configurations == model.configurations
      && read.fetchRequestTemplates == model.fetchRequestTemplates
    guard differing.isEmpty, isWhole else {
      throw MigrationFailure(export: self.model, differing: differing.sorted())
    }
  }
}

extension Entity {
  /// The entity without what only names a part of the source.
  fileprivate var withoutCompositeNames: Entity {
    var result = self
    for index in result.attributes.indices { result.attributes[index].compositeName = nil }
    return result
  }
}

extension MigrationFailure {
  init(exportNamed output: FilePath) {
    self.init(
      .usage, "\(output) is not a name for a model source: end it with .xcdatamodel.")
  }

  init(export model: FilePath, unsayable: [ModelSource.Unsayable]) {
    let isHashed = unsayable.contains(where: \.isHashed)
    let advice =
      isHashed
      ? "use the model file or the store itself."
      : "use the model file or the store itself, or leave these parts out with "
        + "\(option: .leaveOut)."
    self.init(
      .impossible,
      ["\(model) cannot be written as a model source, which cannot express all of it: \(advice)"]
        + unsayable.map(\.sentence))
  }

  init(export model: FilePath, differing: [String]) {
    let names = differing.isEmpty ? "the model" : differing.joined(separator: ", ")
    self.init(
      .impossible,
      "\(model) would become another model when written as a source (\(names)), so no file was "
        + "kept: use the model file or the store itself.")
  }
}

extension ModelSource.Unsayable {
  /// What is left out, and where.
  fileprivate var sentence: String {
    let place = [entity, property].compactMap(\.self).joined(separator: ".")
    let hashed = isHashed ? ", which its version hash covers" : ""
    return "\(place.isEmpty ? "the model" : place): \(part)\(hashed)."
  }
}
