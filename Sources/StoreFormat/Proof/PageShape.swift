/// Checks that cells, free blocks and lost bytes fill a page without gap and overlap, as SQLite
/// does.
struct PageShape {
  private let page: UnsafeRawPointer
  private let start: Int
  private let usable: Int
  /// Where the contents begin.
  let contents: Int
  /// How many cells there are.
  let count: Int
  /// Where the pointers to cells begin.
  let pointers: Int
  private let extents: UnsafeMutablePointer<UInt64>
  private var known = 0
  private var floor: Int
  private var isPacked = true

  /// Takes a page whose header makes sense.
  ///
  /// - Parameter extents: room for as many as half a page has bytes.
  init(
    _ page: UnsafeRawPointer, start: Int, isLeaf: Bool, sizes: PageSizes,
    extents: UnsafeMutablePointer<UInt64>
  ) throws(UnsoundPage) {
    (self.page, self.start, self.extents, usable) = (page, start, extents, sizes.usable)
    count = page.short(start + PageField.cellCount)
    pointers = start + (isLeaf ? PageField.leafHeaderSize : PageField.interiorHeaderSize)
    let stated = page.short(start + PageField.contentStart)
    contents = stated == 0 ? 65536 : stated
    floor = sizes.usable
    guard count <= (sizes.page - 8) / 6, pointers + 2 * count <= contents, contents <= usable
    else { throw UnsoundPage() }
  }

  /// Where a cell begins.
  @inline(__always)
  func cell(_ place: Int) throws(UnsoundPage) -> Int {
    let offset = page.short(pointers + 2 * place)
    guard offset >= contents, offset <= usable - 4 else { throw UnsoundPage() }
    return offset
  }

  /// Takes the extent of a cell, in the order of the page.
  @inline(__always)
  mutating func add(_ offset: Int, end: Int) throws(UnsoundPage) {
    let end = max(end, offset + 4)
    guard end <= usable else { throw UnsoundPage() }
    extents[known] = UInt64(offset) << 32 | UInt64(end)
    known += 1
    if end != floor { isPacked = false }
    floor = offset
  }

  /// Ends with the cells.
  mutating func finish() throws(UnsoundPage) {
    var block = page.short(start + PageField.firstFreeBlock)
    let fragments = Int(page.load(fromByteOffset: start + 7, as: UInt8.self))
    if isPacked, floor == contents, block == 0, fragments == 0 { return }
    while block != 0 {
      guard block >= contents, block + 4 <= usable else { throw UnsoundPage() }
      let (next, size) = (page.short(block), page.short(block + 2))
      guard size >= 4, block + size <= usable, next == 0 || next > block + size + 3 else {
        throw UnsoundPage()
      }
      extents[known] = UInt64(block) << 32 | UInt64(block + size)
      known += 1
      block = next
    }
    var all = UnsafeMutableBufferPointer(start: extents, count: known)
    all.sort()
    var (end, lost) = (contents, 0)
    for extent in all {
      let first = Int(extent >> 32)
      guard first >= end else { throw UnsoundPage() }
      lost += first - end
      end = Int(extent & 0xFFFF_FFFF)
    }
    guard lost + usable - end == fragments else { throw UnsoundPage() }
  }
}
