import ObjectModel
import Schema
import StoreFormat
import Survey
import Synchronization
package import SystemCalls
import SystemPackage

/// The work that migrations of many stores, by the same options and in one process, do once.
package final class SharedWork: Sendable {
  /// The model to migrate to.
  let target: TargetModel
  /// Runs the migrations; nil runs them on the threads of the system.
  package let executor: (any TaskExecutor)?
  /// Holds the files of small migrations in place while they are made; nil gives each a work folder
  /// next to its store.
  let memory: MemoryFolder?
  private let routes = Mutex<[RouteKey: Route]>([:])
  private let choices = Mutex<[ResultRules: [String: String]]>([:])
  private let leftovers = Mutex<[FilePath: [FilePath.Component]]>([:])

  /// The facts of a store on which its route depends, besides its model.
  private struct RouteKey: Hashable {
    var checksum: String
    var identifiers: [String]
    var allowsFilters: Bool
  }

  private struct Route {
    var model: ManagedObjectModel
    var catalog: Catalog
    var plan: PreparedMigration.Plan
  }

  /// Shares the model to migrate to.
  package init(
    target: TargetModel, executor: (any TaskExecutor)? = nil, memory: MemoryFolder? = nil
  ) {
    self.target = target
    self.executor = executor
    self.memory = memory
  }

  /// The route and the compiled stages for the version of a store, which `find` finds for the first
  /// store of a version.
  func plan(
    for survey: StoreSurvey, allowsFilters: Bool, find: () throws -> PreparedMigration.Plan
  ) rethrows -> PreparedMigration.Plan {
    let key = RouteKey(
      checksum: survey.metadata.versionHashes.checksum,
      identifiers: survey.metadata.versionIdentifiers, allowsFilters: allowsFilters)
    // Hashes do not cover renaming identifiers and indexes, and tables of one version may differ
    // from store to store.
    if let known = routes.withLock({ $0[key] }), known.model == survey.model,
      known.catalog == survey.catalog
    {
      return known.plan
    }
    let plan = try find()
    routes.withLock { $0[key] = Route(model: survey.model, catalog: survey.catalog, plan: plan) }
    return plan
  }

  /// The choices that rules state, which are read from their encoded form.
  func choices(by rules: ResultRules) -> [String: String] {
    choices.withLock { known in
      if let found = known[rules] { return found }
      let stated = rules.statedChoices
      known[rules] = stated
      return stated
    }
  }

  /// The names in a folder that files have while they are written: what earlier processes left.
  ///
  /// The folder is read once, since reading one of 100,000 stores takes longer than migrating one.
  func leftovers(in folder: FilePath) throws -> [FilePath.Component] {
    if let known = leftovers.withLock({ $0[folder] }) { return known }
    let found = try Files.listDirectory(folder).filter { $0.string.hasSuffix(".tmp") }
    leftovers.withLock { $0[folder] = found }
    return found
  }
}
