import Foundation
import ObjectModel
import Planning
import StoreFormat
import Survey
import SystemCalls

/// Checksums of the models and mapping models that decided on a result.
struct ModelChecksums: Codable, Hashable {
  /// The checksum of the target's model.
  private(set) var target: String
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
  func isSame(as request: MigrationRequest, target: TargetModel) throws -> Bool {
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
