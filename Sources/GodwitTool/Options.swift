public import ArgumentParser
public import Godwit
import SystemPackage

/// A number of bytes such as `256M`.
struct ByteSize: ExpressibleByArgument {
  let bytes: Int64

  init?(argument: String) {
    let units: [Character: Int64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30]
    var digits = argument.uppercased()
    if digits.hasSuffix("IB") {
      digits.removeLast(2)
    } else if digits.hasSuffix("B") {
      digits.removeLast()
    }
    let unit = digits.last.flatMap { units[$0] }
    if unit != nil { digits.removeLast() }
    guard let number = Int64(digits), number > 0 else { return nil }
    let (bytes, overflow) = number.multipliedReportingOverflow(by: unit ?? 1)
    if overflow { return nil }
    self.bytes = bytes
  }

  var defaultValueDescription: String { "\(bytes >> 20)M" }
}

extension MigrationControl.Rate: ExpressibleByArgument {
  /// Reads a whole number with K, M or G; 0 has no limit.
  public init?(argument: String) {
    guard argument != "0" else {
      self = .unlimited
      return
    }
    guard let size = ByteSize(argument: argument) else { return nil }
    self = .bytesPerSecond(size.bytes)
  }
}

/// The model to migrate to, and where to find the store's own.
struct ModelOptions: ParsableArguments {
  @Option(
    name: .customLong("to"),
    help: ArgumentHelp(
      "The model to migrate to: a bundle (its current version), one version, a folder or app with "
        + "one, or another store. May be repeated; the models are merged.",
      valueName: "model"))
  var target: [FilePath]

  @Option(help: "The configuration of the model for the new store.")
  var configuration: String?

  @Option(
    help: ArgumentHelp(
      "Another place to search for the store's own model. May be repeated.", valueName: "path"))
  var models: [FilePath] = []

  func validate() throws {
    if target.isEmpty { throw ValidationError("Name the model to migrate to with --to.") }
  }
}

/// The mapping models and the versions by which a store gets to the target.
struct RouteOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A mapping model to use: .xcmappingmodel, .cdm or .json. May be repeated; those for the same "
        + "pair of versions run in this order.", valueName: "file"))
  var mapping: [FilePath] = []

  @Option(
    help: ArgumentHelp(
      "A folder with mapping models; each is used where it fits. May be repeated. The folders of "
        + "the models are searched too.", valueName: "folder"))
  var mappings: [FilePath] = []

  @Option(
    name: .customLong("set"),
    help: ArgumentHelp(
      "A value for an attribute, instead of the one in the mapping: Entity.property=EXPRESSION, "
        + "such as 'Item.id=uuid()' (docs/reference/expressions.md). May be repeated.",
      valueName: "value"))
  var settings: [String] = []

  @Flag(help: "Migrate version by version.")
  var progressive = false

  @Flag(help: "Use no mapping models: infer every step.")
  var inferOnly = false

  @Flag(help: "Infer nothing: every step needs a mapping model.")
  var noInfer = false

  @Option(
    help: ArgumentHelp(
      "The versions of the model, oldest first, such as Zulu,Alpha,Mike. Needed if neither "
        + "identifiers nor names show the order.", valueName: "names"))
  var order: VersionNames?

  @Option(
    name: .customLong("join-table"),
    help: ArgumentHelp(
      "The relationship after which Core Data named the join table of an entity with itself: "
        + "Entity.relationship. May be repeated.", valueName: "name"))
  var joinTables: [String] = []

  @Flag(help: .hidden)
  var stepwise = false

  func validate() throws {
    if inferOnly && noInfer {
      throw ValidationError("--infer-only and --no-infer contradict each other: leave one out.")
    }
    if inferOnly && !(mapping.isEmpty && mappings.isEmpty) {
      throw ValidationError(
        "--infer-only uses no mapping models: leave out --mapping and "
          + "--mappings.")
    }
  }
}

/// Names of versions, with commas between them.
struct VersionNames: ExpressibleByArgument {
  let names: [String]

  init?(argument: String) {
    names = argument.split(separator: ",", omittingEmptySubsequences: false).map {
      String($0.drop { $0 == " " })
    }
    if names.contains(where: \.isEmpty) || Set(names).count < names.count { return nil }
  }
}

/// The losses that the user accepts, and how far the store is trusted.
struct LossOptions: ParsableArguments {
  @Flag(
    help: """
      Refuse every loss that --allow-loss does not name, even of data that the new model removes.
      """)
  var failOnLoss = false

