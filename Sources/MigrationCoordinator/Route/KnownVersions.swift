import ModelFiles
import ObjectModel
import Planning
import StoreFormat
import SystemCalls
import SystemPackage

/// The model versions of all bundles that a request names.
enum KnownVersions {
  /// The versions of each bundle, those of `models` before the target's.
  ///
  /// Empty if the target is merged from several models, of which no version is a version.
  ///
  /// - Throws: `MigrationError.versionNameUnknown`, if the request names a version that no bundle
  ///   has.
  static func read(_ request: MigrationRequest) throws -> [VersionNumbering] {
    guard request.target.count == 1 else { return [] }
    var places: [FilePath] = []
    for place in request.models + request.target {
      guard (try? StoreHeader(of: place)) == nil else { continue }
      let path = ModelBundle.enclosing(place)
      if !places.contains(path) { places.append(path) }
    }
    // A version that cannot be read cannot be migrated to.
    let versions = places.map { (try? ModelBundle($0).versions) ?? [] }
    readAtOnce(versions.flatMap(\.self), for: request)
    let bundles = versions.map { versions in
      versions.compactMap {
        version($0, configuration: request.configuration, library: request.library)
      }
    }
    let names = bundles.flatMap { $0.flatMap(\.names) }
    if let unknown = request.versionOrder.first(where: { !names.contains($0) }) {
      throw MigrationError.versionNameUnknown(unknown, available: names)
    }
    return bundles.map { VersionNumbering($0, named: request.versionOrder) }
  }

  /// Has the library read many versions, several at a time.
  private static func readAtOnce(_ versions: [ModelVersion], for request: MigrationRequest) {
    guard versions.count >= 8 else { return }
    ThreadPool.share(versions.count) { place in
      _ = version(
        versions[place], configuration: request.configuration, library: request.library)
    }
  }

  private static func version(
    _ version: ModelVersion, configuration: String?, library: ModelLibrary
  ) -> RouteVersion? {
    guard var model = try? library.model(of: version) else { return nil }
    let name = configuration.flatMap { model.configurations[$0] == nil ? nil : $0 }
    guard let hashes = library.hashes(of: version, configuration: name) else { return nil }
    if let name {
      guard let restricted = try? model.restricted(toConfiguration: name) else { return nil }
      model = restricted
    }
    return RouteVersion(names: [version.name], model: model, hashes: hashes)
  }
}
