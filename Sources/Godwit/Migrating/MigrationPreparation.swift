import Mapping
import MigrationCoordinator
import ObjectModel
import Planning
import RowPrograms
import Schema
import Survey
import SystemCalls
public import SystemPackage

extension StoreMigration {
  /// Finds out what the migration would do, without writing next to the store.
  ///
  /// The pages that a `-wal` holds are copied to a temporary folder; a store with a journal, as a
  /// whole.
  ///
  /// - Parameter target: the model to migrate to, if it was read before; nil reads it.
  /// - Throws: `MigrationFailure`, if that cannot be found out, for example because the store's
  ///   model or a route to the target is missing. What is found out and prevents the migration is
  ///   ``Preparation/refusal``.
  public func prepare(for target: MigrationTarget? = nil) async throws(MigrationFailure)
    -> Preparation
  {
    try WorkerDispatch.requireNoWorker()
    try requirePossibleResources()
    return try MigrationFailure.catching {
      let request = request(for: target)
      let model =
        try target?.core
        ?? TargetModel(
          paths: self.target, configuration: configuration, library: request.library)
      return try MigrationPreview.with(request, target: model) {
        Preparation(preview: $0)
      }
    }
  }

  /// What a migration would do.
  public struct Preparation: Sendable {
    /// The store to migrate.
    public let store: FilePath
    /// Whether the store's model differs from the target's.
    public let isNeeded: Bool
    /// Whether nothing is known that would prevent the migration.
    public var isPossible: Bool { refusal == nil }
    /// What would prevent the migration: the reasons, or losses without consent; nil if nothing is
    /// known.
    public internal(set) var refusal: MigrationFailure?
    /// Objects of the store by entity, without those of subentities.
    public let objects: [String: Int64]
    /// The names of the version that the store has; empty if it has none.
    public let from: [String]
    /// The names of the version that the store gets.
    public let to: [String]
    /// The steps from one version to the other.
    public let steps: [Step]
    /// The number of stages; each begins with a store of its own.
    public let stageCount: Int
    /// Steps of later stages, whose stores do not exist yet and could not be surveyed.
    public internal(set) var stepsNotSurveyed: Int
    /// Mapping models that were found and are not used.
    public let unusedMappings: [UnusedMapping]
    /// The mapping models that would be used, those that are left out although they were expected
    /// to be used, and parts of their files that they do not show, one sentence each.
    public var mappingNotes: [String] { usedMappings + fileNotes }
    private let usedMappings: [String]
    /// Parts of the files of mapping models that these do not show, one sentence each.
    package let fileNotes: [String]
    /// Indexes of the model that a store of its version lacks, in words; nil where there are none.
    public let indexNote: String?
    /// The losses of the first stage, as far as they are known before policies run.
    public internal(set) var losses: [Loss]
    /// The losses by choices that are not in ``losses``.
    var chosenLosses: [Loss] = []
    /// Objects whose values only the migration computes, by mapping models or in later stages;
    /// empty where it was tried, and where there are none.
    public internal(set) var untried: [Untried] = []
    /// What would be taken of a damaged store and what would be lost, nil where it is not damaged
    /// or nothing is to be salvaged.
    public let salvage: Salvage?
    /// The new objects that mapping models make in the first stage.
    public let newObjects: [NewObjects]
    /// What is wrong with rows of the store, and what becomes of it.
    public let defects: [Defect]
    /// Other notes, a sentence each: that the store has no objects, that its log is missing, that
    /// its version is in no model, or that a relationship gets an order.
    public let notes: [String]
    /// Whether the store has journal mode WAL and no `-wal` file, which ``notes`` state too.
    public let lacksLog: Bool
    /// The version of the store, where no version of the model has its hashes; else nil.
    public let missingVersion: MissingVersion?
    /// What is carried over of CloudKit mirroring, in words; nil where nothing is.
    public let mirroringNote: String?
    /// Fetch indexes of the model that the new store will not have.
    public let omittedIndexes: [OmittedIndex]
    /// The engine of the first stage, nil if no migration is needed.
    public let engine: Engine?
    /// Why this engine was chosen, in words.
    public let engineReason: String?
    /// Source rows of the first stage; 0 if it goes object by object.
    public let rows: Int64
    /// The estimated bytes of these rows.
    public let bytes: Int64
    /// The estimated disk space at the peak, in bytes; 0 if no migration is needed.
    public let diskNeeded: Int64
    /// Where too little of it is free and what to do, a sentence; nil if there is enough.
    ///
    /// Work of an interrupted run is not counted.
    public let diskNote: String?
    /// What it would take to edit the store itself, in place; nil where that would be declined, or
    /// takes no less disk.
    public let edit: Edit?
    /// The estimated duration on this machine, but for what policies do.
    ///
    /// nil if no migration is needed, or none is possible.
    public let expectedDuration: Duration?
    /// Whether policies are called: what they do takes its time besides.
    public let callsPolicies: Bool
    /// Groups of tables without relationships between them; empty if the stage goes object by
    /// object.
    public let partitions: [Partition]
    /// The work of the worker processes, in the order in which it starts.
    public let workOrders: [WorkOrder]
    /// Tables of the new store that stay as they are, and are not read; empty but where the engine
    /// is `clone` or `edit`.
    public let stayingTables: [String]
    /// Tables whose rows are updated where they are, with the columns that change.
    public let updatedTables: [String: [String]]
    /// The estimated rows and bytes of these tables.
    public let stayingRows, stayingBytes: Int64

