/// Pseudo-random numbers as a function of their purpose, so that they do not depend on the order of
/// work.
///
/// The function is the output function of SplitMix64, in which every bit depends on all bits of the
/// input.
enum Mixing {
  static let increment: UInt64 = 0x9E37_79B9_7F4A_7C15

  static func mix(_ first: UInt64, _ second: UInt64) -> UInt64 {
    stir(first &+ (second &+ 1) &* increment)
  }

  static func stir(_ value: UInt64) -> UInt64 {
    var bits = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }

  /// A number for names, the same in every process, unlike a hash of `Hasher`.
  static func salt(_ seed: UInt64, parts: String...) -> UInt64 {
    var result = seed
    for part in parts {
      for byte in part.utf8 { result = mix(result, UInt64(byte)) }
      result = mix(result, 0x100)
    }
    return result
  }
}

/// A sequence of pseudo-random numbers that its start determines (SplitMix64).
struct Draw {
  private var state: UInt64

  init(_ start: UInt64) { state = start }

  mutating func next() -> UInt64 {
    state &+= Mixing.increment
    return Mixing.stir(state)
  }

  /// A number below `limit`, which is not 0.
  mutating func below(limit: UInt64) -> UInt64 { next() % limit }

  mutating func below(limit: Int) -> Int { Int(next() % UInt64(limit)) }

  /// A number from 0 to 1.
  mutating func fraction() -> Double { Double(next() >> 11) / Double((1 << 53) - 1) }
}
