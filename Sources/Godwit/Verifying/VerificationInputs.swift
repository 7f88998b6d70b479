import Foundation
import Mapping
import MigrationCoordinator
import MigrationStatus
import ModelFiles
import ObjectModel
import Planning
import Schema
import StoreFormat
import StoreNames
import Survey
import SystemCalls
import SystemPackage
import Verification

/// The request of `verify` besides the two stores.
struct VerificationRequest {
  /// The migration that made the new store, as far as the caller names it.
  var migration: MigrationRequest
  /// The models that the new store should have; empty takes the model that its metadata name.
  var target: [FilePath]
  /// Whether this process has made the new store, and no other one writes it.
  var isOwn: Bool
  /// Whether the caller has named the route of the new store.
  var namesWay: Bool { saysAll || migration.namesRoute || migration.choosesRows }
  /// Whether the caller has named places of versions for the route.
  var namesPlaces: Bool { !target.isEmpty || !migration.models.isEmpty }
  /// Whether the caller leaves nothing open.
  var saysAll: Bool
}

/// Both stores, opened without changing them, and the records next to them.
struct VerificationStores {
  let old: FilePath
  let new: FilePath
  /// Excludes writers, and keeps a copy while it is read.
  let before: SourceAccess
  let after: SourceAccess
  /// What was taken of a damaged old store, which is compared in its place.
  let salvage: SourceSalvage
  let record: VerificationRecord
  /// The request with what the record states in place of what the caller left open.
  private(set) var request: VerificationRequest
  /// What the record states and this version does not know, as a caller of the tool types it.
  private(set) var unknownChoices: [String] = []

  /// A new store that cannot be opened, or whose version is unknown.
  struct Unreadable: Error {
    var cause: StoreError
  }

  /// Opens both stores, and completes the request by the record next to them.
  init(old: FilePath, new: FilePath, request: VerificationRequest) throws {
    let (old, new) = (try Self.resolved(old), try Self.resolved(new))
    (self.old, self.new, self.request) = (old, new, request)
    // Of a file that was cut short, what is left may have been taken.
    let opened = try SourceAccess.open(
      old, acceptsShort: request.migration.salvages || VerificationRecord.statesSalvage(new))
    after = try Self.ofNew { try SourceAccess.open(new, isOwn: request.isOwn) }
    record = try VerificationRecord(
      old: old, new: new, before: Self.identity(opened), after: Self.identity(after))
    if let way = record.found?.way {
      unknownChoices = self.request.complete(by: way)
    }
    let salvage = try SourceSalvage(request: self.request.migration, access: opened) {
      let folder = try TemporaryFolder()
      return (folder.path.appending("old.sqlite"), folder)
    }
    (before, self.salvage) = (salvage.access, salvage)
  }

  /// The metadata of a store, nil if unreadable.
  private static func identity(_ access: SourceAccess) throws -> VerificationRecord.Identity? {
    try ifReadable { try StoreReader(immutable: access.readable).metadata() }.map { .init($0) }
  }

  private static func resolved(_ path: FilePath) throws -> FilePath {
    // A missing file fails when it is opened.
    try Files.fileStatusIfPresent(path) == nil ? path : Files.resolved(path)
  }

  /// Runs a block in which every error of a store is one of the new store.
  static func ofNew<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as StoreError {
      // What the system or a device refuses is no fault of the store.
      if error.disposition.contains(.workReusable) { throw error }
      throw Unreadable(cause: error)
    }
  }
}

extension VerificationRequest {
  /// Takes from a record what the caller left open.
  ///
  /// - Returns: the choices that this version does not know.
  fileprivate mutating func complete(by way: RecordedWay) -> [String] {
    let unknown = migration.take(stated: way.choices)
    if migration.joinTables.isEmpty { migration.joinTables = way.joinTables }
    if migration.configuration == nil { migration.configuration = way.configuration }
    return unknown
  }
}

/// Everything that `verify` finds out before it compares rows.
struct VerificationInputs {
  /// The steps of the route; empty if both stores are of one version.
  private(set) var steps: [MigrationRoute.Step] = []
  private let stores: VerificationStores
  private let version: NewVersion
  private var source: ManagedObjectModel?
  private var copyModel: ManagedObjectModel?
  private var unsupported: [String] = []
  private var expected: ExpectedMigration?
  private let scratch: TemporaryFolder
  /// The choices that the old store makes relevant.
  var occasions: [MigrationChoice] {
    guard let expected, let model = version.model else { return [] }
    return ExpectedMigration.occasions(
      stores.request.migration, route: MigrationRoute(steps: steps), to: model,
      from: expected.survey)
  }

