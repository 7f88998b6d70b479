public import Foundation
import MigrationCoordinator
import ObjectMigration
import Survey
public import SystemPackage

// The conversion of a public migration into the coordinator's request.
extension StoreMigration {
  /// The request for the coordinator.
  var request: MigrationRequest {
    var request = MigrationRequest(
      store: store, target: target, workers: max(1, workers), memory: max(64 << 20, memory))
    request.configuration = configuration
    request.output = output
    request.models = models
    request.policies = policies.factories
    request.validation = ValidationMode(mirroring: validation)
    request.rangeRows = rowsPerRange
    request.work = workFolder
    request.journalMode = journalMode?.core
    request.verifiesFully = verification == .full
    request.sourceCheck = Survey.SourceCheck(mirroring: sourceCheck)
    request.salvages = salvagesDamaged
    request.extraTables = .init(mirroring: extraTables)
    request.cloudKit = .init(mirroring: cloudKit)
    request.history = .init(mirroring: history)
    request.failsOnLoss = failsOnLoss
    request.lossConsent = allowedLoss.consent
    request.defectChoices = choices
    request.discardsOld = discardsOld && !salvagesDamaged
    request.restarts = restarts
    request.controls.rate = rate
    request.controls.pauseFile = pauseFile
    request.controls.swapFile = swapFile
    request.keepsRecord = keepsRecord
    request.copiesIfCurrent = copiesIfCurrent
    request.givesNewUUID = givesNewUUID
    request.namesVersions = namesVersions
    request.engine = engine.name
    request.isTrial = isTrial
    request.division.usesLauncher = !workerLauncher.isEmpty
    // Workers on other machines need a folder.
    request.leavesInstantsUntold = (leavesInstantsUntold || isTrial) && workerLauncher.isEmpty
    request.logsSQL = logsSQL
    request.take(routing)
    return request
  }

  /// The request to migrate to a model that may have been read before, with its versions.
  func request(for target: MigrationTarget?) -> MigrationRequest {
    var request = request
    if let target { request.library = target.core.library }
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
  var core: MigrationRequest.JournalMode {
    switch self {
    case .wal: .wal
    case .delete: .delete
    }
  }
}

/// A model to migrate to, which is read once, with its versions, for any number of stores.
///
/// What is written to the files of the model later is not looked at.
public struct MigrationTarget: Sendable {
  let core: TargetModel

  /// Reads the current version of each bundle, or the model of a store, and merges them.
  ///
  /// - Throws: `MigrationFailure`, if a model cannot be read, or two contradict each other.
  public init(_ models: [FilePath], configuration: String? = nil) throws {
    core = try MigrationFailure.catching {
      try TargetModel(paths: models, configuration: configuration)
    }
  }

  /// Reads the current version of each bundle, or the model of a store, and merges them.
  ///
  /// - Throws: `MigrationFailure`, if a model cannot be read, or two contradict each other.
  public init(_ models: [URL], configuration: String? = nil) throws {
    try self.init(models.map { FilePath($0) }, configuration: configuration)
  }
}

extension MigrationFailure {
  /// Runs a block whose errors leave the library as `MigrationFailure`.
  static func catching<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as CancellationError {
      throw error
    } catch {
      throw MigrationFailure(error)
    }
  }
}
