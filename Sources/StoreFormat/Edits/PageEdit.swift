import SystemCalls
package import SystemPackage

// (1) The store itself is only read: whatever SQLite writes goes to the file of pages.
// (2) Whenever SQLite has committed, the file is one of pages as the log of a store gives one
// (`WALPages`), and a reader that opens it by its path reads the edited store.

/// A store as SQLite edits it, with the pages that are changed in a file of their own.
package final class PageEdit {
  private let path: FilePath
  private let file: OpenFile
  private let main: OpenFile
  private let name: [UInt8]
  private let start: Int64
  let pageSize: Int
  private var pageCount: UInt32
  /// The place in the file of each page that it has.
  private var frames: [UInt32: UInt32] = [:]
  private var next: UInt32 = 0
  private var hasHead: Bool

  /// The edit has more pages than are kept in memory.
  package struct TooLarge: Error {}

  /// Begins an edit of a store, or of one with the pages of its log, in a new file.
  ///
  /// - Throws: `SystemCallError`; `TooLarge` for a log that is.
  package static func make(of source: FilePath, at path: FilePath) throws {
    let pages = try WALPages(source)
    let main = pages?.main ?? source
    let header = try StoreHeader(ofSource: source)
    let file = OpenFile(
      try Files.open(
        path, mode: .readWrite, options: [.create, .exclusiveCreate, .noFollow],
        permissions: .ownerReadWrite))
    let bytes = try SourceFile(source).byteCount
    let edit = PageEdit(
      path, file: file, main: OpenFile(try Files.open(main, mode: .readOnly)),
      name: WALPages.name(of: main), pageSize: header.pageSize,
      pageCount: UInt32(clamping: bytes / Int64(header.pageSize)))
    if let pages { try edit.take(pages) }
    try edit.commit()
  }

  /// Makes a file of the pages by which a store is again what it was before an edit.
  ///
  /// - Throws: `SystemCallError`; `TooLarge`.
  package static func make(
    of store: FilePath, undoing journal: RollbackJournal, at path: FilePath
  ) throws {
    try make(of: store, at: path)
    let edit = try PageEdit(path)
    try edit.resize(to: Int64(journal.pageCount) * Int64(journal.pageSize))
    try journal.readPages { page, bytes in
      try edit.write(bytes, at: (Int64(page) - 1) * Int64(journal.pageSize))
    }
    try edit.commit()
  }

  /// Opens an existing file of pages to continue it.
  ///
  /// - Throws: `SystemCallError`, also where the file is none.
  convenience init(_ path: FilePath) throws(SystemCallError) {
    guard let pages = try WALPages(path), let head = try WALPages.Head(path) else {
      throw SystemCallError(operation: .read, path: path, errno: .invalidArgument)
    }
    self.init(
      path, file: OpenFile(try Files.open(path, mode: .readWrite)),
      main: OpenFile(try Files.open(head.main, mode: .readOnly)),
      name: WALPages.name(of: head.main), pageSize: head.pageSize, pageCount: head.pageCount)
    for place in 0..<pages.count {
      if let page = pages.page(at: place) { frames[page] = pages.frame(at: place) }
    }
    next = (frames.values.max() ?? 0) + (frames.isEmpty ? 0 : 1)
    hasHead = true
  }

  private init(
    _ path: FilePath, file: OpenFile, main: OpenFile, name: [UInt8], pageSize: Int,
    pageCount: UInt32
  ) {
    (self.path, self.file, self.main, self.name) = (path, file, main, name)
    (self.pageSize, self.pageCount) = (pageSize, pageCount)
    start = Int64(WALPages.headSize + name.count)
    hasHead = false
  }

  private func take(_ pages: WALPages) throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pageSize, alignment: 16)
    defer { buffer.deallocate() }
    for place in 0..<pages.count {
      guard let page = pages.page(at: place) else { break }
      try pages.read(place, from: 0, into: buffer)
      try write(UnsafeRawBufferPointer(buffer), at: (Int64(page) - 1) * Int64(pageSize))
    }
  }

  /// The bytes of the database.
  var byteCount: Int64 { Int64(pageCount) * Int64(pageSize) }

  private func position(of frame: UInt32) -> Int64 { start + Int64(frame) * Int64(pageSize) }

  // MARK: Requests of SQLite

  /// Reads as many bytes as there is room for, fewer where the database ends.
  func read(
    _ bytes: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(SystemCallError) -> Int {
    guard offset >= 0, offset < byteCount else { return 0 }
    let count = Int(min(Int64(bytes.count), byteCount - offset))
    var done = 0
    while done < count {
      let (page, from) = (
        (offset + Int64(done)) / Int64(pageSize), (offset + Int64(done)) % Int64(pageSize)
      )
      let length = min(count - done, pageSize - Int(from))
      let room = UnsafeMutableRawBufferPointer(rebasing: bytes[done..<done + length])
      let found: Int
      if let frame = frames[UInt32(clamping: page + 1)] {
        found = try file.read(into: room, at: position(of: frame) + from)
      } else {
        found = try main.read(into: room, at: offset + Int64(done))
      }
      // An unwritten page after the end of the main file is free.
      UnsafeMutableRawBufferPointer(rebasing: room[found...]).initializeMemory(
        as: UInt8.self, repeating: 0)
      done += length
    }
    return count
  }

  /// Writes whole pages.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemCallError) {
    guard offset >= 0, offset % Int64(pageSize) == 0, bytes.count % pageSize == 0 else {
      throw SystemCallError(operation: .write, path: path, errno: .invalidArgument)
    }
    try removeHead()
    for place in stride(from: 0, to: bytes.count, by: pageSize) {
      let page = UInt32(clamping: (offset + Int64(place)) / Int64(pageSize) + 1)
      let frame = frames[page] ?? next
      try file.write(
        UnsafeRawBufferPointer(rebasing: bytes[place..<place + pageSize]), at: position(of: frame))
      if frames.updateValue(frame, forKey: page) == nil { next += 1 }
      pageCount = max(pageCount, page)
    }
  }

  /// Cuts the database, or lengthens it by unwritten pages.
  func resize(to bytes: Int64) throws(SystemCallError) {
    try removeHead()
    pageCount = UInt32(clamping: bytes / Int64(pageSize))
    if frames.contains(where: { $0.key > pageCount }) {
      frames = frames.filter { $0.key <= pageCount }
    }
  }

  /// The file is none of pages while it is written.
  private func removeHead() throws(SystemCallError) {
    guard hasHead else { return }
    try file.write([UInt8](repeating: 0, count: WALPages.magic.count), at: 0)
    hasHead = false
  }

  /// Has the file stand for what was written so far.
  func commit() throws {
    guard !hasHead else { return }
    guard frames.count <= WALIndex.mostPages else { throw TooLarge() }
    let end = position(of: next)
    try file.cut(at: end)
    var list: [UInt8] = []
    list.reserveCapacity(frames.count * 8)
    for (page, frame) in frames.sorted(by: { $0.key < $1.key }) {
      list += WALPages.bytes(page)
      list += WALPages.bytes(frame)
    }
    try file.write(list, at: end)
    try file.write(name, at: Int64(WALPages.headSize))
    try file.write(
      WALPages.head(
        of: path, pageSize: pageSize, pageCount: pageCount, entries: frames.count,
        name: name.count, end: end), at: 0)
    hasHead = true
  }
}

