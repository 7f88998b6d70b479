import Foundation

/// Makes values, each as a function of the row and the column.
struct ValueMaker {
  /// A value, or where its bytes are.
  enum Value {
    case null
    case integer(Int64)
    case real(Double)
    /// In memory that stays valid as long as the pool.
    case pooledText(UnsafeRawBufferPointer)
    case pooledBlob(UnsafeRawBufferPointer)
    /// In `scratch`, until the next value is made.
    case text
    case blob
  }

  let pool: ValuePool
  /// The bytes of a value that is not part of the pool.
  private(set) var scratch: [UInt8] = []

  init(pool: ValuePool) { self.pool = pool }

  /// The value of a column in a row, whose own random number is `row`.
  mutating func value(
    column: AttributeColumn, row: UInt64, key: Int64, in plan: TablePlan
  ) -> Value {
    let chance = Mixing.mix(row, column.salt)
    if column.isOptional, chance % 8 == 0 { return .null }
    var draw = Draw(chance)
    switch column.form {
    case .empty: return .null
    case .integer(let range):
      return .integer(integer(range: range, digit: column.digit, key: key, draw: &draw))
    case .real(let range, let isSingle):
      return .real(
        real(range: range, isSingle: isSingle, digit: column.digit, key: key, draw: &draw))
    case .decimal(let range):
      // A division of two whole numbers gives the double next to the decimal, as its text would.
      return .real(Double(integer(range: range, digit: column.digit, key: key, draw: &draw)) / 100)
    case .date(let range):
      return .real(date(range: range, digit: column.digit, key: key, draw: &draw))
    case .text(let range): return text(range: range, digit: column.digit, key: key, draw: &draw)
    case .constant(let bytes):
      scratch = bytes
      return .text
    case .uuid:
      scratch.removeAll(keepingCapacity: true)
      appendUUID(digit: column.digit?.value(ofKey: key), draw: &draw)
      return .blob
    case .uri: return uri(digit: column.digit, key: key, draw: &draw)
    case .blob(let isTagged):
      return blob(isTagged: isTagged, digit: column.digit, key: key, draw: &draw)
    case .now: return .real(Self.now)
    case .canonical(let place):
      return canonical(plan.attributes[place], row: row, key: key, in: plan)
    }
  }

  /// The value of every derived `now()`, fixed so that one seed always gives the same store.
  private static let now = 788_918_400.0

  // MARK: Numbers

  private func integer(
    range: ClosedRange<Int64>, digit: KeyDigit?, key: Int64, draw: inout Draw
  ) -> Int64 {
    let (lower, upper) = (range.lowerBound, range.upperBound)
    let span = UInt64(bitPattern: upper &- lower)
    if let digit {
      let startsAtZero = range.contains(0) && UInt64(upper) >= digit.modulus - 1
      return (startsAtZero ? 0 : lower) &+ Int64(bitPattern: digit.value(ofKey: key))
    }
    if span < 20_000 { return lower &+ Int64(draw.below(limit: span + 1)) }
    switch draw.below(limit: UInt64(16)) {
    case 0:
      let extreme = [lower, upper, 0, 1, -1][draw.below(limit: 5)]
      return range.contains(extreme) ? extreme : upper
    case 1...8:
      let small = Int64(draw.below(limit: UInt64(10_000)))
      return range.contains(small) ? small : lower &+ small
    default:
      let bits = draw.next()
      return lower &+ Int64(bitPattern: span == .max ? bits : bits % (span + 1))
    }
  }

  private func real(
    range: ClosedRange<Double>?, isSingle: Bool, digit: KeyDigit?, key: Int64,
    draw: inout Draw
  ) -> Double {
    guard let range else {
      if let digit { return Double(digit.value(ofKey: key)) }
      guard draw.below(limit: UInt64(16)) == 0 else {
        return Double(Int64(draw.below(limit: UInt64(2_000_001))) - 1_000_000) / 64
      }
      let greatest =
        isSingle
        ? Double(Float.greatestFiniteMagnitude) : Double.greatestFiniteMagnitude
      let least =
        isSingle ? Double(Float.leastNormalMagnitude) : Double.leastNormalMagnitude
      return [0, 1, greatest, -greatest, least][draw.below(limit: 5)]
    }
    let value = position(in: range, digit: digit, key: key, draw: &draw)
    let single = Double(Float(value))
    return isSingle && range.contains(single) ? single : value
  }

  private func date(
    range: ClosedRange<Double>, digit: KeyDigit?, key: Int64, draw: inout Draw
  ) -> Double {
    let value = position(in: range, digit: digit, key: key, draw: &draw)
    guard digit == nil else { return value }
    let rounded = (value * 1024).rounded() / 1024
    return range.contains(rounded) ? rounded : value
  }

  private func position(
    in range: ClosedRange<Double>, digit: KeyDigit?, key: Int64, draw: inout Draw
  ) -> Double {
    let fraction =
      digit.map { (Double($0.value(ofKey: key)) + 0.5) / Double($0.modulus) } ?? draw.fraction()
    let value = range.lowerBound * (1 - fraction) + range.upperBound * fraction
    return min(max(value, range.lowerBound), range.upperBound)
  }

  // MARK: Text

