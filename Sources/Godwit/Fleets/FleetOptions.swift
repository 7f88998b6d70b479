import Fleets
import SystemPackage

// The options of a migration as they stand in a fleet's manifest, and back.

extension StoreMigration {
  /// Creates the migration of a store by the settings of a fleet.
  ///
  /// - Throws: `MigrationFailure`, for a word that is none of an option.
  init(store: FilePath, by settings: FleetSettings) throws(MigrationFailure) {
    self.init(store: store, toMerged: FilePath.all(settings.to))
    configuration = settings.configuration
    models = FilePath.all(settings.models)
    routing.mappings = FilePath.all(settings.mapping)
    routing.mappingFolders = FilePath.all(settings.mappings)
    routing.settings = settings.set ?? []
    routing.isProgressive = settings.progressive ?? false
    routing.infersOnly = settings.inferOnly ?? false
    routing.infers = !(settings.noInfer ?? false)
    routing.versionOrder = settings.order ?? []
    routing.joinTables = settings.joinTable ?? []
    if let mode = settings.journalMode {
      handover.journalMode = try Self.choice(mode, of: "journalMode")
    }
    if let word = settings.verify { checks.result = try Self.choice(word, of: "verify") }
    if let word = settings.checkSource { checks.source = try Self.choice(word, of: "checkSource") }
    choices.salvagesDamaged = settings.salvage ?? false
    choices.failsOnLoss = settings.failOnLoss ?? false
    choices.allowedLoss = AllowedLoss(words: settings.allowLoss ?? [])
    if let word = settings.onDuplicate {
      choices.duplicates = try Self.choice(word, of: "onDuplicate")
    }
    if let word = settings.onDangling {
      choices.danglingReferences = try Self.choice(word, of: "onDangling")
    }
    if let word = settings.onValue { choices.unfitValues = try Self.choice(word, of: "onValue") }
    if let word = settings.onMissing {
      choices.missingReferences = try Self.choice(word, of: "onMissing")
    }
    if let word = settings.onMany { choices.severalObjects = try Self.choice(word, of: "onMany") }
    if let word = settings.extraTables {
      choices.extraTables = try Self.choice(word, of: "extraTables")
    }
    if let word = settings.history { choices.history = try Self.choice(word, of: "history") }
    if let word = settings.cloudkit { choices.cloudKit = try Self.choice(word, of: "cloudkit") }
    if let word = settings.validation {
      checks.validation = try Self.choice(word, of: "validation")
    }
    if let word = settings.engine { engine = try Self.choice(word, of: "engine") }
    handover.discardsOld = settings.discardOld ?? false
    handover.copiesIfCurrent = settings.copyIfCurrent ?? false
    handover.keepsRecord = !(settings.noRecord ?? false)
    handover.givesNewUUID = settings.newUUID ?? false
    routing.isStepwise = settings.stepwise ?? false
    resources.rowsPerRange = settings.rangeRows
    resources.workFolder = settings.work.map { FilePath($0) }
  }

  private static func choice<Choice: RawRepresentable>(
    _ word: String, of option: String
  ) throws(MigrationFailure) -> Choice where Choice.RawValue == String {
    guard let choice = Choice(rawValue: word) else {
      throw MigrationFailure(.usage, "\(option) of the fleet does not allow \(word).")
    }
    return choice
  }

