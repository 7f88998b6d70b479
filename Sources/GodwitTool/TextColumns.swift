import Godwit

/// The columns that a text takes on a terminal, rather too many than too few.
///
/// Terminals differ in what they take emoji, ambiguous and joined characters for; a line that is
/// too short does no harm, and one that is too long would move all lines below it.
enum TextColumns {
  static func count(_ text: some StringProtocol) -> Int {
    text.reduce(0) { $0 + count($1) }
  }

  private static func count(_ character: Character) -> Int {
    character.unicodeScalars.reduce(0) { $0 + count($1) }
  }

  private static func count(_ scalar: Unicode.Scalar) -> Int {
    switch scalar.value {
    case ..<0x300: return 1
    // It makes the character before it wide.
    case 0xFE0F: return 1
    default: break
    }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: return 0
    default: break
    }
    switch scalar.value {
    // Alphabets, extended Latin and Greek, punctuation and currencies; all else may be wide.
    case ..<0x1100, 0x1E00...0x20CF: return 1
    default: return 2
    }
  }

  /// The beginning of a text, with `…` where it is cut.
  static func cut(_ text: String, to columns: Int) -> String {
    if count(text) <= columns { return text }
    guard columns > 0 else { return "" }
    return prefix(text, columns: columns - 1) + "…"
  }

  /// The end of a text, with `…` where it is cut.
  static func end(of text: String, in columns: Int) -> String {
    if count(text) <= columns { return text }
    guard columns > 0 else { return "" }
    var (kept, width): ([Character], Int) = ([], 1)
    for character in text.reversed() {
      width += count(character)
      if width > columns { break }
      kept.append(character)
    }
    return "…" + String(kept.reversed())
  }

  private static func prefix(_ text: String, columns: Int) -> String {
    var width = 0
    return String(
      text.prefix { character in
        width += count(character)
        return width <= columns
      })
  }
}

/// A line for a terminal, of parts in several colours.
struct ScreenLine: Hashable {
  /// The colours, by their numbers of ISO 6429.
  enum Color: Int {
    case red = 31
    case green, yellow
  }

  private var parts: [(text: String, color: Color?)]

  /// Takes a text of any origin, and shows what a terminal would obey as its number.
  init(_ text: String, _ color: Color? = nil) { parts = [(TerminalText.escaped(text), color)] }

  static func + (first: ScreenLine, second: ScreenLine) -> ScreenLine {
    var sum = first
    sum.parts += second.parts
    return sum
  }

  static func == (first: ScreenLine, second: ScreenLine) -> Bool {
    first.text(hasColor: true) == second.text(hasColor: true)
  }

  func hash(into hasher: inout Hasher) { hasher.combine(text(hasColor: true)) }

  /// The columns that it takes.
  var columns: Int { parts.reduce(0) { $0 + TextColumns.count($1.text) } }

  /// The line, cut where it would be wider.
  func fitted(to columns: Int) -> ScreenLine {
    var (line, left) = (self, columns)
    if self.columns <= columns { return self }
    line.parts = []
    for (text, color) in parts {
      let kept = TextColumns.cut(text, to: left)
      line.parts.append((kept, color))
      left -= TextColumns.count(kept)
      if kept != text || left <= 0 { break }
    }
    return line
  }

  /// A sentence of clauses, without those at its end that would be cut: half a number is another
  /// one.
  static func clauses(_ text: String, in columns: Int) -> ScreenLine {
    var shown = text[...]
    while TextColumns.count(shown) > columns {
      let end = shown.ranges(of: ", ").last ?? shown.ranges(of: " of ").last
      guard let end else { break }
      shown = shown[..<end.lowerBound]
    }
    return ScreenLine(String(shown))
  }

  /// The line as a terminal takes it.
  func text(hasColor: Bool) -> String {
    parts.map { text, color in
      guard hasColor, let color, !text.isEmpty else { return text }
      return "\u{1B}[\(color.rawValue)m\(text)\u{1B}[0m"
    }.joined()
  }
}
