import Expressions
import ObjectModel

/// The form of an attribute's values.
enum ValueForm: Sendable {
  /// Always NULL.
  case empty
  case integer(ClosedRange<Int64>)
  /// Without a range, numbers of all magnitudes; `isSingle` restricts them to those of `Float`.
  case real(ClosedRange<Double>?, isSingle: Bool)
  /// In hundredths.
  case decimal(ClosedRange<Int64>)
  case date(ClosedRange<Double>)
  /// The length in UTF-16 code units, which Core Data counts.
  case text(ClosedRange<Int>)
  case constant([UInt8])
  case uuid
  case uri
  /// `isTagged` if the attribute allows external storage.
  case blob(isTagged: Bool)
  case now
  /// The canonical form of another attribute's text; the index of its column in the table.
  case canonical(of: Int)
}

extension ValueForm {
  /// Lengths of ordinary and of long values; the latter fill overflow pages.
  enum Size {
    static let text = 80
    static let longText = 5_000
    static let longTextSpread: UInt64 = 7_000
    static let blob = 300
    static let longBlob = 5_000
    static let longBlobSpread: UInt64 = 35_000
    /// The longest text that a minimum length enforces.
    static let forcedText: Int64 = 100_000
  }

  private static let dates = -1.0e9...1.0e9
  /// Fifteen digits, as many as a REAL keeps of every decimal number.
  private static let hundredths: ClosedRange<Int64> = -999_999_999_999_999...999_999_999_999_999

  /// The form for a stored attribute that is not derived.
  init(_ attribute: Attribute) {
    let limits = attribute.limits
    let (least, greatest) = (limits.minimum?.number, limits.maximum?.number)
    switch attribute.type {
    case .integer16, .integer32, .integer64, .boolean:
      self = .integer(Self.integers(attribute: attribute))
    case .double, .float:
      self = .real(
        Self.range(least: least, greatest: greatest, span: 1_000_000),
        isSingle: attribute.type == .float)
    case .decimal: self = .decimal(Self.hundredths(least, greatest: greatest))
    case .date:
      self = .date(Self.range(least: least, greatest: greatest, span: 1.0e9) ?? Self.dates)
    case .string: self = Self.text(attribute: attribute)
    case .uuid: self = .uuid
    case .uri: self = .uri
    case .binary, .transformable: self = .blob(isTagged: attribute.storesBinaryDataExternally)
    case .undefined, .objectID, .composite:
      preconditionFailure("a schema has no such attribute")
    }
  }

  private static func integers(attribute: Attribute) -> ClosedRange<Int64> {
    guard let range = attribute.type.integerRange else {
      preconditionFailure("asked for types of whole numbers only")
    }
    let lower = max(
      range.lowerBound, attribute.limits.minimum?.integer(rule: .up) ?? range.lowerBound)
    let upper = min(
      range.upperBound, attribute.limits.maximum?.integer(rule: .down) ?? range.upperBound)
    return lower <= upper ? lower...upper : range
  }

  private static func range(
    least: Double?, greatest: Double?, span: Double
  ) -> ClosedRange<Double>? {
    if least == nil, greatest == nil { return nil }
    let lower = least ?? (greatest ?? 0) - span
    let upper = greatest ?? lower + span
    return lower <= upper ? lower...upper : nil
  }

  private static func hundredths(_ least: Double?, greatest: Double?) -> ClosedRange<Int64> {
    let whole = Self.hundredths
    let lower = least.flatMap { Int64(exactly: ($0 * 100).rounded(.up)) } ?? whole.lowerBound
    let upper = greatest.flatMap { Int64(exactly: ($0 * 100).rounded(.down)) } ?? whole.upperBound
    let clamped = (max(lower, whole.lowerBound), min(upper, whole.upperBound))
    return clamped.0 <= clamped.1 ? clamped.0...clamped.1 : whole
  }

  private static func text(attribute: Attribute) -> ValueForm {
    let limits = attribute.limits
    if limits.pattern != nil, case .string(let text) = attribute.defaultValue {
      return .constant(Array(text.utf8))
    }
    let least = Int(min(max(0, limits.minimumLength ?? 0), Size.forcedText))
    let greatest = limits.maximumLength.map { Int(clamping: max(0, $0)) } ?? .max
    return .text(least...max(least, greatest))
  }

  /// How many different values a number can be encoded in.
  var capacity: UInt64 {
    switch self {
    case .empty, .constant, .now, .canonical: 1
    case .integer(let range), .decimal(let range):
      UInt64(bitPattern: range.upperBound &- range.lowerBound) | 1 == .max
        ? .max : UInt64(bitPattern: range.upperBound &- range.lowerBound) + 1
    case .real(nil, let isSingle): isSingle ? 1 << 23 : 1 << 40
    case .real(let range?, let isSingle): Self.steps(range, isSingle: isSingle)
    case .date(let range): Self.steps(range, isSingle: false)
    case .text(let range): Self.words(length: range.upperBound)
    case .uuid, .uri, .blob: 1 << 60
    }
  }

  /// Half of the numbers that floating point distinguishes near the larger end of a range.
  private static func steps(_ range: ClosedRange<Double>, isSingle: Bool) -> UInt64 {
    let largest = max(abs(range.lowerBound), abs(range.upperBound))
    let unit = isSingle ? Double(Float(largest).ulp) : largest.ulp
    let steps = (range.upperBound - range.lowerBound) / unit / 2
    return steps >= 1 ? UInt64(min(steps, Double(1 << 40))) : 1
  }

  /// How many words of letters and digits have at most this length.
  private static func words(length: Int) -> UInt64 {
    (0..<min(length, 11)).reduce(1) { count, _ in count * 36 }
  }
}

extension AttributeValue {
  /// The value as a finite number, nil if it is not one.
  fileprivate var number: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .real(let number), .date(let number): number.isFinite ? number : nil
    case .decimal(let digits), .string(let digits):
      Double(digits).flatMap { $0.isFinite ? $0 : nil }
    case .boolean(let flag): flag ? 1 : 0
    case .null, .data, .uuid, .uri: nil
    }
  }

  /// The value rounded to a whole number, nil if it is not a number or beyond 64 bits.
  fileprivate func integer(rule: FloatingPointRoundingRule) -> Int64? {
    if case .integer(let number) = self { return number }
    return number.flatMap { Int64(exactly: $0.rounded(rule)) }
  }
}

/// A digit of the primary key in a mixed radix, which makes a value unique.
struct KeyDigit: Hashable, Sendable {
  let divisor: UInt64
  let modulus: UInt64
  /// How many letters and digits are needed for all its values.
  let width: Int

  init(divisor: UInt64, modulus: UInt64) {
    self.divisor = divisor
    self.modulus = modulus
    var (width, rest) = (1, (modulus - 1) / 36)
    while rest > 0 { (width, rest) = (width + 1, rest / 36) }
    self.width = width
  }

  func value(ofKey key: Int64) -> UInt64 { UInt64(key - 1) / divisor % modulus }
}

/// How the values of one column are made.
struct AttributeColumn: Sendable {
  var form: ValueForm
  var isOptional: Bool
  var salt: UInt64
  var digit: KeyDigit?
}