    let plan: MigrationPlan?
    private let coreSteps: [MigrationReport.Step]
    private let coreUnusedMappings: [MigrationReport.UnusedMapping]
  }

  /// What ``StoreMigration/Engine/edit`` would take.
  public struct Edit: Hashable, Sendable {
    /// The estimated disk space at the peak, in bytes.
    public var diskNeeded: Int64
    /// The estimated duration on this machine.
    public var expectedDuration: Duration
  }

  /// Tables that no relationship connects with any other table.
  public struct Partition: Hashable, Sendable {
    /// The number of the partition from 1, the largest first.
    public var number: Int
    /// Tables of the new store.
    public var tables: [String]
    /// Source rows of these tables.
    public var rows: Int64
    /// The estimated bytes of these rows.
    public var bytes: Int64
  }

  /// What one worker process does.
  public struct WorkOrder: Hashable, Sendable {
    /// A range of rows of one table.
    public struct Piece: Hashable, Sendable {
      /// The table of the new store.
      public var table: String
      /// Their primary keys (`Z_PK`); a bound of `Int64` means that there is none.
      public var keys: ClosedRange<Int64>
    }

    /// The number of the work order from 1, in the order in which they start.
    public var number: Int
    /// The number of the partition from which its rows come.
    public var partition: Int
    /// Source rows of the work order.
    public var rows: Int64
    /// The estimated bytes of these rows.
    public var bytes: Int64
    /// The ranges of rows.
    public var pieces: [Piece]
  }

  /// A fetch index of the model that the new store will not have.
  public struct OmittedIndex: Hashable, Sendable {
    /// The entity that declares it.
    public var entity: String
    /// The name of the index.
    public var index: String
    /// Why it is left out, in words.
    public var reason: String
  }
}

extension StoreMigration.Preparation {
  init(preview: MigrationPreview) {
    store = preview.prepared.request.store
    isNeeded = preview.isNeeded
    refusal = Self.refusal(preview)
    objects = Dictionary(
      preview.survey.model.entities.map { ($0.name, preview.survey.count(of: $0.name)) },
      uniquingKeysWith: +)
    (from, to) = preview.prepared.versions ?? ([], [])
    coreSteps = MigrationReport.Step.steps(of: preview.stages)
    steps = coreSteps.map { StoreMigration.Step($0) }
    stageCount = preview.stages.count
    stepsNotSurveyed = preview.stages.dropFirst().reduce(0) { $0 + $1.steps.count }
    coreUnusedMappings = preview.route?.unusedMappings(.sentences) ?? []
    unusedMappings = coreUnusedMappings.map { StoreMigration.UnusedMapping($0) }
    usedMappings =
      coreSteps.compactMap { step in
        step.mappings.isEmpty
          ? nil : "goes\(VersionSpan(step.from, step.to)) by \(ListText(step.mappings))."
      } + coreUnusedMappings.filter(\.isExpected).map { "does not use \($0.path): \($0.reason)." }
    fileNotes = (preview.route?.notes ?? []).map(\.sentence)
    lacksLog = preview.survey.access.lacksLog
    indexNote = Self.indexNote(preview.prepared.missingIndexes)
    salvage = preview.prepared.salvage.map { StoreMigration.Salvage($0) }
    newObjects = preview.newObjects.map { StoreMigration.NewObjects($0) }
    defects = preview.defects.map { StoreMigration.Defect($0) }
    losses = preview.losses.map { StoreMigration.Loss($0) }
    chosenLosses = preview.chosenLosses.map { StoreMigration.Loss($0) }
    untried = Self.computed(preview)
    missingVersion = preview.isNeeded ? MissingVersionSearch(preview)?.described : nil
    notes = Self.notes(preview, steps: coreSteps, missing: missingVersion)
    mirroringNote = preview.assessment?.mirroringAccounts?.mirroringNote
    omittedIndexes = (preview.assessment?.schema.omissions ?? []).map {
      .init(entity: $0.entity, index: $0.index, reason: $0.reason)
    }
    let engine = preview.engine
    self.engine = engine.map { StoreMigration.Engine(name: $0.name) }
    engineReason = engine?.reason
    (rows, bytes) = (preview.plan?.rows ?? 0, preview.plan?.bytes ?? 0)
    diskNeeded = preview.isNeeded ? preview.diskNeed.bytes : 0
    diskNote = Self.diskNote(diskNeeded, preview)
    expectedDuration = preview.isNeeded ? preview.secondsExpected.map { .seconds($0) } : nil
    let needed = diskNeeded
    edit = preview.edit.flatMap { edit in
      edit.need.bytes < needed
        ? .init(diskNeeded: edit.need.bytes, expectedDuration: .seconds(edit.seconds)) : nil
    }
    callsPolicies = preview.callsPolicies
    plan = preview.plan
    partitions = (preview.plan?.partitions ?? []).map { StoreMigration.Partition($0) }
    workOrders = (preview.plan?.workOrders ?? []).map { StoreMigration.WorkOrder($0) }
    let untouched = preview.plan?.untouched ?? []
    stayingTables = untouched.map(\.table)
    stayingRows = untouched.reduce(0) { $0 + $1.rows }
    stayingBytes = untouched.reduce(0) { $0 + $1.bytes }
    updatedTables = Dictionary(
      (preview.plan?.updated ?? []).map { ($0.table, $0.updatedColumns) },
      uniquingKeysWith: { first, _ in first })
  }

