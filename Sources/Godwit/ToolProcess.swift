import SystemCalls
package import SystemPackage

/// What a command line needs from its process.
package enum ToolProcess {
  /// Makes writes to closed pipes fail instead of ending the process, and raises the limit of open
  /// files to the maximum.
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
