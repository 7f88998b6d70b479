package import Mapping
package import MigrationEngine
package import ModelFiles
package import ObjectModel
package import Planning
package import RowPrograms
package import Schema
package import StoreFormat
import Survey
package import SystemPackage

/// What a migration did; also written as JSON, whose keys are the properties.
package struct MigrationReport: Codable, Sendable {
  /// How the migration ended.
  package enum Outcome: String, Codable, Sendable, CaseIterable {
    /// A new store was made, or the store has the target's model and nothing was to be done.
    case migrated, alreadyCurrent
    /// An earlier run had renamed the result to the output and was killed then; this one cleaned
    /// up.
    case finishedEarlier
    /// The output exists, made of the same source with the same options.
    case alreadyThere
    /// The store had the target's model and was copied to the output.
    case copied
    /// Nothing was made or replaced, for the reasons in `failure`.
    case refused, failed, interrupted
  }

  /// What one work order took.
  package struct Order: Codable, Sendable {
    /// The order's number in its plan.
    package var number: Int
    /// The number of the partition from which its rows come.
    package var partition: Int
    /// How many workers were started on it.
    package var attempts: Int
    /// Rows written.
    package var rows: Int64
    /// The size of its shard.
    package var bytes: Int64
    /// The peak private memory of its worker, in bytes.
    package var peakMemory: Int64
    /// How long the successful attempt took.
    package var seconds: Double
    /// Whether an interrupted run had done it.
    package var wasResumed: Bool
  }

  /// One step of the route.
  package struct Step: Codable, Sendable {
    /// The names of the versions with the hashes before the step, as far as they were looked for.
    package var from: [String]
    /// The names of the versions with the hashes after the step.
    package var to: [String]
    /// The paths of the mapping models in the order of their execution; empty if the mapping is
    /// inferred.
    package var mappings: [String]
    /// The number of the stage that the step belongs to, from 1.
    package var stage: Int
    /// Why a new stage begins with this step; nil if none does, and for the first.
    package var cut: Stage.Cut?
    /// Ordered relationships whose objects had no order before; nil where there are none.
    package var newOrders: [NewOrder]?

    /// The steps of all stages, numbered.
    package static func steps(of stages: [Stage]) -> [Step] {
      zip(1..., stages).flatMap { number, stage in
        stage.steps.enumerated().map { index, step in
          let orders = NewOrder.all(
            models: step.mappings.map(\.mapping), from: step.source.model,
            to: step.destination.model)
          return Step(
            from: step.source.labels, to: step.destination.labels,
            mappings: step.mappings.map(\.name), stage: number, cut: index == 0 ? stage.cut : nil,
            newOrders: orders.isEmpty ? nil : orders)
        }
      }
    }
  }

  /// A mapping model that was found and not used.
  package struct UnusedMapping: Codable, Sendable {
    /// The path of its file.
    package var path: String
    /// Whether the user named it or its folder.
    package var wasNamed: Bool
    /// Why it was not used, as the end of a sentence.
    package var reason: String
    /// Whether it was left out because it loses what inference keeps.
    package var losesMore: Bool?

    /// Whether the user expects that it is used.
    package var isExpected: Bool { wasNamed || losesMore == true }
  }

  /// A part of the destination model that the model cached in the result lacks.
  package struct CachePart: Codable, Sendable {
    /// The entity it belongs to, nil for the model itself.
    package var entity: String?
    /// The property it belongs to, nil for an entity or the model.
    package var property: String?
    /// What the part is, in words.
    package var part: String

    /// Describes a part that could not be archived.
    package init(_ error: ModelFileError) {
      (entity, property) = (error.entity, error.property)
      switch error.problem {
      case .cannotArchive(let text): part = text
      case .unread(let unread): part = unread.words
      default: part = error.problem.words
      }
    }
  }

  /// Why there is no result.
  package struct Failure: Codable, Sendable {
    /// The exit status of the tool.
    package var exitStatus: Int32
    /// The code with which Core Data fails in the same case, nil if it has none.
    package var coreDataCode: Int?
    /// What the tool prints.
    package var sentences: [String]
    /// The kind of the failure, by the name that programs know.
    package var kind: String
    /// The file concerned, nil if there is none.
    package var file: String?
    /// All reasons; empty if the kind suffices.
    package var reasons: [Reason]

    /// Creates a failure from the words of the library.
    package init(
      exitStatus: Int32, coreDataCode: Int?, sentences: [String], kind: String, file: String?,
      reasons: [Reason]
    ) {
      self.exitStatus = exitStatus
      self.coreDataCode = coreDataCode
      self.sentences = sentences
      (self.kind, self.file, self.reasons) = (kind, file, reasons)
    }
  }

  /// One of the reasons for a failure.
  package struct Reason: Codable, Hashable, Sendable {
    /// What prevents the migration, by the name that programs know.
    package var cause: String
    /// The entity concerned, nil if there is none.
    package var entity: String?
    /// The property concerned, nil if there is none.
    package var property: String?
    /// How many objects are concerned, nil if they were not counted.
    package var count: Int64?
    /// Some of the lowest primary keys of these objects.
    package var keys: [Int64]
    /// The code with which Core Data fails in the same case, nil if it has none.
    package var coreDataCode: Int?
    /// What to do, nil if there is no advice besides the sentence.
    package var advice: String?
    /// One sentence, with the advice.
    package var sentence: String

    /// Creates a reason without a place.
    package init(cause: String, sentence: String) {
      (self.cause, self.sentence, keys) = (cause, sentence, [])
    }
  }

  /// Rises when a key goes or changes its meaning; new keys do not raise it.
  package var version = 1
  /// The version of Godwit.
  package var godwit = GodwitVersion.current
  /// How the migration ended.
  package var outcome: Outcome
  /// Why there is no result, nil if there is one.
  package var failure: Failure?
  /// The path of the store that was read.
  package var store: String
  /// The path of the result, the same as `store` for a migration in place.
  package var destination: String
  /// The path under which the old store was kept, nil if it was not.
  package var oldStore: String?
  /// The steps from the store's version to the target's.
  package var steps: [Step] = []
  /// Mapping models that no step used, including unreadable ones.
  package var unusedMappings: [UnusedMapping] = []
  /// Parts of the files of mapping models that these do not show; nil where there are none.
  package var mappingNotes: [NotedMapping]?
  /// The differences of the models of the first and the last version; nil if there was nothing to
  /// do.
  package var models: ComparedModels?
  /// Whether the store is in WAL mode and had no `-wal` file; nil where it is not so.
  package var lacksLog: Bool?
  /// Rows of all entities and join tables in the result.
  package var rows: Int64 = 0
  /// The work orders of the last stage, by number.
  package var workOrders: [Order] = []
  /// The tables of the last stage and what joins them; nil if there was nothing to do.
  package var graph: PartitionGraph?
  /// The engine of the last stage, nil if there was nothing to do.
  package var engine: EngineName?
  /// Whether the result was verified in full; nil if nothing was made.
  package var wasVerifiedFully: Bool?
  /// Why another engine than the requested one was used.
  package var engineDeclined: String?
  /// The losses of all stages, with their final causes.
  package var losses: [Loss] = []
  /// The accounts of all stages, in their order.
  package var accounts: [StageAccounts] = []
  /// Fetch indexes of the model that the result does not have.
  package var omittedIndexes: [StoreSchema.Omission] = []
  /// Why no model is cached in the result, nil if one is.
  package var modelCacheOmitted: String?
  /// Parts that the model cached in the result lacks; no version hash covers them.
  package var modelCacheLeftOut: [CachePart] = []
  /// Join tables whose names follow from no store, but are assumed.
  package var joinTables: [JoinContinuation.Choice] = []
  /// What was taken of a damaged store and what was lost; nil where none was damaged.
  package var salvage: SalvagedStore?
  /// What is wrong with rows of the store, as far as it was looked for, and what became of it.
  package var defects: [Defect] = []
  /// The losses by choices that `defects` and the tables and columns outside of the model have,
  /// without those in `losses`.
  package var chosenLosses: [Loss] {
    Loss.chosen(in: defects).filter { !losses.contains($0) }
      + (extraTableRows ?? []).map { Loss(table: $0.name, rows: $0.rows) }
      + (extraColumns ?? []).map { Loss(column: $0.name, values: $0.values) }
  }
  /// References to rows that do not exist, which were migrated as they were.
  package var danglingReferences: [DanglingReference] = []
  /// The columns whose references were not checked, since their tables stayed in place; nil if all
  /// were.
  package var uncheckedReferences: [UncheckedReference]?
  /// Names of external binary data files that the store refers to and that do not exist.
  package var missingExternalFiles: [String] = []
  /// Tables of the source that do not belong to its model, and were not migrated.
  package var extraTables: [String] = []
  /// The rows of those of `extraTables` that have some; nil where none had any.
  package var extraTableRows: [ExtraTable]?
  /// Columns of its tables that do not belong to the model, and whose values were left behind; nil
  /// where none had any.
  package var extraColumns: [ExtraColumn]?
  /// Views that do not belong to the model, and were left behind; nil where there were none.
  package var extraViews: [String]?
  /// Triggers that do not belong to the model, and were left behind; nil where there were none.
  package var extraTriggers: [String]?
  /// Indexes that Core Data does not make, and that were left behind; nil where there were none.
  package var extraIndexes: [String]?
  /// Generated columns that do not belong to the model, each as `TABLE.COLUMN`, and were left
  /// behind; nil where there were none.
  package var extraGeneratedColumns: [String]?
  /// Tables of the source that do not belong to its model, and were copied as they are.
  package var keptTables: [String] = []
  /// How many violations of the destination model's validation rules were tolerated.
  package var violations = 0
  /// The first of these violations.
  package var firstViolations: [Violation] = []
  /// Rows of tables that stayed where they were in a clone of the source, estimated.
  ///
  /// `rows` counts them too; nil where all rows were made, 0 where the others were updated.
  package var stayingRows: Int64?
  /// Tables whose b-trees were taken over from the source unchanged.
  package var movedTables: [String] = []
  /// The peak private memory of the coordinator, in bytes; `workOrders` has that of the workers.
  package var peakMemory: Int64 = 0
  /// The most private memory of all processes that were at work at once, as far as it was seen, in
  /// bytes; nil if there was nothing to do.
  package var mostMemory: Int64?
  /// The activities over time, nil if there was nothing to do.
  package var timeline: RunRecording?
  /// Seconds spent in each phase, by its name, of all stages.
  package var seconds: [String: Double] = [:]
  /// Whether work of an interrupted run was taken over.
  package var resumed = false
  /// The value of `now()` in expressions, in seconds since 2001; nil if there was nothing to do, or
  /// several stages had one each.
  package var now: Double?
  /// What failed once the result was in its place.
  package var handoverNotes: [HandoverNote] = []
}

