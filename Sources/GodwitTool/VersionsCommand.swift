import ArgumentParser
import Godwit
import SystemPackage

struct VersionsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "versions",
    abstract: "Guards the released versions of a model against edits.",
    examples: [
      "godwit versions lock Shop.xcdatamodeld",
      "godwit versions check Shop.xcdatamodeld",
      "godwit versions find Shop.xcdatamodeld crash.log",
    ],
    statuses: [:],
    page: "docs/how-to/versions.md",
    subcommands: [
      VersionsLockCommand.self, VersionsCheckCommand.self, VersionsFindCommand.self,
    ])

  func run() throws { throw MissingSubcommand(of: Self.self) }
}

struct VersionsLockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lock",
    abstract: "Writes the hashes of all versions to a file for your repository.",
    discussion: """
      Lock the versions with each release. If a version was edited or deleted since, the command \
      keeps the locked hashes and fails; --accept records the version as it is now.
      """,
    examples: [
      "godwit versions lock Shop.xcdatamodeld",
      "godwit versions lock Shop.xcdatamodeld --accept 'Shop 2'",
    ],
    statuses: [
      73: "another file has the name of the lock file",
      78: "a locked version was edited or is gone",
    ],
    page: "docs/how-to/versions.md")

  @Argument(help: "The model: an .xcdatamodeld or a .momd.")
  var model: FilePath

  @Option(
    help: ArgumentHelp(
      "A version that was edited or deleted and never reached a user. May be repeated.",
      valueName: "version"),
    completion: NameCompletions.versions)
  var accept: [String] = []

  @Option(
    help: ArgumentHelp(
      "The lock file; by default Shop.versions.json next to Shop.xcdatamodeld.", valueName: "path"))
  var output: FilePath?

  func run() throws {
    let file = output ?? VersionLock.file(of: model)
    let report = try VersionLock.lock(model, in: file, accepting: accept)
    for note in report.notes { Terminal.standardError.line(text: "godwit: note: \(note)") }
    Terminal.standardOutput.line(text: report.sentence)
  }
}

struct VersionsCheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Reports whether released versions of a model were edited, deleted or skipped.",
    discussion: """
      Compares the model with the file that `godwit versions lock` wrote, or with a revision of its \
      Git repository.
      """,
    examples: [
      "godwit versions check Shop.xcdatamodeld",
      "godwit versions check Shop.xcdatamodeld --since v2.1",
    ],
    statuses: [
      0: "all released versions are unchanged",
      66: "the model, the lock file or the revision does not exist",
      78: "a version was edited, deleted or skipped",
    ],
    page: "docs/how-to/versions.md")

  @Argument(help: "The model: an .xcdatamodeld or a .momd.")
  var model: FilePath

  @OptionGroup var guarding: VersionGuardOptions

  @Flag(help: "Print JSON.")
  var json = false

  func run() async throws {
    let report = try await VersionLock.report(on: model, guarding.source(of: model))
    if json {
      Terminal.standardOutput.line(json: try JSONOutput.text(value: report))
    } else {
      for line in report.lines { Terminal.standardOutput.line(text: line) }
    }
    if report.isBroken { throw ExitCode(ExitStatus.impossible.rawValue) }
  }
}

struct VersionsFindCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "find",
    abstract: "Finds the version of a store in the log of an app that could not open it.",
    discussion: """
      Core Data logs the metadata of a store that it cannot open or migrate. The command compares \
      the first NSStoreModelVersionHashes in the log with all versions of the model. The hashes \
      may be shortened and the log cut.
      """,
    examples: [
      "godwit versions find Shop.xcdatamodeld crash.log"
    ],
    statuses: [
      0: "the hashes are those of a version of the model",
      66: "the log has no version hashes",
      78: "no version has these hashes; the output names the nearest one",
    ],
    page: "docs/how-to/versions.md")

  @Argument(help: "The model: an .xcdatamodeld or a .momd.")
  var model: FilePath

  @Argument(help: "The log; standard input by default.")
  var log: FilePath?

  @Flag(help: "Print JSON.")
  var json = false

  func run() throws {
    let found = try LoggedVersion(contentsOf: log)
    let report = found.report(on: try VersionLock(of: model), at: model)
    if json {
      Terminal.standardOutput.line(json: try JSONOutput.text(value: report))
    } else {
      for line in report.sentences { Terminal.standardOutput.line(text: line) }
    }
    if report.versions.isEmpty { throw ExitCode(ExitStatus.impossible.rawValue) }
  }
}

/// With what the versions of a model are compared.
struct VersionGuardOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Compare with this revision of the model's Git repository instead of a lock file.",
      valueName: "revision"))
  var since: String?

  @Option(
    help: ArgumentHelp(
      "The lock file; by default Shop.versions.json next to Shop.xcdatamodeld.",
      valueName: "path"))
  var lock: FilePath?

  func validate() throws {
    if since != nil, lock != nil {
      throw ValidationError("--since and --lock both name what to compare with: leave one out.")
    }
  }

  /// What is compared with.
  func source(of model: FilePath) -> VersionLock.Source {
    since.map { .revision($0) } ?? .file(lock ?? VersionLock.file(of: model))
  }
}
