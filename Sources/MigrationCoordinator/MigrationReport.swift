import Mapping
package import MigrationEngine
package import ModelFiles
package import ObjectModel
package import Planning
package import RowPrograms
package import Schema
package import SystemPackage

/// What a migration did.
package struct MigrationReport: Codable, Sendable {
  package enum Outcome: String, Codable, Sendable {
    case migrated, alreadyCurrent
    /// An earlier run had made the result and given it its name, and was cut off then.
    case finishedEarlier
    /// The output is there, made of the same source in the same way.
    case alreadyThere
    /// The store had the model already and was copied to the output.
    case copied
    /// Nothing was done or replaced, for the reasons in `failure`.
    case refused, failed, interrupted
  }

  package struct Order: Codable, Sendable {
    package var number: Int
    package var partition: Int
    package var attempts: Int
    package var rows: Int64
    package var bytes: Int64
    package var peakMemory: Int64
    package var seconds: Double
  }

  /// One step of the route that was taken.
  package struct Step: Codable, Sendable {
    /// The names of all versions that hash alike, as far as they were looked for.
    package var from: [String]
    package var to: [String]
    /// The paths of the mapping models in running order; none has the mapping inferred.
    package var mappings: [String]
    /// Steps of one stage run over the data at once.
    package var stage: Int
    /// Why a stage begins with this step; nil for the first, and for steps that begin none.
    package var cut: Stage.Cut?

    /// The steps of all stages.
    package static func steps(of stages: [Stage]) -> [Step] {
      zip(1..., stages).flatMap { number, stage in
        stage.steps.enumerated().map { index, step in
          Step(
            from: step.source.names, to: step.destination.names,
            mappings: step.mappings.map(\.name), stage: number, cut: index == 0 ? stage.cut : nil)
        }
      }
    }
  }

  /// A mapping model that was found and not used.
  package struct UnusedMapping: Codable, Sendable {
    package var path: String
    /// Whether the user named it or its folder.
    package var wasNamed: Bool
    package var reason: String
  }

  /// A part of the destination model that the model which the result carries lacks.
  package struct CachePart: Codable, Sendable {
    package var entity: String?
    package var property: String?
    /// What it is, in words.
    package var part: String

    package init(_ error: ModelFileError) {
      (entity, property) = (error.entity, error.property)
      switch error.problem {
      case .cannotArchive(let text): part = text
      case .unread(let unread): part = unread.words
      default: part = "\(error.problem)"
      }
    }
  }

  /// Why there is no result.
  package struct Failure: Codable, Sendable {
    package var exitStatus: Int32
    package var coreDataCode: Int?
    package var sentences: [String]

    package init(exitStatus: Int32, coreDataCode: Int?, sentences: [String]) {
      self.exitStatus = exitStatus
      self.coreDataCode = coreDataCode
      self.sentences = sentences
    }
  }

  package var outcome: Outcome
  package var failure: Failure?
  package var store: String
  package var destination: String
  /// Where the old store is kept, if it is.
  package var oldStore: String?
  /// The way from the store's version to the target's.
  package var steps: [Step] = []
  package var unusedMappings: [UnusedMapping] = []
  package var rows: Int64 = 0
  package var workOrders: [Order] = []
  /// What wrote the rows, unless there was nothing to do.
  package var engine: MigrationRequest.Engine?
  /// Why SQL wrote them although pages were asked for.
  package var engineDeclined: String?
  package var losses: [Loss] = []
  /// Where all objects went, stage by stage.
  package var accounts: [StageAccounts] = []
  package var omittedIndexes: [StoreSchema.Omission] = []
  /// Why the result carries no model of its own, if it does not.
  package var modelCacheOmitted: String?
  /// Parts of the model that the result's own model lacks; no version hash covers them.
  package var modelCacheLeftOut: [CachePart] = []
  /// Names of join tables that nothing proves.
  package var joinTables: [JoinContinuation.Choice] = []
  package var danglingReferences: [DanglingReference] = []
  /// External files that the store names and that are not there.
  package var missingExternalFiles: [String] = []
  /// Tables of the source that its model knows nothing of, and that stay behind.
  package var extraTables: [String] = []
  /// Violations of the destination model, where they were only to be reported.
  package var violations = 0
  /// The first of them.
  package var firstViolations: [Violation] = []
  /// Tables of the result that were moved from the source as they were.
  package var movedTables: [String] = []
  /// The most memory that the coordinator occupied, in bytes; the workers' is that of their orders.
  package var peakMemory: Int64 = 0
  /// Seconds in each phase.
  package var seconds: [String: Double] = [:]
  /// Whether work of an interrupted migration was taken over.
  package var resumed = false
}

extension MigrationReport {
  /// The report of a migration without a result.
  package static func without(
    result outcome: Outcome, store: FilePath, destination: FilePath, failure: Failure
  ) -> MigrationReport {
    var report = MigrationReport(
      outcome: outcome, store: store.string, destination: destination.string)
    report.failure = failure
    return report
  }

  /// Notes the route that was taken and what was left aside.
  mutating func note(_ found: FoundRoute, stages: [Stage]) {
    steps = Step.steps(of: stages)
    unusedMappings = found.unusedMappings
  }
}

extension FoundRoute {
  /// Mapping models that no step uses, those that cannot be read among them.
  package var unusedMappings: [MigrationReport.UnusedMapping] {
    route.unused.map {
      .init(path: $0.name, wasNamed: $0.standing != .found, reason: $0.reason.sentence)
    }
      + unreadable.map {
        .init(path: $0.path.string, wasNamed: $0.wasNamed, reason: "it cannot be read: \($0.error)")
      }
  }
}

extension MigrationRoute.Unused.Reason {
  /// Why a mapping model is not used, as the end of a sentence.
  package var sentence: String {
    switch self {
    case .versionUnknown(let side):
      "the model of its \(side.rawValue) version is not known [134130]"
    case .leadsNowhere: "it leads from a version to one that hashes alike"
    case .same(let other): "it is the same as \(other)"
    case .overlaps(let other): "\(other) takes the same objects"
    case .incomplete(let entity): "it leaves out \(entity)"
    case .elsewhere: "it is for other versions"
    }
  }
}
