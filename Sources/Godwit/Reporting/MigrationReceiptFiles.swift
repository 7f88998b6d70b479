import Foundation
import MigrationCoordinator
import MigrationStatus
import Pages
import Schema
import StoreFormat
import StoreNames
import Survey
import SystemCalls
public import SystemPackage

/// The files for the receipt of a migration: pages for people if they end in `.html`, JSON
/// otherwise (docs/schemas/receipt.schema.json).
public struct MigrationReceiptFiles: Sendable {
  private let request: MigrationRequest
  private let source: SealedStore
  private let files: [OutputFile]

  /// Checks that the files can be written and replace nothing but earlier receipts, and reads the
  /// store that is to be migrated.
  ///
  /// - Throws: `MigrationFailure`, if a file cannot be written, the store cannot be read, or the
  ///   task was cancelled.
  public init(_ paths: [FilePath], of migration: StoreMigration) throws(MigrationFailure) {
    let request = migration.request
    self.request = request
    guard !migration.handover.discardsOld else {
      throw MigrationFailure(
        .usage, "a receipt covers both stores, so the old one must be kept: keep it.")
    }
    try migration.requireDistinctFiles(receipts: paths)
    files = try paths.map { path throws(MigrationFailure) in
      try OutputFile(
        path, besides: [request.store, request.output].compactMap(\.self), noun: "receipt",
        isEarlier: Self.isReceipt)
    }
    source = try MigrationFailure.catching {
      try SealedStore(
        request.store, versions: [], models: request.target + request.models,
        acceptsDamage: request.salvages)
    }
    for path in paths { try requireNoOther(at: path) }
  }

  /// Checks that a file is no receipt of another store.
  private func requireNoOther(at path: FilePath) throws(MigrationFailure) {
    guard let status = try? Files.fileStatusIfPresent(path), status.kind == .file,
      let bytes = try? Files.readFile(path, limit: MigrationReceipt.limit)
    else { return }
    let uuid = source.description.uuid
    let earlier = try? MigrationReceipt(bytes)
    let isOwn =
      earlier.map { [$0.source.uuid, $0.result.uuid].contains(uuid) }
      ?? String(decoding: bytes, as: UTF8.self).contains(uuid)
    guard !isOwn, !bytes.isEmpty else { return }
    let other = earlier.map { " \($0.source.path)" } ?? ""
    throw MigrationFailure(
      .cannotCreate,
      "\(path) is the receipt of another store\(other): name another file or remove it.")
  }

  /// Whether bytes are a page of Godwit's, or a receipt.
  private static func isReceipt(_ bytes: [UInt8]) -> Bool {
    (try? MigrationReceipt(bytes)) != nil
      || String(decoding: bytes.prefix(1024), as: UTF8.self).contains(Page.mark)
  }

  /// Whether a file is a page of Godwit's, or a receipt; false for one that cannot be read.
  private static func isReceipt(at path: FilePath) -> Bool {
    (try? Files.readFile(path, limit: MigrationReceipt.limit)).map(isReceipt) ?? false
  }

  /// Whether a file is the receipt of the store that the request makes, with the bytes that this
  /// has.
  private func isReceiptOfResult(at path: FilePath, sha256: String) -> Bool {
    guard let bytes = try? Files.readFile(path, limit: MigrationReceipt.limit),
      Self.isReceipt(bytes)
    else { return false }
    let result = (request.output ?? request.store).string
    if let receipt = try? MigrationReceipt(bytes) {
      return receipt.result.path == result && receipt.result.sha256 == sha256
    }
    let page = String(decoding: bytes, as: UTF8.self)
    return page.contains(result) && page.contains(sha256)
  }

  /// Writes the receipt of a migration that succeeded.
  ///
  /// - Returns: a note where there is nothing to write a receipt of, nil otherwise.
  /// - Throws: `MigrationFailure`, if it cannot be made or written.
  public func write(_ result: StoreMigration.Result) throws(MigrationFailure) -> String? {
    let report = result.core
    switch result.outcome {
    case .migrated, .copied: break
    case .alreadyCurrent:
      try requireReceipts(of: result.destination)
      return "nothing was migrated, so there is no receipt."
    case .alreadyThere, .finishedEarlier:
      let sha256 = try MigrationFailure.catching {
        let access = try SourceAccess.open(result.destination, isOwn: true)
        return try FileHash.of(SourceFile(access.readable))
      }
      if files.allSatisfy({ isReceiptOfResult(at: $0.path, sha256: sha256) }) {
        return "an earlier run has written the receipt."
      }
      throw MigrationFailure(
        .cannotWrite,
        "\(result.destination) was made by an earlier run, and that run has written no receipt: "
          + "roll back or name another output, and migrate again.")
    }
    let receipt = try MigrationFailure.catching { try describe(report) }
    // One that cannot be written keeps no other from being written.
    let failures = MigrationFailure.failures(
      of: files.map { file in
        {
          try file.write(
            MigrationReportFile.isPage(file.path)
              ? receipt.page(of: report) : try JSONOutput.text(value: receipt).text + "\n",
            as: "the migration is done, but its receipt")
        }
      })
    guard failures.isEmpty else {
      throw MigrationFailure(.cannotWrite, failures.flatMap(\.sentences))
    }
    return nil
  }

