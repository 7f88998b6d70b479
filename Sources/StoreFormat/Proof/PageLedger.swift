import Synchronization

/// Which pages of a file have an owner; several threads note them.
final class PageLedger: @unchecked Sendable {
  let pageCount: UInt32
  /// Whether the file has a pointer map.
  let isMapped: Bool
  // The memory lives as long as the ledger, and its words are atomic.
  /// A bit for each page.
  private let seen: UnsafeMutablePointer<Atomic<UInt64>>
  private let words: Int
  /// A page of the pointer map and the pages that it describes.
  private let group: UInt32
  /// The page that SQLite keeps for its locks ("Database File Format", section 1.4).
  private let lockPage: UInt32

  init(pageCount: UInt32, sizes: PageSizes, isMapped: Bool) {
    (self.pageCount, self.isMapped) = (pageCount, isMapped)
    words = Int(pageCount) / 64 + 1
    seen = .allocate(capacity: words)
    for word in 0..<words { (seen + word).initialize(to: Atomic(0)) }
    group = UInt32(sizes.usable / 5 + 1)
    lockPage = UInt32((1 << 30) / sizes.page + 1)
  }

  deinit {
    seen.deinitialize(count: words)
    seen.deallocate()
  }

  /// The page of the pointer map that describes a page; the page itself if it is one.
  @inline(__always)
  func mapPage(of page: UInt32) -> UInt32 {
    if page < 2 { return 0 }
    let found = (page - 2) / group * group + 2
    return found == lockPage ? found + 1 : found
  }

  /// Notes a page that has an owner, which may have no other.
  func claim(_ page: UInt32) throws(UnsoundPage) {
    guard page > 0, page <= pageCount, page != lockPage, !isMapped || mapPage(of: page) != page
    else { throw UnsoundPage() }
    let bit = UInt64(1) << UInt64(page & 63)
    let before = seen[Int(page >> 6)].bitwiseOr(bit, ordering: .relaxed).oldValue
    guard before & bit == 0 else { throw UnsoundPage() }
  }

  /// Whether each page has an owner, or is one of the map or of locks.
  var isComplete: Bool {
    guard pageCount > 0 else { return false }
    return (1...pageCount).allSatisfy { page in
      let word = seen[Int(page >> 6)].load(ordering: .relaxed)
      return word & UInt64(1) << UInt64(page & 63) != 0 || page == lockPage
        || isMapped && mapPage(of: page) == page
    }
  }
}

/// The pointer map of a file ("Database File Format", section 1.8), on one thread.
final class OwnerMap {
  enum Kind: UInt8 {
    case root = 1
    case free, firstOverflow, nextOverflow, child
  }

  private static let kept = 32
  private let ledger: PageLedger
  private let file: SourceFile
  private let sizes: PageSizes
  private let memory: UnsafeMutableRawPointer
  private var numbers: [UInt32]

  init(_ file: SourceFile, sizes: PageSizes, ledger: PageLedger) {
    (self.file, self.sizes, self.ledger) = (file, sizes, ledger)
    memory = .allocate(byteCount: Self.kept * sizes.page, alignment: 16)
    numbers = Array(repeating: 0, count: Self.kept)
  }

  deinit { memory.deallocate() }

  /// Notes a page with its owner, which the map has to name.
  func claim(_ page: UInt32, kind: Kind, parent: UInt32) throws(UnsoundPage) {
    try ledger.claim(page)
    guard ledger.isMapped else { return }
    let number = ledger.mapPage(of: page)
    let place = Int(number) / max(1, sizes.usable / 5) % Self.kept
    let start = memory + place * sizes.page
    if numbers[place] != number {
      numbers[place] = 0
      let room = UnsafeMutableRawBufferPointer(start: start, count: sizes.page)
      guard number > 0,
        (try? file.read(room, at: Int64(number - 1) * Int64(sizes.page))) == sizes.page
      else { throw UnsoundPage() }
      numbers[place] = number
    }
    guard page > number else { throw UnsoundPage() }
    let offset = 5 * Int(page - number - 1)
    let entry = UnsafeRawPointer(start)
    guard offset + 5 <= sizes.usable,
      entry.load(fromByteOffset: offset, as: UInt8.self) == kind.rawValue,
      entry.long(offset + 1) == parent
    else { throw UnsoundPage() }
  }
}
