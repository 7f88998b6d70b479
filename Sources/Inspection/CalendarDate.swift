/// A moment as a date of the Gregorian calendar in UTC, of the years 1 to 9999.
package struct CalendarDate {
  /// How many digits follow the second.
  package enum Precision {
    /// Three digits, none where all are 0.
    case milliseconds
    /// The fewest of 0, 3, 6 and 9 digits that give the same moment again, 9 where none do.
    case exact
  }

  private let (year, month, date): (Int64, Int64, Int64)
  private let second: Int64
  private let fraction: (units: Int64, digits: Int)

  /// From midnight of 2001-01-01 to that of 0001-01-01 and of 10000-01-01.
  private static let range = -63_113_904_000.0..<252_423_993_600.0

  /// Nil for what is not in the calendar, such as an infinite number.
  ///
  /// - Parameter seconds: since 2001-01-01 00:00:00 UTC.
  package init?(secondsSince2001 seconds: Double, precision: Precision = .milliseconds) {
    guard Self.range.contains(seconds) else { return nil }
    let whole = seconds.rounded(.down)
    var fraction = Self.fraction(of: seconds - whole, precision: precision) {
      whole + $0 == seconds
    }
    var rest = Int64(whole)
    if fraction.digits > 0, fraction.units == Self.powerOfTen(fraction.digits) {
      (fraction, rest) = ((0, 0), rest + 1)
    }
    let day = rest >= 0 ? rest / 86_400 : -((-rest + 86_399) / 86_400)
    second = rest - day * 86_400
    self.fraction = fraction
    // 2001-01-01 is day 730_791 since 0000-03-01.
    (year, month, date) = Self.date(day: day + 730_791)
    guard year <= 9999 else { return nil }
  }

  private static func powerOfTen(_ exponent: Int) -> Int64 {
    (0..<exponent).reduce(1) { power, _ in power * 10 }
  }

  private static func fraction(
    of rest: Double, precision: Precision, isSame: (Double) -> Bool
  ) -> (units: Int64, digits: Int) {
    if rest == 0 { return (0, 0) }
    guard precision == .exact else {
      let units = Int64((rest * 1000).rounded())
      return units == 0 ? (0, 0) : (units, 3)
    }
    for (digits, scale) in [(3, 1e3), (6, 1e6)] {
      let units = (rest * scale).rounded()
      if isSame(units / scale) { return (Int64(units), digits) }
    }
    return (Int64((rest * 1e9).rounded()), 9)
  }

  /// Such as `2001-01-01T00:00:00Z`.
  package var text: String {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends the text.
  package func append(to bytes: inout [UInt8]) {
    let parts: [(Int64, Int, Character)] = [
      (year, 4, "-"), (month, 2, "-"), (date, 2, "T"), (second / 3600, 2, ":"),
      (second / 60 % 60, 2, ":"),
    ]
    for (number, width, mark) in parts {
      Self.append(number, width: width, to: &bytes)
      bytes.append(mark.asciiValue ?? 0)
    }
    Self.append(second % 60, width: 2, to: &bytes)
    if fraction.digits > 0 {
      bytes.append(UInt8(ascii: "."))
      Self.append(fraction.units, width: fraction.digits, to: &bytes)
    }
    bytes.append(UInt8(ascii: "Z"))
  }

  /// The date of a day that is counted from 0000-03-01, so that leap days end a year.
  private static func date(day: Int64) -> (year: Int64, month: Int64, date: Int64) {
    let era = day / 146_097
    let ofEra = day % 146_097
    let year = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * year + year / 4 - year / 100)
    let month = (5 * ofYear + 2) / 153
    let date = ofYear - (153 * month + 2) / 5 + 1
    return (year + era * 400 + (month >= 10 ? 1 : 0), month < 10 ? month + 3 : month - 9, date)
  }

  private static func append(_ number: Int64, width: Int, to bytes: inout [UInt8]) {
    var scale = powerOfTen(width - 1)
    while scale > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(number / scale % 10))
      scale /= 10
    }
  }
}