  @Option(
    name: .customLong("allow-loss"),
    help: ArgumentHelp(
      "Permit the loss of Entity or Entity.property, besides data that the new model removes. "
        + "Entity.property includes the property of its subentities. Without a name, permit every loss. May be repeated.",
      valueName: "name"))
  var names: [String] = []

  @Option(
    help: ArgumentHelp(
      "How to treat objects that a uniqueness constraint forbids: fail, keep-first, keep-last or "
        + "merge; first and last by key. References to removed objects become nil; with merge they "
        + "lead to the first.", valueName: "choice"))
  var onDuplicate = StoreMigration.DuplicateChoice.fail

  @Option(
    help: ArgumentHelp(
      "How to treat references to missing objects: keep (as Core Data does), fail or "
        + "nullify.", valueName: "choice"))
  var onDangling = StoreMigration.DanglingChoice.keep

  @Option(
    help: ArgumentHelp(
      "How to treat values that the new type cannot represent: fail, convert (to the nearest) or "
        + "null.", valueName: "choice"))
  var onValue = StoreMigration.ValueChoice.fail

  @Option(
    help: ArgumentHelp(
      "How to treat objects that would lack a mandatory to-one relationship: fail, or drop, a loss "
        + "that needs --allow-loss.", valueName: "choice"))
  var onMissing = StoreMigration.MissingChoice.fail

  @Option(
    help: ArgumentHelp(
      "How to treat objects with several objects in a relationship that becomes to-one: fail, or "
        + "first, by order or key.", valueName: "choice"))
  var onMany = StoreMigration.ManyChoice.fail

  @Option(
    help: ArgumentHelp(
      "How to treat persistent history: keep (as Core Data does) or drop.",
      valueName: "choice"))
  var history = StoreMigration.HistoryChoice.keep

  @Option(
    name: .customLong("cloudkit"),
    help: ArgumentHelp(
      "How to treat CloudKit mirroring: refuse, or carry, which is untested on real stores "
        + "(docs/how-to/cloudkit.md).", valueName: "choice"))
  var cloudKit = StoreMigration.CloudKitChoice.refuse

  @Option(
    help: ArgumentHelp(
      "How to treat tables with rows that are not part of the model: refuse, keep or drop. With "
        + "drop, unknown columns, views and triggers are removed too.", valueName: "choice"))
  var extraTables = StoreMigration.ExtraTableChoice.refuse

  @Option(
    help: """
      How to treat objects that violate the model after a mapping model: strict, report or off.
      """)
  var validation = StoreMigration.Validation.strict

  @Flag(
    help: "Migrate the readable part of a damaged store, and list the losses.")
  var salvage = false

  @Option(
    help:
      "How thoroughly to check the store first: quick (small stores completely), full or off.")
  var checkSource = StoreMigration.SourceCheck.quick

  /// The name that accepts every loss.
  private static let anything = "*"

  /// Adds `*` to every `--allow-loss` without a name: the parser knows no optional values.
  static func completed(_ arguments: [String]) -> [String] {
    arguments.enumerated().map { index, argument in
      let next = index + 1 < arguments.count ? arguments[index + 1] : "-"
      return argument == "--allow-loss" && next.hasPrefix("-")
        ? "\(argument)=\(anything)" : argument
    }
  }

  func validate() throws {
    if failOnLoss && names.contains(Self.anything) {
      throw ValidationError(
        "--fail-on-loss and --allow-loss without a name contradict each other: leave one of them "
          + "out, or name what may be lost.")
    }
  }

  /// Whether something is done about what is wrong with rows, in every step.
  var settlesDefects: Bool {
    onDuplicate != .fail || onDangling == .nullify || onValue == .null
      || onMissing == .drop || onMany == .first
  }

  var allowed: StoreMigration.AllowedLoss {
    names.contains(Self.anything) ? .anything : .init(of: names)
  }
}

/// The size of work orders, and the limits of workers and memory.
///
/// Defaults are those of `StoreMigration`, written by hand: for types other than words, the parser
/// searches all types of the executable.
struct WorkOptions: ParsableArguments {
  @Option(
    parsing: .unconditional, help: "The number of workers at a time: 1 to 256. (default: 2)")
  var workers: Int?

  @Option(
    help: """
      Memory for all processes together: a whole number with K, M or G, such as 512M; at least \
      64M. (default: 256M)
      """)
  var memory: ByteSize?

  @Option(parsing: .unconditional, help: "Split every table into ranges of this many rows.")
  var rangeRows: Int64?

