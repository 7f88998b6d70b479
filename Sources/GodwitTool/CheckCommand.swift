import ArgumentParser
import Godwit
import Logging
import SystemPackage

struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Tells whether stores need a migration and can be migrated; changes none.",
    discussion: """
      All reasons against a migration are listed. Several stores, folders, --migrate, --junit and \
      --report give one table, and end with the highest status of all stores.
      """,
    examples: [
      "godwit check Shop.sqlite --to Shop.xcdatamodeld",
      "godwit check Fixtures --to Shop.xcdatamodeld --migrate --junit check.xml",
      "godwit check Fixtures --to Shop.xcdatamodeld --exit-status",
    ],
    statuses: [
      0: "no store needs a migration, or each that does can be migrated",
      1: "with --exit-status: a migration is needed, and possible",
      65: "a store is damaged, or a result differs from what it should be",
      66: "a store is not there, or a folder has none",
      75: "the check was interrupted",
      78: "a store cannot be migrated",
    ],
    page: "docs/ci.md")

  /// The exit status with `--exit-status` for stores that need a migration and can be migrated.
  static let neededStatus: Int32 = 1

  @Argument(
    help: ArgumentHelp(
      "The SQLite stores to check, and folders, in which all stores are.",
      valueName: "store-or-folder"))
  var stores: [FilePath]

  @OptionGroup var model: ModelOptions
  @OptionGroup var route: RouteOptions
  @OptionGroup var loss: LossOptions

  @Flag(help: "Migrate a copy of each store that needs it, verify the copy and remove it.")
  var migrate = false

  @Flag(help: "Leave out the comparison of each migrated copy with its store.")
  var noCompare = false

  @Option(help: "Write what was found to this file, in the XML of JUnit.")
  var junit: FilePath?

  @Option(
    help: ArgumentHelp(
      "Write what was found to this file, as a page: a matrix of stores and versions.",
      valueName: "file.html"))
  var report: FilePath?

  @Flag(help: "End with 78 if a released version of the model was edited, deleted or passed over.")
  var locked = false

  @OptionGroup var guarding: VersionGuardOptions

  @Flag(help: "End with 1 if a migration is needed and possible.")
  var exitStatus = false

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    if stores.isEmpty { throw ValidationError("Name at least one store.") }
    if noCompare && !migrate {
      throw ValidationError("--no-compare leaves out what only --migrate does.")
    }
  }

  func run() async throws {
    let guarded = try await versionReport()
    var check = try StoreCheck(of: migration)
    check.migratesCopies = migrate
    check.comparesResults = !noCompare
    let search = StoreSearch(stores)
    // A folder may have one store too.
    if !migrate, !json, junit == nil, report == nil, stores.count == 1,
      search.entries.map(\.path) == stores,
      search.entries[0].failure == nil
    {
      return try await tell(search.entries[0], by: check, versions: guarded)
    }
    let file = try junit.map { try JUnitReportFile($0, besides: search.entries.map(\.path)) }
    let page = try self.report.map { try CheckReportPage($0, besides: search.entries.map(\.path)) }
    var report = CheckReport(try await findings(search.entries, by: check), by: check, in: search)
    report.releasedVersions = guarded
    try show(report)
    try file?.write(report)
    try page?.write(report)
    try end(report.exitStatus, guarded)
  }

  /// Whether `--locked` asks for released versions that are as they were.
  private var isGuarded: Bool { locked || guarding.since != nil || guarding.lock != nil }

  /// What became of the released versions; without an option, where they were locked in a file.
  private func versionReport() async throws -> VersionLock.Report? {
    guard let bundle = VersionLock.bundle(of: model.target[0]) else {
      if isGuarded { throw ValidationError("--locked guards the versions of a bundle: name one.") }
      return nil
    }
    let source = guarding.source(of: bundle)
    if !isGuarded, !source.isThere { return nil }
    return try await VersionLock.report(on: bundle, source)
  }

  /// Ends with the status of the stores, or that of versions that are not as they were.
  private func end(_ status: Int32, _ versions: VersionLock.Report?) throws {
    let isBroken = isGuarded && versions?.problems.isEmpty == false
    let last = isBroken ? max(status, ExitStatus.impossible.rawValue) : status
    if last != 0 { throw ExitCode(last) }
  }

  private func show(_ versions: VersionLock.Report?) {
    guard let versions, isGuarded || !versions.problems.isEmpty else { return }
    for line in versions.lines { Terminal.standardOutput.line(text: line) }
  }

  private var migration: StoreMigration {
    var migration = StoreMigration(store: stores[0], model: model, route: route, loss: loss)
    if !migrate {
      migration.workers = 1
      migration.memory = 64 << 20
    }
    migration.logger = Logger(label: "godwit") { StandardErrorLog(label: $0) }
    return migration
  }

  // MARK: One store

  private func tell(
    _ entry: StoreSearch.Entry, by check: StoreCheck, versions: VersionLock.Report?
  ) async throws {
    let finding = judged(try await check.run(entry))
    show(finding)
    show(versions)
    try end(finding.exitStatus, versions)
  }

  /// The finding with the exit status that was asked for.
  private func judged(_ finding: StoreCheck.Finding) -> StoreCheck.Finding {
    var finding = finding
    if exitStatus, finding.isPossible, finding.isNeeded == true {
      finding.exitStatus = Self.neededStatus
    }
    return finding
  }

  private func show(_ finding: StoreCheck.Finding) {
    let out = Terminal.standardOutput
    if !finding.isPossible {
      for reason in finding.reasons { out.line(text: reason) }
    } else if finding.isNeeded == true {
      let span = "\(VersionSpan(finding.from, finding.to))"
      let versions = span.isEmpty ? "" : "\(span):"
      out.line(
        text: "\(finding.store):\(versions) needs a migration, which is possible.")
    } else {
      let version = finding.to.isEmpty ? "" : ", \(VersionText(finding.to))"
      out.line(text: "\(finding.store): has this model already\(version).")
    }
    for note in finding.notes(settlesDefects: loss.settlesDefects) { out.line(text: "  \(note)") }
  }

  // MARK: Several stores

  /// What is found of each store; SIGINT and SIGTERM leave the rest of them out.
  private func findings(
    _ entries: [StoreSearch.Entry], by check: StoreCheck
  ) async throws -> [StoreCheck.Finding] {
    let bar = ProgressBar()
    defer { bar.clear() }
    return try await ToolProcess.cancellable {
      await check.run(entries) { share, store, done in
        bar.show(fraction: share, "\(done) of \(entries.count) stores done: \(store)")
      }
    }.map(judged)
  }

  private func show(_ report: CheckReport) throws {
    let out = Terminal.standardOutput
    if json { return out.line(json: try JSONOutput.text(value: report)) }
    let table = CheckTable(report, settlesDefects: loss.settlesDefects)
    for text in table.lines + report.passedOverLines + [report.verdict] { out.line(text: text) }
    show(report.releasedVersions)
  }
}
