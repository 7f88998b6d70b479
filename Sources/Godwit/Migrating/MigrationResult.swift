import MigrationCoordinator
import ObjectModel
import Schema
import StoreNames
public import SystemPackage

extension StoreMigration {
  /// What a migration did.
  public struct Result: Sendable, Encodable {
    /// How a successful migration ended.
    public enum Outcome: String, Hashable, Sendable, CaseIterable {
      /// The store was migrated.
      case migrated
      /// The store had the target's model, and nothing was written.
      case alreadyCurrent
      /// An earlier run had renamed the result to the output and was killed then; this one cleaned
      /// up.
      case finishedEarlier
      /// The output exists, made of the same source with the same options, as its record shows
      /// (`keepsRecord` of ``StoreMigration/Handover``).
      case alreadyThere
      /// The store had the target's model and was copied to the output.
      case copied
    }

    let core: MigrationReport

    init(_ core: MigrationReport) { self.core = core }

    /// How it ended.
    public var outcome: Outcome { Outcome(mirroring: core.outcome) }
    /// False if the store had the target's model.
    public var wasNeeded: Bool { ![.alreadyCurrent, .copied].contains(outcome) }
    /// The store that was migrated.
    public var store: FilePath { FilePath(core.store) }
    /// The path of the new store.
    public var destination: FilePath { FilePath(core.destination) }
    /// The path under which the old store was kept, nil if it was not.
    public var oldStore: FilePath? { core.oldStore.map { FilePath($0) } }

    /// Whether that file holds the pages alone that the migration changed in the store itself.
    public var isUndoable: Bool { oldStore.map(KeptName.isUndo) ?? false }
    /// Rows of the new store, including those of join tables.
    public var rows: Int64 { core.rows }
    /// Those of `rows` whose tables stayed as they were in a clone of the store, estimated; 0 where
    /// all rows were made.
    public var stayingRows: Int64 { core.stayingRows ?? 0 }
    /// Whether work of an interrupted run was taken over.
    public var resumed: Bool { core.resumed }
    /// The steps from the store's version to the target's.
    public var steps: [Step] { core.steps.map { Step($0) } }
    /// Mapping models that were found and not used.
    public var unusedMappings: [UnusedMapping] { core.unusedMappings.map { UnusedMapping($0) } }
    /// The numbers of objects migrated and dropped, by entity and stage.
    public var accounts: [Account] { [Account](core.accounts) }
    /// What was lost.
    public var losses: [Loss] { core.losses.map { Loss($0) } }
    /// What was taken of a damaged store and what was lost, nil where it was not damaged or nothing
    /// was to be salvaged.
    public var salvage: Salvage? { core.salvage.map { Salvage($0) } }
    /// What was wrong with rows of the store, as far as it was looked for, and what became of it.
    public var defects: [Defect] { core.defects.map { Defect($0) } }
    /// How many violations of validation rules were found and tolerated.
    public var violationCount: Int { core.violations }
    /// The first violations.
    public var violations: [Violation] { core.firstViolations.map { Violation($0) } }
    /// The engine of the last stage, nil if there was nothing to do.
    public var engine: Engine? { core.engine.map { Engine(name: $0) } }
    /// Why another engine than the requested one was used, nil otherwise.
    public var engineDeclined: String? { core.engineDeclined }
    /// External binary data files that the store refers to and that do not exist.
    public var missingExternalFiles: [String] { core.missingExternalFiles }
    /// Tables of the source that do not belong to its model, and were not migrated.
    public var extraTables: [String] { core.extraTables }
    /// The number of rows of those of ``extraTables`` that have some.
    public var extraTableRows: [String: Int64] {
      Dictionary(
        (core.extraTableRows ?? []).map { ($0.name, $0.rows) }, uniquingKeysWith: { $1 })
    }
    /// Columns that do not belong to the model, each as `TABLE.COLUMN`, with the number of values
    /// that were left behind.
    public var extraColumns: [String: Int64] {
      Dictionary(
        (core.extraColumns ?? []).map { ($0.name, $0.values) }, uniquingKeysWith: { $1 })
    }
    /// Views that do not belong to the model, and were left behind.
    public var extraViews: [String] { core.extraViews ?? [] }
    /// Triggers that do not belong to the model, and were left behind.
    public var extraTriggers: [String] { core.extraTriggers ?? [] }
    /// Indexes that Core Data does not make, and that were left behind.
    public var extraIndexes: [String] { core.extraIndexes ?? [] }
    /// Generated columns that do not belong to the model, each as `TABLE.COLUMN`, and were left
    /// behind.
    public var extraGeneratedColumns: [String] { core.extraGeneratedColumns ?? [] }
    /// Tables that do not belong to the model and were copied as they are.
    public var keptTables: [String] { core.keptTables }
    /// Seconds spent in each phase, by its name.
    public var seconds: [String: Double] { core.seconds }
    /// The peak private memory of the coordinator, in bytes.
    public var peakMemory: Int64 { core.peakMemory }

