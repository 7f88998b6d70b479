import CSystemShims
package import SystemPackage

/// One end of a line between two processes, over which bytes go both ways.
package final class ProcessLine: Sendable {
  /// The descriptor of this end, to read from.
  package let descriptor: FileDescriptor

  private init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

  deinit {
    try? descriptor.close()  // nothing that was sent is lost by it
  }

  /// Makes a line; the descriptor is that of the other end, for the process at it.
  package static func make() throws(SystemCallError) -> (own: ProcessLine, other: FileDescriptor) {
    var ends: [Int32] = [-1, -1]
    try check(csystem_make_sockets(&ends), operation: .connect, path: nil)
    return (ProcessLine(FileDescriptor(rawValue: ends[0])), FileDescriptor(rawValue: ends[1]))
  }

  /// Sends bytes, all of them, and waits until there is room for them.
  ///
  /// - Throws: `SystemCallError`, if the other process has gone.
  package func send(_ bytes: [UInt8]) throws(SystemCallError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes {
        csystem_send(descriptor.rawValue, $0.baseAddress, UInt64($0.count))
      }
      rest = rest.dropFirst(Int(try check(sent, operation: .send, path: nil)))
    }
  }

  /// Signals the other process that no more is sent.
  package func endSending() {
    // A process that has ended needs no signal.
    _ = csystem_end_sending(descriptor.rawValue)
  }
}
