import SystemCalls
package import SystemPackage

/// Reads the lines of a file in chunks.
package final class LineReader {
  /// The longest line that is read; a longer one is a mistake.
  package static let longestLine = 1 << 20

  private let descriptor: FileDescriptor
  private let closes: Bool
  private var buffer: [UInt8] = []
  private var start = 0
  private var isAtEnd = false
  /// The offset of the next line in the file.
  package private(set) var offset: Int64

  /// Opens a file.
  package init(_ path: FilePath, from offset: Int64 = 0) throws {
    descriptor = try Files.open(path, mode: .readOnly)
    closes = true
    self.offset = offset
    if offset > 0 { try descriptor.seek(offset: offset, from: .start) }
  }

  /// Reads from an open descriptor, which stays open.
  package init(open descriptor: FileDescriptor) {
    self.descriptor = descriptor
    closes = false
    offset = 0
  }

  deinit {
    if closes { try? descriptor.close() }  // was only read
  }

  /// The next line without its end; nil at the end of the file.
  ///
  /// - Throws: `Errno`, with `.fileTooLarge` for a line of more than `longestLine` bytes.
  package func next() throws -> (bytes: ArraySlice<UInt8>, isWhole: Bool)? {
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = buffer[start..<end]
        offset += Int64(end + 1 - start)
        start = end + 1
        return (line, true)
      }
      if isAtEnd {
        guard start < buffer.count else { return nil }
        let line = buffer[start...]
        offset += Int64(line.count)
        start = buffer.count
        return (line, false)
      }
      guard buffer.count - start <= Self.longestLine else { throw Errno.fileTooLarge }
      searched = buffer.count - start
      buffer.removeFirst(start)
      start = 0
      let chunk = try [UInt8](unsafeUninitializedCapacity: 1 << 16) { room, count in
        count = try descriptor.read(into: UnsafeMutableRawBufferPointer(room))
      }
      isAtEnd = chunk.isEmpty
      buffer += chunk
    }
  }
}
