import ArgumentParser
import Godwit
import SystemPackage

/// A store, and where the work folder of its migrations is.
struct UpkeepOptions: ParsableArguments {
  @Argument(help: "The store, or the output of an unfinished migration.")
  var store: FilePath

  @Option(
    name: .customLong("work"),
    help: ArgumentHelp(
      "The folder given to the migration with --work.", valueName: "folder"))
  var workFolder: FilePath?

  @Flag(help: "Print JSON.")
  var json = false

  var migrated: MigratedStore {
    get throws { try MigratedStore(store, workFolder: workFolder) }
  }
}

/// What `finish` and `discard` print as JSON.
private struct RemovedFiles: Encodable {
  private var version = 1
  private var removed: [String]
  private var leftAlone: [String]
  private var missing: [String]?

  init(_ removed: [FilePath], leftAlone: [FilePath] = [], missing: [String] = []) {
    (self.removed, self.leftAlone) = (removed.map(\.string), leftAlone.map(\.string))
    self.missing = missing.isEmpty ? nil : missing
  }
}

struct RollbackCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rollback",
    abstract: "Puts the old store back in place, with its external files.",
    discussion: """
      Keeps the new store as STORE.after-TIME. Works until `finish` removes the old store. A \
      migration with `--engine edit` has changed the store itself: rollback restores every changed \
      byte, unless something has written to the store since. With --output, the new store and the \
      kept files stay unchanged.
      """,
    examples: [
      "godwit rollback Shop.sqlite", "godwit rollback Shop.sqlite --output Before.sqlite",
    ],
    statuses: [
      66: "no old store is kept, or it is missing",
      69: "another process uses one of the two stores",
      73: "the old store was changed since it was kept, or the store since the migration edited it",
    ],
    page: "docs/explanation/crash-safety.md")

  @OptionGroup var options: UpkeepOptions

  @Option(help: "The kept store to restore; the last one by default.")
  var kept: FilePath?

  @Option(
    help: ArgumentHelp(
      "Write the old store to this file, and leave the new one in place.",
      valueName: "file"))
  var output: FilePath?

  func run() throws {
    let migrated = try options.migrated
    let done =
      try output.map { try migrated.copyOld(kept, to: $0) } ?? migrated.rollBack(to: kept)
    for note in done.notes { Terminal.standardError.line(text: "godwit: note: \(note)") }
    if options.json { return Terminal.standardOutput.line(json: try JSONOutput.text(value: done)) }
    if let output = done.output {
      return Terminal.standardOutput.line(
        text: "\(output) is a copy of \(done.restored); \(done.store) is unchanged.")
    }
    Terminal.standardOutput.line(
      text: "\(done.store) is again the store that was kept as \(done.restored).")
    if let kept = done.kept {
      Terminal.standardOutput.line(text: "The store that it replaces is kept as \(kept).")
    }
  }
}

struct FinishCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "finish",
    abstract: "Removes the old stores that migrations and rollbacks keep.",
    discussion: """
      Also removes their external files, except those that another store uses. A kept store that was \
      moved away stays in the list: move it back to remove it.
      """,
    examples: ["godwit finish Shop.sqlite"],
    statuses: [73: "an old store was changed since it was kept; it is not removed"],
    page: "docs/explanation/crash-safety.md")

  @OptionGroup var options: UpkeepOptions

  func run() throws {
    let migrated = try options.migrated
    let gone = try migrated.finish()
    let missing = try migrated.contents().kept.filter { $0.state == .missing }.map(\.path)
    for path in missing {
      Terminal.standardError.line(
        text: "godwit: note: \(path) is missing and was not removed: if it was moved, move it back "
          + "and start the same command again; if it is gone, remove \(migrated.path)"
          + ".godwit-kept.json.")
    }
    if options.json {
      return Terminal.standardOutput.line(
        json: try JSONOutput.text(value: RemovedFiles(gone, missing: missing)))
    }
    if gone.isEmpty, missing.isEmpty {
      Terminal.standardOutput.line(text: "No old store is kept.")
    }
    for path in gone { Terminal.standardOutput.line(text: "\(path) is removed.") }
  }
}

struct DiscardCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "discard",
    abstract: "Removes the files of interrupted and failed migrations of a store.",
    discussion: """
      The store, its output, kept old stores, and files that Godwit did not make all stay.
      """,
    examples: ["godwit discard Shop.sqlite"],
    statuses: [69: "a migration is running"],
    page: "docs/explanation/crash-safety.md")

  @OptionGroup var options: UpkeepOptions

  func run() throws {
    let done = try options.migrated.discard()
    if options.json {
      return Terminal.standardOutput.line(
        json: try JSONOutput.text(value: RemovedFiles(done.removed, leftAlone: done.leftAlone)))
    }
    if done.removed.isEmpty { Terminal.standardOutput.line(text: "There is nothing to remove.") }
    for path in done.removed { Terminal.standardOutput.line(text: "\(path) is removed.") }
    for path in done.leftAlone {
      Terminal.standardError.line(
        text: "godwit: note: \(path) was not removed, since Godwit did not make it.")
    }
  }
}

struct ListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists the old stores that are kept of a store, and files of interrupted runs.",
    examples: ["godwit list Shop.sqlite", "godwit list Shop.sqlite --json"],
    statuses: [:],
    page: "docs/explanation/crash-safety.md")

  @OptionGroup var options: UpkeepOptions

  func run() throws {
    let contents = try options.migrated.contents()
    if options.json {
      return Terminal.standardOutput.line(json: try JSONOutput.text(value: contents))
    }
    let out = Terminal.standardOutput
    let size = contents.bytes.map { "\(ByteText($0))" } ?? "not there"
    out.line(text: "\(contents.store): \(size)")
    for kept in contents.kept {
      out.line(text: "\(kept.path): \(ByteText(kept.bytes)), \(kept.words)")
    }
    if let work = contents.work {
      out.line(text: "\(work.path): \(ByteText(work.bytes)), \(work.words)")
    }
    for path in contents.leftovers { out.line(text: "\(path): left over, `discard` removes it") }
  }
}

extension MigratedStore.Contents.KeptStore {
  /// What it is and how, for people.
  fileprivate var words: String {
    let what =
      isUndo
      ? "the undo file of a migration"
      : kind == .before ? "the store before a migration" : "the store before a rollback"
    return switch state {
    case .whole: what
    case .changed: "\(what), changed since"
    case .missing: "\(what), missing: moved, renamed or removed"
    case .leaving: "\(what), partly removed by `finish`"
    case .unknown: "not recorded as kept by Godwit; ignored"
    }
  }
}

extension MigratedStore.Contents.Work {
  /// What it is, for people.
  fileprivate var words: String {
    switch state {
    case .running: "a running migration"
    case .interrupted: "the work of an interrupted migration"
    case .foreign: "not made by Godwit for this store; ignored"
    }
  }
}