    /// What was done, in some lines: objects by entity, the time of phases, speed and memory.
    public var summary: [String] { MigrationSummary(core).lines }

    /// Everything notable about the result, one sentence each: what was lost, left out, or assumed
    /// without proof.
    public var notes: [String] { core.notes }

    /// Encodes the report that `godwit migrate --report` writes.
    public func encode(to encoder: any Encoder) throws { try core.encode(to: encoder) }
  }

  /// One step from the store's version to the target's.
  public struct Step: Hashable, Sendable {
    /// Why a stage, with a store of its own, begins with a step.
    public enum Cut: String, Hashable, Sendable {
      /// A mapping model computes values, splits or joins entities, or names a policy.
      case mappingModel
      /// The step cannot be expressed in terms of the rows before the previous steps.
      case notComposable
      /// It was requested.
      case stepwise
    }

    /// The names of all versions with the hashes before the step, as far as they were looked for.
    public var from: [String]
    /// The names of all versions with the hashes after the step.
    public var to: [String]
    /// The paths of the mapping models in the order of their execution; empty if the step is
    /// inferred.
    public var mappings: [FilePath]
    /// The number of the step's stage, from 1; steps of one stage run over the data at once.
    public var stage: Int
    /// Why a stage begins with this step; nil if none does, and for the first.
    public var cut: Cut?

    init(_ core: MigrationReport.Step) {
      (from, to, mappings) = (core.from, core.to, core.mappings.map { FilePath($0) })
      stage = core.stage
      cut = core.cut.flatMap { Cut(rawValue: $0.rawValue) }
    }
  }

  /// A mapping model that was found and not used.
  public struct UnusedMapping: Hashable, Sendable {
    /// The path of its file.
    public var path: FilePath
    /// Whether the caller named it or its folder.
    public var wasNamed: Bool
    /// Why it was not used, in words.
    public var reason: String

    init(_ core: MigrationReport.UnusedMapping) {
      (path, wasNamed, reason) = (FilePath(core.path), core.wasNamed, core.reason)
    }
  }

  /// A validation rule of the model that an object of the result violates.
  public struct Violation: Hashable, Sendable, CustomStringConvertible {
    /// The validation rules.
    public enum Rule: String, Hashable, Sendable, CaseIterable {
      /// A mandatory property has no value.
      case mandatory
      /// A relationship has fewer objects than its minimum.
      case tooFew
      /// A relationship has more objects than its maximum.
      case tooMany
      /// A number is below its minimum.
      case tooSmall
      /// A number is above its maximum.
      case tooLarge
      /// A date is before its minimum.
      case tooEarly
      /// A date is after its maximum.
      case tooLate
      /// A text is shorter than its minimum length.
      case tooShort
      /// A text is longer than its maximum length.
      case tooLong
      /// A text does not match its regular expression.
      case pattern
      /// Another object has the same value, which a uniqueness constraint forbids.
      case notUnique
      /// A policy rejected the object.
      case custom
    }

    /// The entity of the object.
    public var entity: String
    /// The primary key of the object (`Z_PK`).
    public var key: Int64
    /// The property that violates the rule.
    public var property: String
    /// The rule.
    public var rule: Rule
    /// Core Data's code for the violation, 1550 to 1680.
    public var coreDataCode: Int
    /// The violation as a sentence.
    public var description: String

    init(_ core: ObjectModel.Violation) {
      (entity, key, property) = (core.entity, core.key, core.property)
      rule = Rule(mirroring: core.rule)
      (coreDataCode, description) = (core.code, core.sentence)
    }
  }
}
