import GRDB
package import SystemCalls
package import SystemPackage

// (1) The store is written only once the journal of its old pages is on disk under the name at
// which SQLite searches for it. Until that name is removed, opening the store makes SQLite restore
// it.
// (2) Pages that are new are written before any that are changed: a full disk is found at once.

/// A store that no other process has open, and the pages (`PageEdit`) that are written into it.
package struct StoreEdit {
  /// The file that is edited.
  package let store: FilePath
  /// Its bytes before and after.
  package let bytesBefore: Int64
  package let bytesAfter: Int64
  /// The checksum of the pages that replace others, as `RollbackJournal` computes it.
  package private(set) var checksumAfter: UInt64 = 0
  private let pages: WALPages
  private let main: OpenFile
  /// The places in `pages` of those that differ from the store's.
  private var changed: [Int] = []

  private var pageSize: Int { pages.pageSize }

  /// Finds what differs.
  ///
  /// - Throws: `SystemCallError`, also where the file is none of pages.
  package init(_ path: FilePath) throws(SystemCallError) {
    guard let pages = try WALPages(path) else {
      throw SystemCallError(operation: .read, path: path, errno: .invalidArgument)
    }
    (self.pages, store) = (pages, pages.main)
    main = OpenFile(try Files.open(pages.main, mode: .readWrite))
    bytesBefore = try Files.fileStatus(of: main.descriptor).size
    bytesAfter = pages.byteCount
    let (old, new) = (Self.buffer(pages.pageSize), Self.buffer(pages.pageSize))
    defer {
      old.deallocate()
      new.deallocate()
    }
    for place in 0..<pages.count {
      guard let page = pages.page(at: place) else { break }
      try pages.read(place, from: 0, into: new)
      if try main.read(into: old, at: position(of: page)) == pageSize, old.elementsEqual(new) {
        continue
      }
      changed.append(place)
      guard position(of: page) < bytesBefore else { continue }
      checksumAfter = Checksum.of(UnsafeRawBufferPointer(new), seed: checksumAfter)
    }
  }

  private static func buffer(_ size: Int) -> UnsafeMutableRawBufferPointer {
    .allocate(byteCount: size, alignment: 16)
  }

  private func position(of page: UInt32) -> Int64 { (Int64(page) - 1) * Int64(pageSize) }

  /// The bytes that a journal will take, but for its note.
  package var journalBytes: Int64 {
    let images = changed.count {
      pages.page(at: $0).map { position(of: $0) < bytesBefore } ?? false
    }
    return Int64(images) * Int64(pageSize + 8) + 1024
  }

  /// Writes the journal by which SQLite undoes the edit; nothing has its name.
  ///
  /// The name is on the disk when this returns.
  package func writeJournal(note: [UInt8]) throws {
    let path = RollbackJournal.path(of: store)
    let writer = try RollbackJournal.Writer(path, pageSize: pageSize)
    // Every user who can open the store has to be able to undo it.
    try Files.copyAttributes(from: store, to: path)
    let buffer = Self.buffer(pageSize)
    defer { buffer.deallocate() }
    func keep(_ page: UInt32) throws {
      guard try main.read(into: buffer, at: position(of: page)) == pageSize else {
        throw SystemCallError(operation: .read, path: store, errno: .ioError)
      }
      try writer.add(page, UnsafeRawBufferPointer(buffer))
    }
    for place in changed {
      guard let page = pages.page(at: place), position(of: page) < bytesBefore else { break }
      try keep(page)
    }
    let size = Int64(pageSize)
    for page in stride(from: bytesAfter / size + 1, through: bytesBefore / size, by: 1)
    where page != 0x4000_0000 / size + 1 {
      try keep(UInt32(page))
    }
    try writer.finish(note: note, pagesBefore: UInt32(bytesBefore / size))
    try Files.syncDirectory(Files.parent(of: store))
  }

  /// Writes the pages into the store, and has them on the disk.
  ///
  /// - Parameter modified: the time of change that the store gets, in nanoseconds since 1970.
  package func write(modified: Int64) throws {
    let first = changed.firstIndex { place in
      pages.page(at: place).map { position(of: $0) >= bytesBefore } ?? true
    }
    let new = first ?? changed.count
    if bytesAfter > bytesBefore {
      try lengthen()
      try put(changed[new...])
    }
    try put(changed[..<new])
    if bytesAfter < bytesBefore { try main.cut(at: bytesAfter) }
    try Files.setModified(store, to: modified)
    try Files.syncFile(main.descriptor)
  }

  private func put(_ places: ArraySlice<Int>) throws {
    let buffer = Self.buffer(pageSize)
    defer { buffer.deallocate() }
    for place in places {
      guard let page = pages.page(at: place) else { break }
      try pages.read(place, from: 0, into: buffer)
      try main.write(UnsafeRawBufferPointer(buffer), at: position(of: page))
    }
  }

  private func lengthen() throws {
    do {
      try Files.reserve(main.descriptor, bytes: bytesAfter)
    } catch {
      guard error.errno == .notSupported else { throw error }
      try main.cut(at: bytesAfter)
    }
  }

  // MARK: Undoing

  /// Makes SQLite restore a store from the journal next to it, if that is a journal, and removes
  /// the rest.
  ///
  /// No other process has the store open.
  ///
  /// - Throws: `StoreError`, also where SQLite cannot; the journal is there then.
  package static func undo(_ store: FilePath) throws {
    let path = RollbackJournal.path(of: store)
    guard try Files.fileStatusIfPresent(path, followLinks: false) != nil else { return }
    let connection = try StoreConnection.sole(store)
    try connection.run { db in
      _ = try Int64.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema")
    }
    try connection.close()
    // What SQLite has done with is empty or begins with zeros.
    if let status = try Files.fileStatusIfPresent(path, followLinks: false), status.kind == .file {
      let head = try Files.readHead(path, count: 1)
      guard head.isEmpty || head == [0] else {
        throw StoreError(problem: .inUse, store: store)
      }
      try Files.remove(path)
    }
    try Files.syncDirectory(Files.parent(of: store))
  }
}