extension MigrationReport {
  /// A column with references that may lead to rows that do not exist.
  package struct UncheckedReference: Hashable, Codable, Sendable {
    /// The table of the column.
    package var table: String
    /// The column, which holds primary keys of another table.
    package var column: String
  }

  /// A table that the model knows nothing of.
  package struct ExtraTable: Hashable, Codable, Sendable {
    /// The name of the table.
    package var name: String
    /// The number of its rows.
    package var rows: Int64
  }

  /// A column that the model knows nothing of.
  package struct ExtraColumn: Hashable, Codable, Sendable {
    /// The column as `TABLE.COLUMN`.
    package var name: String
    /// The rows that had a value in it.
    package var values: Int64
  }

  /// Names what a store has besides the tables of its model and is left behind.
  mutating func noteExtras(of survey: StoreSurvey) {
    lacksLog = survey.access.lacksLog ? true : nil
    extraTables = survey.differences.extraTables.filter { !keptTables.contains($0) }
    let tables = survey.extras.filter {
      [.table, .virtualTable].contains($0.kind) && $0.rows > 0 && extraTables.contains($0.name)
    }
    extraTableRows = tables.isEmpty ? nil : tables.map { .init(name: $0.name, rows: $0.rows) }
    let columns = survey.extras.filter { $0.kind == .column }
    extraColumns = columns.isEmpty ? nil : columns.map { .init(name: $0.name, values: $0.rows) }
    func names(_ kind: ExtraEntry.Kind) -> [String]? {
      let names = survey.extras.filter { $0.kind == kind }.map(\.name)
      return names.isEmpty ? nil : names
    }
    extraViews = names(.view)
    extraTriggers = names(.trigger)
    extraIndexes = names(.index)
    extraGeneratedColumns = names(.generatedColumn)
  }

