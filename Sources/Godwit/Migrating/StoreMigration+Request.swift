import MigrationCoordinator
import ObjectMigration
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

// The conversion of a public migration into the coordinator's request.
extension StoreMigration {
  /// The request for the coordinator.
  var request: MigrationRequest {
    var request = MigrationRequest(
      store: store, target: target, workers: resources.workers,
      memory: resources.memory)
    request.configuration = configuration
    request.output = output
    request.models = models
    request.policies = policies.factories
    request.validation = ValidationMode(mirroring: checks.validation)
    request.rangeRows = resources.rowsPerRange
    request.work = resources.workFolder
    request.journalMode = handover.journalMode?.core
    request.verifiesFully = checks.result == .full
    request.sourceCheck = Survey.SourceCheck(mirroring: checks.source)
    request.salvages = choices.salvagesDamaged
    request.extraTables = .init(mirroring: choices.extraTables)
    request.cloudKit = .init(mirroring: choices.cloudKit)
    request.history = .init(mirroring: choices.history)
    request.failsOnLoss = choices.failsOnLoss
    request.lossConsent = choices.allowedLoss.consent
    request.defectChoices = choices.ofDefects
    request.discardsOld = handover.discardsOld && !choices.salvagesDamaged
    request.restarts = restarts
    request.controls.rate = UInt64(clamping: resources.bytesPerSecond ?? 0)
    request.controls.pauseFile = pauseFile
    request.controls.swapFile = handover.swapFile
    request.keepsRecord = handover.keepsRecord
    request.copiesIfCurrent = handover.copiesIfCurrent
    request.givesNewUUID = handover.givesNewUUID
    request.namesVersions = namesVersions
    request.engine = engine.name
    request.isTrial = isTrial
    request.executable = resources.executable ?? Processes.executable
    request.division.usesLauncher = !resources.launcher.isEmpty
    // A named executable requires workers of it, and workers keep a rate.
    request.allowsThreads =
      resources.bytesPerSecond == nil && resources.launcher.isEmpty
      && (resources.executable == nil || executesSmallOrders)
    // Workers on other machines need a folder.
    request.skipsStatusOfShortRuns =
      (skipsStatusOfShortRuns || isTrial) && resources.launcher.isEmpty
    request.logsSQL = logsSQL
    request.take(routing)
    return request
  }

  /// The request to migrate to a model that may have been read before, with its versions.
  func request(for target: MigrationTarget?) -> MigrationRequest {
    var request = request
    if let target { (request.targetModel, request.library) = (target.core, target.core.library) }
    request.shared = shared
    return request
  }
}

extension MigrationRequest {
  mutating func take(_ routing: MigrationRouting) {
    mappings = routing.mappings
    mappingFolders = routing.mappingFolders
    rules.settings = routing.settings
    isProgressive = routing.isProgressive
    infersOnly = routing.infersOnly
    infers = routing.infers
    versionOrder = routing.versionOrder
    rules.joinTables = routing.joinTables
    division.isStepwise = routing.isStepwise
  }
}

extension JournalMode {
  var core: StoreFormat.JournalMode {
    switch self {
    case .wal: .wal
    case .delete: .delete
    }
  }
}
