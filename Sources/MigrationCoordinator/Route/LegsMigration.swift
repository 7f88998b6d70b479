import MigrationStatus
import Foundation
import Logging
import Mapping
import MappingFiles
import ObjectModel
import Planning
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

// (1) A leg's store has its name `step-N.sqlite` only once it is complete and on the disk, and its
// marker `step-N.json` only after that.
// (2) A marker counts only where it was made from the same store over the same steps.
// (3) The store that a leg begins with goes when the leg's own marker is there.

/// A migration in several legs, each but the last with a store of its own in the work folder.
struct LegsMigration {
  let request: MigrationRequest
  let survey: StoreSurvey
  let legs: [Leg]
  let workspace: Workspace
  let launcher: any WorkerLauncher
  let logger: Logger

  private var paths: MigrationPaths { workspace.paths }

  /// What came of all legs, and where the external files of the result still lie.
  struct Outcome {
    var last: LegMigration.Outcome
    var lastStore: FilePath
  }

  /// What a leg's store was made of.
  private struct Marker: Codable, Hashable {
    var fingerprint: SourceFingerprint
    /// Checksums of all versions up to the leg's last, and the mapping models between them.
    var steps: [String]
    /// What the leg told.
    var losses: [Loss]
    var accounts: [LegAccounts]
    var missingExternalFiles: [String]
  }

  /// Makes the result of the last leg; it has no name yet.
  func run(_ telling: Telling) async throws -> Outcome {
    try workspace.requireSpace(
      DiskNeed(
        sourceBytes: survey.access.fingerprint.bytes, legs: legs.count,
        writesPages: PageLayout.isWanted(request, survey) && legs.allSatisfy(\.isByRows),
        externalBytes: MigrationPaths.externalBytes(of: request.store)))
    var done = try finishedLegs()
    if done.isEmpty {
      // A leg that was interrupted knows by itself whether it can go on.
      try workspace.clear(keeping: kept.union([paths.leg(1).work]))
    } else {
      logger.notice("taking up an interrupted migration", metadata: ["leg": "\(done.count + 1)"])
    }
    let wasResumed = !done.isEmpty
    telling.beginLegs(legs.count)
    for number in (done.count + 1)..<legs.count {
      telling.leg(number - 1, 0)
      done.append(try await intermediate(number, telling))
      FaultPoint.reached("coordinator:leg")
      try Task.checkCancellation()
    }
    telling.leg(legs.count - 1, 0)
    var own = request
    own.store = store(before: legs.count)
    if own.journalMode == nil { own.journalMode = survey.access.usesWAL ? .wal : .delete }
    var last = try await run(legs.count, own, telling) { paths.result }
    var report = last.report
    report.store = request.store.string
    report.destination = request.destination.string
    report.losses = done.flatMap(\.losses) + report.losses
    report.accounts = done.flatMap(\.accounts) + report.accounts
    for index in report.accounts.indices { report.accounts[index].leg = index + 1 }
    report.missingExternalFiles = done.flatMap(\.missingExternalFiles)
    report.extraTables = survey.differences.extraTables
    report.resumed = report.resumed || wasResumed
    last.report = report
    return Outcome(last: last, lastStore: own.store)
  }

  private var kept: Set<FilePath> { [paths.snapshot, paths.status, paths.statusLock] }

  /// The store that a leg begins with; legs count from 1.
  private func store(before number: Int) -> FilePath {
    number == 1 ? request.store : paths.leg(number - 1).destination
  }

  // MARK: One leg

  private func intermediate(_ number: Int, _ telling: Telling) async throws -> Marker {
    let destination = paths.leg(number).destination
    try remove(destination)
    var own = request
    own.store = store(before: number)
    own.output = destination
    own.isLeg = true
    own.discardsOld = request.discardsOld && request.output == nil
    own.journalMode = .delete
    let made = try await run(number, own, telling) { nil }
    let files = ExternalFiles(
      schema: try StoreSchema(legs[number - 1].destination.model),
      result: paths.leg(number).result, names: made.externalNames)
    let missing = try files.bring(from: own.store, to: destination)
    try Files.syncFile(paths.leg(number).result)
    try Files.rename(paths.leg(number).result, to: destination)
    try Files.syncDirectory(paths.work)
    FaultPoint.reached("coordinator:leg-named")
    let marker = Marker(
      fingerprint: survey.access.fingerprint, steps: try signature(upTo: number),
      losses: made.report.losses, accounts: made.report.accounts, missingExternalFiles: missing)
    try Files.writeFileAtomically(Array(JSONEncoder().encode(marker)), to: paths.legMarker(number))
    try WorkFolder(path: paths.leg(number).work).remove()
    if number > 1 { try remove(paths.leg(number - 1).destination) }
    return marker
  }

