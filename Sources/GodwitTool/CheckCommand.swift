import ArgumentParser
import Godwit
import Logging
import SystemPackage

struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Reports whether stores need a migration and can be migrated; changes nothing.",
    discussion: """
      Lists every reason against a migration. Several stores, folders, --migrate, --junit and \
      --report give one table; the exit status is the highest of all stores.
      """,
    examples: [
      "godwit check Shop.sqlite --to Shop.xcdatamodeld",
      "godwit check Fixtures --to Shop.xcdatamodeld --migrate --junit check.xml",
      "godwit check Fixtures --to Shop.xcdatamodeld --exit-status",
      "godwit check --every-version --to Shop.xcdatamodeld",
    ],
    statuses: [
      0: "every store can be migrated, or needs no migration",
      1: "with --exit-status: a migration is needed, and possible",
      65: "a store is damaged, or a result is not as expected",
      66: "a store does not exist, or a folder has none",
      75: "the check was interrupted",
      78: "a store cannot be migrated",
    ],
    page: "docs/how-to/ci.md")

  /// The exit status with `--exit-status` for stores that need a migration and can be migrated.
  static let neededStatus: Int32 = 1

  @Argument(
    help: ArgumentHelp(
      "SQLite stores to check, and folders, whose stores are all checked.",
      valueName: "store-or-folder"))
  var stores: [FilePath] = []

  @OptionGroup(title: "Model")
  var model: ModelOptions
  @OptionGroup(title: "Route")
  var route: RouteOptions
  @OptionGroup(title: "Losses and defects")
  var loss: LossOptions

  @Flag(help: "Migrate a copy of each store that needs it, verify the copy and remove it.")
  var migrate = false

  @Flag(help: "Skip the comparison of each migrated copy with its store.")
  var noCompare = false

  @Option(help: "Write the findings to this file as JUnit XML.")
  var junit: FilePath?

  @Option(
    help: ArgumentHelp(
      "Write the findings to this file as a page: a matrix of stores and versions.",
      valueName: "file.html"))
  var report: FilePath?

  @OptionGroup(title: "Servers")
  var places: CheckPlaceOptions

  @Flag(help: "End with 78 if a released version of the model was edited, deleted or skipped.")
  var locked = false

  @OptionGroup var guarding: VersionGuardOptions

  @Flag(
    help: "Also generate a store of each version of the model, migrate it and roll it back.")
  var everyVersion = false

  @Option(help: "The number of objects in each store of --every-version; 500 by default.")
  var rows: Int64?

  @Option(help: "The seed of the values in the stores of --every-version; 1 by default.")
  var seed: UInt64?

  @Flag(
    help: """
      Suggest changes that make the migration possible, and try them on a copy of the store.
      """)
  var suggest = false

  @Option(
    help: ArgumentHelp(
      "Write the patch, the mapping file and the command of --suggest to this folder.",
      valueName: "folder"))
  var output: FilePath?

  @Flag(help: "End with 1 if a migration is needed and possible.")
  var exitStatus = false

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    if stores.isEmpty && !everyVersion {
      throw ValidationError("Name at least one store, or --every-version, which generates stores.")
    }
    if suggest && (stores.count != 1 || everyVersion) {
      throw ValidationError("--suggest applies to one store: name no other.")
    }
    if output != nil && !suggest {
      throw ValidationError("--output is the folder for the files of --suggest: add --suggest.")
    }
    if (rows != nil || seed != nil) && !everyVersion {
      let name = rows != nil ? "--rows" : "--seed"
      throw ValidationError("\(name) is for the stores of --every-version: add --every-version.")
    }
    if json && places.annotate == .gitlab {
      throw ValidationError("--json and --annotate gitlab both print JSON: leave one out.")
    }
    if noCompare && !migratesCopies {
      throw ValidationError("--no-compare needs --migrate, which does the comparison: add it.")
    }
  }

  private var migratesCopies: Bool { migrate || everyVersion }

  /// Checks that no file for findings is a store or the file for others.
  private func requireDistinctFiles() throws {
    var files = DistinctFiles()
    for path in stores { try files.add(path, as: .store) }
    try files.add(junit, as: .junit)
    try files.add(report, as: .page)
    try files.add(places.sarif, as: .sarif)
    try files.add(places.summary, as: .summary)
  }

  func run() async throws {
    try requireDistinctFiles()
    let (guarded, opened) = try await places.noting(besides: stores) {
      (try await versionReport(), try StoreCheck(of: migration))
    }
    var check = opened
    check.migratesCopies = migratesCopies
    check.comparesResults = !noCompare
    let made = try await madeStores()
    check.made = made
    let search = StoreSearch(stores)
    let entries = search.entries + (made?.entries ?? [])
    // A folder may have one store too.
    if !migratesCopies, !json, junit == nil, report == nil, !places.isAsked, stores.count == 1,
      entries.map(\.path) == stores, entries[0].failure == nil
    {
      return try await report(entries[0], by: check, versions: guarded)
    }
    let file = try junit.map { try JUnitReportFile($0, besides: entries.map(\.path)) }
    let page = try self.report.map { try CheckReportPage($0, besides: entries.map(\.path)) }
    if suggest, entries.count != 1 {
      throw ValidationError("--suggest applies to one store: name it.")
    }
    let files = try places.files(besides: entries.map(\.path))
    let found = try await findings(entries, by: check)
    var report = CheckReport(made?.named(found) ?? found, by: check, in: search)
    (report.releasedVersions, report.guardsVersions) = (guarded, isGuarded)
    report.suggestion = try await suggestion(for: entries)
    if places.annotate != .gitlab { try show(report) }
    try file?.write(report)
    try page?.write(report)
    try files.write(report, models: model.models)
    if report.exitStatus != 0 { throw ExitCode(report.exitStatus) }
  }

  private func madeStores() async throws -> MadeStores? {
    guard everyVersion else { return nil }
    let (target, rows, seed) = (model.target[0], rows ?? 500, seed ?? 1)
    let bar = ProgressBar()
    defer { bar.clear() }
    return try await ToolProcess.cancellable {
      try await MadeStores(of: target, objects: rows, seed: seed) { made, all in
        bar.show(fraction: Double(made) / Double(all), "\(made) of \(all) stores made")
      }
    }
  }

  /// Whether `--locked` requires unchanged released versions.
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
    let isBroken = isGuarded && versions?.isBroken == true
    let last = isBroken ? max(status, ExitStatus.impossible.rawValue) : status
    if last != 0 { throw ExitCode(last) }
  }

  private func show(_ versions: VersionLock.Report?) {
    guard let versions, isGuarded || !versions.problems.isEmpty else { return }
    for line in versions.lines { Terminal.standardOutput.line(text: line) }
  }

  private var migration: StoreMigration {
    var migration = StoreMigration(
      store: stores.first ?? "", model: model, route: route, loss: loss)
    if !migratesCopies {
      migration.resources.workers = 1
      migration.resources.memory = 64 << 20
    }
    migration.logger = Logger(label: "godwit") { StandardErrorLog(label: $0) }
    return migration
  }

  // MARK: One store

  private func report(
    _ entry: StoreSearch.Entry, by check: StoreCheck, versions: VersionLock.Report?
  ) async throws {
    let finding = judged(
      try await ReadingBar("checking", entry.path).during { try await check.run(entry) })
    show(finding)
    show(versions)
    try show(try await suggestion(for: [entry]))
    try end(finding.exitStatus, versions)
  }

  /// The finding with the requested exit status.
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
      let isUnnamed = finding.from.isEmpty && finding.to.isEmpty
      let versions = isUnnamed ? "" : " \(VersionSpan(finding.from, finding.to).whole):"
      out.line(
        text: "\(finding.store):\(versions) needs a migration, which is possible.")
    } else {
      let version = finding.to.isEmpty ? "" : ", \(VersionText(finding.to))"
      out.line(text: "\(finding.store): already has this model\(version).")
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
        let name = check.made?.name(of: store) ?? "\(store)"
        bar.show(fraction: share, "\(done) of \(entries.count) stores done: \(name)")
      }
    }.map(judged)
  }

  private func show(_ report: CheckReport) throws {
    let out = Terminal.standardOutput
    if json { return out.line(json: try JSONOutput.text(value: report)) }
    let table = CheckTable(report, settlesDefects: loss.settlesDefects)
    for text in table.lines + report.passedOverLines + [report.verdict] { out.line(text: text) }
    show(report.releasedVersions)
    try show(report.suggestion)
  }

  // MARK: Suggestions

  private func suggestion(
    for entries: [StoreSearch.Entry]
  ) async throws -> MigrationSuggestion? {
    guard suggest, let entry = entries.first, entry.failure == nil else { return nil }
    var migration = migration
    migration.store = entry.path
    let bar = ProgressBar()
    defer { bar.clear() }
    let asked = migration
    let found = try await ToolProcess.cancellable {
      try await asked.suggestion { trial, what in
        bar.show(fraction: 1 - 1 / Double(trial), "trial \(trial): \(what)")
      }
    }
    bar.clear()
    if let output {
      for file in try SuggestionFolder(output).write(found) {
        Terminal.standardError.line(text: "godwit: note: \(file) written.")
      }
    }
    return found
  }

  private func show(_ suggestion: MigrationSuggestion?) throws {
    guard let suggestion else { return }
    for line in suggestion.lines { Terminal.standardOutput.line(text: line) }
  }
}
