/// Writes pages into extents, a whole extent at a time, and their entries into a pointer map.
package final class ExtentWriter {
  private let source: any ExtentSource
  private let pointers: any PointerMapping
  private let output: ExtentOutput
  private var extent = Extent(first: 0, count: 0)
  private var ahead: Extent?
  /// Pages of the extent that are handed out or skipped.
  private var used: UInt32 = 0
  /// Whether pages that were handed out are not written yet.
  private var isDirty = false
  /// Receives the checksums of all pages; nil if they are not needed.
  let sums: PageSums?
  /// How many pages of the extent are summed up.
  private var summed: UInt32 = 0
  /// Unused pages of finished extents.
  private var leftovers: [Extent] = []

  /// Writes in threads of its own if it is to write behind: what it wrote can be read once it has
  /// finished.
  package init(
    file: PageFile, source: any ExtentSource, pointers: any PointerMapping,
    isBehind: Bool = false, sums: PageSums? = nil
  ) {
    self.sums = sums
    self.pointers = pointers
    self.source = source
    output = ExtentOutput(file: file, pages: source.extentLength, isBehind: isBehind)
  }

  /// Whether the next reservation writes the pages reserved so far to the file.
  var isFull: Bool { used >= extent.count }

  /// A page, in memory until the writer is full; the caller sets all of its bytes.
  func reserve() throws(PageError) -> (page: UInt32, memory: UnsafeMutableRawPointer) {
    if isFull { try advance() }
    let page = extent.first + used
    let memory = slot(page)
    used += 1
    isDirty = true
    skipReserved()
    return (page, memory)
  }

  /// The page that the next reservation will give.
  func peek() throws(PageError) -> UInt32 {
    if !isFull { return extent.first + used }
    let next: Extent
    if let ahead { next = ahead } else { next = try takeExtent() }
    ahead = next
    return Self.firstUsable(next)
  }

  func set(_ page: UInt32, kind: PagePointer, parent: UInt32) throws(PageError) {
    try pointers.set(page, kind: kind, parent: parent)
  }

  /// Writes a page that is not in memory, or no more.
  func write(_ page: UInt32, bytes: UnsafeRawPointer) throws(PageError) {
    try output.write(page, bytes: bytes)
    try sums?.addAgain(page, bytes: bytes)
  }

  /// Has the file hold a page that may be in memory still.
  func makeReadable(_ page: UInt32) throws(PageError) {
    if extent.contains(page) { try flush() }
    try output.finish()
  }

  /// Writes what is left; the pages that were taken and never used.
  package func finish() throws(PageError) -> [Extent] {
    try flush()
    try output.finish()
    if used < extent.count {
      leftovers.append(Extent(first: extent.first + used, count: extent.count - used))
    }
    if let ahead { leftovers.append(ahead) }
    ahead = nil
    extent = Extent(first: 0, count: 0)
    (used, summed) = (0, 0)
    defer { leftovers = [] }
    return leftovers
  }

  // MARK: Extents

  private func slot(_ page: UInt32) -> UnsafeMutableRawPointer {
    output.memory + Int(page - extent.first) * PageGeometry.pageSize
  }

  private func advance() throws(PageError) {
    try flush()
    if let ahead { extent = ahead } else { extent = try takeExtent() }
    ahead = nil
    (used, summed) = (0, 0)
    try output.turn(to: extent)
    skipReserved()
  }

  /// An extent with at least one page that can be used.
  private func takeExtent() throws(PageError) -> Extent {
    while true {
      let extent = try source.nextExtent()
      precondition(extent.count <= source.extentLength, "an extent fits the buffer")
      if Self.firstUsable(extent) - extent.first < extent.count { return extent }
    }
  }

  private static func firstUsable(_ extent: Extent) -> UInt32 {
    var page = extent.first
    while PageGeometry.isReserved(page) { page += 1 }
    return page
  }

  private func skipReserved() {
    while used < extent.count, PageGeometry.isReserved(extent.first + used) { used += 1 }
  }

  private func sumUp(_ pages: Range<UInt32>) throws(PageError) {
    guard let sums else { return }
    for page in pages {
      if page - extent.first < summed {
        try sums.addAgain(page, bytes: slot(page))
      } else {
        try sums.add(page, bytes: slot(page))
      }
    }
    summed = max(summed, pages.upperBound - extent.first)
  }

  /// Writes the reserved pages, around those that belong to the pointer map or to the locks.
  private func flush() throws(PageError) {
    guard isDirty else { return }
    isDirty = false
    var start = extent.first
    let end = extent.first + used
    while start < end {
      if PageGeometry.isReserved(start) {
        start += 1
        continue
      }
      var stop = start
      while stop < end && !PageGeometry.isReserved(stop) { stop += 1 }
      try sumUp(start..<stop)
      let count = Int(stop - start)
      try output.write(
        UnsafeRawBufferPointer(start: slot(start), count: count * PageGeometry.pageSize),
        at: PageGeometry.offset(page: start))
      start = stop
    }
  }
}
