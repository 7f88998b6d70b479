/// An encoded key in the buffer of its run's reader.
private struct EncodedKey: Comparable, BitwiseCopyable {
  // Valid until the reader advances, which happens only after the key has left the heap.
  let bytes: UnsafeRawBufferPointer
  /// The first sixteen bytes, which as a rule decide.
  let first: UInt64
  let second: UInt64

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    first = KeyOrder.word(bytes, at: 0)
    second = KeyOrder.word(bytes, at: 8)
  }

  @inline(__always)
  static func < (a: Self, b: Self) -> Bool {
    if a.first != b.first { return a.first < b.first }
    if a.second != b.second { return a.second < b.second }
    return KeyOrder.isLess(a.bytes, b.bytes)
  }

  static func == (a: Self, b: Self) -> Bool { a.bytes.elementsEqual(b.bytes) }
}

/// Merges sorted runs of encoded keys into records of an index.
package final class KeyMerge {
  private let readers: [SectionReader]
  private let heap: MergeHeap<EncodedKey>
  private let decoder: KeyDecoder
  private let isUnique: Bool
  /// The bytes behind the values of a key.
  private let tail: Int
  /// Whether the key on top was returned, so that its run has to advance.
  private var isTaken = false
  private var last = UnsafeMutableRawBufferPointer.allocate(byteCount: 512, alignment: 16)
  private var lastCount = -1

  /// Takes one reader for each run, the directions of the index's columns, and whether two keys
  /// alike are an error.
  package init(
    readers: [SectionReader], descending: [Bool], isUnique: Bool
  ) throws(PageError) {
    self.readers = readers
    self.isUnique = isUnique
    decoder = KeyDecoder(descending: descending)
    tail = KeyEncoder.tail(columns: descending.count)
    heap = MergeHeap(capacity: readers.count)
    for (run, reader) in readers.enumerated() {
      if let key = try Self.next(reader) { heap.add(key, run: run) }
    }
  }

  deinit { last.deallocate() }

  @inline(__always)
  private static func next(_ reader: SectionReader) throws(PageError) -> EncodedKey? {
    guard let at = try reader.next(4) else { return nil }
    let count = Int(at.loadUnaligned(as: UInt32.self))
    guard count <= KeySorter.encodedLimit, let bytes = try reader.next(count) else {
      throw PageError(.endOfFile)
    }
    return EncodedKey(UnsafeRawBufferPointer(start: bytes, count: count))
  }

  /// The record of the next key, valid until the one after it; nil after the last.
  ///
  /// - Throws: `PageError` where a run is no list of keys; `duplicateKeys` where a unique index
  ///   would have two keys alike.
  package func next() throws(PageError) -> UnsafeRawBufferPointer? {
    if isTaken, let top = heap.top {
      isTaken = false
      if let next = try Self.next(readers[top.run]) {
        heap.replaceTop(by: next)
      } else {
        heap.removeTop()
      }
    }
    guard let top = heap.top else { return nil }
    isTaken = true
    guard let record = decoder.record(top.entry.bytes) else { throw PageError(.endOfFile) }
    if isUnique { try requireNew(top.entry.bytes) }
    return record
  }

  /// Compares the values of a key with those of the one before.
  private func requireNew(_ key: UnsafeRawBufferPointer) throws(PageError) {
    guard !decoder.hasNull else {
      lastCount = -1
      return
    }
    let values = UnsafeRawBufferPointer(rebasing: key.dropLast(tail))
    if values.count == lastCount,
      KeyOrder.common(
        values, UnsafeRawBufferPointer(last), from: 0, to: lastCount) == lastCount
    {
      throw PageError(.duplicateKeys)
    }
    if last.count < values.count {
      last.deallocate()
      last = .allocate(byteCount: 2 * values.count, alignment: 16)
    }
    last.copyMemory(from: values)
    lastCount = values.count
  }
}
