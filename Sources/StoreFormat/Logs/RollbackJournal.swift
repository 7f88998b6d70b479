package import SystemCalls
package import SystemPackage

// The file is SQLite's rollback journal ("Database File Format", section 3), with all numbers
// big-endian, and a note behind it that SQLite does not read:
//
//     0   the eight bytes of `magic`
//     8   number of pages, number that is added to checksums, pages of the store before, bytes of a
//         sector, bytes of a page: 4 each
//   512   pages: number, bytes as they were, checksum
//         the note
//   end   bytes of the note, 4, and the eight bytes "GodwitUn"
//
// (1) Its first bytes are written once all others are on the disk: SQLite takes a journal that
// begins with zeros for none.
// (2) It has every page that differs, and the store gets none of them before the journal is on the
// disk with its name.

/// A rollback journal of one change, whose pages SQLite puts back.
package struct RollbackJournal: Sendable {
  package static let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
  private static let noteMagic = Array("GodwitUn".utf8)
  private static let sectorSize = 512

  private let file: OpenFile
  private let count: Int
  /// The bytes of a page.
  package let pageSize: Int
  /// The pages of the store as it was.
  package let pageCount: UInt32
  /// What stands behind the pages.
  package let note: [UInt8]

  /// Opens a journal with a note; nil where a file is none.
  ///
  /// - Throws: `SystemCallError` where it cannot be read.
  package init?(_ path: FilePath) throws(SystemCallError) {
    guard let status = try Files.fileStatusIfPresent(path, followLinks: false),
      status.kind == .file
    else { return nil }
    file = OpenFile(try Files.open(path, mode: .readOnly, options: .noFollow))
    var head = [UInt8](repeating: 0, count: Self.sectorSize)
    guard try file.read(&head, at: 0) == head.count, head.starts(with: Self.magic) else {
      return nil
    }
    let numbers = stride(from: 8, to: 28, by: 4).map { Self.number(head, at: $0) }
    (count, pageCount, pageSize) = (Int(numbers[0]), numbers[2], Int(numbers[4]))
    let end = Int64(Self.sectorSize) + Int64(count) * Int64(pageSize + 8)
    var tail = [UInt8](repeating: 0, count: 12)
    guard Int(numbers[3]) == Self.sectorSize, (512...65_536).contains(pageSize),
      status.size >= end + 12, try file.read(&tail, at: status.size - 12) == 12,
      tail.dropFirst(4).elementsEqual(Self.noteMagic),
      Int64(Self.number(tail, at: 0)) == status.size - end - 12
    else { return nil }
    var note = [UInt8](repeating: 0, count: Int(Self.number(tail, at: 0)))
    guard try file.read(&note, at: end) == note.count else { return nil }
    self.note = note
  }

  private static func number(_ bytes: [UInt8], at place: Int) -> UInt32 {
    bytes[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }

  private static func bytes(_ number: UInt32) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }

  /// The path at which SQLite searches for the journal of a store.
  package static func path(of store: FilePath) -> FilePath { FilePath("\(store)-journal") }

  /// Calls `body` with the number of each page and its bytes as they were.
  package func readPages(_ body: (UInt32, UnsafeRawBufferPointer) throws -> Void) throws {
    let record = UnsafeMutableRawBufferPointer.allocate(byteCount: pageSize + 8, alignment: 16)
    defer { record.deallocate() }
    for place in 0..<count {
      let position = Int64(Self.sectorSize) + Int64(place) * Int64(record.count)
      guard try file.read(into: record, at: position) == record.count else {
        throw SystemCallError(operation: .read, path: file.path, errno: .ioError)
      }
      let page = UInt32(bigEndian: record.loadUnaligned(as: UInt32.self))
      try body(page, UnsafeRawBufferPointer(rebasing: record[4..<4 + pageSize]))
    }
  }

  /// The checksum of those pages of a store that the change made others of, as they are now.
  package func checksum(ofPagesIn store: FilePath) throws -> UInt64 {
    let main = OpenFile(try Files.open(store, mode: .readOnly))
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pageSize, alignment: 16)
    defer { buffer.deallocate() }
    var sum: UInt64 = 0
    try readPages { page, _ in
      let count = try main.read(into: buffer, at: (Int64(page) - 1) * Int64(pageSize))
      // Nothing took the place of a page that was cut off.
      if count == 0 { return }
      sum = Checksum.of(UnsafeRawBufferPointer(rebasing: buffer[..<count]), seed: sum)
    }
    return sum
  }

  // MARK: Writing

  /// Takes pages one after the other.
  final class Writer {
    private let file: OpenFile
    private let salt = UInt32.random(in: 0...UInt32.max)
    private let pageSize: Int
    private var pending: [UInt8] = []
    private var end = Int64(sectorSize)
    private(set) var count: UInt32 = 0

    /// Begins a journal that SQLite takes for none.
    init(_ path: FilePath, pageSize: Int) throws(SystemCallError) {
      file = OpenFile(
        try Files.open(
          path, mode: .readWrite, options: [.create, .exclusiveCreate, .noFollow],
          permissions: .ownerReadWrite))
      self.pageSize = pageSize
      pending.reserveCapacity(1 << 20)
      try file.write([UInt8](repeating: 0, count: sectorSize), at: 0)
    }

    func add(_ page: UInt32, _ bytes: UnsafeRawBufferPointer) throws(SystemCallError) {
      var sum = salt
      for place in stride(from: pageSize - 200, to: 0, by: -200) { sum &+= UInt32(bytes[place]) }
      pending += RollbackJournal.bytes(page)
      pending += bytes
      pending += RollbackJournal.bytes(sum)
      count += 1
      if pending.count >= 1 << 20 { try flush() }
    }

    private func flush() throws(SystemCallError) {
      try file.write(pending, at: end)
      end += Int64(pending.count)
      pending.removeAll(keepingCapacity: true)
    }

    /// Ends the journal; once this returns SQLite takes it for one, and it is on the disk.
    func finish(note: [UInt8], pagesBefore: UInt32) throws(SystemCallError) {
      pending += note
      pending += RollbackJournal.bytes(UInt32(note.count)) + RollbackJournal.noteMagic
      try flush()
      try Files.syncFile(file.descriptor)
      let numbers = [count, salt, pagesBefore, UInt32(sectorSize), UInt32(pageSize)]
      try file.write(RollbackJournal.magic + numbers.flatMap(RollbackJournal.bytes), at: 0)
      try Files.syncFile(file.descriptor)
    }
  }
}
