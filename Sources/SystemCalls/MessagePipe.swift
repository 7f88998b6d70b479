import CSystemShims
package import SystemPackage

/// A pipe to the standard input of another process, which stays open until `close`.
///
/// This process keeps the end for reading open as well: the death of the reader is then neither an
/// error nor SIGPIPE, which would end this process.
package struct MessagePipe: Sendable {
  /// The end for the other process.
  package let reader: FileDescriptor
  private let writer: FileDescriptor

  /// Opens a pipe that no other child process inherits.
  ///
  /// - Throws: `SystemCallError`, where the process has too many files open.
  package init() throws(SystemCallError) {
    var (reading, writing): (Int32, Int32) = (-1, -1)
    try check(csystem_message_pipe(&reading, &writing), operation: .pipe, path: nil)
    reader = FileDescriptor(rawValue: reading)
    writer = FileDescriptor(rawValue: writing)
  }

  /// Writes as many of the bytes as fit into the pipe, and returns their number, maybe 0.
  ///
  /// - Throws: `SystemCallError`.
  package func write(_ bytes: some Collection<UInt8>) throws(SystemCallError) -> Int {
    do {
      return try Array(bytes.prefix(1 << 16)).withUnsafeBytes { try writer.write($0) }
    } catch {
      let errno = error as? Errno ?? .ioError
      if [.wouldBlock, .resourceTemporarilyUnavailable].contains(errno) { return 0 }
      throw SystemCallError(operation: .write, path: nil, errno: errno)
    }
  }

  /// Closes both ends; the reader finds the end of its input.
  package func close() {
    try? reader.close()
    try? writer.close()
  }
}
