package import ObjectModel
import Planning
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
}
