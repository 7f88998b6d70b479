package import ArgumentParser
import Godwit
package import SystemPackage

/// What `godwit serve` shows, to whom, and where.
package struct ServeOptions: ParsableArguments {
  /// The folders whose migrations are shown.
  @Argument(
    help: "Folders with stores (default: .); folders within them are looked through as well.")
  package var folders: [FilePath] = ["."]

  /// The port, 0 for any that is free.
  @Option(
    parsing: .unconditional,
    help: "The port; 0 takes any that is free. The first line of the output has the address.")
  package var port = 8787

  /// The address of the machine at which requests are taken.
  @Option(
    help: ArgumentHelp(
      "The address of this machine to listen at. Any but a loopback one asks visitors for a token.",
      valueName: "address"))
  package var bind = "127.0.0.1"

  /// More names by which the server may be asked for.
  @Option(
    name: .customLong("host"),
    help: ArgumentHelp(
      "A name by which browsers may ask for it, such as that of a proxy before it. May be repeated.",
      valueName: "name"))
  package var hosts: [String] = []

  /// The file with the token.
  @Option(
    help: ArgumentHelp(
      "Ask visitors for the token in this file, which nobody but its owner may read. Where one is "
        + "needed and there is no file, it is made up and shown with the address.",
      valueName: "file"))
  package var tokenFile: FilePath?

  /// Whether visitors may ask migrations for something.
  @Flag(
    help: """
      Let visitors pause, resume, slow down and cancel migrations. They are asked for a token then, \
      at loopback addresses too: those are open to every user of the machine.
      """)
  package var control = false

  /// Starts with the defaults.
  package init() {}

  /// Refuses ports that there are not.
  package func validate() throws {
    guard (0...65_535).contains(port) else {
      throw ValidationError("--port takes a number from 0 to 65535.")
    }
  }

  /// What the command says of itself.
  package static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "serve", abstract: "Shows all migrations in folders as live pages for browsers.",
      discussion: """
        Runs `godwit-serve`, a program of its own that lies beside this one, until SIGINT or SIGTERM \
        ends it. Pages and metrics only read: nothing is written.
        """,
      examples: ["godwit serve", "godwit serve --port 0 --control"],
      statuses: [
        0: "a signal has ended it",
        64: "there is no such address, no token in the file, or a file is named for a folder",
        66: "a folder is not there, or godwit-serve is not installed",
        69: "the port is taken",
      ],
      page: "docs/how-to/serving.md")
  }
}

struct ServeCommand: ParsableCommand {
  static let configuration = ServeOptions.configuration

  @OptionGroup var options: ServeOptions

  func run() throws {
    // The program parses the same words again.
    let words = CommandLine.arguments.drop { $0 != "serve" }.dropFirst()
    try ToolProcess.become("godwit-serve", arguments: Array(words))
  }
}