  /// Runs a leg in a work folder of its own.
  private func run(
    _ number: Int, _ own: MigrationRequest, _ telling: Telling, result: () -> FilePath?
  ) async throws -> LegMigration.Outcome {
    let leg = legs[number - 1]
    let opened = try Workspace.open(paths.leg(number), store: request.store)
    let workspace = result().map { opened.placing(result: $0) } ?? opened
    let inner = Telling(workspace.paths, logger: logger) { telling.leg(number - 1, $0.fraction) }
    defer { inner.end() }
    let survey = number == 1 ? survey : try survey(of: own.store, leg)
    do {
      return try await LegMigration(
        request: own, survey: survey, leg: leg, workspace: workspace, launcher: launcher,
        logger: logger
      ).run(inner)
    } catch MigrationError.impossible(_, let hindrances) {
      // Whoever migrates knows the store and the versions, not the stores between them.
      throw MigrationError.stepImpossible(
        store: request.store, from: leg.source.names, to: leg.destination.names, hindrances)
    } catch MigrationError.stepImpossible(_, let from, let to, let hindrances) {
      throw MigrationError.stepImpossible(store: request.store, from: from, to: to, hindrances)
    } catch MigrationError.losses(_, let losses) {
      throw MigrationError.losses(store: request.store, losses)
    }
  }

  private func survey(of store: FilePath, _ leg: Leg) throws -> StoreSurvey {
    let access = try SourceAccess.open(store) { FilePath("\(store)-copy") }
    let reader = try StoreReader(immutable: access.readable)
    return try StoreSurvey(
      store: store, access: access, reader: reader, metadata: try reader.metadata(),
      model: leg.source.model)
  }

  private func remove(_ store: FilePath) throws {
    try Files.removeRegularFile(store)
    try ExternalDataFolder.remove(support: MigrationPaths.support(of: store))
  }

  // MARK: Resuming

  /// The markers of the legs that an earlier run has finished, from the first on.
  private func finishedLegs() throws -> [Marker] {
    var found: [Marker] = []
    for number in 1..<legs.count {
      let path = paths.legMarker(number)
      guard try Files.fileStatusIfPresent(path) != nil,
        let marker = try? JSONDecoder().decode(
          Marker.self, from: Data(Files.readFile(path, limit: 1 << 26))),
        marker.fingerprint == survey.access.fingerprint,
        marker.steps == (try signature(upTo: number))
      else { break }
      found.append(marker)
    }
    // Only the last one's store is still needed.
    guard !found.isEmpty,
      try Files.fileStatusIfPresent(paths.leg(found.count).destination) != nil
    else { return [] }
    return found
  }

  private func signature(upTo number: Int) throws -> [String] {
    let steps = legs.prefix(number).flatMap(\.steps)
    return try [survey.metadata.versionHashes.checksum]
      + steps.flatMap { step in
        try step.mappings.map { try Self.text($0.mapping) } + [step.destination.hashes.checksum]
      } + ["\(request.validation)"]
  }

  /// A mapping model as a text that is the same in every process.
  private static func text(_ mapping: MappingModel) throws -> String {
    do {
      return try MappingText.text(mapping)
    } catch {
      guard case .noText = error.problem else { throw error }
      // What cannot be compared is taken for another one each time.
      return UUID().uuidString
    }
  }
}

extension Workspace {
  /// The same folder with its result elsewhere.
  fileprivate func placing(result: FilePath) -> Workspace {
    var copy = self
    copy.paths.result = result
    return copy
  }
}

extension Leg {
  /// Whether its rows are made by programs.
  fileprivate var isByRows: Bool {
    if case .rows = work { true } else { false }
  }
}
