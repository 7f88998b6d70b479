import SystemCalls
package import SystemPackage

// The file, in which all numbers are little-endian:
//
//     0   the eight bytes "GodwitPg"
//     8   device and inode of this very file, 8 bytes each: no copy of it counts
//    24   bytes of a page, pages of the database, number of entries, bytes of the path: 4 each
//    40   where the entries begin, 8 bytes
//    48   the path of the main file
//         pages as the frames of the log have them, up to the last commit
//         entries: the number of a page and of its frame, 4 bytes each, by page
//
// (1) It is written once, its head last, and never changed; where SQLite writes to it (`PageEdit`)
// it has no head meanwhile.
// (2) It is valid as long as the main file changes only by a checkpoint of these pages: every
// reader holds the main file (`SourceAccess`).

/// The pages that the `-wal` of a store, or an edit of it, has instead of those of the main file,
/// in a separate file.
package struct WALPages: Sendable {
  static let magic = Array("GodwitPg".utf8)
  static let headSize = 48

  private let head: Head
  private let pages: [UInt32]
  private let frames: [UInt32]

  /// The store whose log they are of.
  package var main: FilePath { head.main }
  /// The bytes of a page.
  var pageSize: Int { head.pageSize }
  /// The bytes of the database, by its last commit.
  var byteCount: Int64 { Int64(head.pageCount) * Int64(pageSize) }
  /// How many pages there are.
  package var count: Int { pages.count }

  /// The header of the file, before its pages.
  struct Head: Sendable {
    let file: OpenFile
    let main: FilePath
    let pageSize: Int
    let pageCount: UInt32
    let entries: Range<Int64>
    let start: Int64

    /// Reads it; nil where a file is none of pages.
    init?(_ path: FilePath) throws(SystemCallError) {
      guard let status = try Files.fileStatusIfPresent(path), status.kind == .file else {
        return nil
      }
      file = OpenFile(try Files.open(path, mode: .readOnly))
      var head = [UInt8](repeating: 0, count: headSize)
      guard try file.read(&head, at: 0) == head.count, head.starts(with: magic),
        number(head, at: 8) == status.device, number(head, at: 16) == status.inode
      else { return nil }
      let counts = stride(from: 24, to: 40, by: 4).map { short(head, at: $0) }
      let place = number(head, at: 40)
      let damage = SystemCallError(operation: .read, path: path, errno: .ioError)
      guard (512...65_536).contains(counts[0]), counts[2] <= WALIndex.mostPages,
        counts[3] <= 1 << 16, place <= status.size,
        status.size - Int64(place) == Int64(counts[2]) * 8
      else { throw damage }
      var name = [UInt8](repeating: 0, count: Int(counts[3]))
      guard try file.read(&name, at: Int64(headSize)) == name.count else { throw damage }
      main = FilePath(platformString: name.map { CInterop.PlatformChar(bitPattern: $0) } + [0])
      (pageSize, pageCount) = (Int(counts[0]), counts[1])
      entries = Int64(place)..<status.size
      start = Int64(headSize + name.count)
    }
  }

  /// Opens a file of pages; nil where a file is none.
  init?(_ path: FilePath) throws(SystemCallError) {
    guard let head = try Head(path) else { return nil }
    self.head = head
    var entries = [UInt8](repeating: 0, count: head.entries.count)
    guard try head.file.read(&entries, at: head.entries.lowerBound) == entries.count else {
      throw SystemCallError(operation: .read, path: path, errno: .ioError)
    }
    let offsets = stride(from: 0, to: entries.count, by: 8)
    pages = offsets.map { Self.short(entries, at: $0) }
    frames = offsets.map { Self.short(entries, at: $0 + 4) }
  }

  private static func number(_ bytes: [UInt8], at offset: Int) -> UInt64 {
    bytes[offset..<offset + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  private static func short(_ bytes: [UInt8], at offset: Int) -> UInt32 {
    bytes.withUnsafeBytes {
      UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
  }

  // MARK: Reading

  /// The place in the list of the first page that is not below this one.
  func place(of page: UInt32) -> Int {
    guard let last = pages.last, page <= last else { return pages.count }
    var (low, high) = (0, pages.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if pages[middle] < page { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The place in the file of a page in the list.
  func frame(at place: Int) -> UInt32 { frames[place] }

  /// The number of a page in the list; nil behind the last one.
  func page(at place: Int) -> UInt32? { place < pages.count ? pages[place] : nil }

  /// Reads a part of a page in the list.
  func read(
    _ place: Int, from offset: Int, into bytes: UnsafeMutableRawBufferPointer
  ) throws(SystemCallError) {
    let position = head.start + Int64(frames[place]) * Int64(pageSize) + Int64(offset)
    guard try head.file.read(into: bytes, at: position) == bytes.count else {
      throw SystemCallError(operation: .read, path: head.file.path, errno: .ioError)
    }
  }
}

// MARK: - Making

extension WALPages {
  /// What a `-wal` comes to.
  package enum Outcome: Hashable, Sendable {
    /// It has no commit that counts: the main file is the store.
    case nothing
    /// Its pages are in the file.
    case written
    /// Its pages cannot be put over those of the main file one by one: a copy has to be made.
    case unfit
    /// The log was restarted meanwhile.
    case changed
  }

  /// Writes the pages of a store's log up to its last commit, as SQLite's recovery would take them,
  /// to a new file.
  ///
  /// The log may grow meanwhile: what is taken is a commit that was there.
  package static func write(of store: FilePath, to path: FilePath) throws -> Outcome {
    try Files.remove(path)
    let log = FilePath("\(store)-wal")
    guard try Files.fileStatusIfPresent(log) != nil else { return .changed }
    let file = OpenFile(try Files.open(log, mode: .readOnly))
    let outcome = try write(file, of: store, to: path)
    if outcome != .written { try Files.remove(path) }
    return outcome
  }

  private static func write(
    _ log: OpenFile, of store: FilePath, to path: FilePath
  ) throws -> Outcome {
    var head = [UInt8](repeating: 0, count: WALHeader.size)
    let header: WALHeader
    do {
      guard try log.read(&head, at: 0) == head.count else { return .nothing }
      header = try head.withUnsafeBytes { try WALHeader($0) }
    } catch WALHeader.Problem.none {
      return .nothing
    } catch is WALHeader.Problem {
      return .unfit
    }
    guard try StoreHeader(reading: store).pageSize == header.pageSize else { return .unfit }
    let name = name(of: store)
    let output = OpenFile(
      try Files.open(
        path, mode: .readWrite, options: [.create, .exclusiveCreate, .noFollow],
        permissions: .ownerReadWrite))
    let start = Int64(headSize + name.count)
    var copy = WALCopy(header: header, log: log, output: output, start: start)
    guard try copy.write(), let entries = copy.index.finished() else { return .unfit }
    guard copy.index.frames > 0 else { return .nothing }
    // Pages beyond the main file that have no frames are free, and a frame lists those.
    let most =
      try Files.fileStatus(store).size / Int64(header.pageSize)
      + Int64(entries.count) * Int64(header.pageSize / 4 + 1)
    guard Int64(copy.index.pageCount) <= most else { return .unfit }
    // A log that was restarted meanwhile has other salts.
    var again = [UInt8](repeating: 0, count: WALHeader.size)
    guard try log.read(&again, at: 0) == again.count, again == head else { return .changed }
    let end = start + Int64(copy.index.frames) * Int64(header.pageSize)
    try output.cut(at: end)
    var list: [UInt8] = []
    list.reserveCapacity(entries.count * 8)
    for entry in entries {
      list += bytes(UInt32(truncatingIfNeeded: entry >> 32))
      list += bytes(UInt32(truncatingIfNeeded: entry))
    }
    try output.write(list, at: end)
    try output.write(name, at: Int64(headSize))
    try output.write(
      self.head(
        of: path, pageSize: header.pageSize, pageCount: copy.index.pageCount,
        entries: entries.count, name: name.count, end: end), at: 0)
    return .written
  }

  /// The head of a file: all but its path.
  static func head(
    of path: FilePath, pageSize: Int, pageCount: UInt32, entries: Int, name: Int, end: Int64
  ) throws(SystemCallError) -> [UInt8] {
    let status = try Files.fileStatus(path)
    return magic + bytes(status.device) + bytes(status.inode) + bytes(UInt32(pageSize))
      + bytes(pageCount) + bytes(UInt32(entries)) + bytes(UInt32(name)) + bytes(UInt64(end))
  }

  /// A number as the file has it.
  static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }

  /// The bytes of a path as the file has it.
  static func name(of path: FilePath) -> [UInt8] {
    path.withPlatformString { start in
      UnsafeRawBufferPointer(start: start, count: path.length).map(\.self)
    }
  }
}

/// Copies the pages of the frames that count.
private struct WALCopy {
  let header: WALHeader
  let log: OpenFile
  let output: OpenFile
  let start: Int64
  var index = WALIndex()

  init(header: WALHeader, log: OpenFile, output: OpenFile, start: Int64) {
    (self.header, self.log, self.output, self.start) = (header, log, output, start)
  }

  /// False where the log has more pages than are kept in memory.
  mutating func write() throws -> Bool {
    let frameSize = WALHeader.frameHeaderSize + header.pageSize
    let most = max(1, (1 << 20) / frameSize)
    let frames = UnsafeMutableRawBufferPointer.allocate(byteCount: most * frameSize, alignment: 16)
    let pages = UnsafeMutableRawBufferPointer.allocate(
      byteCount: most * header.pageSize, alignment: 16)
    defer {
      frames.deallocate()
      pages.deallocate()
    }
    var sum = header.checksum
    var (from, to) = (Int64(WALHeader.size), start)
    while true {
      let count = try log.read(into: frames, at: from) / frameSize
      var valid = 0
      while valid < count, let frame = frames.baseAddress.map({ $0 + valid * frameSize }),
        let (page, size) = check(frame, &sum)
      {
        UnsafeMutableRawBufferPointer(rebasing: pages[(valid * header.pageSize)...])
          .copyMemory(
            from: UnsafeRawBufferPointer(
              start: frame + WALHeader.frameHeaderSize, count: header.pageSize))
        guard index.add(page: page, size: size) else { return false }
        valid += 1
      }
      let bytes = valid * header.pageSize
      try output.write(UnsafeRawBufferPointer(rebasing: pages[..<bytes]), at: to)
      if valid < most { return true }
      from += Int64(valid * frameSize)
      to += Int64(bytes)
    }
  }

  /// The page of a frame and the size of the database after it; nil where the log ends before.
  private func check(
    _ frame: UnsafeRawPointer, _ sum: inout WALChecksum
  ) -> (page: UInt32, size: UInt32)? {
    let page = WALChecksum.number(frame)
    let salts = UInt64(WALChecksum.number(frame + 8)) << 32 | UInt64(WALChecksum.number(frame + 12))
    guard page > 0, salts == header.salts else { return nil }
    sum.add(frame, count: 8, isBigEndian: header.isBigEndian)
    sum.add(
      frame + WALHeader.frameHeaderSize, count: header.pageSize, isBigEndian: header.isBigEndian)
    let told = WALChecksum(
      first: WALChecksum.number(frame + 16), second: WALChecksum.number(frame + 20))
    return sum == told ? (page, WALChecksum.number(frame + 4)) : nil
  }
}
