import SystemCalls
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct ChecksumTests {
  @Test(arguments: [0, 1, 7, 31, 32, 33, 64, 100, 4096])
  func `every bit of some bytes, and how many they are, is in their checksum`(count: Int) {
    var bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    var seen: Set<UInt64> = [sum(bytes), sum(bytes + [0]), sum(bytes, seed: 1)]
    #expect(seen.count == 3)
    for bit in stride(from: 0, to: count * 8, by: count > 100 ? 61 : 1) {
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(seen.insert(sum(bytes)).inserted)
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
    }
  }

  @Test func `words that change places change the checksum`() {
    let bytes = (0..<128).map { UInt8($0) }
    for other in 1..<16 {
      var swapped = bytes
      for at in 0..<8 { swapped.swapAt(at, other * 8 + at) }
      #expect(sum(swapped) != sum(bytes))
    }
  }

  @Test(arguments: [0, 5, 262_144, 262_145, 600_000])
  func `a file that is cut, longer or changed has another checksum`(count: Int) throws {
    let path = ScratchFolder.current.appending("file")
    var bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    func written() throws -> UInt64 {
      try Files.writeFileAtomically(bytes, to: path)
      return try Checksum.of(file: path)
    }
    let first = try written()
    #expect(try written() == first)
    bytes.append(0)
    #expect(try written() != first)
    bytes.removeLast()
    guard count > 0 else { return }
    bytes[count - 1] ^= 0x80
    #expect(try written() != first)
    bytes.removeLast()
    #expect(try written() != first)
  }

  private func sum(_ bytes: [UInt8], seed: UInt64 = 0) -> UInt64 {
    bytes.withUnsafeBytes { Checksum.of($0, seed: seed) }
  }
}
