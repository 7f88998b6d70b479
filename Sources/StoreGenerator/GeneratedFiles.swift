import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// Sizes and tags of values in files of their own.
enum ExternalSizes {
  static let inlineTag = ExternalTag.inline
  static let fileTag = ExternalTag.file
  /// The smallest external value, beyond the 128 KiB from which Core Data prefers a file.
  static let leastSize = 131_073
  static let sizeSpread = 32_767
}

/// The folder of a store's external binary data, created with the first file.
struct GeneratedFiles {
  /// Such as `.Shop_SUPPORT`, under a temporary name until the store is complete.
  let folder: FilePath
  private(set) var count: Int64 = 0
  private(set) var bytes: Int64 = 0

  private var data: FilePath { ExternalDataFolder.files(support: folder) }

  init(folder: FilePath) { self.folder = folder }

  mutating func write(
    _ content: UnsafeRawBufferPointer, name: String
  ) throws(SystemCallError) {
    if count == 0 {
      try Files.createDirectory(folder)
      try Files.createDirectory(data)
    }
    let path = data.appending(name)
    do {
      let descriptor = try FileDescriptor.open(
        path, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec],
        permissions: [.ownerReadWrite, .groupRead, .otherRead])
      try descriptor.closeAfter {
        try descriptor.writeAll(content)
        try Files.syncFile(descriptor)
      }
    } catch let error as SystemCallError {
      throw SystemCallError(operation: error.operation, path: path, errno: error.errno)
    } catch {
      throw SystemCallError(operation: .write, path: path, errno: error as? Errno ?? .ioError)
    }
    count += 1
    bytes += Int64(content.count)
  }

  /// Writes the names of all files through to the disk.
  func synchronize() throws(SystemCallError) {
    guard count > 0 else { return }
    try Files.syncDirectory(data)
    try Files.syncDirectory(folder)
  }
}
