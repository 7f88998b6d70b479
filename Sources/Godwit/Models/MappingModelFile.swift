public import Foundation
import Mapping
import MappingFiles
import MigrationCoordinator
import ObjectModel
import StoreFormat
import SystemCalls
public import SystemPackage

/// A mapping model that can be read, inferred, written, split and checked.
///
/// ```swift
/// let mapping = try MappingModelFile(contentsOf: "Shop3to4.xcmappingmodel")
/// try mapping.write(to: "Shop3to4.json")  // docs/reference/mapping-file.md
/// ```
public struct MappingModelFile: Sendable {
  /// A side of a mapping model.
  public enum Side: String, Hashable, Sendable, CaseIterable {
    /// The model before the migration.
    case source
    /// The model after the migration.
    case destination

    var core: MappingSide { self == .source ? .source : .destination }
  }

  /// The path of the file, nil if the mapping model was inferred or split off.
  public let path: FilePath?
  /// The entity mappings, in the order of their execution.
  public var entityMappings: [EntityMapping] { mapping.entityMappings.map { EntityMapping($0) } }
  /// What could not be inferred and why; empty unless the mapping model was inferred.
  public let refusals: [MigrationFailure.Reason]
  /// The parts that need a decision, one sentence each.
  ///
  /// These are mandatory attributes that get no value, and mappings to entities that became
  /// abstract. Empty unless the mapping model was inferred.
  public let openValues: [String]
  /// The entity mappings that make one object per pair of a many-to-many relationship which the
  /// destination lacks; they were added to what can be inferred.
  public let addedMappings: [String]
  /// The parts of the two models that version hashes cover and that could not be read, one sentence
  /// each; empty unless the mapping model was inferred.
  public let unreadParts: [String]

  let mapping: MappingModel
  private let file: MappingFile?
  private let versions: MappingFile.Versions?

  /// Reads a mapping model: `.xcmappingmodel`, `.cdm` or `.json`.
  ///
  /// - Throws: `MigrationFailure`, if it cannot be read.
  public init(contentsOf path: FilePath) throws(MigrationFailure) {
    let file = try MigrationFailure.catching { try MappingFile.read(path) }
    (self.path, self.file, mapping, refusals, openValues) = (path, file, file.mapping, [], [])
    (versions, addedMappings, unreadParts) = (file.versions, [], [])
  }

  /// Reads a mapping model: `.xcmappingmodel`, `.cdm` or `.json`.
  ///
  /// - Throws: `MigrationFailure`, if it cannot be read.
  public init(contentsOf file: URL) throws(MigrationFailure) {
    try self.init(contentsOf: FilePath(file))
  }

  /// Infers a mapping model between the current versions of two models, as a start for one of your
  /// own.
  ///
  /// What cannot be inferred is left out and listed in ``refusals``.
  ///
  /// - Throws: `MigrationFailure`, if a model cannot be read.
  public init(inferredFrom source: FilePath, to destination: FilePath) throws(MigrationFailure) {
    self = try MigrationFailure.catching {
      let places = [source, destination]
      let source = try TargetModel.model(at: source)
      let destination = try TargetModel.model(at: destination)
      let inference = MappingInference(from: source, to: destination)
      let proposal = MappingModel.inferred(inference, source: source, destination: destination)
        .proposingPairs(from: source, to: destination)
      let check = MappingCheck(
        models: [proposal.mapping], source: source, destination: destination)
      return Self(
        proposal.mapping, versions: MappingFile.Versions(from: source, to: destination),
        refusals: inference.refusals.map { .init($0) },
        openValues: check.abstractSentences + check.openSentences,
        added: proposal.added,
        unread: zip(places, [source, destination]).flatMap {
          $1.unreadHashedSentences(of: "\($0)")
        })
    }
  }

  /// Infers a mapping model between the current versions of two models, as a start for one of your
  /// own.
  ///
  /// - Throws: `MigrationFailure`, if a model cannot be read.
  public init(inferredFrom source: URL, to destination: URL) throws(MigrationFailure) {
    try self.init(inferredFrom: FilePath(source), to: FilePath(destination))
  }

