package import ObjectModel
package import Planning
package import Survey

extension FoundRoute {
  /// Finds the route on which this request would have made a store with another model, for
  /// verification.
  ///
  /// - Throws: as `RouteFinder.find`.
  package init(
    ofResult request: MigrationRequest, survey: StoreSurvey, model: ManagedObjectModel,
    hashes: [String: VersionHash]
  ) throws {
    let target = TargetModel(RouteVersion(names: [], model: model, hashes: hashes))
    self = try RouteFinder(request: request, target: target, survey: survey)
      .find(namesVersions: true)
  }

  /// Finds the route between two models that a migration would take, with the versions and mapping
  /// models of the request.
  ///
  /// - Throws: as `RouteFinder.find`.
  package init(
    _ request: MigrationRequest, from store: RouteVersion, to target: RouteVersion
  ) throws {
    self = try RouteFinder(request: request, target: TargetModel(target), store: store)
      .find(namesVersions: true)
  }
}
