public import ArgumentParser
public import Godwit
import SystemPackage

/// A number of bytes such as `256M`.
struct ByteSize: ExpressibleByArgument {
  let bytes: Int64

  init(bytes: Int64) { self.bytes = bytes }

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

  @Option(help: "The configuration of the model that the store is to have.")
  var configuration: String?

  @Option(
    help: ArgumentHelp(
      "Where else the store's own model may be found. May be repeated.", valueName: "path"))
  var models: [FilePath] = []

  func validate() throws {
    if target.isEmpty { throw ValidationError("Name the model to migrate to with --to.") }
  }
}

/// The mapping models and the versions by which a store gets to the target.
struct RouteOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A mapping model to migrate by: .xcmappingmodel, .cdm or .json. May be repeated; those for "
        + "one pair of versions run in this order.", valueName: "file"))
  var mapping: [FilePath] = []

  @Option(
    help: ArgumentHelp(
      "A folder with mapping models, each of which is used where it fits. May be repeated. The "
        + "folders of the models are looked through as well.", valueName: "folder"))
  var mappings: [FilePath] = []

  @Option(
    name: .customLong("set"),
    help: ArgumentHelp(
      "A value for an attribute, in place of what the mapping says: Entity.property=EXPRESSION, such "
        + "as 'Item.id=uuid()' (docs/reference/expressions.md). May be repeated.",
      valueName: "value"))
  var settings: [String] = []

  @Flag(help: "Go version by version.")
  var progressive = false

  @Flag(help: "Use no mapping models: infer what becomes of the data.")
  var inferOnly = false

  @Flag(help: "Infer nothing: every step needs a mapping model.")
  var noInfer = false

  @Option(
    help: ArgumentHelp(
      "The versions of the model in the order in which they followed each other, where neither "
        + "their identifiers nor their names tell it: Zulu,Alpha,Mike.", valueName: "names"))
  var order: VersionNames?

  @Option(
    name: .customLong("join-table"),
    help: ArgumentHelp(
      "The relationship that names the table which joins its entity with itself, where Core Data has "
        + "named it so: Entity.relationship. May be repeated.", valueName: "name"))
  var joinTables: [String] = []

  @Flag(help: .hidden)
  var stepwise = false

  func validate() throws {
    if inferOnly && noInfer {
      throw ValidationError("--infer-only and --no-infer leave no way to migrate.")
    }
    if inferOnly && !(mapping.isEmpty && mappings.isEmpty) {
      throw ValidationError("--infer-only leaves no use for --mapping and --mappings.")
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
    help: "Refuse to lose anything but what --allow-loss names, even what goes with the model.")
  var failOnLoss = false

  @Option(
    name: .customLong("allow-loss"),
    help: ArgumentHelp(
      "What may be lost besides what goes with the model: Entity or Entity.property; without a "
        + "name, anything. May be repeated.", valueName: "name"))
  var names: [String] = []

  @Option(
    help: ArgumentHelp(
      "What becomes of objects that a uniqueness constraint forbids: fail, keep-first, keep-last or "
        + "merge; first and last by key. References to removed ones become nil; with merge they lead "
        + "to the first.", valueName: "choice"))
  var onDuplicate = StoreMigration.DuplicateChoice.fail

  @Option(
    help: ArgumentHelp(
      "What becomes of references to objects that are not there: keep (as Core Data does), fail "
        + "or nullify.", valueName: "choice"))
  var onDangling = StoreMigration.DanglingChoice.keep

  @Option(
    help: ArgumentHelp(
      "What becomes of values that the new type has no equal for: fail, convert (to the nearest) or "
        + "null.", valueName: "choice"))
  var onValue = StoreMigration.ValueChoice.fail

  @Option(
    help: ArgumentHelp(
      "What becomes of objects that would lack a mandatory to-one relationship: fail or drop, which "
        + "is a loss that needs --allow-loss.", valueName: "choice"))
  var onMissing = StoreMigration.MissingChoice.fail

  @Option(
    help: ArgumentHelp(
      "What becomes of objects that have several objects in a relationship that is to-one now: fail "
        + "or first, by their order or key.", valueName: "choice"))
  var onMany = StoreMigration.ManyChoice.fail

  @Option(
    help: ArgumentHelp(
      "What becomes of persistent history: keep (as Core Data does) or drop.",
      valueName: "choice"))
  var history = StoreMigration.HistoryChoice.keep

  @Option(
    name: .customLong("cloudkit"),
    help: ArgumentHelp(
      "What becomes of CloudKit mirroring: refuse or carry. No real store has proven the latter; "
        + "docs/how-to/cloudkit.md says what is known.", valueName: "choice"))
  var cloudKit = StoreMigration.CloudKitChoice.refuse

  @Option(
    help: ArgumentHelp(
      "What becomes of tables with rows that the model knows nothing of: refuse, keep or drop; with "
        + "drop, unknown columns, views and triggers go too.", valueName: "choice"))
  var extraTables = StoreMigration.ExtraTableChoice.refuse

  @Option(help: "What violations of the model do after a mapping model: strict, report or off.")
  var validation = StoreMigration.Validation.strict

  @Flag(
    help: "Take what can be read of a damaged store, and list what is lost.")
  var salvage = false

  @Option(
    help:
      "How far the store is checked first: quick (small ones as a whole), full or off.")
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
      throw ValidationError("--fail-on-loss and --allow-loss without a name contradict each other.")
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
/// Defaults are those of `StoreMigration`, told by hand: for types other than words, the parser
/// looks among all types of the executable.
struct WorkOptions: ParsableArguments {
  @Option(
    parsing: .unconditional, help: "How many workers run at a time: 1 to 256. (default: 2)")
  var workers: Int?

  @Option(
    help: """
      Memory for all processes together: a whole number with K, M or G, such as 512M; at least \
      64M. (default: 256M)
      """)
  var memory: ByteSize?

  @Option(parsing: .unconditional, help: "Cut every table into ranges of so many rows.")
  var rangeRows: Int64?

  func validate() throws {
    if let workers { try OptionLimits.check(workers: workers) }
    if let memory, memory.bytes < StoreMigration.Resources.leastMemory {
      throw ValidationError("--memory takes at least 64M.")
    }
    if let rangeRows, rangeRows < 1 { throw ValidationError("--range-rows takes at least 1.") }
  }
}

/// What several commands ask of the same options.
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
  /// Nothing: the help of an option tells what its words mean.
  public static var allValueDescriptions: [String: String] { [:] }
  /// The words of all choices.
  public static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
  /// The word of the choice.
  public var defaultValueDescription: String { rawValue }
}

extension Option where Value: WordArgument {
  /// An option that takes one of a type's words.
  ///
  /// For the help, the parser looks for the protocols of each such type among all types of the
  /// executable: that takes a tenth of the time of a small migration, which needs no help.
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
