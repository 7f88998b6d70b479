import ArgumentParser
import Godwit
import Logging
import SystemPackage

struct MigrateCommand: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    RootCommand.parsesAlone ? CommandConfiguration(alone: name) : helpful
  }

  private static let name = "migrate"
  private static let helpful = CommandConfiguration(
    commandName: name,
    abstract: "Migrates stores to another version of their model.",
    discussion: """
      Without --output, the new store replaces the old one once it is complete and verified. The \
      old one is kept as STORE.before-TIME. To resume an interrupted migration, start the same \
      command again. Each of several stores is migrated separately, small ones several at a time. \
      A failure does not stop the others; the exit status is the highest of all.
      """,
    examples: [
      "godwit migrate Shop.sqlite --to Shop.xcdatamodeld",
      "godwit migrate Old.sqlite --to Shop.momd --output New.sqlite --workers 4 --memory 1G",
      "godwit migrate Old.sqlite --to Shop.xcdatamodeld --progressive --report report.html",
      "godwit migrate Old.sqlite Shop.sqlite --to Shop.xcdatamodeld",
    ],
    statuses: [
      0: "completed, or nothing to do",
      75: "interrupted: the same command resumes it",
      78: "cannot be migrated, or would lose data without consent",
    ],
    page: "docs/reference/migration.md")

  @Argument(help: ArgumentHelp("The SQLite stores to migrate.", valueName: "store"))
  var stores: [FilePath]

  @OptionGroup(title: "Model")
  var model: ModelOptions
  @OptionGroup(title: "Route")
  var route: RouteOptions
  @OptionGroup(title: "Work")
  var work: WorkOptions
  @OptionGroup(title: "Losses and defects")
  var loss: LossOptions

  @Option(
    help: ArgumentHelp(
      """
      Write the new store to this file, and do not change the old one. With several stores, the \
      folder of the new ones.
      """, valueName: "file-or-folder"))
  var output: FilePath?

  @Flag(help: "Copy the store to the output if it already has the model.")
  var copyIfCurrent = false

  @Flag(
    name: .customLong("new-uuid"),
    help: "Give the new store a new identifier, such as when a store is split into two.")
  var newUUID = false

  @Option(
    name: .customLong("work"),
    help: ArgumentHelp(
      "Create the work folder in this folder, instead of next to the result as STORE.godwit.",
      valueName: "folder"))
  var workFolder: FilePath?

  @Option(
    help: "The journal mode of the new store: wal or delete. The default is that of the old one.")
  var journalMode: JournalMode?

  @Option(help: "How to verify the result: quick, or full, which also reads every index.")
  var verify = StoreMigration.Verification.quick

  @Flag(help: "Remove the old store once the new one has replaced it.")
  var discardOld = false

  @Flag(help: "Remove what an interrupted run has done, and start over.")
  var restart = false

  @Option(
    help: ArgumentHelp(
      "The maximum that all workers together read per second, such as 50M; 0 for no limit.",
      valueName: "bytes"))
  var rate = MigrationControl.Rate.unlimited

  @Option(
    help: ArgumentHelp("Pause while this file exists.", valueName: "file"))
  var pauseFile: FilePath?

  @Option(
    help: ArgumentHelp(
      "Make and verify the new store, then wait until this file is removed before the swap. The "
        + "command creates the file.", valueName: "file"))
  var postponeSwap: FilePath?

  @Flag(help: "Print each SQL statement with its values, plan and time on standard error.")
  var logSQL = false

  @Flag(
    help: ArgumentHelp(
      "Write no record of the outcome next to the new store. `status` and `verify` read that "
        + "record."))
  var noRecord = false

  @Option(
    help: ArgumentHelp(
      "Write a report to this file: a page if the name ends in .html, otherwise JSON. May be "
        + "repeated.",
      valueName: "file"))
  var report: [FilePath] = []

  @Option(
    help: ArgumentHelp(
      "Write a receipt to this file: hashes and counts of both stores, and each loss with its "
        + "consent. A page if the name ends in .html, otherwise JSON. May be repeated.",
      valueName: "file"))
  var receipt: [FilePath] = []

  @Option(
    help: ArgumentHelp(
      "The form of messages on standard error: text, or json with one event per "
        + "line.", valueName: "form"))
  var logFormat = LogFormat.text

  /// The forms of messages on standard error.
  enum LogFormat: String, WordArgument {
    case text, json
  }

  @Option(
    help: ArgumentHelp(
      """
      Start workers with this command, such as "srun -N1 -n1 -c1", also on other machines. It runs \
      this executable. The store and the work folder need the same paths there.
      """, valueName: "command"))
  var launcher: CommandWords?

  @Option(
    help: """
      The engine that makes the new store. All give the same result; auto chooses the fastest. \
      Only `edit` changes the store itself: for small changes, without --output.
      """)
  var engine = StoreMigration.Engine.automatic

  func run() async throws {
    guard logFormat == .json else { return try await migrate(loggingTo: nil) }
    let log = EventLog()
    do {
      try await migrate(loggingTo: log)
    } catch {
      let failure = MigrationFailure(error)
      log.show(MigrationEvent(failure))
      throw ExitCode(failure.exitStatus.rawValue)
    }
  }

  private func migrate(loggingTo log: EventLog?) async throws {
    var migration = migration
    if stores.count > 1 { return try await Self.migrate(stores, by: migration, to: output) }
    let store = stores[0]
    migration.output = output
    if let log { migration.logger = log.logger }
    try migration.requireDistinctFiles(reports: report, receipts: receipt)
    let files = try report.map { try MigrationReportFile($0, of: migration) }
    let receipts = try receiptFiles(of: migration)
    log?.show(.begun(store: store, destination: output ?? store))
    let result: StoreMigration.Result
    do {
      result = try await Self.result(of: migration, loggingTo: log)
    } catch {
      let failure = MigrationFailure(error)
      let reports: [() throws -> Void] = files.map { file in { try file.write(failure) } }
      for unwritten in MigrationFailure.failures(of: reports) { Self.show(unwritten, log: log) }
      throw error
    }
    for note in result.notes {
      if let log {
        log.show(.message(note, level: .info, facts: [:]))
      } else if [.migrated, .copied].contains(result.outcome) {
        Terminal.standardError.line(text: "godwit: note: \(note)")
      }
    }
    Self.show(result, isAlone: true, verifiesFully: verify == .full)
    // Each file that can be written is: none can be made afterwards.
    let notes: [() throws -> String?] =
      files.map { file in { try file.write(result) } } + [{ try receipts?.write(result) }]
    let writing: [() throws -> Void] = notes.map { note in
      {
        guard let note = try note() else { return }
        Terminal.standardError.line(text: "godwit: note: \(note)")
      }
    }
    let failures = MigrationFailure.failures(of: writing)
    for other in failures.dropFirst() { Self.show(other, log: log) }
    if let first = failures.first { throw first }
    log?.show(.done(outcome: result.outcome, rows: result.rows))
  }

  /// Reports a failure besides the one with which the command ends.
  private static func show(_ failure: MigrationFailure, log: EventLog?) {
    for sentence in failure.sentences {
      if let log {
        log.show(.message(sentence, level: .warning, facts: [:]))
      } else {
        Terminal.standardError.line(text: "godwit: \(sentence)")
      }
    }
  }

  private func receiptFiles(of migration: StoreMigration) throws -> MigrationReceiptFiles? {
    receipt.isEmpty ? nil : try MigrationReceiptFiles(receipt, of: migration)
  }

  private var migration: StoreMigration {
    var migration = StoreMigration(store: stores[0], model: model, route: route, loss: loss)
    migration.take(work)
    migration.resources.workFolder = workFolder
    migration.handover.journalMode = journalMode
    migration.checks.result = verify
    migration.handover.discardsOld = discardOld
    migration.restarts = restart
    migration.resources.bytesPerSecond = rate.bytesPerSecond
    migration.pauseFile = pauseFile
    migration.handover.swapFile = postponeSwap
    migration.logsSQL = logSQL
    migration.engine = engine
    migration.resources.launcher = launcher?.words ?? []
    migration.handover.keepsRecord = !noRecord
    migration.skipsStatusOfShortRuns = logFormat != .json
    migration.namesVersions = !report.isEmpty || !receipt.isEmpty
    migration.handover.copiesIfCurrent = copyIfCurrent
    migration.handover.givesNewUUID = newUUID
    migration.logger = Logger(label: "godwit") { StandardErrorLog(label: $0) }
    return migration
  }

  func validate() throws {
    if stores.isEmpty { throw ValidationError("Name a store.") }
    if stores.count > 1 {
      for (name, isGiven) in [
        ("--report", !report.isEmpty), ("--receipt", !receipt.isEmpty),
        ("--log-format json", logFormat == .json),
        ("--log-sql", logSQL), ("--postpone-swap", postponeSwap != nil),
        ("--launcher", launcher != nil),
      ] where isGiven {
        throw ValidationError("\(name) applies to one store: name no other, or leave it out.")
      }
    }
    if copyIfCurrent && output == nil {
      throw ValidationError("--copy-if-current needs --output: name the file or folder to copy to.")
    }
    if discardOld && loss.salvage {
      throw ValidationError(
        "--salvage keeps the damaged store, since more of it may be readable: leave --discard-old "
          + "out.")
    }
    if discardOld && !receipt.isEmpty {
      throw ValidationError(
        "--receipt covers both stores, and --discard-old removes one: leave one of the options "
          + "out.")
    }
    if discardOld && output != nil {
      throw ValidationError(
        "--output keeps the old store, and --discard-old removes it: leave one "
          + "of them out.")
    }
  }

  /// Migrates the store; SIGINT and SIGTERM cancel the migration.
  private static func result(
    of migration: StoreMigration, loggingTo log: EventLog?
  ) async throws -> StoreMigration.Result {
    let bar = ProgressBar()
    defer { bar.clear() }
    return try await ToolProcess.cancellable {
      try await migration.run { progress in
        if let log { log.show(progress) } else { bar.show(progress) }
      }
    }
  }

  // MARK: Several stores

  /// Migrates each of several stores; SIGINT and SIGTERM leave the rest of them out.
  private static func migrate(
    _ stores: [FilePath], by migration: StoreMigration, to folder: FilePath?
  ) async throws {
    let series = try MigrationSeries(of: migration, outputFolder: folder)
    let bar = ProgressBar()
    let ends = try await ToolProcess.cancellable {
      try await series.run(stores) { share, store, done in
        bar.show(fraction: share, "\(done) of \(stores.count) stores done: \(store)")
      } ended: { end in
        bar.clear()
        show(end, verifiesFully: migration.checks.result == .full)
      }
    }
    bar.clear()
    Terminal.standardOutput.line(text: SeriesVerdict(ends).description)
    let status = ends.compactMap { $0.failure?.exitStatus.rawValue }.max() ?? 0
    if status != 0 { throw ExitCode(status) }
  }

  private static func show(_ end: MigrationSeries.End, verifiesFully: Bool) {
    for sentence in end.failure?.sentences ?? [] {
      let place = sentence.contains(end.store.string) ? "" : "\(end.store): "
      Terminal.standardError.line(text: "godwit: \(place)\(sentence)")
    }
    guard let result = end.result else { return }
    if [.migrated, .copied].contains(result.outcome) {
      for note in result.notes {
        Terminal.standardError.line(text: "godwit: note: \(end.store): \(note)")
      }
    }
    show(result, isAlone: false, verifiesFully: verifiesFully)
  }

  private static func show(
    _ result: StoreMigration.Result, isAlone: Bool, verifiesFully: Bool
  ) {
    let out = Terminal.standardOutput
    // The option requires more than an earlier run may have done.
    let unverified =
      verifiesFully && result.destination != result.store
      ? " It was not verified again: `godwit verify` compares both stores." : ""
    switch result.outcome {
    case .migrated, .copied: break
    case .alreadyCurrent:
      let isInPlace = result.destination == result.store
      let made = isInPlace ? "" : ", and \(result.destination) was not made"
      out.line(text: "\(result.store) already has this model: nothing to do\(made).")
      if result.salvage != nil {
        out.line(
          text: "It is damaged and was not changed: --output with --copy-if-current copies the "
            + "readable part.")
      }
      return
    case .alreadyThere:
      return out.line(
        text: "\(result.destination) already exists and was made from the same store: nothing to "
          + "do.\(unverified)")
    case .finishedEarlier:
      return out.line(
        text: "\(result.destination) was completed by an earlier run: nothing to do.\(unverified)")
    }
    if result.outcome == .copied {
      return out.line(
        text: "\(result.store) already has this model: copied to \(result.destination).")
    }
    let staying = result.stayingRows
    let were = staying == 1 ? "it was" : "they were"
    let stay = staying == 0 ? "" : ", and about \(CountText(staying, "row")) left as \(were)"
    let made = CountText(result.rows - staying, "row")
    out.line(text: "\(result.destination): \(made) migrated and verified\(stay).")
    guard isAlone else { return }
    for line in result.summary { out.line(text: line) }
    if let old = result.oldStore {
      out.line(
        text: result.isUndoable
          ? "The original pages are kept as \(old): `godwit rollback` restores them."
          : "The old store is kept as \(old).")
    }
  }
}
