/// A count with its digits in groups of three, such as `1,234,567`.
///
/// For counts that people read: keys, values and everything in JSON have plain digits.
package struct GroupedText: CustomStringConvertible {
  private let digits: [Character]
  private let isNegative: Bool

  /// Takes any number.
  package init(_ number: some BinaryInteger) {
    (digits, isNegative) = (Array("\(number.magnitude)"), number < 0)
  }

  /// The number, with commas.
  package var description: String {
    var text = isNegative ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return text
  }
}

/// A number with what it counts, such as `1 row` or `2,000 rows`.
package struct CountText: CustomStringConvertible {
  private let count: Int64
  private let one: String
  private let many: String

  /// Takes the words for one and for any other number; without the latter it is the former and `s`.
  package init(_ count: some BinaryInteger, _ one: String, _ many: String? = nil) {
    (self.count, self.one, self.many) = (Int64(clamping: count), one, many ?? one + "s")
  }

  /// The number and its words.
  package var description: String { "\(GroupedText(count)) \(count == 1 ? one : many)" }
}

extension CountText {
  /// Changes of the history whose masks name more properties than are known, by entity, as a
  /// sentence without its end; nil where there are none.
  static func wideMasks(_ counts: [String: Int64]) -> String? {
    if counts.isEmpty { return nil }
    let all = CountText(
      counts.values.reduce(0, +), "change of the history names", "changes of the history name")
    let each = counts.sorted { $0.key < $1.key }.map { "\(GroupedText($0.value)) of \($0.key)" }
    return "\(all) more properties than are known to be updated: \(each.joined(separator: ", "))"
  }
}
