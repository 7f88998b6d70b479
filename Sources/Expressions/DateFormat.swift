/// A form of dates in texts, in those letters of Unicode's date patterns that need no locale (UTS
/// #35, "Date Format Patterns").
///
/// Reading is strict: a text is of the form to its last character, and names a day and a time that
/// exist in the Gregorian calendar. It is in UTC unless the form has a zone.
package struct DateFormat {
  private enum Part: Equatable {
    case literal(Character)
    /// So many digits at least and at most.
    case number(Field, ClosedRange<Int>)
    case monthName(isWhole: Bool)
    case halfDay
    /// A zone such as `+0200`, or `+02:00`; `Z` stands for UTC where that is allowed.
    case zone(hasColon: Bool, takesZ: Bool)
  }

  private enum Field: Hashable { case year, month, day, hour, halfHour, minute, second, fraction }

  private let text: String
  private var parts: [Part] = []

  /// Reads a format.
  ///
  /// - Throws: `EvaluationError` for letters that are not known, and where no day is named.
  package init(_ text: String) throws(EvaluationError) {
    self.text = text
    var rest = Substring(text)
    while let letter = rest.first {
      if letter == "'" {
        parts += try Self.literal(&rest, of: text).map { .literal($0) }
        continue
      }
      let run = rest.prefix { $0 == letter }
      guard letter.isASCII, letter.isLetter else {
        parts += run.map { .literal($0) }
        rest = rest.dropFirst(run.count)
        continue
      }
      guard let part = Self.part(letter: letter, count: run.count) else {
        throw EvaluationError(.badDateFormat(text, why: "\(run) is not known"))
      }
      parts.append(part)
      rest = rest.dropFirst(run.count)
    }
    try check()
  }

  /// The characters between quotation marks; two of them are one, within and without.
  private static func literal(
    _ rest: inout Substring, of text: String
  ) throws(EvaluationError) -> String {
    rest.removeFirst()
    if rest.first == "'" {
      rest.removeFirst()
      return "'"
    }
    var result = ""
    while let next = rest.popFirst() {
      guard next == "'" else {
        result.append(next)
        continue
      }
      guard rest.first == "'" else { return result }
      result.append("'")
      rest.removeFirst()
    }
    throw EvaluationError(.badDateFormat(text, why: "a quote is not closed"))
  }

  private static func part(letter: Character, count: Int) -> Part? {
    switch (letter, count) {
    // Two digits would leave the century open.
    case ("y", 1), ("y", 4): .number(.year, 4...4)
    case ("M", 3), ("M", 4): .monthName(isWhole: count == 4)
    case ("a", 1): .halfDay
    case ("S", 1...9): .number(.fraction, count...count)
    case ("Z", 1...3): .zone(hasColon: false, takesZ: false)
    case ("Z", 5), ("X", 3): .zone(hasColon: true, takesZ: true)
    case ("X", 2): .zone(hasColon: false, takesZ: true)
    case ("x", 2): .zone(hasColon: false, takesZ: false)
    case ("x", 3): .zone(hasColon: true, takesZ: false)
    default:
      fields[letter].flatMap { field in
        (1...2).contains(count) ? .number(field, count...2) : nil
      }
    }
  }

  private static let fields: [Character: Field] = [
    "M": .month, "d": .day, "H": .hour, "h": .halfHour, "m": .minute, "s": .second,
  ]

  /// Checks that the parts name one moment: each once, a day, and nothing that only counts within
  /// what is missing.
  private func check() throws(EvaluationError) {
    func has(_ field: Field) -> Bool {
      parts.contains { if case .number(field, _) = $0 { true } else { false } }
    }
    func require(_ holds: Bool, _ why: String) throws(EvaluationError) {
      if !holds { throw EvaluationError(.badDateFormat(text, why: why)) }
    }
    let months = parts.count { if case .monthName = $0 { true } else { false } }
    try require(has(.year), "y is missing")
    try require(has(.month) || months > 0, "M is missing")
    try require(has(.day), "d is missing")
    try require(!has(.minute) || has(.hour) || has(.halfHour), "m needs H")
    try require(!has(.second) || has(.minute), "s needs m")
    try require(!has(.fraction) || has(.second), "S needs s")
    try require(has(.halfHour) == parts.contains(.halfDay), "h and a need each other")
    var seen: Set<Field> = []
    var zones = 0
    for part in parts {
      switch part {
      case .number(let field, _): try require(seen.insert(field).inserted, "a part occurs twice")
      case .zone: zones += 1
      default: break
      }
    }
    try require(zones <= 1 && months + (has(.month) ? 1 : 0) == 1, "a part occurs twice")
    try require(!(has(.hour) && has(.halfHour)), "H and h exclude each other")
  }

  /// The moment that a text names, in seconds since 2001-01-01 00:00 UTC.
  ///
  /// - Throws: `EvaluationError` for a text that is not of the form, or that names no moment.
  package func seconds(of date: String) throws -> Double {
    guard let result = read(date) else {
      throw EvaluationError(
        .unreadableDate(AttributeValue.string(date).shown, format: text))
    }
    return result
  }

  private func read(_ date: String) -> Double? {
    var rest = Substring(date)
    var numbers: [Field: Int] = [:]
    var fraction = 0.0
    var isAfternoon = false
    var offset = 0
    for part in parts {
      switch part {
      case .literal(let character):
        guard rest.popFirst() == character else { return nil }
      case .number(let field, let width):
        let digits = rest.prefix(width.upperBound).prefix { $0.isASCII && $0.isNumber }
        guard width.contains(digits.count), let number = Int(digits) else { return nil }
        rest = rest.dropFirst(digits.count)
        numbers[field] = number
        if field == .fraction { fraction = Double("0.\(digits)") ?? 0 }
      case .monthName(let isWhole):
        guard let found = Self.month(&rest, isWhole: isWhole) else { return nil }
        numbers[.month] = found
      case .halfDay:
        let word = rest.prefix(2)
        guard ["AM", "PM", "am", "pm"].contains(word) else { return nil }
        isAfternoon = word.lowercased() == "pm"
        rest = rest.dropFirst(2)
      case .zone(let hasColon, let takesZ):
        guard let found = Self.zone(&rest, hasColon: hasColon, takesZ: takesZ) else { return nil }
        offset = found
      }
    }
    guard rest.isEmpty else { return nil }
    if let hour = numbers[.halfHour] {
      guard (1...12).contains(hour) else { return nil }
      numbers[.hour] = hour % 12 + (isAfternoon ? 12 : 0)
    }
    return Self.seconds(numbers).map { $0 + fraction - Double(offset) }
  }

  private static func month(_ rest: inout Substring, isWhole: Bool) -> Int? {
    for (place, name) in months.enumerated() {
      let name = isWhole ? name : String(name.prefix(3))
      guard rest.lowercased().hasPrefix(name.lowercased()) else { continue }
      rest = rest.dropFirst(name.count)
      return place + 1
    }
    return nil
  }

  private static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
  ]

  /// The seconds by which a zone is ahead of UTC.
  private static func zone(_ rest: inout Substring, hasColon: Bool, takesZ: Bool) -> Int? {
    guard let sign = rest.popFirst() else { return nil }
    if sign == "Z" { return takesZ ? 0 : nil }
    guard sign == "+" || sign == "-" else { return nil }
    func pair() -> Int? {
      let digits = rest.prefix(2)
      guard digits.count == 2, digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
      rest = rest.dropFirst(2)
      return Int(digits)
    }
    guard let hours = pair(), !hasColon || rest.popFirst() == ":", let minutes = pair(),
      hours < 24, minutes < 60
    else { return nil }
    return (hours * 3600 + minutes * 60) * (sign == "-" ? -1 : 1)
  }

  private static func seconds(_ numbers: [Field: Int]) -> Double? {
    guard let year = numbers[.year], let month = numbers[.month], let day = numbers[.day],
      (1...12).contains(month), year >= 1, (1...length(of: month, in: year)).contains(day)
    else { return nil }
    let (hour, minute) = (numbers[.hour] ?? 0, numbers[.minute] ?? 0)
    let second = numbers[.second] ?? 0
    guard hour < 24, minute < 60, second < 60 else { return nil }
    let days = days(year: year, month: month, day: day) - days(year: 2001, month: 1, day: 1)
    return Double(days * 86_400 + hour * 3600 + minute * 60 + second)
  }

  private static func length(of month: Int, in year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days since 1 March of the year 0 of the Gregorian calendar, whose years end with the leap day.
  private static func days(year: Int, month: Int, day: Int) -> Int {
    let year = month > 2 ? year : year - 1
    let months = (month + 9) % 12
    return year * 365 + year / 4 - year / 100 + year / 400 + (months * 306 + 5) / 10 + day - 1
  }
}
