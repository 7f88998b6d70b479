package import SystemPackage

/// Reads the numbers that a list has for keys that rise.
///
/// A list is sorted runs of entries: a key, and a number of it, both in unsigned order.
package final class NumberReader {
  private let merge: IntegerMerge
  private var entry: IntegerEntry?

  /// Takes the runs of a list, goes to the first key that is not below the given one, and keeps
  /// about so many bytes of the runs in memory.
  package init(
    _ file: FileDescriptor, runs: [Section], from first: Int64, bytes: Int
  ) throws(PageError) {
    let size = IntegerRun.bufferBytes(runs.count, bytes: bytes)
    let split = IntegerSplit(runs.map { (file, $0) })
    let rest = try split.sections(from: IntegerEntry.ordered(first))
    merge = try IntegerMerge(
      rest.map { IntegerRun(SectionReader([$0], bufferBytes: size)) })
    entry = try merge.next()
  }

  /// The lowest number of a key, or nil.
  ///
  /// Keys must be requested in ascending order.
  package func number(of key: Int64) throws(PageError) -> Int64? {
    let wanted = IntegerEntry.ordered(key)
    while let entry, entry.high < wanted { self.entry = try merge.next() }
    guard let entry, entry.high == wanted else { return nil }
    return IntegerEntry.value(ordered: entry.low)
  }
}

/// Numbers the rows of each owner in the order of their keys, in bounded memory: sorted by owner
/// they are counted, and sorted by key the numbers are listed.
package final class OwnerNumbering {
  private let descriptor: FileDescriptor
  private let result: RunFile
  private let bytes: Int
  private let scratch = SortScratch()
  private var owners: IntegerSorter?

  /// Takes an empty file for what is sorted by owner, the file of the list, and the bytes that all
  /// buffers may have.
  package init(scratch descriptor: FileDescriptor, list: RunFile, bytes: Int) {
    self.descriptor = descriptor
    result = list
    self.bytes = bytes
    owners = IntegerSorter(
      file: RunFile(descriptor), capacity: IntegerSorter.capacity(bytes), scratch: scratch)
  }

  /// Adds a row, whose key no other row of its owner has.
  package func add(owner: Int64, key: Int64) throws(PageError) {
    try owners?.add(
      IntegerEntry(high: IntegerEntry.ordered(owner), low: IntegerEntry.ordered(key)))
  }

  /// The runs of the list: for each key its number.
  ///
  /// The numbers of one owner begin at `first`, with a distance of `step`.
  package func finish(first: Int64, step: Int64) throws(PageError) -> [Section] {
    try owners?.flush()
    let runs = owners?.runs ?? []
    // Its buffer becomes that of the other.
    owners = nil
    let size = IntegerRun.bufferBytes(runs.count, bytes: bytes / 4)
    let merge = try IntegerMerge(
      runs.map { IntegerRun(SectionReader([(descriptor, $0)], bufferBytes: size)) })
    let keys = IntegerSorter(
      file: result, capacity: IntegerSorter.capacity(bytes), scratch: scratch)
    var owner: UInt64?
    var number = first
    while let entry = try merge.next() {
      number = entry.high == owner ? number &+ step : first
      owner = entry.high
      try keys.add(IntegerEntry(high: entry.low, low: IntegerEntry.ordered(number)))
    }
    try keys.flush()
    return keys.runs
  }
}

extension IntegerSorter {
  /// The entries that a sorter may hold where it and its scratch have so many bytes.
  package static func capacity(_ bytes: Int) -> Int {
    bytes / 2 / MemoryLayout<IntegerEntry>.stride
  }
}

extension IntegerRun {
  /// The bytes of each run that may be in memory where all of them have so many.
  static func bufferBytes(_ runs: Int, bytes: Int) -> Int {
    max(4096, min(1 << 16, bytes / max(1, runs)))
  }
}
