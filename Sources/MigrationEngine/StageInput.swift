package import Mapping
package import Planning
package import RowPrograms
package import Schema
package import Survey
package import SystemPackage

/// A stage as an engine is given it: what the store holds, and what it is to become.
package struct StageInput: Sendable {
  package enum Work: Sendable {
    /// Rows, by a program for each table.
    case rows(MigrationProgram)
    /// Objects, by the mapping models of one step in running order.
    case objects([MappingModel])
  }

  /// The store under the name that its user gave it.
  package var store: FilePath
  package var survey: StoreSurvey
  package var destination: StoreSchema
  package var work: Work
  package var workers: Int
  /// Cuts every table into ranges of so many rows; nil leaves the cuts to the planner.
  package var rangeRows: Int64?
  /// Bytes for all processes together.
  package var memory: Int64
  package var verifiesFully = false
  package var logsSQL = false
  /// Whether the rules of the destination model are checked.
  package var validates = true

  package init(
    store: FilePath, survey: StoreSurvey, destination: StoreSchema, work: Work, workers: Int,
    memory: Int64
  ) {
    self.store = store
    self.survey = survey
    self.destination = destination
    self.work = work
    self.workers = workers
    self.memory = memory
  }

  /// The programs of a stage by rows; an empty one for objects.
  package var program: MigrationProgram {
    if case .rows(let program) = work { program } else { .none }
  }

  /// Plans a stage by rows; `adjust` changes what is known of the tables first.
  package func rowPlan(
    _ adjust: (inout [String: TableStatistics]) -> Void = { _ in }
  ) throws -> MigrationPlan {
    var statistics = try StatisticsReader(survey: survey, sliceRows: rangeRows).statistics(
      program: program)
    adjust(&statistics)
    return PartitionPlanner(
      program: program, statistics: statistics,
      granularity: .init(workers: workers, orderWork: 384 << 20, keepsSlices: rangeRows != nil)
    ).plan()
  }
}