  private static func notes(
    _ preview: MigrationPreview, steps: [MigrationReport.Step],
    missing: StoreMigration.MissingVersion?
  ) -> [String] {
    var notes: [String] = []
    let counts = preview.survey.model.entities.map { preview.survey.count(of: $0.name) }
    if counts.allSatisfy({ $0 == 0 }) { notes.append("It has no objects.") }
    notes += [preview.survey.access.logSentence].compactMap(\.self)
    guard preview.isNeeded else { return notes }
    return notes + [missing?.sentence].compactMap(\.self)
      + steps.newOrderSentences { name in
        preview.survey.model.entity(name: name).map { preview.survey.count(of: $0.name) > 0 }
          ?? false
      }
  }

  private static func diskNote(_ needed: Int64, _ preview: MigrationPreview) -> String? {
    let request = preview.prepared.request
    let folder = request.work ?? Files.parent(of: request.output ?? request.store)
    let short = try? DiskShortage.find(wanted: [(folder, needed, "work and the new store")])
    return short?.first?.sentence
  }

  private static func indexNote(_ missing: [String]) -> String? {
    guard !missing.isEmpty else { return nil }
    let what = missing.count == 1 ? "the index" : "the indexes"
    return "its version hashes are those of the model, but it lacks \(what) \(ListText(missing)): "
      + "set a hash modifier of the entity to make a new version."
  }

  private static func refusal(_ preview: MigrationPreview) -> MigrationFailure? {
    do {
      try preview.requirePossible()
      return nil
    } catch {
      return MigrationFailure(error)
    }
  }
}

extension StoreMigration.Partition {
  fileprivate init(_ core: Planning.Partition) {
    (number, tables, rows, bytes) = (core.number, core.tables, core.rows, core.bytes)
  }
}

extension StoreMigration.WorkOrder {
  fileprivate init(_ core: Planning.WorkOrder) {
    (number, partition, rows, bytes) = (core.number, core.partition, core.rows, core.bytes)
    pieces = core.pieces.map {
      Piece(table: $0.destinationTable, keys: $0.keys.first...$0.keys.last)
    }
  }
}

extension StoreMigration.Preparation: Encodable {
  private enum CodingKeys: CodingKey {
    case version, isNeeded, route, unusedMappings, mappingNotes, plan, losses, newObjects, salvage,
      defects, rows, bytes,
      diskNeeded, edit,
      secondsEstimated, callsPolicies, untried, notes
  }

  /// Encodes the output of `godwit plan --json` (docs/schemas/plan.schema.json).
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(1, forKey: .version)
    try container.encode(isNeeded, forKey: .isNeeded)
    try container.encode(coreSteps, forKey: .route)
    try container.encode(coreUnusedMappings, forKey: .unusedMappings)
    if !mappingNotes.isEmpty { try container.encode(mappingNotes, forKey: .mappingNotes) }
    try container.encodeIfPresent(plan, forKey: .plan)
    try container.encode(losses, forKey: .losses)
    if !newObjects.isEmpty { try container.encode(newObjects, forKey: .newObjects) }
    try container.encodeIfPresent(salvage, forKey: .salvage)
    try container.encode(defects, forKey: .defects)
    try container.encode(rows, forKey: .rows)
    try container.encode(bytes, forKey: .bytes)
    try container.encode(diskNeeded, forKey: .diskNeeded)
    try container.encodeIfPresent(
      expectedDuration.map { $0 / .seconds(1) }, forKey: .secondsEstimated)
    if let edit {
      var inner = container.nestedContainer(keyedBy: CodingKeys.self, forKey: .edit)
      try inner.encode(edit.diskNeeded, forKey: .diskNeeded)
      try inner.encode(edit.expectedDuration / .seconds(1), forKey: .secondsEstimated)
    }
    try container.encode(callsPolicies, forKey: .callsPolicies)
    try container.encode(untried, forKey: .untried)
    try container.encode(notes, forKey: .notes)
  }
}
