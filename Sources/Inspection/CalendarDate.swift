/// A moment as a date of the Gregorian calendar in UTC, of the years 1 to 9999.
struct CalendarDate {
  /// Such as `2001-01-01T00:00:00Z`, with milliseconds where there are any.
  let text: String

  /// From midnight of 2001-01-01 to that of 0001-01-01 and of 10000-01-01.
  private static let range = -63_113_904_000.0..<252_423_993_600.0

  /// Nil for what is not in the calendar, such as an infinite number.
  ///
  /// - Parameter seconds: since 2001-01-01 00:00:00 UTC.
  init?(secondsSince2001 seconds: Double) {
    guard Self.range.contains(seconds) else { return nil }
    let whole = seconds.rounded(.down)
    var milliseconds = Int(((seconds - whole) * 1000).rounded())
    var rest = Int64(whole)
    if milliseconds == 1000 { (milliseconds, rest) = (0, rest + 1) }
    let day = rest >= 0 ? rest / 86_400 : -((-rest + 86_399) / 86_400)
    let second = rest - day * 86_400
    // 2001-01-01 is day 730_791 since 0000-03-01.
    let (year, month, date) = Self.date(day: day + 730_791)
    guard year <= 9999 else { return nil }
    let time = [second / 3600, second / 60 % 60, second % 60].map { Self.padded($0, 2) }
    let fraction = milliseconds == 0 ? "" : "." + Self.padded(Int64(milliseconds), 3)
    text =
      "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(date, 2))T"
      + "\(time.joined(separator: ":"))\(fraction)Z"
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

  private static func padded(_ number: Int64, _ width: Int) -> String {
    let digits = "\(number)"
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
