import SystemCalls
package import SystemPackage

/// What a command line needs of the process that it runs in.
package enum ToolProcess {
  /// Lets writes to closed pipes fail instead of ending the process, and takes as many open files
  /// as the system allows.
  package static func prepare() throws {
    try Processes.ignoreBrokenPipes()
    _ = try Processes.raiseDescriptorLimit()
  }

  /// The numbers of the signals that ask the process to stop.
  package static func stopSignals() -> AsyncStream<Int32> { Processes.stopSignals() }

  /// The columns of a terminal, or nil where there is none.
  package static func terminalWidth(of descriptor: FileDescriptor) -> Int? {
    Processes.terminalWidth(of: descriptor)
  }
}
