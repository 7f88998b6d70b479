import Foundation
import Mapping
import MappingFiles
package import MigrationStatus
import ObjectModel
package import Planning
import StoreFormat
import Survey
import SystemCalls
package import SystemPackage

extension RecordedWay {
  /// The way of a prepared migration; nil where there is nothing to do.
  init?(of prepared: PreparedMigration, to target: TargetModel) {
    guard let steps = prepared.route?.route.steps, let last = steps.last else { return nil }
    let request = prepared.request
    var versions = steps.map { Version($0.source) } + [Version(last.destination)]
    if versions[0].names.isEmpty {
      versions[0].names = target.names(of: prepared.survey.metadata.versionHashes)
    }
    if versions[steps.count].names.isEmpty { versions[steps.count].names = target.names }
    self.init(
      store: prepared.survey.metadata.uuid, versions: versions,
      mappings: steps.map { step in
        // An inferred step, even with expressions by choice, has no mapping file.
        guard step.inferred == nil else { return [] }
        return step.mappings.map { .init(path: Self.absolute($0.name), hash: $0.checksum) }
      },
      target: request.target.map { Self.absolute($0.string) },
      models: request.models.map { Self.absolute($0.string) },
      configuration: request.configuration, joinTables: request.joinTables,
      settings: request.settings,
      choices: request.statedChoices)
  }

  private static func absolute(_ path: String) -> String {
    ((try? Files.resolved(FilePath(path))) ?? FilePath(path)).string
  }
}

extension RecordedWay.Version {
  fileprivate init(_ version: RouteVersion) {
    self.init(names: version.labels, hash: version.hashes.checksum)
  }
}

extension RouteMapping {
  /// A checksum of the mapping model's content, independent of the form of its file.
  var checksum: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    // What has no JSON is of no mapping model that could be read.
    guard let text = try? encoder.encode(mapping) else { return "" }
    let sum = text.withUnsafeBytes { Checksum.of($0) }
    let digits = String(sum, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

/// Why a stated route cannot be repeated.
package enum StatedWayError: Error, Sendable {
  /// No model with the hashes of this version is at hand.
  case versionMissing(names: [String])
  /// A mapping model is not there any more, or cannot be read.
  case mappingMissing(FilePath)
  /// A mapping model has changed.
  case mappingChanged(FilePath)
}

extension FoundRoute {
  /// The route that a record states, from the store's own model to the result's.
  ///
  /// - Throws: `StatedWayError` or `MigrationError`.
  package init(
    stated way: RecordedWay, for request: MigrationRequest, from source: RouteVersion,
    to destination: RouteVersion
  ) throws {
    var store = source
    if store.names.isEmpty { store.names = way.versions[0].names }
    let versions = try Self.versions(of: way, for: request, from: store, to: destination)
    let steps = try way.mappings.enumerated().map { index, stated in
      MigrationRoute.Step(
        from: versions[index], to: versions[index + 1], by: try stated.map(Self.read))
    }
    var route = MigrationRoute(steps: steps)
    let unknown = route.set(try ValueSetting.read(way.settings ?? []))
    guard unknown.isEmpty else {
      throw MigrationError.settingUnknown(unknown.map(\.name), target: destination.model)
    }
    for (step, stated) in zip(route.steps, way.mappings) {
      for (found, mapping) in zip(step.mappings, stated) where found.checksum != mapping.hash {
        throw StatedWayError.mappingChanged(FilePath(mapping.path))
      }
    }
    self.init(route: route)
  }

  private static func versions(
    of way: RecordedWay, for request: MigrationRequest, from store: RouteVersion,
    to destination: RouteVersion
  ) throws -> [RouteVersion] {
    let between = way.versions.dropFirst().dropLast()
    var known: [RouteVersion] = []
    if !between.isEmpty {
      var search = request
      search.versionOrder = []
      known = try KnownVersions.read(search, store: store, target: destination).flatMap(\.versions)
    }
    return try [store]
      + between.map { version in
        guard let found = known.first(where: { $0.hashes.checksum == version.hash }) else {
          throw StatedWayError.versionMissing(names: version.names)
        }
        return found
      } + [destination]
  }

  private static func read(_ stated: RecordedWay.Mapping) throws -> RouteMapping {
    let path = FilePath(stated.path)
    guard let file = try? MappingFile.read(path) else {
      throw StatedWayError.mappingMissing(path)
    }
    return RouteMapping(name: stated.path, standing: .named, mapping: file.mapping)
  }
}
