import Godwit
import GodwitTool

/// A server of `godwit serve`: takes requests from sockets, and has a site answer them.
///
/// It lies in a package of its own, so that nothing else needs a library for HTTP.
public protocol LiveServer: Sendable {
  /// Reads an address of IPv4 or IPv6, in the system's form; nil where the text is none.
  static func address(_ text: String) -> String?

  /// Serves requests until a signal requests the process to stop.
  ///
  /// - Throws: `Errno`, if the address or the port cannot be taken.
  static func serve(_ service: LiveService) async throws
}

extension LiveServer {
  /// Runs `godwit serve` with the arguments of the process, and ends the process.
  public static func run() async { await ServerCommand<Self>.runAndExit() }
}

/// Where a server takes requests, and how it begins.
public struct LiveService: Sendable {
  /// The address of this machine.
  public let address: String
  /// The port, 0 for any that is free.
  public let port: Int
  let open: @Sendable (Int) -> LiveSite
  let show: @Sendable (Int) -> Void

  /// The site for requests to a port, which is known once it is bound.
  public func site(port: Int) -> LiveSite { open(port) }

  /// Shows the address to the user, once the site answers at a port.
  public func announce(port: Int) { show(port) }

  /// Calls a block, on a thread of its own, when a signal requests the process to stop.
  ///
  /// - Returns: a function after which these signals have no effect at all.
  public func whenAskedToStop(_ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    ToolProcess.whenAskedToStop(body)
  }
}