  /// The report of a migration that made no result.
  package static func without(
    result outcome: Outcome, store: FilePath, destination: FilePath, failure: Failure
  ) -> MigrationReport {
    var report = MigrationReport(
      outcome: outcome, store: store.string, destination: destination.string)
    report.failure = failure
    return report
  }

  /// Records what was wrong with the store, and adds the objects that were removed to the accounts.
  mutating func note(_ found: [Defect]) {
    defects = found
    for defect in found {
      guard let cause = defect.dropCause else { continue }
      let stage = defect.stage - 1
      guard accounts.indices.contains(stage) else { continue }
      for (entity, count) in defect.removed {
        guard let index = accounts[stage].entities.firstIndex(where: { $0.entity == entity })
        else { continue }
        accounts[stage].entities[index].rowsIn += count
        accounts[stage].entities[index].dropped.append(.init(cause: cause, objects: count))
      }
    }
  }

  /// Adds references that were lost when the store of a stage was repaired to its accounts.
  ///
  /// - Parameter stage: the index of the stage.
  mutating func note(_ repaired: [RepairedReferences.Counted], inStage stage: Int) {
    guard accounts.indices.contains(stage) else { return }
    var all = accounts[stage].references ?? []
    for one in repaired {
      let gone = one.dropped.values.reduce(0, +)
      let index =
        all.firstIndex { $0.entity == one.entity && $0.relationship == one.relationship }
        ?? all.count
      if index == all.count {
        all.append(
          .init(
            entity: one.entity, relationship: one.relationship, referencesIn: one.before - gone,
            referencesOut: one.before - gone, dropped: []))
      }
      all[index].referencesIn += gone
      all[index].referencesOut += gone
      for (cause, count) in one.dropped.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
        all[index].drop(count, cause: cause)
      }
    }
    accounts[stage].references = all.isEmpty ? nil : all
  }

  /// Records the route that was taken, and the mapping models that were not used.
  mutating func note(_ found: FoundRoute, stages: [Stage], words: OutcomeWords) {
    steps = Step.steps(of: stages)
    unusedMappings = found.unusedMappings(words)
    mappingNotes = found.notes.isEmpty ? nil : found.notes
  }
}