  private init(
    _ mapping: MappingModel, versions: MappingFile.Versions?,
    refusals: [MigrationFailure.Reason] = [], openValues: [String] = [], added: [String] = [],
    unread: [String] = []
  ) {
    (path, file, self.mapping, self.refusals) = (nil, nil, mapping, refusals)
    (self.versions, self.openValues) = (versions, openValues)
    (addedMappings, unreadParts) = (added, unread)
  }

  /// Infers a mapping model, with expressions for attributes as `Entity.property=EXPRESSION`.
  init(
    inferredFrom source: ManagedObjectModel, to destination: ManagedObjectModel,
    setting settings: [String]
  ) throws {
    self = try MigrationFailure.catching {
      let values = try ValueSetting.read(settings)
      let inference = MappingInference(from: source, to: destination)
      return Self(
        MappingModel.inferred(inference, source: source, destination: destination)
          .setting(values, from: source, to: destination),
        versions: MappingFile.Versions(from: source, to: destination))
    }
  }

  /// The parts of the file that the mapping model does not show, one sentence each.
  public var notes: [String] { (file?.notes ?? []).map(\.sentence) }

  /// Whether the file contains the model of this side.
  public func embedsModel(_ side: Side) -> Bool { own(side) != nil }

  /// The path from which the model of this side was read, because the embedded one could not be.
  ///
  /// That model may have changed since. nil if the embedded model was read, or there is none.
  public func modelPath(_ side: Side) -> FilePath? {
    if case .namedPath(let path)? = own(side)?.origin { path } else { nil }
  }

  private func own(_ side: Side) -> MappingFile.Model? {
    side == .source ? file?.source : file?.destination
  }

  // MARK: Writing

  /// The mapping model as JSON (docs/reference/mapping-file.md).
  ///
  /// - Throws: `MigrationFailure`, if a value in it has no text.
  public func text() throws(MigrationFailure) -> String {
    try MigrationFailure.catching { try MappingText.text(mapping: mapping, versions: versions) }
  }

  /// Writes the mapping model as JSON to a new file or over an earlier one.
  ///
  /// - Throws: `MigrationFailure`, if the path is that of something else, or cannot be written.
  public func write(to path: FilePath) throws(MigrationFailure) {
    let text = try text()
    try MigrationFailure.catching {
      let status = try Files.fileStatusIfPresent(path, followLinks: false)
      if status?.kind != .other { try CompanionName.requireFree(path) }
      if let status {
        let isEarlier = status.kind == .file && MappingFile.claimsToBeMapping(path)
        guard isEarlier || (status.kind == .file && status.size == 0) || status.kind == .other
        else { throw MigrationFailure(foreign: path) }
        if status.kind == .other {
          return try StreamFile(path).write(Array(text.utf8))
        }
      }
      try Files.writeFileAtomically(Array(text.utf8), to: path)
    }
  }

  /// Writes the mapping model as JSON to a new file or over an earlier one.
  ///
  /// - Throws: `MigrationFailure`, if the path is that of something else, or cannot be written.
  public func write(to file: URL) throws(MigrationFailure) { try write(to: FilePath(file)) }

  // MARK: Splitting

  /// Makes the folder for the parts of a mapping model, where there is none.
  ///
  /// - Throws: `MigrationFailure`, if the folder around it is missing or not to be written.
  package static func makeFolder(_ path: FilePath) throws(MigrationFailure) {
    _ = try MigrationFailure.catching {
      try CompanionName.requireFree(path)
      return try Files.createDirectory(path)
    }
  }

  /// A mapping model in independent parts.
  public struct Parts: Sendable {
    /// The parts, which can be used in one migration or one after the other.
    public let files: [MappingModelFile]
    /// What connects entity mappings within a part, one sentence each, by the name of the mapping.
    public let links: [(mapping: String, sentence: String)]
  }

