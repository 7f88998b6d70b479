package import Mapping
package import Planning
package import RowPrograms
package import Schema
package import Survey
package import SystemPackage

/// The input of an engine: what the store contains, and what it is to become.
package struct StageInput: Sendable {
  /// How the mapping is given.
  package enum Work: Sendable {
    /// As a program for each table.
    case rows(MigrationProgram)
    /// As the mapping models of one step, in the order of their execution, and why their objects
    /// cannot be made by rows; nil where that was not wanted.
    case objects([MappingModel], because: RowFallback?)
  }

  /// The source store under the path that the user gave; a copy of it may be read.
  package var store: FilePath
  /// The contents of the store.
  package var survey: StoreSurvey
  /// The tables of the store to make.
  package var schema: StoreSchema
  /// The mapping.
  package var work: Work
  /// The keys of rows that filters leave behind; nil where mappings take all.
  package var untakenKeys: RowKeys?
  /// How many workers run at once.
  package var workers: Int
  /// Cuts every table into ranges of this many rows; nil leaves the cuts to the planner.
  package var rangeRows: Int64?
  /// Whether workers may run on other machines, which share nothing but the files.
  package var hasRemoteWorkers = false
  /// The memory that all processes may use together, in bytes.
  package var memory: Int64
  /// Whether workers digest rows for a full verification.
  package var verifiesFully = false
  /// Whether workers log their SQL statements.
  package var logsSQL = false
  /// Whether an index of the source that differs from its table is built again instead of reported.
  package var remakesIndexes = false
  /// The folder in which the result will be made, or one on the same file system; nil where that is
  /// not known.
  package var folder: FilePath?
  /// How many keys are in each set of `untakenKeys`, by its name.
  package var untakenCounts: [String: Int64] = [:]
  /// Whether rows, references or pairs of the source are known to stay behind.
  package var leavesRows = false
  /// What values that are read from files of their own take in the result.
  package var bytesFromFiles: Int64 = 0
  /// Why the store itself cannot be edited, as the end of a sentence; nil where it takes its own
  /// place.
  package var editRefusal: String? = "it can only edit the store itself"
  /// The free bytes on the disk of the result; nil if unknown.
  package var freeBytes: Int64?
  /// Whether objects are checked against the destination model's validation rules.
  package var validates = true

  /// Creates the input with defaults for everything else.
  package init(
    store: FilePath, survey: StoreSurvey, schema: StoreSchema, work: Work, workers: Int,
    memory: Int64
  ) {
    self.store = store
    self.survey = survey
    self.schema = schema
    self.work = work
    self.workers = workers
    self.memory = memory
  }

  /// The programs of the stage; empty if objects are made one by one.
  package var program: MigrationProgram {
    if case .rows(let program) = work { program } else { .none(deriving: schema.derived) }
  }

  /// Plans a stage that goes by rows.
  ///
  /// - Parameter adjust: changes the statistics of the tables, by name, before they are cut.
  package func rowPlan(
    _ adjust: (inout [String: TableStatistics]) -> Void = { _ in }
  ) throws -> MigrationPlan {
    var statistics = try StatisticsReader(
      survey: survey, sliceRows: rangeRows, untaken: untakenCounts
    ).statistics(program: program)
    adjust(&statistics)
    return PartitionPlanner(
      program: program, statistics: statistics,
      granularity: .init(
        workers: workers, orderWork: 384 << 20, keepsSlices: rangeRows != nil)
    ).plan()
  }
}
