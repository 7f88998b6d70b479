/// A set of keys that takes about one bit for each key where they lie close together, and two bytes
/// where they do not.
struct KeySet {
  /// The keys that agree in all but their last sixteen bits.
  private enum Chunk {
    case few([UInt16])
    case many([UInt64])

    private static let mostFew = 4096

    mutating func insert(_ low: UInt16) {
      switch self {
      case .few(var keys):
        self = .few([])
        if keys.last.map({ $0 < low }) ?? true {
          keys.append(low)
        } else {
          let place = Self.place(of: low, in: keys)
          if keys[place] != low { keys.insert(low, at: place) }
        }
        guard keys.count > Self.mostFew else {
          self = .few(keys)
          return
        }
        var bits = [UInt64](repeating: 0, count: 1024)
        for key in keys { bits[Int(key >> 6)] |= 1 << UInt64(key & 63) }
        self = .many(bits)
      case .many(var bits):
        self = .few([])
        bits[Int(low >> 6)] |= 1 << UInt64(low & 63)
        self = .many(bits)
      }
    }

    var count: Int {
      switch self {
      case .few(let keys): keys.count
      case .many(let bits): bits.reduce(0) { $0 + $1.nonzeroBitCount }
      }
    }

    /// Where the first key lies that is not lower.
    private static func place(of low: UInt16, in keys: [UInt16]) -> Int {
      var (first, end) = (0, keys.count)
      while first < end {
        let middle = (first + end) / 2
        if keys[middle] < low { first = middle + 1 } else { end = middle }
      }
      return first
    }

    func contains(_ low: UInt16) -> Bool {
      switch self {
      case .few(let keys):
        let place = Self.place(of: low, in: keys)
        return place < keys.count && keys[place] == low
      case .many(let bits): return bits[Int(low >> 6)] & (1 << UInt64(low & 63)) != 0
      }
    }

    /// Appends keys from one on, until there are enough.
    func append(from low: Int, high: Int64, to result: inout [Int64], most: Int) {
      switch self {
      case .few(let keys):
        let start = Self.place(of: UInt16(low), in: keys)
        for key in keys[start...].prefix(max(0, most - result.count)) {
          result.append(high << 16 | Int64(key))
        }
      case .many(let bits):
        var word = low >> 6
        var rest = bits[word] & (~0 << UInt64(low & 63))
        while result.count < most {
          if rest == 0 {
            word += 1
            guard word < bits.count else { return }
            rest = bits[word]
            continue
          }
          let bit = rest.trailingZeroBitCount
          rest &= rest - 1
          result.append(high << 16 | Int64(word << 6 | bit))
        }
      }
    }
  }

  private var highs: [Int64] = []
  private var chunks: [Chunk] = []
  private(set) var isEmpty = true

  /// Where the first chunk lies that is not lower.
  private func place(of high: Int64) -> Int {
    if let last = highs.last {
      if last < high { return highs.count }
      if last == high { return highs.count - 1 }
    }
    var (first, end) = (0, highs.count)
    while first < end {
      let middle = (first + end) / 2
      if highs[middle] < high { first = middle + 1 } else { end = middle }
    }
    return first
  }

  mutating func insert(_ key: Int64) {
    isEmpty = false
    let high = key >> 16
    let place = place(of: high)
    if place == highs.count || highs[place] != high {
      highs.insert(high, at: place)
      chunks.insert(.few([]), at: place)
    }
    chunks[place].insert(UInt16(truncatingIfNeeded: key))
  }

  func contains(_ key: Int64) -> Bool {
    let place = place(of: key >> 16)
    return place < highs.count && highs[place] == key >> 16
      && chunks[place].contains(UInt16(truncatingIfNeeded: key))
  }

  var count: Int64 { chunks.reduce(0) { $0 + Int64($1.count) } }

  /// Takes in all keys of another set.
  mutating func formUnion(_ other: KeySet) {
    if isEmpty {
      self = other
      return
    }
    var next: Int64? = .min
    while let first = next {
      let keys = other.keys(from: first, most: 4096)
      for key in keys { insert(key) }
      next = keys.last.flatMap { keys.count < 4096 || $0 == .max ? nil : $0 + 1 }
    }
  }

  /// So many keys from one on, in their order.
  func keys(from first: Int64, most: Int) -> [Int64] {
    var result: [Int64] = []
    var place = place(of: first >> 16)
    var low = place < highs.count && highs[place] == first >> 16 ? Int(first & 0xFFFF) : 0
    while place < highs.count, result.count < most {
      chunks[place].append(from: low, high: highs[place], to: &result, most: most)
      (place, low) = (place + 1, 0)
    }
    return result
  }
}
