package import Mapping

/// How sentences name what their readers can do: as those of a library write it, or of a tool.
package protocol AdviceWords: Sendable {
  /// An option with its value, nil for a switch or where any value is meant.
  func option(_ option: MigrationOption, _ value: String?) -> String
  /// A value of an option that the sentence has named before.
  func value(_ value: String) -> String
  /// Something that can be called.
  func command(_ command: AdvisedCommand) -> String
}

/// The words in which advice is given.
package enum Advice {
  /// Those of the library, unless a program that calls it has others.
  @TaskLocal package static var words: any AdviceWords = LibraryWords()
}

extension DefaultStringInterpolation {
  /// Appends an option as its readers know it, with a value of any kind.
  mutating func appendInterpolation(option: MigrationOption, _ value: String? = nil) {
    appendInterpolation(Advice.words.option(option, value))
  }

  /// Appends an option with one of its choices.
  mutating func appendInterpolation(choice: MigrationChoice) {
    appendInterpolation(option: choice.option, choice.value)
  }

  /// Appends another choice of an option that the sentence has named.
  mutating func appendInterpolation(value: some RawRepresentable<String>) {
    appendInterpolation(Advice.words.value(value.rawValue))
  }

  /// Appends something that can be called.
  mutating func appendInterpolation(command: AdvisedCommand) {
    appendInterpolation(Advice.words.command(command))
  }
}

extension MigrationChoice {
  /// What is chosen about persistent history.
  static func history(_ choice: StoreMigration.HistoryChoice) -> Self {
    Self(.history, choice.rawValue)
  }

  /// What is chosen about CloudKit mirroring.
  static func cloudKit(_ choice: StoreMigration.CloudKitChoice) -> Self {
    Self(.cloudKit, choice.rawValue)
  }

  /// What is chosen about tables that are none of the model's.
  static func extraTables(_ choice: StoreMigration.ExtraTableChoice) -> Self {
    Self(.extraTables, choice.rawValue)
  }

  /// What is chosen about values that do not fit.
  static func onValue(_ choice: StoreMigration.ValueChoice) -> Self {
    Self(.onValue, choice.rawValue)
  }

  /// What is chosen about missing references.
  static func onMissing(_ choice: StoreMigration.MissingChoice) -> Self {
    Self(.onMissing, choice.rawValue)
  }

  /// What is chosen about duplicates.
  static func onDuplicate(_ choice: StoreMigration.DuplicateChoice) -> Self {
    Self(.onDuplicate, choice.rawValue)
  }

  /// What is chosen about several objects in a to-one relationship.
  static func onMany(_ choice: StoreMigration.ManyChoice) -> Self { Self(.onMany, choice.rawValue) }

  /// What is chosen about references to objects that are not there.
  static func onDangling(_ choice: StoreMigration.DanglingChoice) -> Self {
    Self(.onDangling, choice.rawValue)
  }

  /// What is chosen about the check of the source.
  static func checkSource(_ choice: StoreMigration.SourceCheck) -> Self {
    Self(.checkSource, choice.rawValue)
  }

  /// What is chosen about the engine.
  static func engine(_ choice: StoreMigration.Engine) -> Self { Self(.engine, choice.rawValue) }

  /// What is chosen about validation.
  static func validation(_ choice: StoreMigration.Validation) -> Self {
    Self(.validation, choice.rawValue)
  }

  /// What is chosen about verification.
  static func verify(_ choice: StoreMigration.Verification) -> Self {
    Self(.verify, choice.rawValue)
  }
}

/// Something that a reader of a sentence can call.
package enum AdvisedCommand: Hashable, Sendable {
  case check, checkVersions, createFleet, discard, draftMapping, exportModel
  case list(String)
  case lockVersions, receipt
  case restore(String, kept: String)
  case rollback(String)
  case runFleet(String?)
  case salvage, status, verify, verifyReceipt
}

/// The names of the library's own declarations.
struct LibraryWords: AdviceWords {
  func option(_ option: MigrationOption, _ value: String?) -> String {
    guard let value else { return name(option) }
    return switch option {
    case .allowLoss, .set, .joinTable: "\(name(option)) = [\"\(value)\"]"
    default: "\(name(option)) = \(self.value(value))"
    }
  }

  func value(_ value: String) -> String {
    let parts = value.split(separator: "-")
    let capitalized = parts.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }
    return "." + (parts.prefix(1).map(String.init) + capitalized).joined()
  }

  func command(_ command: AdvisedCommand) -> String {
    switch command {
    case .check: "`StoreCheck` with `migratesCopies`"
    case .checkVersions: "`VersionLock(of:since:)`"
    case .createFleet: "`StoreFleet`"
    case .discard: "`MigratedStore.discard()`"
    case .draftMapping: "`MappingModelFile`"
    case .exportModel: "`ModelExport`"
    case .list: "`MigratedStore.contents()`"
    case .lockVersions: "`VersionLock.lock`"
    case .receipt: "`MigrationReceiptFiles`"
    case .restore: "`MigratedStore.rollBack(to:)`"
    case .rollback: "`MigratedStore.rollBack()`"
    case .runFleet: "`StoreFleet.run()`"
    case .salvage: "`choices.salvagesDamaged`"
    case .status: "`MigrationMonitor`"
    case .verify: "`StoreVerification`"
    case .verifyReceipt: "`ReceiptCheck`"
    }
  }

  private func name(_ option: MigrationOption) -> String {
    switch option {
    case .accept: "accepting"
    case .allowLoss: "choices.allowedLoss"
    case .checkSource: "checks.source"
    case .cloudKit: "choices.cloudKit"
    case .discardOld: "handover.discardsOld"
    case .engine: "engine"
    case .elements: "count"
    case .entity: "entities"
    case .extraTables: "choices.extraTables"
    case .failOnLoss: "choices.failsOnLoss"
    case .graph: "MigrationGraphFile"
    case .history: "choices.history"
    case .inferOnly: "routing.infersOnly"
    case .joinTable: "routing.joinTables"
    case .json: "Encodable"
    case .label: "labels"
    case .launcher: "resources.launcher"
    case .leaveOut: "leavesOut"
    case .limit: "limit"
    case .mapping: "routing.mappings"
    case .memory: "resources.memory"
    case .models: "models"
    case .newUUID: "handover.givesNewUUID"
    case .noInfer: "routing.infers"
    case .noRecord: "handover.keepsRecord"
    case .onDangling: "choices.danglingReferences"
    case .onDuplicate: "choices.duplicates"
    case .onMany: "choices.severalObjects"
    case .onMissing: "choices.missingReferences"
    case .onValue: "choices.unfitValues"
    case .order: "routing.versionOrder"
    case .output: "output"
    case .print: "script"
    case .progressive: "routing.isProgressive"
    case .rangeRows: "resources.rowsPerRange"
    case .rate: "resources.bytesPerSecond"
    case .restart: "restarts"
    case .salvage: "choices.salvagesDamaged"
    case .set: "routing.settings"
    case .stepwise: "routing.isStepwise"
    case .target: "target"
    case .validation: "checks.validation"
    case .verify: "checks.result"
    case .work: "resources.workFolder"
    case .workers: "resources.workers"
    }
  }
}
