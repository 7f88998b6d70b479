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
  /// Of a target that is merged from several models, the merged versions of the store and of the
  /// target. Where no bundle is named, the versions of the stores in `models`.
  ///
  /// - Throws: `MigrationError.versionNameUnknown`, if the request names a version that no bundle
  ///   has.
  static func read(
    _ request: MigrationRequest, store: RouteVersion, target: RouteVersion
  ) throws -> [VersionNumbering] {
    let (versions, stores) = try places(of: request)
    readAtOnce(versions.flatMap(\.self), for: request)
    guard request.target.count == 1 else {
      return merged(store, target, bundles: versions, for: request)
    }
    if versions.isEmpty { return try stored(in: stores) }
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

  /// The versions of each bundle that the request names, and the stores.
  private static func places(
    of request: MigrationRequest
  ) throws -> (bundles: [[ModelVersion]], stores: [FilePath]) {
    var paths: [FilePath] = []
    var bundles: [[ModelVersion]] = []
    var stores: [FilePath] = []
    for place in request.models + request.target {
      if try ModelPlace.isStore(place) {
        if request.models.contains(place) { stores.append(place) }
        continue
      }
      let path = ModelBundle.enclosing(place)
      guard !paths.contains(path) else { continue }
      paths.append(path)
      // A version that cannot be read cannot be migrated to.
      if let bundle = try ifReadable({ try ModelBundle(path) }) {
        bundles.append(bundle.versions)
      } else {
        stores += try ifReadable { try ModelPlace(path) }?.stores ?? []
      }
    }
    return (bundles, stores)
  }

  /// The versions of stores, each once.
  private static func stored(in stores: [FilePath]) throws -> [VersionNumbering] {
    var versions: [RouteVersion] = []
    for store in stores {
      guard let (model, hashes) = try ifReadable({ try ModelPlace.stored(in: store) }),
        !versions.contains(where: { $0.hashes == hashes })
      else { continue }
      versions.append(RouteVersion(names: [], model: model, hashes: hashes))
    }
    return versions.isEmpty ? [] : [VersionNumbering(versions)]
  }

  /// The merged versions of the store and of the target, as far as versions of bundles make them.
  ///
  /// The store's version is the older one where no bundle's part in it is newer.
  private static func merged(
    _ store: RouteVersion, _ target: RouteVersion, bundles: [[ModelVersion]],
    for request: MigrationRequest
  ) -> [VersionNumbering] {
    let found = [store, target].map {
      MergedVersion.find($0.hashes, in: bundles, library: request.library)
    }
    guard let old = found[0], let new = found[1] else {
      let named = zip([store, target], found).compactMap { version, merged in
        merged.map { RouteVersion(names: [$0.name], model: version.model, hashes: version.hashes) }
      }
      return named.isEmpty ? [] : [VersionNumbering(named, evidence: .none)]
    }
    let versions = [
      RouteVersion(names: [old.name], model: store.model, hashes: store.hashes),
      RouteVersion(names: [new.name], model: target.model, hashes: target.hashes),
    ]
    let steps = zip(bundles, zip(old.parts, new.parts)).map { bundle, parts in
      distance(from: parts.0, to: parts.1, in: bundle, for: request)
    }
    let known = steps.compactMap(\.self)
    guard known.count == steps.count, !(known.contains { $0 < 0 } && known.contains { $0 > 0 })
    else { return [VersionNumbering(versions, evidence: .none)] }
    let isOlder = known.contains { $0 < 0 }
    return [VersionNumbering(isOlder ? versions.reversed() : versions, evidence: .names)]
  }

  /// How far a version of a bundle comes after another one; nil where their order is not known.
  private static func distance(
    from first: ModelVersion?, to second: ModelVersion?, in bundle: [ModelVersion],
    for request: MigrationRequest
  ) -> Int? {
    guard let first, let second, first != second else { return 0 }
    let order = VersionNumbering(
      bundle.compactMap { version($0, configuration: nil, library: request.library) })
    func place(_ version: ModelVersion) -> Int? {
      order.versions.firstIndex { $0.names.contains(version.name) }
    }
    guard order.evidence != .none, let one = place(first), let other = place(second) else {
      return nil
    }
    return other - one
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
    var leftOut: Set<String> = []
    if let name {
      guard let restricted = try? model.restricted(toConfiguration: name) else { return nil }
      leftOut = model.names(leftOutOf: restricted)
      model = restricted
    }
    var known = RouteVersion(names: [version.name], model: model, hashes: hashes)
    known.leftOut = leftOut
    return known
  }
}
