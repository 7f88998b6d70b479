package import SystemPackage

/// A checksum of bytes that are written by one run and taken up by a later one.
///
/// It detects changes by a disk, a short write or an editor. It does not protect against an
/// adversary, who could write the checksum as well.
package enum Checksum {
  /// The checksum of bytes, which follow those with the checksum `seed`.
  ///
  /// Four lanes of eight bytes each, as one chain of multiplications waits for itself.
  package static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
    guard let start = bytes.baseAddress else { return mixed(seed) }
    var (one, two, three, four) = (seed, seed &+ prime, seed ^ prime, seed &- prime)
    var at = 0
    while at + 32 <= bytes.count {
      one = step(one, start.loadUnaligned(fromByteOffset: at, as: UInt64.self))
      two = step(two, start.loadUnaligned(fromByteOffset: at + 8, as: UInt64.self))
      three = step(three, start.loadUnaligned(fromByteOffset: at + 16, as: UInt64.self))
      four = step(four, start.loadUnaligned(fromByteOffset: at + 24, as: UInt64.self))
      at += 32
    }
    while at < bytes.count {
      one = step(one, UInt64(bytes[at]))
      at += 1
    }
    var sum = mixed(one &+ UInt64(bytes.count))
    for lane in [two, three, four] { sum = mixed(sum ^ lane) }
    return sum
  }

  /// The checksum of a file.
  ///
  /// - Throws: `SystemCallError` where it cannot be read.
  package static func of(file path: FilePath) throws -> UInt64 {
    let file = try Files.open(path, mode: .readOnly, options: .noFollow)
    return try file.closeAfter {
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
      defer { buffer.deallocate() }
      var sum: UInt64 = 0
      while true {
        var count = 0
        // Pieces of one length, however much a call reads.
        while count < buffer.count {
          let read = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
          if read == 0 { break }
          count += read
        }
        if count == 0 { return sum }
        sum = of(UnsafeRawBufferPointer(rebasing: buffer[..<count]), seed: sum)
      }
    }
  }

  private static let prime: UInt64 = 0x9e37_79b9_7f4a_7c15

  @inline(__always)
  private static func step(_ lane: UInt64, _ word: UInt64) -> UInt64 {
    // Odd, so that no two words lead to the same lane.
    let product = (lane ^ word) &* 0xff51_afd7_ed55_8ccd
    return product ^ product >> 29
  }

  private static func mixed(_ sum: UInt64) -> UInt64 {
    let hash = (sum ^ sum >> 31) &* 0xbf58_476d_1ce4_e5b9
    return hash ^ hash >> 32
  }
}
