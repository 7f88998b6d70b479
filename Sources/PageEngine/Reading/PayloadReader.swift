/// Reads payloads that may continue in overflow chains.
final class PayloadReader {
  private let chains: PageWindow
  private let pageCount: UInt32

  init(chains: PageWindow, pageCount: UInt32) {
    self.chains = chains
    self.pageCount = pageCount
  }

  /// Assembles a payload from the bytes in its cell and those of its chain.
  @inline(__always)
  func read(
    _ start: UnsafeRawPointer, local: Int, of total: Int, page: UInt32,
    into buffer: UnsafeMutableRawBufferPointer
  ) throws(PageError) {
    guard let base = buffer.baseAddress, buffer.count >= total else {
      throw PageError(.damaged(page: page))
    }
    base.copyMemory(from: start, byteCount: local)
    if local < total {
      try follow(
        Bytes.get32(start + local), into: base + local, count: total - local, page: page)
    }
  }

  private func follow(
    _ first: UInt32, into target: UnsafeMutableRawPointer, count: Int, page: UInt32
  ) throws(PageError) {
    guard count / PageGeometry.overflowCapacity <= Int(pageCount) else {
      throw PageError(.damaged(page: page))
    }
    var next = first
    var done = 0
    while done < count {
      let bytes = try chains.page(next)
      let size = min(PageGeometry.overflowCapacity, count - done)
      (target + done).copyMemory(from: bytes + 4, byteCount: size)
      done += size
      next = Bytes.get32(bytes)
    }
    // A chain that continues is too long, or leads back into itself.
    guard next == 0 else { throw PageError(.damaged(page: page)) }
  }
}
