package import SystemPackage

/// A sorted run of encoded keys, and where in it keys begin, some 64 KiB apart.
package struct KeyRun: Sendable {
  let file: FileDescriptor
  let run: Section
  let marks: Section

  /// Takes the run, and the offsets in it as `KeySorter` listed them.
  package init(file: FileDescriptor, run: Section, marks: Section) {
    self.file = file
    self.run = run
    self.marks = marks
  }

  /// The key that begins at an offset, and the one after it; nil at the end of the run.
  fileprivate func key(at offset: Int64) throws(PageError) -> (key: [UInt8], next: Int64)? {
    let rest = Section(offset: run.offset + offset, bytes: run.bytes - offset, count: 0)
    let reader = SectionReader(descriptor: file, sections: [rest], bufferBytes: 1024)
    guard let length = try reader.next(4)?.loadUnaligned(as: UInt32.self) else { return nil }
    let count = Int(length)
    guard count <= KeySorter.encodedLimit, let start = try reader.next(count) else {
      throw PageError(.endOfFile)
    }
    return ([UInt8](UnsafeRawBufferPointer(start: start, count: count)), offset + 4 + Int64(count))
  }

  fileprivate func offsets() throws(PageError) -> [Int64] {
    let reader = SectionReader(descriptor: file, sections: [marks])
    var offsets: [Int64] = []
    while let offset = try reader.next(8)?.loadUnaligned(as: Int64.self) {
      guard offset >= 0, offset < run.bytes else { throw PageError(.endOfFile) }
      offsets.append(offset)
    }
    return offsets
  }
}

/// Cuts the sorted runs of an index into parts that are merged in parallel.
package struct KeySplit {
  /// A part is worth a thread of its own from so many marks on.
  package static let leastMarks = 16
  /// The maximum number of marks sampled for cuts; each takes a read.
  private static let mostSamples = 512

  private let runs: [(run: KeyRun, offsets: [Int64])]
  private let tail: Int
  private let leastMarks: Int

  /// Takes the runs of an index of so many columns, and the marks that make a part.
  package init(
    _ runs: [KeyRun], columns: Int, leastMarks: Int = Self.leastMarks
  ) throws(PageError) {
    self.leastMarks = leastMarks
    var read: [(run: KeyRun, offsets: [Int64])] = []
    for run in runs { read.append((run, try run.offsets())) }
    self.runs = read
    tail = KeyEncoder.tail(columns: columns)
  }

  /// The sections of each part, one for each run, in the order of the keys.
  ///
  /// Returns at most `wanted` parts. Keys with the same values are in one part.
  package func parts(_ wanted: Int) throws(PageError) -> [[(FileDescriptor, Section)]] {
    var starts = [runs.map { _ in Int64(0) }]
    for cut in try cuts(wanted) {
      var offsets: [Int64] = []
      for (index, run) in runs.enumerated() {
        let start = starts.last?[index] ?? 0
        offsets.append(try place(of: cut, in: run.run, offsets: run.offsets, from: start))
      }
      starts.append(offsets)
    }
    starts.append(runs.map(\.run.run.bytes))
    return zip(starts, starts.dropFirst()).map { begin, end in
      runs.indices.map { index in
        let section = runs[index].run.run
        return (
          runs[index].run.file,
          Section(
            offset: section.offset + begin[index], bytes: end[index] - begin[index], count: 0)
        )
      }
    }
  }

  /// The values at which to cut: rising, with several keys between each and the next.
  private func cuts(_ wanted: Int) throws(PageError) -> [[UInt8]] {
    let marks = runs.reduce(0) { $0 + $1.offsets.count }
    let parts = min(wanted, marks / leastMarks)
    guard parts > 1 else { return [] }
    let step = max(1, marks / Self.mostSamples)
    var samples: [[UInt8]] = []
    var next = 0
    for (run, offsets) in runs {
      while next < offsets.count {
        guard let key = try run.key(at: offsets[next])?.key, key.count >= tail else {
          throw PageError(.endOfFile)
        }
        // A beginning of the values keeps those together that are alike, and is short.
        samples.append(Array(key.dropLast(tail).prefix(256)))
        next += step
      }
      next -= offsets.count
    }
    samples.sort { $0.lexicographicallyPrecedes($1) }
    return samples.cuts(parts: parts)
  }

  /// Where the first key begins that is not before a cut.
  private func place(
    of cut: [UInt8], in run: KeyRun, offsets: [Int64], from start: Int64
  ) throws(PageError) -> Int64 {
    var (low, high) = (0, offsets.count)
    while low < high {
      let middle = (low + high) / 2
      guard let found = try run.key(at: offsets[middle]) else { throw PageError(.endOfFile) }
      if found.key.lexicographicallyPrecedes(cut) { low = middle + 1 } else { high = middle }
    }
    var at = max(start, low == 0 ? 0 : offsets[low - 1])
    while let found = try run.key(at: at), found.key.lexicographicallyPrecedes(cut) {
      at = found.next
    }
    return at
  }
}

extension Array where Element: Equatable {
  /// The values of rising samples at which to cut into so many parts; fewer where many are alike.
  func cuts(parts: Int) -> [Element] {
    guard parts > 1, !isEmpty else { return [] }
    var cuts: [Element] = []
    var before = 0
    for part in 1..<parts {
      // What has the value of the cut comes after it: the first sample that has it counts.
      let cut = self[count * part / parts]
      guard let place = firstIndex(of: cut) else { continue }
      // Each part has a cell before its leaves and one in them: each mark is another key.
      guard place - before >= 2, count - place >= 2 else { continue }
      cuts.append(cut)
      before = place
    }
    return cuts
  }
}
