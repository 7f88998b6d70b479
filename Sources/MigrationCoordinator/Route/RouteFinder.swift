package import Mapping
package import MappingFiles
import ObjectModel
package import Planning
import StoreFormat
import Survey
import SystemPackage

/// The route of a migration, and the mapping models that could not be read.
package struct FoundRoute: Sendable {
  /// The steps from the store's version to the target's.
  package var route: MigrationRoute
  /// Mapping models of unknown versions; no step that is inferred can depend on one.
  package var unreadable: [UnreadableMapping] = []
  /// Parts of the mapping models of the route that these do not show.
  package var notes: [NotedMapping] = []
  /// The mapping models among which the route was found.
  var mappings: [RouteMapping] = []
  /// The versions among which it was found; empty where none but its ends mattered.
  var versions: [RouteVersion] = []
}

/// A part of a mapping model's file that the mapping model does not show.
package struct NotedMapping: Hashable, Codable, Sendable {
  /// The path of the file.
  package var path: String
  /// The part.
  package var note: MappingNote
}

/// Finds the route of one store to a target.
struct RouteFinder {
  private let request: MigrationRequest
  private let target: TargetModel
  private let store: RouteVersion

  /// Begins with the version of a store.
  init(request: MigrationRequest, target: TargetModel, survey: StoreSurvey) {
    var model = survey.model
    // SwiftData writes its version into the metadata alone.
    if model.versionIdentifiers.isEmpty {
      model.versionIdentifiers = survey.metadata.versionIdentifiers
    }
    self.init(
      request: request, target: target,
      store: RouteVersion(names: [], model: model, hashes: survey.metadata.versionHashes))
  }

  /// Begins with a version.
  init(request: MigrationRequest, target: TargetModel, store: RouteVersion) {
    (self.request, self.target, self.store) = (request, target, store)
  }

  private var end: RouteVersion {
    var version = RouteVersion(names: [], model: target.model, hashes: target.hashes)
    version.leftOut = target.leftOut
    return version
  }

  /// Finds the route.
  ///
  /// - Parameter namesVersions: finds the names of versions, which takes reading all of them. -
  ///   Throws: `MigrationError`.
  func find(namesVersions: Bool) throws -> FoundRoute {
    let settings = try ValueSetting.read(request.settings)
    var found = try find(namesVersions: namesVersions, settings: settings)
    let unknown = found.route.set(settings).map(\.name)
    guard unknown.isEmpty else {
      throw MigrationError.settingUnknown(unknown, target: target.model)
    }
    return found
  }

  private func find(namesVersions: Bool, settings: [ValueSetting]) throws -> FoundRoute {
    func refusals(_ from: RouteVersion, _ to: RouteVersion) -> [Refusal] {
      InferredStep.refusals(from: from.model, to: to.model).filter {
        !$0.isAnswered(by: settings, in: to.model)
      }
    }
    let search = try MappingSearch(request)
    let isPlain = search.mappings.isEmpty && !request.isProgressive
    var isDirect = false
    if isPlain && request.infers {
      let inference = MappingInference(from: store.model, to: end.model)
      let isSound = refusals(store, end).isEmpty && !end.model.reusesRenamedName
      // If something is lost or a name used again, the versions in between show whether it was
      // renamed on the way.
      isDirect = inference.possibleLosses.isEmpty && (request.infersOnly || isSound)
      if isDirect && !namesVersions {
        try requireReadable(search)
        return FoundRoute(
          route: MigrationRoute(steps: [.init(from: store, to: end)]),
          unreadable: search.unreadable)
      }
    }
    let known = try KnownVersions.read(request, store: store, target: end)
    let targetName = request.target.count == 1 ? target.names.first : nil
    do {
      var route: MigrationRoute
      if isPlain && request.infersOnly {
        route = MigrationRoute(
          inferredFrom: store, to: end, bundles: known, targetName: targetName)
      } else {
        route = try MigrationRoute(
          from: store, to: end, bundles: known, mappings: search.mappings,
          isProgressive: request.isProgressive, infers: request.infers, targetName: targetName
        ) { refusals($0, $1) }
        if route.steps.contains(where: \.mappings.isEmpty) { try requireReadable(search) }
      }
      var found = FoundRoute(
        route: route, unreadable: search.unreadable, notes: search.notes(of: route),
        mappings: search.mappings)
      let isMapped = !isPlain && !request.isProgressive && route.steps.count == 1
      // The versions of a merged model are its ends.
      if !isDirect && !isMapped && request.target.count == 1 {
        found.versions = known.flatMap(\.versions)
      }
      return found
    } catch let error as RouteError {
      throw failure(error: error, search: search, known: known.flatMap(\.versions))
    }
  }

  /// Checks that no unreadable mapping model may be that of an inferred step.
  private func requireReadable(_ search: MappingSearch) throws {
    guard search.unreadable.isEmpty else {
      throw MigrationError.mappingsUnreadable(search.unreadable)
    }
  }

  private func failure(
    error: RouteError, search: MappingSearch, known: [RouteVersion]
  ) -> MigrationError {
    switch error {
    case .mappingsMissing(let gaps, let unknown, let infers):
      return .routeMissing(store: request.store, gaps, unknown: unknown, infers: infers)
    case .mappingsUnreadable(let names):
      return .mappingsUnreadable(search.outlines.filter { names.contains($0.path.string) })
    case .orderUnknown(let versions): return .versionOrderUnknown(versions)
    case .noMappingFits(let unused):
      return .noMappingFits(request.mappingFolders, unused)
    case .mappingFitsNothing(let name):
      guard let file = search.files[name] else {
        preconditionFailure("only mapping models that were read are placed")
      }
      let found = mismatches(file, known: known)
      guard found.isEmpty else { return .mappingMismatch(file.path, found) }
      func names(_ checksum: String?) -> [String] {
        known.first { $0.hashes.checksum == checksum }?.labels ?? []
      }
      return .mappingElsewhere(
        file.path, from: names(file.versions?.source), to: names(file.versions?.destination))
    }
  }

  /// How a mapping model differs from the versions that it resembles most.
  private func mismatches(
    _ file: MappingFile, known: [RouteVersion]
  ) -> [MappingMismatch] {
    func closest(_ side: MappingSide, first: ManagedObjectModel) -> [MappingMismatch] {
      let original = side == .source ? file.source?.model : file.destination?.model
      var best = file.mapping.mismatches(side, model: first, original: original)
      for version in known {
        let other = file.mapping.mismatches(side, model: version.model, original: original)
        if other.count < best.count { best = other }
      }
      return best
    }
    let found = closest(.source, first: store.model) + closest(.destination, first: target.model)
    if !found.isEmpty { return found }
    // It is for two versions that are known, but the route does not touch them.
    return file.mapping.mismatches(.source, model: store.model)
      + file.mapping.mismatches(.destination, model: target.model)
  }
}

extension ValueSetting {
  /// Reads expressions for attributes, as `--set` takes them.
  ///
  /// - Throws: `MigrationError.settingUnreadable`.
  package static func read(_ texts: [String]) throws(MigrationError) -> [ValueSetting] {
    var result: [ValueSetting] = []
    for text in texts {
      do throws(ValueSetting.Problem) {
        let setting = try ValueSetting(text: text)
        let other = result.first { $0.name == setting.name }
        guard other == nil || other == setting else { throw .repeated }
        if other == nil { result.append(setting) }
      } catch {
        throw MigrationError.settingUnreadable(text, error)
      }
    }
    return result
  }
}
