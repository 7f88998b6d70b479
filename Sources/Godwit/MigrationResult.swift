import MigrationCoordinator
import ObjectModel
public import SystemPackage

extension StoreMigration {
  /// What a migration did.
  public struct Result: Sendable, Encodable {
    /// How a migration ended that succeeded.
    public enum Outcome: String, Hashable, Sendable, CaseIterable {
      /// The store was migrated.
      case migrated
      /// The store had the model already, and nothing was written.
      case alreadyCurrent
      /// An earlier run had made the result and given it its name, and was cut off then.
      case finishedEarlier
      /// The output is there, made of the same source in the same way.
      case alreadyThere
      /// The store had the model already and was copied to the output.
      case copied
    }

    let core: MigrationReport

    init(_ core: MigrationReport) { self.core = core }

    /// How it ended.
    public var outcome: Outcome { Outcome(rawValue: core.outcome.rawValue) ?? .migrated }
    /// False where the store had the model already.
    public var wasNeeded: Bool { ![.alreadyCurrent, .copied].contains(outcome) }
    /// The store that was migrated.
    public var store: FilePath { FilePath(core.store) }
    /// Where the new store is.
    public var destination: FilePath { FilePath(core.destination) }
    /// Where the old store is kept, if it is.
    public var oldStore: FilePath? { core.oldStore.map { FilePath($0) } }
    /// Rows of the new store, those of join tables included.
    public var rows: Int64 { core.rows }
    /// Whether work of an interrupted run was taken over.
    public var resumed: Bool { core.resumed }
    /// The way from the store's version to the target's.
    public var steps: [Step] { core.steps.map { Step($0) } }
    /// Mapping models that were found and not used.
    public var unusedMappings: [UnusedMapping] { core.unusedMappings.map { UnusedMapping($0) } }
    /// Where all objects went.
    public var accounts: [Account] { [Account](core.accounts) }
    /// What was lost.
    public var losses: [Loss] { core.losses.map { Loss($0) } }
    /// How many violations of the model's rules were found and let pass.
    public var violationCount: Int { core.violations }
    /// The first violations.
    public var violations: [Violation] { core.firstViolations.map { Violation($0) } }
    /// What wrote the rows, or nil where there was nothing to do.
    public var engine: Engine? { core.engine.flatMap { Engine(rawValue: $0.rawValue) } }
    /// Why SQL wrote them although pages were asked for.
    public var engineReason: String? { core.engineDeclined }
    /// External files that the store names and that are not there.
    public var missingExternalFiles: [String] { core.missingExternalFiles }
    /// Tables of the source that its model knows nothing of, and that stay behind.
    public var extraTables: [String] { core.extraTables }
    /// Seconds in each phase, by its name.
    public var seconds: [String: Double] { core.seconds }
    /// The most bytes of memory that the coordinator occupied.
    public var peakMemory: Int64 { core.peakMemory }

    /// All that somebody should know of the result, one sentence each: what was lost, left out or
    /// chosen although nothing proves it.
    public var notes: [String] { core.notes }

    /// Encodes the report that `godwit migrate --report` writes.
    public func encode(to encoder: any Encoder) throws { try core.encode(to: encoder) }
  }

  /// One step of the way from the store's version to the target's.
  public struct Step: Hashable, Sendable {
    /// Why a stage begins with a step, and with a store of its own.
    public enum Cut: String, Hashable, Sendable {
      /// A mapping model computes values, splits or joins entities or names a policy.
      case mappingModel
      /// What the step reads cannot be told from the store before.
      case notComposable
      /// It was asked for.
      case stepwise
    }

    /// The names of all versions that hash like the one before, as far as they were looked for.
    public var from: [String]
    /// The names of all versions that hash like the one after.
    public var to: [String]
    /// The paths of the mapping models in running order; none has the mapping inferred.
    public var mappings: [FilePath]
    /// The stage of the step, from 1; steps of one stage run over the data at once.
    public var stage: Int
    /// Why a stage begins with this step; nil for the first, and for steps that begin none.
    public var cut: Cut?

    init(_ core: MigrationReport.Step) {
      (from, to, mappings) = (core.from, core.to, core.mappings.map { FilePath($0) })
      stage = core.stage
      cut = core.cut.flatMap { Cut(rawValue: $0.rawValue) }
    }
  }

  /// A mapping model that was found and not used.
  public struct UnusedMapping: Hashable, Sendable {
    /// Its file.
    public var path: FilePath
    /// Whether the caller named it or its folder.
    public var wasNamed: Bool
    /// Why it was not used, in words.
    public var reason: String

    init(_ core: MigrationReport.UnusedMapping) {
      (path, wasNamed, reason) = (FilePath(core.path), core.wasNamed, core.reason)
    }
  }

  /// A rule of the model that an object of the result breaks.
  public struct Violation: Hashable, Sendable, CustomStringConvertible {
    /// The rule that is broken.
    public enum Rule: String, Hashable, Sendable, CaseIterable {
      /// A mandatory property has no value.
      case mandatory
      /// A relationship holds fewer objects than its least number.
      case tooFew
      /// A relationship holds more objects than its largest number.
      case tooMany
      /// A number is below its least value.
      case tooSmall
      /// A number is above its largest value.
      case tooLarge
      /// A date is before its earliest.
      case tooEarly
      /// A date is after its latest.
      case tooLate
      /// A text is shorter than its least length.
      case tooShort
      /// A text is longer than its largest length.
      case tooLong
      /// A text does not match its pattern.
      case pattern
      /// Another object has the same, where a uniqueness constraint allows one.
      case notUnique
      /// A policy refused the object.
      case custom
    }

    /// The entity of the object.
    public var entity: String
    /// The key of the object (`Z_PK`).
    public var key: Int64
    /// The property that breaks the rule.
    public var property: String
    /// The rule.
    public var rule: Rule
    /// Core Data's code for it, 1550 to 1680.
    public var coreDataCode: Int
    /// One sentence for people.
    public var description: String

    init(_ core: ObjectModel.Violation) {
      (entity, key, property) = (core.entity, core.key, core.property)
      rule = Rule(rawValue: core.rule.rawValue) ?? .custom
      (coreDataCode, description) = (core.code, core.sentence)
    }
  }
}
