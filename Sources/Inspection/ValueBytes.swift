import ObjectModel
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// The bytes of a binary value, read in parts wherever they are: in the row or in a file.
struct ValueBytes {
  private enum Place {
    /// In the row, behind so many bytes that are no part of the value.
    case row(BlobHandle, skipping: Int64)
    case file(FileDescriptor, at: FilePath)
  }

  /// How many bytes there are.
  let count: Int64
  /// The name of the file that has them; nil where the row does.
  let file: String?
  private let place: Place

  /// Why the bytes of a value cannot be had.
  struct Fault: Error {
    /// The name of the file, as far as the value has one.
    var file: String?
    /// What is wrong, as a part of a sentence.
    var words: String
  }

  /// The bytes of a blob, or of the file that it names if values may lie in files.
  ///
  /// - Parameters:
  ///   - handle: the blob, which has to stay where it is as long as this is used.
  ///   - support: the folder with the store's external files.
  /// - Throws: `Fault`, and whatever reading the row throws.
  init(of handle: BlobHandle, isExternal: Bool, support: FilePath) throws {
    guard isExternal, handle.count > 0 else {
      (count, file, place) = (handle.count, nil, .row(handle, skipping: 0))
      return
    }
    let head = try handle.bytes(from: 0, count: 1 + 2 * ExternalDataFolder.nameLength)
    switch head[0] {
    case ExternalTag.inline:
      (count, file, place) = (handle.count - 1, nil, .row(handle, skipping: 1))
    case ExternalTag.file:
      let name = String(decoding: head.dropFirst().prefix { $0 != 0 }, as: UTF8.self)
      let descriptor = try Self.open(name, support: support)
      let path = ExternalDataFolder.files(support: support).appending(name)
      (file, place) = (name, .file(descriptor, at: path))
      do {
        count = try Files.fileStatus(of: descriptor).size
      } catch {
        try? descriptor.close()
        try Self.requireDevice(path, error.errno)
        throw Fault(file: name, words: "its size is not known (\(error.errno))")
      }
    default:
      throw Fault(file: nil, words: "its first byte marks neither bytes nor a file")
    }
  }

  private static func open(_ name: String, support: FilePath) throws -> FileDescriptor {
    guard let component = FilePath.Component(name), component.kind == .regular else {
      throw Fault(file: name, words: "this is not the name of a file")
    }
    do {
      guard let found = try ExternalDataFolder.open(component, support: support) else {
        throw Fault(file: name, words: "the file is missing")
      }
      return found
    } catch let error as StoreError where error.problem == .externalFileForeign {
      throw Fault(file: name, words: "the file is a link or not a regular file, and is not read")
    } catch let error as SystemCallError {
      try requireDevice(ExternalDataFolder.files(support: support).appending(name), error.errno)
      throw Fault(file: name, words: "the file cannot be read (\(error.errno))")
    }
  }

  /// Throws the error of a device, which is no fault of the value.
  private static func requireDevice(_ path: FilePath, _ errno: Errno) throws(StoreError) {
    if errno.isOfDevice { throw StoreError(reading: path, cause: errno) }
  }

  /// Bytes from a place on, fewer where the value ends.
  func bytes(from start: Int64, count wanted: Int) throws -> [UInt8] {
    switch place {
    case .row(let handle, let skipped):
      return try handle.bytes(from: start + skipped, count: wanted)
    case .file(let descriptor, let path):
      var bytes = [UInt8](repeating: 0, count: wanted)
      do {
        let found = try bytes.withUnsafeMutableBytes {
          try descriptor.readAll(into: $0, at: start)
        }
        return Array(bytes.prefix(found))
      } catch {
        if let errno = error as? Errno { try Self.requireDevice(path, errno) }
        throw Fault(file: file, words: "the file cannot be read (\(error))")
      }
    }
  }

  /// Ends the reading of a file.
  func close() {
    if case .file(let descriptor, _) = place { try? descriptor.close() }
  }

  /// How much is compared at a time.
  private static let chunk = 1 << 18

  /// Whether both are the same bytes.
  func isSame(as other: ValueBytes) throws -> Bool {
    guard count == other.count else { return false }
    var place: Int64 = 0
    while place < count {
      let one = try bytes(from: place, count: Self.chunk)
      guard try other.bytes(from: place, count: Self.chunk) == one else { return false }
      // What could not be compared is not the same.
      if one.isEmpty { throw Fault(file: file, words: "the file became shorter while it was read") }
      place += Int64(one.count)
    }
    return true
  }
}
