package import SystemPackage

/// The entities of a table's rows by their keys, a byte for each key, in a file.
package struct EntityMap: Hashable, Codable, Sendable {
  /// The most entities that bytes can name.
  package static let mostEntities = 254
  /// The byte of a key whose entity only SQLite can read.
  package static let odd: UInt8 = 255
  /// The bytes that are read at once.
  static let chunk = 4096

  /// The key of the first byte.
  package let first: Int64
  /// Where the bytes are.
  package let section: Section
  /// The entity numbers, which bytes name from 1 on; 0 is a key without a row, or of a row of
  /// another entity.
  package let numbers: [Int64]

  /// Takes a section of a byte for each key, and at most so many numbers as bytes can name.
  package init(first: Int64, section: Section, numbers: [Int64]) {
    precondition(numbers.count <= Self.mostEntities, "a byte names each entity")
    self.first = first
    self.section = section
    self.numbers = numbers
  }

  /// The byte that names a number, which may be that of no row.
  func byte(of field: Field) -> UInt8 {
    guard field.isInteger else { return field.isNull ? 0 : Self.odd }
    let number = field.integer
    return numbers.firstIndex(of: number).map { UInt8($0 + 1) } ?? 0
  }

  /// Writes the bytes of the keys up to `last` from rows whose first field is their key and whose
  /// second is their entity number.
  package func write(
    _ cursor: TableCursor, to last: Int64, in descriptor: FileDescriptor
  ) throws(PageError) {
    let file = PageFile(descriptor)
    let window = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    defer { window.deallocate() }
    var (start, end) = (Int64(0), Int64(0))
    while try cursor.next(), cursor.key <= last {
      let place = cursor.key - first
      if place >= start + Int64(window.count) || end == 0 {
        try flush(window, from: start, to: end, in: file)
        (start, end) = (place, place)
      }
      while end < place {
        window[Int(end - start)] = 0
        end += 1
      }
      window[Int(place - start)] = byte(of: cursor.fields[1])
      end = place + 1
    }
    try flush(window, from: start, to: end, in: file)
  }

  private func flush(
    _ window: UnsafeMutableRawBufferPointer, from start: Int64, to end: Int64, in file: PageFile
  ) throws(PageError) {
    guard end > start else { return }
    try file.write(
      UnsafeRawBufferPointer(rebasing: window[..<Int(end - start)]), at: section.offset + start)
  }
}

/// Looks up the entities of keys, and holds some of the map in memory.
package final class EntityReader {
  private static let mostChunks = 2048

  /// The map that is read.
  package let map: EntityMap
  private let file: PageFile
  private let slots: Int
  private let chunks: UnsafeMutableRawPointer
  private let held: UnsafeMutablePointer<Int64>

  /// Takes the bytes that may be in memory.
  package init(_ map: EntityMap, in file: FileDescriptor, bytes: Int) {
    self.map = map
    self.file = PageFile(file)
    var slots = 16
    while slots < Self.mostChunks, slots * 2 * EntityMap.chunk <= bytes,
      Int64(slots * EntityMap.chunk) < map.section.bytes
    {
      slots *= 2
    }
    self.slots = slots
    chunks = .allocate(byteCount: slots * EntityMap.chunk, alignment: 16)
    held = .allocate(capacity: slots)
    held.initialize(repeating: -1, count: slots)
  }

  deinit {
    chunks.deallocate()
    held.deallocate()
  }

  /// The byte of a key (`EntityMap.numbers`).
  @inline(__always)
  package func byte(of key: Int64) throws(PageError) -> UInt8 {
    let (place, overflow) = key.subtractingReportingOverflow(map.first)
    guard !overflow, place >= 0, place < map.section.bytes else { return 0 }
    let chunk = place / Int64(EntityMap.chunk)
    let slot = Int(chunk) & (slots - 1)
    if held[slot] != chunk { try read(chunk, slot: slot) }
    return chunks.load(
      fromByteOffset: slot * EntityMap.chunk + Int(place) % EntityMap.chunk, as: UInt8.self)
  }

  private func read(_ chunk: Int64, slot: Int) throws(PageError) {
    held[slot] = -1
    let start = chunk * Int64(EntityMap.chunk)
    let count = Int(min(Int64(EntityMap.chunk), map.section.bytes - start))
    try file.read(
      UnsafeMutableRawBufferPointer(start: chunks + slot * EntityMap.chunk, count: count),
      at: map.section.offset + start)
    held[slot] = chunk
  }
}