  /// Finds the models and the route.
  init(_ stores: VerificationStores) throws {
    self.stores = stores
    let request = stores.request
    var migration = request.migration
    migration.store = stores.old
    migration.target = request.target.isEmpty ? [stores.new] : request.target
    // The places in which the migration has searched, where they still are.
    let stated = stores.record.found
    migration.models += stated?.places ?? []
    let target =
      request.target.isEmpty
      ? nil
      : try TargetModel(
        paths: request.target, configuration: request.migration.configuration,
        library: migration.library)
    let oldReader = try StoreReader(immutable: stores.before.readable)
    let hashes = try oldReader.metadata().versionHashes
    // In the order of a migration: the target's versions come first.
    let places =
      request.target.filter { !HeldStore.isStore($0) } + (stated?.targetPlaces ?? [])
      + migration.models
    version = try VerificationStores.ofNew { [stores] in
      try target.map { NewVersion($0) }
        ?? NewVersion(
          reader: StoreReader(immutable: stores.after.readable), before: hashes,
          places: migration.models, stated: stated?.way.versions.last)
    }
    scratch = try TemporaryFolder()
    if hashes == version.hashes {
      // Copies are compared as they are, whether or not their model is known.
      copyModel =
        try version.model
        ?? ifReadable { try OwnModel.find(hashes, in: places, reader: oldReader) } ?? nil
      source = copyModel
      if let source, stores.salvage.losesRows {
        _ = try stores.salvage.completed(
          StoreSurvey(
            store: stores.old, access: stores.before, reader: oldReader,
            metadata: oldReader.metadata(), model: source))
      }
      return
    }
    guard let model = version.model else {
      throw MigrationError.sourceModelMissing(
        store: stores.new, searched: migration.models, unreadable: [])
    }
    let survey = try stores.salvage.completed(
      StoreSurvey(
        store: stores.old, access: stores.before, models: places, library: migration.library))
    steps = try route(migration, survey: survey, model: model)
    let expected = try ExpectedMigration(
      migration, route: MigrationRoute(steps: steps), to: model, from: survey)
    self.expected = expected
    source = survey.model
    unsupported = survey.unsupported.filter { $0 != .cloudKitMirroring }.map {
      "\($0.rawValue) of the old store"
    }
  }

  /// The way that the record states, unless the caller names one.
  private func route(
    _ migration: MigrationRequest, survey: StoreSurvey, model: ManagedObjectModel
  ) throws -> [MigrationRoute.Step] {
    let end = RouteVersion(names: version.names, model: model, hashes: version.hashes)
    if let way = stores.record.found?.way, !migration.namesRoute {
      let start = RouteVersion(
        names: [], model: survey.model, hashes: survey.metadata.versionHashes)
      return try FoundRoute(stated: way, for: migration, from: start, to: end).route.steps
    }
    var steps = try FoundRoute(
      ofResult: migration, survey: survey, model: model, hashes: version.hashes
    ).route.steps
    // Of versions that hash alike it is this one.
    if !version.names.isEmpty { steps[steps.count - 1].destination.names = version.names }
    return steps
  }

  /// Throws where one of the stores has changed since it was opened.
  func requireUnchanged() throws {
    try (expected?.survey.access ?? stores.before).requireUnchanged()
    try stores.after.requireUnchanged()
  }

  /// The order for the comparison.
  var order: VerificationOrder {
    var order = VerificationOrder(
      old: .init(
        path: stores.old, readable: (expected?.survey.access ?? stores.before).readable),
      new: .init(path: stores.new, readable: stores.after.readable),
      steps: steps.map { step in
        let (from, to) = (step.source.model, step.destination.model)
        return .init(
          source: from, destination: to,
          mappings: step.mappings.map { $0.mapping.completingCopies(from: from, to: to) })
      },
      hashes: version.hashes,
      versionIdentifiers: steps.isEmpty ? [] : version.model?.versionIdentifiers ?? [],
      scratch: scratch.path)
    order.copyModel = copyModel
    order.unsupported = unsupported
    order.takesNewAtItsWord = version.isOwnWord
    let migration = stores.request.migration
    order.usesWAL = migration.journalMode.map { $0 == .wal }
    if order.usesWAL == nil, KeptName.isUndo(stores.old) {
      // The store before an edit is read through its undo file, without a log.
      order.usesWAL = stores.before.usesWAL
    }
    order.dropsHistory = migration.history == .drop
    order.expectsNewUUID = migration.givesNewUUID
    let consents = [
      migration.lossConsent,
      MigrationRequest.consent(stated: stores.record.found?.way.choices ?? [:]),
    ]
    order.mayLoseRows = { name in consents.contains { $0.covers(name: name) } }
    order.policies = migration.policies
    // The models of both stores themselves, which a route may replace by others with equal hashes.
    if let source, let destination = version.model, !order.steps.isEmpty {
      order.steps[0].source = source
      order.steps[order.steps.count - 1].destination = destination
    }
    if let expected {
      for step in expected.repairedSteps {
        order.repairs[step] = { try expected.repair($0, before: step) }
      }
    }
    return order
  }

  /// What the choices changed in the old store before anything was made of it.
  var repaired: [Defect] { expected?.repaired ?? [] }
}
