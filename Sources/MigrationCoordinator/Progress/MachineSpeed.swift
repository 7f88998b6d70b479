import Survey
import SystemCalls
import SystemPackage

/// How fast this machine is, against the one on which costs were measured.
enum MachineSpeed {
  /// What a migration takes however few rows there are: processes, files and their syncs.
  static let fixedSeconds = 0.08
  /// Bytes that the other machine read and summed up in a second.
  private static let reference = 6e9
  private static let block = 256 << 10
  private static let mostBlocks = 32

  /// More than 1 where this machine is faster; 1 where the file cannot be read.
  ///
  /// Reads the first mebibytes of a store a few times, which takes some hundredths of a second at
  /// most.
  static func ratio(reading path: FilePath) -> Double {
    var best = 0.0
    for _ in 1...3 { best = max(best, bytesPerSecond(of: path) ?? 0) }
    return best > 0 ? min(8, max(1 / 8, best / reference)) : 1
  }

  /// The same for a store that is migrated, 1 for one of which reading takes longer than migrating.
  static func ratio(readingAlong survey: StoreSurvey) -> Double {
    survey.sourceBytes < leastBytes ? 1 : ratio(reading: survey.access.readable)
  }

  /// The size of a store that is read a few times without anybody noticing.
  private static let leastBytes: Int64 = 64 << 20

  private static func bytesPerSecond(of path: FilePath) -> Double? {
    guard let file = try? FileDescriptor.open(path, .readOnly, options: .closeOnExec) else {
      return nil
    }
    defer { try? file.close() }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: block, alignment: 4096)
    defer { buffer.deallocate() }
    let start = ContinuousClock.now
    var (bytes, sum): (Int, UInt64) = (0, 0)
    while bytes < block * mostBlocks,
      let count = try? file.read(fromAbsoluteOffset: Int64(bytes), into: buffer), count > 0
    {
      sum = Checksum.of(UnsafeRawBufferPointer(rebasing: buffer[..<count]), seed: sum)
      bytes += count
    }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    // A store that ends before the clock has moved tells nothing.
    return bytes >= block && seconds > 0 && sum != 1 ? Double(bytes) / seconds : nil
  }
}