  /// Splits the mapping model into independent ones.
  ///
  /// - Parameters:
  ///   - source: the model to migrate from; nil takes the one that the file embeds.
  ///   - destination: the model to migrate to; nil takes the one that the file embeds.
  /// - Throws: `MigrationFailure`, if everything in it is connected, or a model is missing.
  public func split(from source: FilePath? = nil, to destination: FilePath? = nil)
    throws(MigrationFailure) -> Parts
  {
    try MigrationFailure.catching {
      let split = MappingSplit(
        mapping: mapping, source: try model(side: .source, at: source),
        destination: try model(side: .destination, at: destination))
      guard split.pieces.count > 1 else {
        throw MigrationFailure(unsplittable: path, links: split.links)
      }
      return Parts(
        files: split.pieces.map { MappingModelFile($0, versions: versions) },
        links: split.links.map { ($0.mapping, $0.sentence) })
    }
  }

  // MARK: Checking

  /// Checks that the mapping model was made for this version.
  ///
  /// - Throws: `MigrationFailure`, with a reason for each entity that does not fit.
  public func requireFit(_ model: FilePath, as side: Side) throws(MigrationFailure) {
    try MigrationFailure.catching {
      let mismatches = mapping.mismatches(
        side.core, model: try TargetModel.model(at: model), original: own(side)?.model)
      guard mismatches.isEmpty else {
        throw MigrationFailure(path: path, model: model, mismatches: mismatches)
      }
    }
  }

  /// The findings on several mapping models that can be used in one migration.
  public struct SetReport: Hashable, Sendable {
    /// Objects that none of them migrates, one sentence each.
    public let leftOut: [String]
    /// Mappings of one file that make the same objects again, a sentence each.
    public let repeated: [String]
    /// Relationships that are set by stored keys only, one sentence each.
    public let storedKeyLinks: [String]
  }

  /// Checks that what mapping models name is there, and that they can be used in one migration.
  ///
  /// - Parameters:
  ///   - files: the mapping models.
  ///   - source: the model to migrate from; nil takes the one that the first file embeds.
  ///   - destination: the model to migrate to; nil takes the one that the first file embeds.
  /// - Throws: `MigrationFailure`, with a reason for each contradiction.
  public static func check(
    _ files: [MappingModelFile], from source: FilePath? = nil, to destination: FilePath? = nil
  ) throws(MigrationFailure) -> SetReport {
    try MigrationFailure.catching {
      guard let first = files.first else {
        return SetReport(leftOut: [], repeated: [], storedKeyLinks: [])
      }
      let source = try first.model(side: .source, at: source)
      let destination = try first.model(side: .destination, at: destination)
      try requireSound(files, source: source, destination: destination)
      let set = MappingSet(
        pieces: files.map { .init(name: $0.path.map { "\($0)" } ?? "", mapping: $0.mapping) },
        source: source, destination: destination)
      guard set.problems.isEmpty else { throw MigrationFailure(contradictions: set.problems) }
      return SetReport(
        leftOut: set.leftOut.map(\.sentence), repeated: set.repeated.map(\.sentence),
        storedKeyLinks: set.storedKeyLinks.map(\.sentence))
    }
  }

  /// Checks the names and the values of mapping models, as every migration by them does first.
  private static func requireSound(
    _ files: [MappingModelFile], source: ManagedObjectModel, destination: ManagedObjectModel
  ) throws {
    let check = MappingCheck(
      models: files.map {
        $0.mapping.expandingComposites(from: source, to: destination)
          .completingCopies(from: source, to: destination)
      }, source: source, destination: destination)
    let sentences = check.problems.map(\.sentence) + check.openSentences
    guard sentences.isEmpty else {
      throw MigrationFailure(path: files.count == 1 ? files[0].path : nil, problems: sentences)
    }
  }

  /// The model at the path, or the one that the file embeds.
  private func model(side: Side, at path: FilePath?) throws -> ManagedObjectModel {
    if let path { return try TargetModel.model(at: path) }
    guard let own = own(side) else { throw MigrationFailure(modelMissing: side, path: self.path) }
    return own.model
  }
}
