import Planning
import SystemCalls
package import SystemPackage

/// What a command line needs from its process.
package enum ToolProcess {
  /// The version of Godwit.
  package static let version = GodwitVersion.current

  /// Lets writes to closed pipes fail instead of ending the process, and takes as many open files
  /// as the system allows.
  package static func prepare() throws {
    try Processes.ignoreBrokenPipes()
    _ = try Processes.raiseDescriptorLimit()
  }

  /// The signals that ask the process to stop, SIGINT and SIGTERM.
  package static func stopSignals() -> AsyncStream<Int32> { Processes.stopSignals() }

  /// The columns of a terminal, nil if the descriptor is not one.
  package static func terminalWidth(of descriptor: FileDescriptor) -> Int? {
    Processes.terminalWidth(of: descriptor)
  }
}
