import ArgumentParser
import Foundation
import Godwit
import MigrationCoordinator
import Planning
import StoreFormat
import StoreVerification
import SystemCalls
import SystemPackage

struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Compares a migrated store with the old one, object by object.",
    discussion: """
      Works out what the old store should have become, by inference or by the mapping models that \
      the migration used, and compares it with the new store to the last byte: rows, relationships, \
      orders, keys, metadata, indexes, pages, external files. Both stores are left as they are. \
      Ends with 0 if they are alike, and with 65 if they differ or something could not be judged.
      """)

  @Argument(help: "The store before the migration.")
  var old: FilePath

  @Argument(help: "The store after it.")
  var new: FilePath

  @Option(
    name: .customLong("to"),
    help: ArgumentHelp(
      "The model that the new store should have; without it, the new store is taken at its word.",
      valueName: "model"))
  var target: [FilePath] = []

  @Option(help: "The configuration of the model that the new store should have.")
  var configuration: String?

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp(
      "Where the models of both stores, and mapping models beside them, may be found.",
      valueName: "path"))
  var models: [FilePath] = []

  @OptionGroup var route: RouteOptions

  @Option(
    help: "The journal mode of the new store: wal or delete; that of the old one if not given.")
  var journalMode: MigrationRequest.JournalMode?

  @Option(help: "How many differences to print.")
  var limit = 100

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    guard limit >= 0 else { throw ValidationError("--limit takes 0 or more.") }
  }

  func run() throws {
    guard try Files.fileStatusIfPresent(new) != nil else {
      throw MigrationFailure(.notFound, "\(new) is not there: check the path.")
    }
    let line = ProgressLine()
    defer { line.clear() }
    let outcome = try compare(line)
    line.clear()
    let text = VerificationText(old: old, new: new, outcome)
    let out = Terminal.standardOutput
    if json {
      out.line(try JSONOutput.text(VerificationDocument(old: old, new: new, outcome)))
    } else {
      for line in text.lines { out.line(line) }
      for note in text.notes { Terminal.standardError.line("godwit: note: \(note)") }
    }
    guard outcome.report.isAlike else { throw MigrationFailure(.damaged, text.verdict) }
    if !json { out.line(text.verdict) }
  }

  private func compare(_ line: ProgressLine) throws -> VerificationOutcome {
    var migration = MigrationRequest(store: old, target: [new], workers: 1, memory: 256 << 20)
    migration.configuration = configuration
    migration.models = models
    migration.take(route)
    migration.policies = GodwitTool.policies.factories
    do {
      let inputs = try VerificationInputs(
        old: old, new: new,
        .init(migration: migration, target: target, configuration: configuration))
      var order = inputs.order
      order.limit = limit
      order.usesWAL = journalMode.map { $0 == .wal }
      order.policies = GodwitTool.policies.factories
      order.now = Date().timeIntervalSinceReferenceDate
      return try withExtendedLifetime(inputs) {
        VerificationOutcome(
          report: try Verification.run(order) { line.show($0.what, $0.fraction) },
          steps: inputs.steps)
      }
    } catch VerificationError.notInferable(let places) {
      throw MigrationFailure(
        .impossible,
        "\(new) cannot have come from \(old) by inference (\(places.joined(separator: ", "))): name "
          + "the mapping models with --mapping, or the versions between with --progressive.")
    } catch let error as VerificationInputs.Unreadable {
      // A new store that cannot be opened at all differs as much as one can.
      var report = VerificationReport(limit: max(1, limit))
      report.note(
        Difference(
          error.cause.kind, table: "\(new)",
          actual: MigrationFailure(error.cause).sentences.joined(separator: " ")))
      return VerificationOutcome(report: report, steps: [])
    }
  }
}

extension StoreError {
  /// What a new store is called that cannot be opened at all.
  fileprivate var kind: Difference.Kind {
    switch problem {
    case .metadataUnreadable, .hashVersionUnknown, .notCoreData: .metadata
    case .modelCacheUnreadable: .modelCache
    default: .page
    }
  }
}

/// What came of a verification, and by which way the store is said to have gone.
struct VerificationOutcome {
  var report: VerificationReport
  var steps: [MigrationRoute.Step]
}

/// One line on a terminal that tells how far something is; nothing anywhere else.
final class ProgressLine {
  private let terminal = Terminal.standardError
  private var shown = ""

  func show(_ what: String, _ fraction: Double) {
    guard let width = terminal.width else { return }
    let percent = "\(Int(fraction * 100)) %"
    let text = String("\(percent)  \(what)".prefix(max(0, (width == 0 ? 80 : width) - 1)))
    if text == shown { return }
    terminal.replaceLine(text)
    shown = text
  }

  func clear() {
    if !shown.isEmpty { terminal.replaceLine("") }
    shown = ""
  }
}