extension SourceFile {
  /// Changes fields of the header of a database that is not open, which may be a file of pages.
  package static func setHeader(
    _ fields: [(place: Int, bytes: [UInt8])], of path: FilePath
  ) throws {
    guard try hasPages(path) else {
      let file = OpenFile(try Files.open(path, mode: .readWrite))
      for (place, bytes) in fields { try file.write(bytes, at: Int64(place)) }
      return
    }
    let edit = try PageEdit(path)
    let page = UnsafeMutableRawBufferPointer.allocate(byteCount: edit.pageSize, alignment: 16)
    defer { page.deallocate() }
    guard try edit.read(page, at: 0) == edit.pageSize else {
      throw SystemCallError(operation: .read, path: path, errno: .ioError)
    }
    for (place, bytes) in fields {
      UnsafeMutableRawBufferPointer(rebasing: page[place..<place + bytes.count])
        .copyBytes(from: bytes)
    }
    try edit.write(UnsafeRawBufferPointer(page), at: 0)
    try edit.commit()
  }

  /// Takes 4096-byte pages from a file in which each has its place in the database.
  ///
  /// The database ends with them, and is not open.
  package static func replace(
    _ pages: [UInt32], of path: FilePath, by file: FileDescriptor, pageCount: UInt32
  ) throws {
    let edit = try hasPages(path) ? PageEdit(path) : nil
    let plain = try edit == nil ? OpenFile(Files.open(path, mode: .readWrite)) : nil
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
    defer { buffer.deallocate() }
    for page in pages {
      let offset = (Int64(page) - 1) * Int64(buffer.count)
      guard try file.readAll(into: buffer, at: offset) == buffer.count else {
        throw SystemCallError(operation: .read, path: path, errno: .ioError)
      }
      try edit?.write(UnsafeRawBufferPointer(buffer), at: offset)
      try plain?.write(UnsafeRawBufferPointer(buffer), at: offset)
    }
    try edit?.commit()
    let count = (0..<4).map { UInt8(truncatingIfNeeded: pageCount >> (24 - 8 * $0)) }
    try setHeader([(HeaderField.pageCount, count)], of: path)
  }
}
