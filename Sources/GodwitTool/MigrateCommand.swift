import ArgumentParser
import Godwit
import Logging
import MigrationCoordinator
import MigrationEngine
import ObjectMigration
import Schema
import SystemCalls
import SystemPackage

struct MigrateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Migrates a store to another version of its model.",
    discussion: """
      Without --output the new store takes the place of the old one once it is complete and \
      verified; the old one is kept as STORE.before-TIME. An interrupted migration goes on when \
      the same command is started again.
      """)

  @Argument(help: "The SQLite store to migrate.")
  var store: FilePath

  @OptionGroup var model: ModelOptions
  @OptionGroup var route: RouteOptions
  @OptionGroup var work: WorkOptions
  @OptionGroup var loss: LossOptions

  @Option(help: "What violations of the model do after a mapping model: strict, report or off.")
  var validation = ValidationMode.strict

  @Option(help: "Write the new store to this file and leave the old one alone.")
  var output: FilePath?

  @Flag(help: "Copy the store to the output if it has the model already.")
  var copyIfCurrent = false

  @Option(
    name: .customLong("work"),
    help: ArgumentHelp(
      "Make the work folder below this folder, instead of beside the result as STORE.godwit.",
      valueName: "folder"))
  var workFolder: FilePath?

  @Option(
    help: "The journal mode of the new store: wal or delete; that of the old one if not given.")
  var journalMode: MigrationRequest.JournalMode?

  @Option(help: "How the result is verified: quick or full, which reads every index as well.")
  var verify = Verification.quick

  @Flag(help: "Remove the old store once the new one has taken its place.")
  var discardOld = false

  @Flag(help: "Print every SQL statement with its plan and its time on standard error.")
  var logSQL = false

  @Flag(
    help: ArgumentHelp(
      "Leave no record of the outcome beside the store and the output, where `status` finds it."))
  var noRecord = false

  @Option(help: "Write a report in JSON to this file.")
  var report: FilePath?

  @Option(help: .hidden)
  var engine = MigrationRequest.Engine.auto

  enum Verification: String, ExpressibleByArgument, CaseIterable { case quick, full }

  func run() async throws {
    var request = MigrationRequest(store: store, model, route, work)
    request.output = output
    request.policies = GodwitTool.policies.factories
    request.validation = validation
    request.work = workFolder
    request.journalMode = journalMode
    request.verifiesFully = verify == .full
    request.take(loss)
    request.discardsOld = discardOld
    request.logsSQL = logSQL
    request.engine = engine
    request.keepsRecord = !noRecord
    request.namesVersions = report != nil
    request.copiesIfCurrent = copyIfCurrent
    let file = try report.map { try ReportFile($0, for: request) }
    let result: MigrationReport
    do {
      result = try await Self.migrate(request)
    } catch {
      try? file?.write(.of(MigrationFailure(error), request))
      throw error
    }
    Self.tell(result, request)
    try file?.write(result)
  }

  func validate() throws {
    if copyIfCurrent && output == nil {
      throw ValidationError("--copy-if-current copies to what --output names.")
    }
    if discardOld && output != nil {
      throw ValidationError("--discard-old and --output leave nothing to remove: leave one out.")
    }
  }

  /// Migrates until it is done or a signal asks to stop.
  private static func migrate(_ request: MigrationRequest) async throws -> MigrationReport {
    let bar = ProgressBar()
    let migration = Migration(
      request, logger: Logger(label: "godwit") { StandardErrorLog(label: $0) },
      words: .sentences)
    defer { bar.clear() }
    let task = Task { try await migration.run { bar.show($0) } }
    let watcher = Task {
      for await _ in Processes.stopSignals() { task.cancel() }
    }
    defer { watcher.cancel() }
    return try await task.value
  }

  private static func tell(_ report: MigrationReport, _ request: MigrationRequest) {
    let out = Terminal.standardOutput
    let error = Terminal.standardError
    switch report.outcome {
    case .migrated, .copied, .refused, .failed, .interrupted: break
    case .alreadyCurrent:
      let made = request.output.map { ", and \($0) was not made" } ?? ""
      return out.line("\(report.store) has this model already: nothing to do\(made).")
    case .alreadyThere:
      return out.line(
        "\(report.destination) is there already, made of the same source: nothing to do.")
    case .finishedEarlier:
      return out.line("\(report.destination) was finished by an earlier run: nothing left to do.")
    }
    for mapping in report.unusedMappings where mapping.wasNamed {
      error.line("godwit: note: \(mapping.path) was not used: \(mapping.reason).")
    }
    for loss in report.losses { error.line("godwit: note: \(loss.sentence)") }
    for accounts in report.accounts {
      // Where nothing is kept, the loss says it all.
      for account in accounts.entities
      where account.rowsOut > 0 && account.rowsIn != account.rowsOut {
        error.line("godwit: note: \(account.sentence)")
      }
    }
    for omission in report.omittedIndexes {
      error.line(
        "godwit: note: index \(omission.index) of \(omission.entity) was left out: \(omission.reason)."
      )
    }
    for reference in report.danglingReferences {
      error.line(
        "godwit: note: \(reference.count) references in \(reference.table).\(reference.column) "
          + "lead to objects that are not there.")
    }
    let missing = report.missingExternalFiles
    for file in missing.prefix(5) {
      error.line("godwit: note: external file \(file) is missing; its reference was carried over.")
    }
    if missing.count > 5 {
      error.line("godwit: note: \(missing.count - 5) more external files are missing.")
    }
    for table in report.extraTables {
      error.line("godwit: note: table \(table) is none of the model's and was left behind.")
    }
    if report.violations > 0 {
      error.line("godwit: note: \(report.violations) violations of the model:")
      for violation in report.firstViolations.prefix(100) {
        error.line("godwit: note: \(violation.sentence)")
      }
    }
    for choice in report.joinTables {
      error.line("godwit: note: \(choice.sentence)")
    }
    for part in report.modelCacheLeftOut {
      error.line("godwit: note: \(part.sentence)")
    }
    if let reason = report.modelCacheOmitted {
      error.line("godwit: note: the store carries no model of its own: \(reason).")
    }
    if report.outcome == .copied {
      return out.line("\(report.store) has this model already: copied to \(report.destination).")
    }
    out.line("\(report.destination): \(report.rows) rows migrated and verified.")
    if let old = report.oldStore { out.line("The old store is kept as \(old).") }
  }
}

extension MigrationRequest.JournalMode: ExpressibleByArgument {}
extension MigrationRequest.Engine: ExpressibleByArgument {}
extension ValidationMode: ExpressibleByArgument {}
