package import ArgumentParser
import Godwit
package import SystemPackage

/// What `godwit serve` shows, to whom, and where.
package struct ServeOptions: ParsableArguments {
  /// The folders whose migrations are shown.
  @Argument(
    help: "Folders with stores, which are searched with their subfolders (default: .).")
  package var folders: [FilePath] = ["."]

  /// The port, 0 for any that is free.
  @Option(
    parsing: .unconditional,
    help: "The port; 0 for any free one. The first line of output has the address.")
  package var port = 8787

  /// The address of the machine at which requests are taken.
  @Option(
    help: ArgumentHelp(
      "The address of this machine to listen on. Any address but a loopback one requires a token "
        + "from visitors.",
      valueName: "address"))
  package var bind = "127.0.0.1"

  /// More names of the server.
  @Option(
    name: .customLong("host"),
    help: ArgumentHelp(
      "Another host name that browsers may request, such as that of a proxy. May be repeated.",
      valueName: "name"))
  package var hosts: [String] = []

  /// The file with the token.
  @Option(
    help: ArgumentHelp(
      "Require the token in this file, which only its owner may read. If a token is needed and no "
        + "file is named, a random token is generated and printed with the address.",
      valueName: "file"))
  package var tokenFile: FilePath?

  /// Whether visitors may send requests to migrations.
  @Flag(
    help: """
      Let visitors pause, resume, slow down and cancel migrations. This requires a token also at \
      loopback addresses, which every user of the machine can reach.
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

  /// The help of the command.
  package static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "serve", abstract: "Shows all migrations in folders as live pages for browsers.",
      discussion: """
        Runs `godwit-serve`, a separate program next to this one, until SIGINT or SIGTERM. Pages \
        and metrics only read the stores.
        """,
      examples: ["godwit serve", "godwit serve --port 0 --control"],
      statuses: [
        0: "ended by a signal",
        64: "the address does not exist, the file has no token, or a folder is a file",
        66: "a folder does not exist, or godwit-serve is not installed",
        69: "the port is in use",
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