  private mutating func text(
    range: ClosedRange<Int>, digit: KeyDigit?, key: Int64, draw: inout Draw
  ) -> Value {
    let upper = min(range.upperBound, max(range.lowerBound, ValueForm.Size.text))
    var units = range.lowerBound + draw.below(limit: upper - range.lowerBound + 1)
    if draw.below(limit: 100) == 0, range.upperBound >= ValueForm.Size.longText {
      let long =
        ValueForm.Size.longText + Int(draw.below(limit: ValueForm.Size.longTextSpread))
      units = max(range.lowerBound, min(range.upperBound, long))
    }
    let prefix = digit?.width ?? 0
    let piece = pool.text(units: max(0, units - prefix), draw: &draw)
    if prefix == 0, piece.units >= range.lowerBound { return .pooledText(piece.bytes) }
    scratch.removeAll(keepingCapacity: true)
    if let digit { append(digit.value(ofKey: key), width: digit.width) }
    scratch.append(contentsOf: piece.bytes)
    let missing = range.lowerBound - prefix - piece.units
    if missing > 0 { scratch.append(contentsOf: repeatElement(UInt8(ascii: "."), count: missing)) }
    return .text
  }

  private mutating func uri(digit: KeyDigit?, key: Int64, draw: inout Draw) -> Value {
    scratch.removeAll(keepingCapacity: true)
    scratch.append(contentsOf: Self.uriStart)
    if let digit { append(digit.value(ofKey: key), width: digit.width) }
    append(draw.next(), width: 6)
    scratch.append(contentsOf: Self.uriEnds[draw.below(limit: Self.uriEnds.count)])
    return .text
  }

  private static let uriStart = Array("https://example.com/".utf8)
  private static let uriEnds = ["", "/", "/a%20space", "?q=%C3%A9&n=1", "#part"].map {
    Array($0.utf8)
  }

  /// Appends the last `width` digits of a number in base 36.
  private mutating func append(_ number: UInt64, width: Int) {
    let start = scratch.count
    for _ in 0..<width { scratch.append(UInt8(ascii: "0")) }
    var rest = number
    for place in Swift.stride(from: start + width - 1, through: start, by: -1) {
      let digit = UInt8(rest % 36)
      scratch[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
      rest /= 36
    }
  }

  /// The text of another column without case and accents, like Core Data's `canonical:`.
  private mutating func canonical(
    _ source: AttributeColumn?, row: UInt64, key: Int64, in plan: TablePlan
  ) -> Value {
    guard let source else { return .null }
    let text: String
    switch value(column: source, row: row, key: key, in: plan) {
    case .pooledText(let bytes): text = String(decoding: bytes, as: UTF8.self)
    case .text: text = String(decoding: scratch, as: UTF8.self)
    default: return .null
    }
    let folded = text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
    scratch = Array(folded.utf8)
    return .text
  }

  // MARK: Bytes

  private mutating func blob(
    isTagged: Bool, digit: KeyDigit?, key: Int64, draw: inout Draw
  ) -> Value {
    var size = draw.below(limit: ValueForm.Size.blob + 1)
    if draw.below(limit: 33) == 0 {
      // The third power: most long values are among the shorter ones.
      let part = draw.fraction()
      size =
        ValueForm.Size.longBlob
        + Int(part * part * part * Double(ValueForm.Size.longBlobSpread))
    }
    let bytes = pool.bytes(count: size, draw: &draw)
    if !isTagged, digit == nil { return .pooledBlob(bytes) }
    scratch.removeAll(keepingCapacity: true)
    if isTagged { scratch.append(ExternalSizes.inlineTag) }
    if let digit { append(bigEndian: digit.value(ofKey: key)) }
    scratch.append(contentsOf: bytes)
    return .blob
  }

  /// Appends the 16 bytes of a random UUID, version 4.
  private mutating func appendUUID(digit: UInt64?, draw: inout Draw) {
    let (high, low) = UUIDBits.random(&draw, digit: digit)
    append(bigEndian: high)
    append(bigEndian: low)
  }

  private mutating func append(bigEndian number: UInt64) {
    for shift in Swift.stride(from: UInt64(56), through: 0, by: -8) {
      scratch.append(UInt8(truncatingIfNeeded: number >> shift))
    }
  }

  // MARK: External storage

  /// A value that refers to a file, and the contents of that file.
  mutating func external(
    column: AttributeColumn, row: UInt64
  ) -> (name: String, content: UnsafeRawBufferPointer) {
    var draw = Draw(Mixing.mix(row, column.salt))
    let name = UUIDBits.text(bits: UUIDBits.random(&draw, digit: nil))
    let size = ExternalSizes.leastSize + draw.below(limit: ExternalSizes.sizeSpread)
    scratch.removeAll(keepingCapacity: true)
    scratch.append(ExternalSizes.fileTag)
    scratch.append(contentsOf: name.utf8)
    scratch.append(0)
    return (name, pool.bytes(count: size, draw: &draw))
  }
}

/// The two halves of a UUID.
enum UUIDBits {
  static func random(_ draw: inout Draw, digit: UInt64?) -> (high: UInt64, low: UInt64) {
    let (high, low) = (draw.next(), digit ?? draw.next())
    return (high & ~0xF000 | 0x4000, low & (.max >> 2) | 1 << 63)
  }

  /// The usual text, in upper case.
  static func text(bits: (high: UInt64, low: UInt64)) -> String {
    let digits = Array("0123456789ABCDEF")
    var result = ""
    for (half, dashes) in [(bits.high, [8, 12]), (bits.low, [0, 4])] {
      for place in 0..<16 {
        if dashes.contains(place) { result.append("-") }
        result.append(digits[Int(half >> UInt64(60 - 4 * place) & 15)])
      }
    }
    return result
  }
}
