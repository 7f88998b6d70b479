import Foundation
import ObjectModel
import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

/// Identifies an output and what it was made of, so that a repeated command finds it done.
///
/// Models and mapping models are known by their contents: a path may lead to another version of
/// either by now, and another path to the same one.
struct MadeOutput: Codable, Hashable {
  private var file: File
  private var source: SourceFingerprint
  private var options: Options
  private var models: ModelChecksums
  /// Its losses, which each command that finds it has to accept.
  let losses: MadeLosses

  /// The file of an output, whatever its name; without the number of its file system, which may be
  /// another one after a restart of the system.
  private struct File: Codable, Hashable {
    var inode: UInt64
    var bytes: Int64
    var modified: Int64

    init(_ status: FileStatus) {
      (inode, bytes, modified) = (status.inode, status.size, status.modified)
    }
  }

  /// The options on which the output depends.
  private struct Options: Codable, Hashable {
    var configuration: String?
    var isProgressive: Bool
    var infersOnly: Bool
    var infers: Bool
    var versionOrder: [String]
    var journalMode: String?
    var rules: ResultRules
    var program: Program?

    init(_ request: MigrationRequest) throws {
      configuration = request.configuration
      isProgressive = request.isProgressive
      infersOnly = request.infersOnly
      infers = request.infers
      versionOrder = request.versionOrder
      journalMode = request.journalMode?.rawValue
      rules = request.rules
      program = try Program(ofPolicies: request)
    }
  }

  /// Describes the output of a request, a file with this status whatever its name.
  init(
    _ status: FileStatus, of request: MigrationRequest, from source: SourceFingerprint,
    by models: ModelChecksums, losing losses: MadeLosses
  ) throws {
    file = File(status)
    self.source = source
    options = try Options(request)
    self.models = models
    self.losses = losses
  }

  /// Reads a description; nil where the text is none of this form.
  init?(text: String) {
    guard let made = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
    self = made
  }

  /// The description as text.
  func text() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  /// Whether a file with this status is the output.
  func isFile(_ status: FileStatus) -> Bool { file == File(status) }

  /// Whether a request would make the output again: from the store as it is now, by equal options,
  /// models and mapping models.
  ///
  /// Models are read only if all else is equal.
  func isMade(by request: MigrationRequest, target: () throws -> TargetModel) throws -> Bool {
    guard try source == SourceFingerprint(of: request.store), try options == Options(request)
    else { return false }
    let target = try target()
    return try models.target == target.checksum
      && models.isSame(as: request, target: target)
  }
}

/// Checksums of the models and mapping models that decided on a result.
struct ModelChecksums: Codable, Hashable {
  /// The checksum of the target's model.
  fileprivate var target: String
  /// The checksum of the mapping models among which the route was found, in the order of the
  /// search; nil where there was no route to find.
  private var mappings: String?
  /// The checksum of the versions that were considered, besides the ends of the route; nil if
  /// there were none.
  private var versions: String?
  /// The checksums of the hashes of the versions on the route, its ends first.
  private var way: [String]

  /// Computes the checksums for a route; nil where the store was copied.
  init(target: TargetModel, route: FoundRoute?) throws {
    self.target = try target.checksum
    mappings = try route.map { try Self.checksum(of: $0.mappings) }
    let steps = route?.route.steps ?? []
    way =
      [steps.first?.source.hashes, target.hashes].compactMap { $0?.checksum }
      + steps.dropLast().map(\.destination.hashes.checksum)
    versions = try Self.checksum(of: route?.versions ?? [], on: way)
  }

  /// Whether what a request names besides its target is the same still.
  fileprivate func isSame(as request: MigrationRequest, target: TargetModel) throws -> Bool {
    guard let mappings else { return true }
    guard try Self.checksum(of: MappingSearch(request).mappings) == mappings else { return false }
    if versions == nil { return true }
    let end = RouteVersion(names: [], model: target.model, hashes: target.hashes)
    let known = try KnownVersions.read(request, store: end, target: end)
    return try Self.checksum(of: known.flatMap(\.versions), on: way) == versions
  }

  /// The checksum of a whole model, since hashes do not cover default values.
  static func checksum(
    of model: ManagedObjectModel, hashes: [String: VersionHash]
  ) throws -> String {
    let archive = try ArchivedModel(model).bytes ?? []
    let sum = archive.withUnsafeBytes { Checksum.of($0) }
    return "\(hashes.checksum) \(String(sum, radix: 16))"
  }

  private static func checksum(of mappings: [RouteMapping]) throws -> String {
    try checksum(
      ofFacts: mappings.map { mapping in
        [
          mapping.checksum, "\(mapping.standing.rawValue)", "\(mapping.isOutline)",
          mapping.madeFor?.source ?? "", mapping.madeFor?.destination ?? "",
        ]
      })
  }

  /// The checksum of the names and hashes of versions, and of the whole models of those on the way;
  /// nil where there are none but the ends of the way.
  private static func checksum(of versions: [RouteVersion], on way: [String]) throws -> String? {
    let facts = try versions.compactMap { version -> [String]? in
      let sum = version.hashes.checksum
      guard let place = way.firstIndex(of: sum) else { return version.names + [sum] }
      if place < 2 { return nil }
      return version.names + [try checksum(of: version.model, hashes: version.hashes)]
    }
    return facts.isEmpty ? nil : try checksum(ofFacts: facts)
  }

  /// One for all: a record has a limited size.
  private static func checksum(ofFacts facts: [[String]]) throws -> String {
    let sum = try JSONEncoder().encode(facts).withUnsafeBytes { Checksum.of($0) }
    return String(sum, radix: 16)
  }
}

extension TargetModel {
  /// The checksum of the whole model, which its hashes do not cover.
  package var checksum: String {
    get throws { try ModelChecksums.checksum(of: model, hashes: hashes) }
  }
}