  /// Checks that an earlier run that has migrated a store in place has written the receipts.
  ///
  /// - Throws: `MigrationFailure` where one is missing. The record of the run has no accounts, so
  ///   that none can be made.
  private func requireReceipts(of store: FilePath) throws(MigrationFailure) {
    let record = try? OutcomeFile(beside: store).read()
    guard let record, record.state == .done, record.restored == nil, let old = record.oldStore,
      let missing = files.map(\.path).first(where: { !Self.isReceipt(at: $0) })
    else { return }
    let isKept = (try? Files.fileStatusIfPresent(FilePath(old), followLinks: false)) != nil
    throw MigrationFailure(
      .cannotWrite, at: missing,
      "\(store) was migrated by an earlier run, and \(missing) is not there: no receipt of that run "
        + "can be made any more. "
        + (isKept
          ? "Use \(command: .rollback("\(store)")), and migrate again."
          : "The old store is no longer kept."))
  }

  private func describe(_ report: MigrationReport) throws -> MigrationReceipt {
    var old = source.description
    old.versions = report.steps.first?.from ?? []
    // Next to the store as it was named, unless that is a link to another folder.
    let beside = report.oldStore.flatMap { FilePath($0).lastComponent }.map {
      request.store.removingLastComponent().appending($0)
    }
    let isThere = try beside.map { try Files.fileStatusIfPresent($0) != nil } ?? false
    old.keptAs = isThere ? beside?.string : report.oldStore
    try requireSame(FilePath(report.oldStore ?? report.store))
    var new = try SealedStore(
      FilePath(report.destination), versions: report.steps.last?.to ?? old.versions,
      models: request.target + request.models, acceptsDamage: false
    ).description
    new.path = (request.output ?? request.store).string
    let made = Date().formatted(.iso8601)
    var receipt = MigrationReceipt(report, source: old, result: new, made: made)
    receipt.steps = try report.steps.map { step in
      let mappings = try step.mappings.map { path in
        MigrationReceipt.Step.Mapping(path: path, sha256: try Self.hash(of: FilePath(path)))
      }
      return MigrationReceipt.Step(from: step.from, to: step.to, mappings: mappings)
    }
    receipt.values = request.settings
    let decision = request.lossDecision
    receipt.losses = try report.losses.map { loss in
      guard let ground = decision.groundAfterwards(for: loss) else {
        throw MigrationFailure(.bug, "lost without consent: \(loss.sentence)")
      }
      return .init(loss, consent: ground)
    }
    receipt.losses += report.chosenLosses.map { .init($0, consent: .choice) }
    receipt.fillEstimates(of: report)
    try receipt.requireAgreement(with: report)
    try receipt.seal()
    return receipt
  }

  /// The hash of a mapping model, which is a file or a folder.
  private static func hash(of path: FilePath) throws -> String? {
    guard let status = try Files.fileStatusIfPresent(path) else { return nil }
    return try status.isDirectory ? FileHash.files(in: path)?.sha256 : FileHash.of(path)
  }

  /// Checks that the old store is what was hashed before the migration.
  private func requireSame(_ path: FilePath) throws {
    if try !KeptName.isUndo(path) && SourceFingerprint(of: path) == source.fingerprint {
      return
    }
    // What its log held may have come into the main file, or the file may have been copied.
    let access = try SourceAccess.open(path, acceptsShort: request.salvages)
    guard try FileHash.of(SourceFile(access.readable)) == source.description.sha256 else {
      throw MigrationFailure(
        .cannotWrite,
        "the migration is done, but there is no receipt of it: an app has written to \(path) since it "
          + "was hashed. Migrate while no app has it open.")
    }
  }
}

extension MigrationReceipt {
  /// Reads a receipt in JSON.
  init(_ bytes: [UInt8]) throws {
    self = try JSONDecoder().decode(Self.self, from: Data(bytes))
    guard isKnown else { throw CocoaError(.fileReadCorruptFile) }
  }

  /// Puts counts in place of the estimates of tables that stayed where they were.
  fileprivate mutating func fillEstimates(of report: MigrationReport) {
    for stage in report.accounts {
      for entity in stage.entities where entity.isEstimated == true {
        guard let count = source.objects?[entity.entity],
          let index = objects.firstIndex(where: {
            $0.stage == stage.stage && $0.entity == entity.entity
          })
        else { continue }
        (objects[index].in, objects[index].out) = (count, count)
      }
    }
  }

  /// Checks that the accounts of the migration are what both stores have.
  fileprivate func requireAgreement(with report: MigrationReport) throws {
    var wrong: [String] = []
    if let counted = source.objects, let first = objects.first?.stage {
      let told = Dictionary(
        objects.filter { $0.stage == first }.map { ($0.entity, $0.in) }, uniquingKeysWith: +)
      wrong += Self.differences(told, counted)
    }
    if report.stayingRows == nil, let last = report.accounts.last, let counted = result.objects {
      wrong += Self.differences(last.rows, counted)
    }
    guard !wrong.isEmpty else { return }
    throw MigrationFailure(
      .cannotWrite,
      "the migration is done, but there is no receipt of it: the accounts and the stores differ ("
        + "\(ListText(wrong, most: 5))). An app may have written to \(result.path) meanwhile.")
  }

  private static func differences(
    _ told: [String: Int64], _ counted: [String: Int64]
  ) -> [String] {
    Set(told.keys).union(counted.keys).sorted().compactMap { name in
      let (told, found) = (told[name] ?? 0, counted[name] ?? 0)
      return told == found ? nil : "\(name): \(told) and \(found)"
    }
  }
}
