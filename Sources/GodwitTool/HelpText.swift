import ArgumentParser

/// The help of a command before its options.
struct HelpText {
  /// What the command does, in more words than the abstract.
  var discussion: String
  /// Calls that work in the folder of an app; docs/commands.md has them run.
  var examples: [String]
  /// The exit statuses that distinguish its outcomes.
  var statuses: KeyValuePairs<Int32, String>
  /// The page of the documentation about the command.
  var page: String

  /// The text, in paragraphs that `scripts/manual` makes the sections of a manual page of.
  var text: String {
    var parts = [discussion]
    if !examples.isEmpty {
      parts.append((["Examples:"] + examples.map { "  \($0)" }).joined(separator: "\n"))
    }
    if !statuses.isEmpty {
      let lines = statuses.map { status, meaning in
        "  \(status)\(String(repeating: " ", count: status < 10 ? 3 : 2))\(meaning)"
      }
      parts.append((["Exit statuses:"] + lines).joined(separator: "\n"))
    }
    parts.append("Read on: \(page)")
    return parts.filter { !$0.isEmpty }.joined(separator: "\n\n")
  }
}

extension CommandConfiguration {
  /// A command with examples, exit statuses and a page to read on.
  init(
    commandName: String, abstract: String, discussion: String = "", examples: [String],
    statuses: KeyValuePairs<Int32, String>, page: String,
    subcommands: [any ParsableCommand.Type] = []
  ) {
    let help = HelpText(
      discussion: discussion, examples: examples, statuses: statuses, page: page)
    self.init(
      commandName: commandName, abstract: abstract, discussion: help.text,
      subcommands: subcommands)
    // A command of another one has no scripts for shells, so the parser need not search for them.
    if subcommands.isEmpty { _superCommandName = GodwitTool.name }
  }

  /// A command that is parsed alone, without help.
  ///
  /// A request for help is then a mistake, and parsed again with all other commands.
  ///
  /// The words of the help, and its names, take a twentieth of the time of a small migration.
  init(alone commandName: String) {
    self.init(commandName: commandName, helpNames: [])
    _superCommandName = GodwitTool.name
  }
}
