/// A shuffled order of the numbers below `count`, computed in both directions instead of stored.
///
/// Multiplying by an uneven number, adding, and folding the upper half onto the lower one can each
/// be reversed on numbers of a fixed width. Values from `count` on are mapped again until one is
/// below: still one to one, and on average in fewer than two steps, since the width is the smallest
/// for `count`.
struct Permutation: Sendable {
  let count: Int64
  private let mask: UInt64
  private let shift: UInt64
  private let addend: UInt64
  private let multipliers: (UInt64, UInt64)
  private let inverses: (UInt64, UInt64)

  init(count: Int64, salt: UInt64) {
    self.count = count
    let width = max(2, 64 - max(0, count - 1).leadingZeroBitCount)
    mask = UInt64.max >> UInt64(64 - width)
    shift = UInt64((width + 1) / 2)
    var draw = Draw(salt)
    addend = draw.next()
    multipliers = (draw.next() | 1, draw.next() | 1)
    inverses = (Self.inverse(multipliers.0), Self.inverse(multipliers.1))
  }

  /// The number at a position of the shuffled order.
  func image(place: Int64) -> Int64 {
    var bits = UInt64(bitPattern: place)
    repeat {
      bits = (bits &* multipliers.0 &+ addend) & mask
      bits ^= bits >> shift
      bits = (bits &* multipliers.1) & mask
      bits ^= bits >> shift
    } while bits >= UInt64(bitPattern: count)
    return Int64(bitPattern: bits)
  }

  /// The position of a number in the shuffled order.
  func preimage(_ number: Int64) -> Int64 {
    var bits = UInt64(bitPattern: number)
    repeat {
      bits ^= bits >> shift
      bits = (bits &* inverses.1) & mask
      bits ^= bits >> shift
      bits = ((bits &- addend) &* inverses.0) & mask
    } while bits >= UInt64(bitPattern: count)
    return Int64(bitPattern: bits)
  }

  /// The inverse of an uneven number modulo 2⁶⁴ (Newton's iteration).
  private static func inverse(_ odd: UInt64) -> UInt64 {
    var result = odd  // correct in three bits; each step doubles them
    for _ in 0..<5 { result = result &* (2 &- odd &* result) }
    return result
  }
}
