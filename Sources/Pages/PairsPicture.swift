/// What two lists have in common, as two columns of boxes with lines between those that belong
/// together.
///
/// Its width is that of the page, and its texts keep their size.
package struct PairsPicture: Sendable {
  /// What became of an entry.
  package enum Fate: String, Hashable, Sendable, CaseIterable {
    case same, changed, renamed, new, lost
  }

  /// An entry of one list or both.
  package struct Pair: Hashable, Sendable {
    /// The name in the first list, nil if it has none.
    package var old: String?
    /// The name in the second list, nil if it has none.
    package var new: String?
    /// What became of it.
    package var fate: Fate
    /// What is known of it, in a few words.
    package var note: String

    /// Takes at least one name.
    package init(old: String?, new: String?, fate: Fate, note: String = "") {
      (self.old, self.new, self.fate, self.note) = (old, new, fate, note)
    }
  }

  private let (first, second): (String, String)
  private let pairs: [Pair]

  /// Takes the headings of two lists, and their entries from top to bottom.
  package init(_ first: String, _ second: String, _ pairs: [Pair]) {
    (self.first, self.second, self.pairs) = (first, second, pairs)
  }

  private struct Values {
    struct Row {
      let fate: String
      let y, middle, textY: Length
      let old, new: Markup?
      let isPair: Bool
      let note, title: Markup
    }
    let height: Length
    let first, second: Markup
    let rows: [Row]
  }

  private static let (top, rowHeight) = (26.0, 40.0)

  /// The picture as an element of SVG.
  package var svg: Markup {
    let rows = zip(0..., pairs).map { index, pair in
      let y = Self.top + Double(index) * Self.rowHeight
      let names = [pair.old, pair.new].compactMap(\.self)
      let words = [pair.fate.rawValue, pair.note].filter { !$0.isEmpty }.joined(separator: ": ")
      return Values.Row(
        fate: pair.fate.rawValue, y: .pixels(y), middle: .pixels(y + 16),
        textY: .pixels(pair.note.isEmpty ? 20 : 14), old: pair.old.map { Markup($0) },
        new: pair.new.map { Markup($0) },
        isPair: pair.old != nil && pair.new != nil, note: Markup(pair.note),
        title: Markup("\(names.joined(separator: " → ")), \(words)"))
    }
    return Templates.render(
      .pairs,
      Values(
        height: .pixels(Self.top + Double(pairs.count) * Self.rowHeight), first: Markup(first),
        second: Markup(second), rows: rows))
  }
}
