package import ObjectModel
import Planning
package import Survey

extension FoundRoute {
  /// The route on which a migration of that request would have made a store of another version.
  package init(
    ofResult request: MigrationRequest, survey: StoreSurvey, model: ManagedObjectModel,
    hashes: [String: VersionHash]
  ) throws {
    let target = TargetModel(RouteVersion(names: [], model: model, hashes: hashes))
    self = try RouteFinder(request: request, target: target, survey: survey)
      .find(namesVersions: true)
  }
}
