import CSystemShims
package import SystemPackage

/// Memory in a file without a name: the system writes its pages out when it needs their room.
package final class MappedScratch {
  /// The mapped bytes.
  package let bytes: UnsafeMutableRawBufferPointer

  /// Maps a new file, which has all of its blocks and goes with the object.
  ///
  /// - Throws: `SystemCallError`, with `.noSpace` where the folder's disk has no room.
  package init(byteCount: Int, in folder: FilePath) throws(SystemCallError) {
    var start: UnsafeMutableRawPointer?
    let code = folder.withPlatformString { csystem_map_scratch($0, byteCount, &start) }
    try check(code, operation: .reserve, path: folder)
    bytes = UnsafeMutableRawBufferPointer(start: start, count: byteCount)
  }

  deinit { _ = csystem_unmap(bytes.baseAddress, bytes.count) }
}
