import StoreFormat
import SystemCalls
package import SystemPackage

/// Room for one record, which lies in a file where it is long: values may be larger than what a
/// worker may occupy.
package final class RecordBuffer {
  /// The longest record that lies in memory, in bytes.
  static let longestInMemory = 4 << 20

  /// The folder for the file; nil keeps all records in memory.
  private let folder: FilePath?
  private var mapped: MappedScratch?
  private var memory: UnsafeMutableRawBufferPointer

  /// Begins with so many bytes of memory.
  package init(byteCount: Int, spillingInto folder: FilePath?) {
    self.folder = folder
    memory = .allocate(byteCount: byteCount, alignment: 16)
  }

  deinit { memory.deallocate() }

  /// Room for so many bytes, whose contents are those of no record.
  ///
  /// - Throws: `PageError`, with the folder as its file, where it has no room.
  @inline(__always)
  func room(for count: Int) throws(PageError) -> UnsafeMutableRawBufferPointer {
    if count <= memory.count { return memory }
    return try grown(to: count)
  }

  private func grown(to count: Int) throws(PageError) -> UnsafeMutableRawBufferPointer {
    if let mapped, count <= mapped.bytes.count { return mapped.bytes }
    guard let folder, count > Self.longestInMemory else {
      memory.deallocate()
      memory = .allocate(byteCount: count + count / 4, alignment: 16)
      return memory
    }
    mapped = nil
    do throws(SystemCallError) {
      let larger = try MappedScratch(byteCount: count, in: folder)
      mapped = larger
      return larger.bytes
    } catch {
      throw PageError(.write(error.errno.rawValue), file: folder)
    }
  }
}