  /// The settings of a fleet whose stores are migrated as by this migration; defaults are left out.
  var fleetSettings: FleetSettings {
    let usual = StoreMigration(store: store, toMerged: [])
    var settings = FleetSettings()
    settings.to = FilePath.texts(target)
    settings.configuration = configuration
    settings.models = FilePath.texts(models)
    settings.mapping = FilePath.texts(routing.mappings)
    settings.mappings = FilePath.texts(routing.mappingFolders)
    settings.set = routing.settings.isEmpty ? nil : routing.settings
    settings.progressive = routing.isProgressive ? true : nil
    settings.inferOnly = routing.infersOnly ? true : nil
    settings.noInfer = routing.infers ? nil : true
    settings.order = routing.versionOrder.isEmpty ? nil : routing.versionOrder
    settings.joinTable = routing.joinTables.isEmpty ? nil : routing.joinTables
    settings.journalMode = handover.journalMode?.rawValue
    settings.salvage = choices.salvagesDamaged ? true : nil
    settings.failOnLoss = choices.failsOnLoss ? true : nil
    settings.allowLoss = choices.allowedLoss.words
    settings.discardOld = handover.discardsOld ? true : nil
    settings.copyIfCurrent = handover.copiesIfCurrent ? true : nil
    settings.noRecord = handover.keepsRecord ? nil : true
    settings.newUUID = handover.givesNewUUID ? true : nil
    settings.stepwise = routing.isStepwise ? true : nil
    settings.rangeRows = resources.rowsPerRange
    settings.work = resources.workFolder?.string
    func word<Choice: RawRepresentable & Equatable>(
      _ choice: KeyPath<StoreMigration, Choice>
    ) -> String? where Choice.RawValue == String {
      self[keyPath: choice] == usual[keyPath: choice] ? nil : self[keyPath: choice].rawValue
    }
    settings.verify = word(\.checks.result)
    settings.checkSource = word(\.checks.source)
    settings.onDuplicate = word(\.choices.duplicates)
    settings.onDangling = word(\.choices.danglingReferences)
    settings.onValue = word(\.choices.unfitValues)
    settings.onMissing = word(\.choices.missingReferences)
    settings.onMany = word(\.choices.severalObjects)
    settings.extraTables = word(\.choices.extraTables)
    settings.history = word(\.choices.history)
    settings.cloudkit = word(\.choices.cloudKit)
    settings.validation = word(\.checks.validation)
    settings.engine = word(\.engine)
    return settings.withAbsolutePaths
  }

  /// The options that no fleet has, as far as they are not at their defaults.
  var optionsOutsideFleets: [String] {
    let usual = StoreMigration(store: store, toMerged: [])
    let given: [(name: String, isGiven: Bool)] = [
      ("output", output != nil),
      ("pauseFile", pauseFile != nil),
      ("restarts", restarts),
      ("logsSQL", logsSQL),
      ("resources.workers", resources.workers != usual.resources.workers),
      ("resources.memory", resources.memory != usual.resources.memory),
      ("resources.bytesPerSecond", resources.bytesPerSecond != nil),
      ("resources.launcher", !resources.launcher.isEmpty),
      ("handover.swapFile", handover.swapFile != nil),
    ]
    return given.filter(\.isGiven).map(\.name)
  }
}

extension FleetSettings {
  /// These settings with paths from the root on: a run may have another current one.
  var withAbsolutePaths: FleetSettings {
    func absolute(_ paths: [String]?) -> [String]? {
      paths.map { $0.map { FilePath($0).absolute.string } }
    }
    var settings = self
    settings.to = absolute(to)
    settings.models = absolute(models)
    settings.mapping = absolute(mapping)
    settings.mappings = absolute(mappings)
    settings.work = work.map { FilePath($0).absolute.string }
    return settings
  }
}

extension StoreMigration.AllowedLoss {
  /// The name that stands for any loss.
  private static let anyName = "*"

  fileprivate init(words: [String]) {
    self = words.contains(Self.anyName) ? .anything : Self(of: words)
  }

  fileprivate var words: [String]? {
    isAnything ? [Self.anyName] : names.isEmpty ? nil : names.sorted()
  }
}

extension FilePath {
  fileprivate static func all(_ paths: [String]?) -> [FilePath] {
    (paths ?? []).map { FilePath($0) }
  }

  fileprivate static func texts(_ paths: [FilePath]) -> [String]? {
    paths.isEmpty ? nil : paths.map(\.string)
  }
}