  func validate() throws {
    if let workers { try OptionLimits.check(workers: workers) }
    if let memory, memory.bytes < StoreMigration.Resources.leastMemory {
      throw ValidationError("--memory takes at least 64M.")
    }
    if let rangeRows, rangeRows < 1 { throw ValidationError("--range-rows takes at least 1.") }
  }
}

/// Checks of options that several commands have.
enum OptionLimits {
  static func check(workers: Int) throws {
    guard StoreMigration.Resources.workerRange.contains(workers) else {
      throw ValidationError("--workers takes a number from 1 to 256.")
    }
  }

  static func check(wait: Double) throws {
    guard (0...31_536_000).contains(wait) else {
      throw ValidationError("--wait takes a number of seconds, a year at most.")
    }
  }
}

extension RouteOptions {
  var routing: MigrationRouting {
    var routing = MigrationRouting()
    routing.mappings = mapping
    routing.mappingFolders = mappings
    routing.settings = settings
    routing.isProgressive = progressive
    routing.infersOnly = inferOnly
    routing.infers = !noInfer
    routing.versionOrder = order?.names ?? []
    routing.joinTables = joinTables
    routing.isStepwise = stepwise
    return routing
  }
}

extension StoreMigration {
  init(
    store: FilePath, model: ModelOptions, route: RouteOptions, loss: LossOptions
  ) {
    self.init(store: store, toMerged: model.target)
    configuration = model.configuration
    models = model.models
    take(route, loss)
  }

  mutating func take(_ route: RouteOptions, _ loss: LossOptions) {
    routing = route.routing
    checks.source = loss.checkSource
    choices.salvagesDamaged = loss.salvage
    choices.failsOnLoss = loss.failOnLoss
    choices.allowedLoss = loss.allowed
    choices.duplicates = loss.onDuplicate
    choices.danglingReferences = loss.onDangling
    choices.unfitValues = loss.onValue
    choices.missingReferences = loss.onMissing
    choices.severalObjects = loss.onMany
    choices.history = loss.history
    choices.cloudKit = loss.cloudKit
    choices.extraTables = loss.extraTables
    checks.validation = loss.validation
    policies = GodwitTool.policies
  }

  mutating func take(_ work: WorkOptions) {
    resources.workers = work.workers ?? resources.workers
    resources.memory = work.memory?.bytes ?? resources.memory
    resources.rowsPerRange = work.rangeRows
  }
}

extension StoreMigration.DuplicateChoice: WordArgument {}
extension StoreMigration.MissingChoice: WordArgument {}
extension StoreMigration.ManyChoice: WordArgument {}
extension StoreMigration.DanglingChoice: WordArgument {}
extension StoreMigration.ValueChoice: WordArgument {}
extension StoreMigration.HistoryChoice: WordArgument {}
extension StoreMigration.CloudKitChoice: WordArgument {}
extension StoreMigration.ExtraTableChoice: WordArgument {}
extension JournalMode: WordArgument {}
extension StoreMigration.Engine: WordArgument {}
extension StoreMigration.Validation: WordArgument {}
extension StoreMigration.Verification: WordArgument {}
extension StoreMigration.SourceCheck: WordArgument {}

/// One of a few words, by which an option names a choice.
public protocol WordArgument: ExpressibleByArgument, CaseIterable, RawRepresentable
where RawValue == String {}

extension WordArgument {
  /// The choice that has this word.
  public init?(argument: String) { self.init(rawValue: argument) }

  /// The words of all choices, in the order of the help.
  public static var allValueStrings: [String] { allCases.map { $0.rawValue } }
  /// Nothing: the help of an option explains its words.
  public static var allValueDescriptions: [String: String] { [:] }
  /// The words of all choices.
  public static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
  /// The word of the choice.
  public var defaultValueDescription: String { rawValue }
}

extension Option where Value: WordArgument {
  /// An option that takes one of a type's words.
  ///
  /// For the help, the parser searches all types of the executable for the protocols of each such
  /// type: that takes a tenth of the time of a small migration, which needs no help.
  init(wrappedValue: Value, name: NameSpecification = .long, help: ArgumentHelp? = nil) {
    guard RootCommand.parsesAlone else {
      self.init(
        wrappedValue: wrappedValue, name: name, parsing: .next, help: help, completion: nil)
      return
    }
    self.init(wrappedValue: wrappedValue, name: name, help: help) { word in
      guard let value = Value(rawValue: word) else { throw ValidationError(word) }
      return value
    }
  }
}
