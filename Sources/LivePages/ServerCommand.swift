import ArgumentParser
import Godwit
import GodwitTool
import SystemPackage

/// What `godwit serve` becomes, with a server that takes its requests.
struct ServerCommand<Server: LiveServer>: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    var configuration = ServeOptions.configuration
    configuration.commandName = "godwit serve"
    return configuration
  }

  @OptionGroup var options: ServeOptions

  func run() async throws {
    try LiveSite.require(folders: options.folders)
    let place = try ServerPlace(options.bind) { Server.address($0) }
    let token = try options.tokenFile.map { try AccessToken(file: $0) }
    let needsToken = !place.isLoopback || options.control
    let made = token == nil && needsToken ? AccessToken() : nil
    let (folders, hosts, control) = (options.folders, options.hosts, options.control)
    let service = LiveService(
      address: place.address, port: options.port,
      open: { port in
        let access = SiteAccess(token: token ?? made, hosts: hosts, port: port)
        return LiveSite(folders, access: access, allowsControl: control)
      },
      show: { port in
        // This gives access: it is shown only to the user who has started the server.
        let question = made.map { "?token=\($0.text)" } ?? ""
        Terminal.standardOutput.line(text: "http://\(place.host):\(port)/\(question)")
      })
    do {
      try await Server.serve(service)
    } catch let errno as Errno {
      throw place.failure(errno, port: options.port)
    }
  }
}

/// Where requests are taken.
struct ServerPlace {
  /// The address, as the system takes it.
  let address: String
  /// Whether only this machine can reach it.
  let isLoopback: Bool
  /// The address, as it stands before the port.
  let host: String

  /// Reads an address of IPv4 or IPv6, or `localhost`.
  init(_ text: String, by reader: (String) -> String?) throws {
    guard let address = reader(text == "localhost" ? "127.0.0.1" : text) else {
      throw MigrationFailure(
        .usage, "\(text) is not an address: --bind takes one such as 127.0.0.1, 0.0.0.0 or ::1.")
    }
    self.address = address
    isLoopback = address == "::1" || address.hasPrefix("127.")
    host = address.contains(":") ? "[\(address)]" : address
  }

  /// Why a server cannot begin there.
  func failure(_ errno: Errno, port: Int) -> MigrationFailure {
    switch errno {
    case .addressInUse:
      MigrationFailure(
        .inUse,
        "port \(port) of \(address) is in use: name another one with --port, or 0 for any.")
    case .permissionDenied:
      MigrationFailure(
        .cannotCreate, "this user may not use port \(port): name a higher one with --port.")
    default:
      MigrationFailure(.usage, "the server cannot listen on \(address), port \(port): \(errno).")
    }
  }
}
