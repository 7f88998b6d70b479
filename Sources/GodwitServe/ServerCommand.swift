import ArgumentParser
import Godwit
import GodwitTool
import LivePages
import NIOCore
import SystemPackage

/// What `godwit serve` becomes.
struct ServerCommand: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    var configuration = ServeOptions.configuration
    configuration.commandName = "godwit serve"
    return configuration
  }

  @OptionGroup var options: ServeOptions

  func run() async throws {
    try LiveSite.require(folders: options.folders)
    let place = try ServerPlace(options.bind)
    let token = try options.tokenFile.map { try AccessToken(file: $0) }
    let needsToken = !place.isLoopback || options.control
    let made = token == nil && needsToken ? AccessToken() : nil
    try await LiveServer(
      place: place, port: options.port, folders: options.folders, hosts: options.hosts,
      token: token ?? made, allowsControl: options.control
    ).run { port in
      // Whoever reads this may come in: it is shown to nobody but who has started the server.
      let question = made.map { "?token=\($0.text)" } ?? ""
      Terminal.standardOutput.line(text: "http://\(place.host):\(port)/\(question)")
    }
  }
}

/// Where requests are taken.
struct ServerPlace {
  /// The address, as the system takes it.
  let address: String
  /// Whether nobody but this machine can reach it.
  let isLoopback: Bool
  /// The address, as it stands before the port.
  let host: String

  /// Reads an address of IPv4 or IPv6, or `localhost`.
  init(_ text: String) throws {
    let given = text == "localhost" ? "127.0.0.1" : text
    guard let address = (try? SocketAddress(ipAddress: given, port: 0))?.ipAddress else {
      throw MigrationFailure(
        .usage, "\(text) is no address: --bind takes one such as 127.0.0.1, 0.0.0.0 or ::1.")
    }
    self.address = address
    isLoopback = address == "::1" || address.hasPrefix("127.")
    host = address.contains(":") ? "[\(address)]" : address
  }
}
