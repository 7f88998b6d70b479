import ArgumentParser
import Godwit
import SystemPackage

/// A store, and where the work folder of its migrations is.
struct UpkeepOptions: ParsableArguments {
  @Argument(help: "The store, or an output that was never finished.")
  var store: FilePath

  @Option(
    name: .customLong("work"),
    help: ArgumentHelp(
      "The folder that the migration was given with --work.", valueName: "folder"))
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

  init(_ removed: [FilePath], leftAlone: [FilePath] = []) {
    (self.removed, self.leftAlone) = (removed.map(\.string), leftAlone.map(\.string))
  }
}

struct RollbackCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rollback",
    abstract: "Puts the old store back in its place, with its external files.",
    discussion: """
      The store that the migration made is kept as STORE.after-TIME. Works as long as the old \
      store is kept, that is until `finish` lets it go. A migration with `--engine edit` has \
      changed the store itself: what it changed is put back, byte for byte, unless something has \
      written to the store since. With --output the new store and what is kept stay as they are.
      """,
    examples: [
      "godwit rollback Shop.sqlite", "godwit rollback Shop.sqlite --output Before.sqlite",
    ],
    statuses: [
      66: "no old store is kept, or it is missing",
      69: "something uses one of the two stores",
      73: "the old store was changed since it was kept, or the store since it was edited",
    ],
    page: "docs/explanation/crash-safety.md")

  @OptionGroup var options: UpkeepOptions

  @Option(help: "The kept store to go back to, if not the last one.")
  var kept: FilePath?

  @Option(
    help: ArgumentHelp(
      "Write the old store to this file instead, and leave the new one in its place.",
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
        text: "\(output) is what is kept as \(done.restored); \(done.store) is as it was.")
    }
    Terminal.standardOutput.line(
      text: "\(done.store) is again what was kept as \(done.restored).")
    if let kept = done.kept {
      Terminal.standardOutput.line(text: "What it replaces is kept as \(kept).")
    }
  }
}

struct FinishCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "finish",
    abstract: "Lets the old stores go that migrations and rollbacks keep.",
    discussion: "Their external files go too, but for those that another store names.",
    examples: ["godwit finish Shop.sqlite"],
    statuses: [73: "an old store was changed since it was kept, and stays"],
    page: "docs/explanation/crash-safety.md")

  @OptionGroup var options: UpkeepOptions

  func run() throws {
    let gone = try options.migrated.finish()
    if options.json {
      return Terminal.standardOutput.line(
        json: try JSONOutput.text(value: RemovedFiles(gone)))
    }
    if gone.isEmpty { Terminal.standardOutput.line(text: "No old store is kept.") }
    for path in gone { Terminal.standardOutput.line(text: "\(path) is gone.") }
  }
}

struct DiscardCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "discard",
    abstract: "Removes what interrupted and failed migrations of a store left.",
    discussion: """
      The store, its output and the old stores that are kept stay; so does whatever Godwit did \
      not make.
      """,
    examples: ["godwit discard Shop.sqlite"],
    statuses: [69: "a migration is at work"],
    page: "docs/explanation/crash-safety.md")

  @OptionGroup var options: UpkeepOptions

  func run() throws {
    let done = try options.migrated.discard()
    if options.json {
      return Terminal.standardOutput.line(
        json: try JSONOutput.text(value: RemovedFiles(done.removed, leftAlone: done.leftAlone)))
    }
    if done.removed.isEmpty { Terminal.standardOutput.line(text: "Nothing was left over.") }
    for path in done.removed { Terminal.standardOutput.line(text: "\(path) is gone.") }
    for path in done.leftAlone {
      Terminal.standardError.line(
        text: "godwit: note: \(path) was left alone, since Godwit did not make it.")
    }
  }
}

struct ListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Shows which old stores are kept beside a store, and what interrupted runs left.",
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
      ? "what undoes a migration"
      : kind == .before ? "the store before a migration" : "the store before a rollback"
    return switch state {
    case .whole: what
    case .changed: "\(what), changed since"
    case .missing: "\(what), missing: moved, renamed or removed"
    case .leaving: "\(what), which `finish` has begun to let go"
    case .unknown: "not noted as kept by Godwit, and left alone"
    }
  }
}

extension MigratedStore.Contents.Work {
  /// What it is, for people.
  fileprivate var words: String {
    switch state {
    case .running: "a migration at work"
    case .interrupted: "what an interrupted migration has done"
    case .foreign: "not made by Godwit for this store, and left alone"
    }
  }
}