extension FoundRoute {
  /// Mapping models that no step uses, including unreadable ones.
  package func unusedMappings(_ words: OutcomeWords) -> [MigrationReport.UnusedMapping] {
    route.unused.map {
      .init(
        path: $0.name, wasNamed: $0.standing != .found, reason: $0.reason.sentence,
        losesMore: $0.reason.isByLoss ? true : nil)
    }
      + unreadable.map {
        .init(
          path: $0.path.string, wasNamed: $0.wasNamed,
          reason: "it cannot be read: \(words.phrase($0.error))")
      }
  }
}

extension MigrationRoute.Unused.Reason {
  /// Why a mapping model is not used, as the end of a sentence.
  package var sentence: String {
    switch self {
    case .versionUnknown(let side):
      "the model of its \(side.rawValue) version is not known [134130]"
    case .leadsNowhere: "it leads from a version to one with the same hashes"
    case .same(let other): "it is the same as \(other)"
    case .overlaps(let other): "\(other) migrates the same objects"
    case .incomplete(let entity): "it leaves out \(entity)"
    case .elsewhere: "it is for other versions"
    case .lessExact(let other): "\(other) is for exactly these two versions"
    case .losesMore(let name):
      "it would lose \(name), which inference keeps; name it to use it anyway"
    }
  }
}
