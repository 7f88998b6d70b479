/// Reads pages of a file through a buffer that grows while consecutive pages are requested.
final class PageWindow {
  private static let mostPages = 64

  private let file: PageFile
  private let pageSize: Int
  private let pageCount: UInt32
  private let buffer: UnsafeMutableRawPointer
  private var first: UInt32 = 0
  private var count: UInt32 = 0
  private var width: UInt32 = 4
  private var uses = 0

  init(file: PageFile, pageSize: Int, pageCount: UInt32) {
    self.file = file
    self.pageSize = pageSize
    self.pageCount = pageCount
    // Eight more, for a number that is read whole where the last page ends.
    buffer = .allocate(byteCount: Self.mostPages * pageSize + 8, alignment: 4096)
  }

  deinit { buffer.deallocate() }

  /// The page if it is in the buffer.
  @inline(__always)
  func held(_ page: UInt32) -> UnsafeRawPointer? {
    guard page >= first, page - first < count else { return nil }
    uses += 1
    return UnsafeRawPointer(buffer + Int(page - first) * pageSize)
  }

  /// The page, valid until a page is requested that is not in the buffer.
  @inline(__always)
  func page(_ page: UInt32) throws(PageError) -> UnsafeRawPointer {
    if let held = held(page) { return held }
    return try load(page)
  }

  private func load(_ page: UInt32) throws(PageError) -> UnsafeRawPointer {
    guard page >= 1, page <= pageCount else { throw PageError(.damaged(page: page)) }
    // Pages that were read ahead but not requested were read in vain.
    width = uses * 2 >= Int(count) ? min(UInt32(Self.mostPages), width * 2) : max(1, width / 2)
    let wanted = min(width, pageCount - page + 1)
    count = 0
    try file.read(
      UnsafeMutableRawBufferPointer(start: buffer, count: Int(wanted) * pageSize),
      at: (Int64(page) - 1) * Int64(pageSize))
    (first, count, uses) = (page, wanted, 1)
    return UnsafeRawPointer(buffer)
  }
}
