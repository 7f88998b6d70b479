import StoreFormat
import TestSupport
import Testing

struct DeflateTests {
  private func random(_ count: Int) -> [UInt8] {
    var random = SeededRandom(seed: 1)
    return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
  }

  @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 300_000])
  func `bytes come back`(count: Int) throws {
    for bytes in [random(count), [UInt8](repeating: 7, count: count)] {
      let packed = try Deflate.deflate(bytes)
      #expect(try Deflate.inflate(packed, limit: count) == bytes)
    }
  }

  @Test func `a stream that grows beyond its limit is refused`() throws {
    let bomb = try Deflate.deflate([UInt8](repeating: 0, count: 50_000_000))
    #expect(throws: Deflate.Problem.tooLarge(limit: 1000)) {
      try Deflate.inflate(bomb, limit: 1000)
    }
    let small = try Deflate.deflate([1, 2, 3])
    #expect(throws: Deflate.Problem.tooLarge(limit: 2)) { try Deflate.inflate(small, limit: 2) }
  }

  @Test func `a cut stream is truncated, noise is damaged`() throws {
    let packed = try Deflate.deflate(random(5_000))
    for count in [0, 1, 100, packed.count - 1] {
      #expect(throws: Deflate.Problem.truncated) {
        try Deflate.inflate(Array(packed.prefix(count)), limit: 1 << 20)
      }
    }
    #expect(throws: Deflate.Problem.damaged) {
      try Deflate.inflate([0xFF, 0xFF, 0xFF], limit: 1 << 20)
    }
  }

  @Test func `no damage traps`() throws {
    let packed = try Deflate.deflate(Array("a store's model, again and again".utf8) + random(500))
    var random = SeededRandom(seed: 2)
    var refused = 0
    for _ in 0..<500 {
      var damaged = packed
      damaged[Int.random(in: 0..<packed.count, using: &random)] ^=
        1 << UInt8.random(in: 0...7, using: &random)
      do {
        #expect(try Deflate.inflate(damaged, limit: 10_000).count <= 10_000)
      } catch {
        refused += 1
      }
    }
    #expect(refused > 3, "\(refused) refused")
  }
}
