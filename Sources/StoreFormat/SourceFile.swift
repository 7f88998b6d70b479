package import SystemCalls
package import SystemPackage

/// A file that is closed with the object.
final class OpenFile: Sendable {
  let descriptor: FileDescriptor

  init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

  deinit {
    try? descriptor.close()  // what was written was written, and a close cannot be tried again
  }

  var path: FilePath? { Files.path(of: descriptor) }

  /// Reads as many bytes as there is room for, fewer where the file ends.
  func read(
    into bytes: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(SystemCallError) -> Int {
    do {
      return try descriptor.readAll(into: bytes, at: offset)
    } catch {
      throw SystemCallError(operation: .read, path: path, errno: error)
    }
  }

  func read(_ bytes: inout [UInt8], at offset: Int64) throws(SystemCallError) -> Int {
    // The closure throws no typed errors.
    try bytes.withUnsafeMutableBytes { buffer in
      Result { () throws(SystemCallError) in try read(into: buffer, at: offset) }
    }.get()
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemCallError) {
    do {
      try descriptor.writeAll(bytes, at: offset)
    } catch {
      throw SystemCallError(operation: .write, path: path, errno: error)
    }
  }

  func write(_ bytes: [UInt8], at offset: Int64) throws(SystemCallError) {
    try bytes.withUnsafeBytes { buffer in
      Result { () throws(SystemCallError) in try write(buffer, at: offset) }
    }.get()
  }

  func cut(at size: Int64) throws(SystemCallError) {
    do {
      try descriptor.resize(to: size)
    } catch {
      throw SystemCallError(operation: .write, path: path, errno: error as? Errno ?? .ioError)
    }
  }
}

/// A store with the pages of its log, if the path is that of a file of pages (`WALPages`); any
/// other file unchanged.
///
/// What SQLite reads (`StoreConnection.uri(reading:)`) and what other readers read are the same.
package final class SourceFile: Sendable {
  /// The path of the file that was opened: the main file, or the pages of its log.
  package let path: FilePath
  /// The bytes of the database.
  package let byteCount: Int64
  private let main: OpenFile
  private let pages: WALPages?

  /// Opens a file for reading.
  package init(_ path: FilePath) throws(SystemCallError) {
    self.path = path
    let pages = try WALPages(path)
    let main = OpenFile(try Files.open(pages?.main ?? path, mode: .readOnly))
    if let pages {
      byteCount = pages.byteCount
    } else {
      byteCount = try Files.fileStatus(of: main.descriptor).size
    }
    (self.pages, self.main) = (pages, main)
  }

  /// The main file, for the name that it has.
  package var descriptor: FileDescriptor { main.descriptor }

  /// The store's main file, where a path may be that of the pages of its log.
  package static func main(of path: FilePath) throws(SystemCallError) -> FilePath {
    try WALPages.Head(path)?.main ?? path
  }

  /// Whether a path is that of the pages of a log, or of an edit.
  package static func hasPages(_ path: FilePath) throws(SystemCallError) -> Bool {
    try WALPages.Head(path) != nil
  }

  /// Reads as many bytes as there is room for, fewer where the database ends.
  package func read(
    _ bytes: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(SystemCallError) -> Int {
    guard let pages else { return try main.read(into: bytes, at: offset) }
    guard offset >= 0, offset < byteCount else { return 0 }
    let count = Int(min(Int64(bytes.count), byteCount - offset))
    let size = Int64(pages.pageSize)
    let (first, last) = (offset / size + 1, (offset + Int64(count) - 1) / size + 1)
    var place = pages.place(of: UInt32(clamping: first))
    let isHeld = first == last && pages.page(at: place) == UInt32(clamping: first)
    if !isHeld {
      let room = UnsafeMutableRawBufferPointer(rebasing: bytes[..<count])
      let found = try main.read(into: room, at: offset)
      // Pages that are free have no frames, also where the main file was never so long.
      UnsafeMutableRawBufferPointer(rebasing: room[found...]).initializeMemory(
        as: UInt8.self, repeating: 0)
    }
    while let page = pages.page(at: place), Int64(page) <= last {
      let start = (Int64(page) - 1) * size
      let (from, to) = (max(start, offset), min(start + size, offset + Int64(count)))
      try pages.read(
        place, from: Int(from - start),
        into: UnsafeMutableRawBufferPointer(rebasing: bytes[Int(from - offset)..<Int(to - offset)]))
      place += 1
    }
    return count
  }

  /// The header of the database, shorter where the file is.
  func header() throws(SystemCallError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: HeaderField.size)
    // The closure throws no typed errors.
    let count = try bytes.withUnsafeMutableBytes { buffer in
      Result { () throws(SystemCallError) in try read(buffer, at: 0) }
    }.get()
    return Array(bytes.prefix(count))
  }

  /// Makes a file of a store and the pages of its log, which needs none; a copy of any other file.
  ///
  /// It is this user's to write, also where the store may only be read.
  package static func copy(_ path: FilePath, to target: FilePath) throws {
    guard let pages = try WALPages(path) else {
      try Files.cloneOrCopy(from: path, to: target)
      try Files.makeOwn(target)
      return
    }
    try Files.cloneOrCopy(from: pages.main, to: target)
    do {
      try Files.makeOwn(target)
      let file = OpenFile(try Files.open(target, mode: .readWrite))
      try file.cut(at: pages.byteCount)
      let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: pages.pageSize, alignment: 16)
      defer { buffer.deallocate() }
      for place in 0..<pages.count {
        guard let page = pages.page(at: place) else { break }
        try pages.read(place, from: 0, into: buffer)
        try file.write(
          UnsafeRawBufferPointer(buffer), at: (Int64(page) - 1) * Int64(pages.pageSize))
      }
      // It has no log any more.
      try file.write([1, 1], at: Int64(HeaderField.writeVersion))
    } catch {
      _ = try? Files.remove(target)  // the failure that counts is the first
      throw error
    }
  }
}
