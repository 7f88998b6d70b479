package import SystemPackage

/// Cuts sorted runs of integer entries into parts that are merged in parallel.
package struct IntegerSplit {
  private typealias Entry = IntegerEntry

  /// The maximum number of entries sampled for cuts; each takes a read.
  private static let mostSamples: Int64 = 512
  private static let size = Int64(MemoryLayout<Entry>.stride)

  private let runs: [(FileDescriptor, Section)]

  /// Takes the runs of an index.
  package init(_ runs: [(FileDescriptor, Section)]) { self.runs = runs }

  private func entry(_ place: Int64, of run: (FileDescriptor, Section)) throws(PageError) -> Entry {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(Self.size), alignment: 16)
    defer { bytes.deallocate() }
    try PageFile(run.0).read(bytes, at: run.1.offset + place * Self.size)
    return bytes.load(as: Entry.self)
  }

  /// The sections of each part, one for each run, in the order of the values.
  ///
  /// Returns at most `wanted` parts. Entries with the same value are in one part, and each part has
  /// several.
  package func parts(_ wanted: Int) throws(PageError) -> [[(FileDescriptor, Section)]] {
    var starts = [runs.map { _ in Int64(0) }]
    for cut in try cuts(wanted) {
      var places: [Int64] = []
      for run in runs { places.append(try place(of: cut, in: run)) }
      starts.append(places)
    }
    starts.append(runs.map { $0.1.bytes / Self.size })
    return zip(starts, starts.dropFirst()).map { begin, end in
      runs.indices.map { index in
        let count = end[index] - begin[index]
        return (
          runs[index].0,
          Section(
            offset: runs[index].1.offset + begin[index] * Self.size, bytes: count * Self.size,
            count: count)
        )
      }
    }
  }

  /// What each run has from a value on.
  func sections(from value: UInt64) throws(PageError) -> [(FileDescriptor, Section)] {
    var result: [(FileDescriptor, Section)] = []
    for run in runs {
      let place = try place(of: value, in: run)
      let bytes = run.1.bytes - place * Self.size
      result.append(
        (
          run.0,
          Section(
            offset: run.1.offset + place * Self.size, bytes: bytes, count: bytes / Self.size)
        ))
    }
    return result
  }

  /// The values at which to cut: rising, with several samples between each and the next.
  private func cuts(_ wanted: Int) throws(PageError) -> [UInt64] {
    let entries = runs.reduce(0) { $0 + $1.1.bytes / Self.size }
    let step = max(1, entries / Self.mostSamples)
    var samples: [UInt64] = []
    var next: Int64 = 0
    for run in runs {
      let count = run.1.bytes / Self.size
      while next < count {
        samples.append(try entry(next, of: run).high)
        next += step
      }
      next -= count
    }
    samples.sort()
    return samples.cuts(parts: wanted)
  }

  /// The place of the first entry of a run whose value is not below a cut.
  private func place(
    of cut: UInt64, in run: (FileDescriptor, Section)
  ) throws(PageError) -> Int64 {
    var (low, high) = (Int64(0), run.1.bytes / Self.size)
    while low < high {
      let middle = low + (high - low) / 2
      if try entry(middle, of: run).high < cut { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
