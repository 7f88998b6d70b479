/// Reads the texts of predicates, and takes those apart only once that differ in their last value
/// alone, such as `code == 17` and `code == 18`.
package final class PredicateReader {
  /// What all texts of one shape are read as, whatever their last value; nil where each has to be
  /// taken apart.
  private var shapes: [String: ValuePredicate?] = [:]
  private static let maximumShapes = 100
  private static let maximumLength = 1000

  /// Makes a reader that has read nothing.
  package init() {}

  /// The predicate of a text.
  ///
  /// - Throws: `FormatError` with the place.
  package func predicate(format text: String) throws(FormatError) -> ValuePredicate {
    guard let (shape, value) = LastValue.split(text), shape.utf8.count <= Self.maximumLength,
      let known = predicate(shape: shape), let result = known.replacingLast(with: value)
    else { return try ValuePredicate(format: text) }
    return result
  }

  private func predicate(shape: String) -> ValuePredicate? {
    if let known = shapes[shape] { return known }
    if shapes.count >= Self.maximumShapes { shapes = [:] }
    let made = Self.read(shape: shape)
    shapes[shape] = .some(made)
    return made
  }

  /// Reads the shape with two values, which have to be found where the last one stands.
  private static func read(shape: String) -> ValuePredicate? {
    let quote = shape.hasSuffix("\"") || shape.hasSuffix("'") ? String(shape.suffix(1)) : ""
    let read = ["5", "7"].compactMap {
      digit -> (predicate: ValuePredicate, value: AttributeValue)? in
      guard let predicate = try? ValuePredicate(format: shape + digit + quote),
        let (_, value) = LastValue.split(shape + digit + quote)
      else { return nil }
      return (predicate, value)
    }
    guard read.count == 2, read[0].predicate != read[1].predicate,
      read[0].predicate.replacingLast(with: read[1].value) == read[1].predicate,
      read[1].predicate.replacingLast(with: read[0].value) == read[0].predicate
    else { return nil }
    return read[0].predicate
  }
}

extension ValuePredicate {
  /// The predicate with another value on the right side of its last comparison; nil where there is
  /// no value.
  fileprivate func replacingLast(with value: AttributeValue) -> ValuePredicate? {
    switch self {
    case .comparison(let left, let comparison, .constant, let modifier, let noCase, let noMarks):
      return .comparison(
        left, comparison, .constant(value), modifier: modifier, caseInsensitive: noCase,
        diacriticInsensitive: noMarks)
    case .and(var parts):
      guard let last = parts.popLast()?.replacingLast(with: value) else { return nil }
      return .and(parts + [last])
    case .or(var parts):
      guard let last = parts.popLast()?.replacingLast(with: value) else { return nil }
      return .or(parts + [last])
    default: return nil
    }
  }
}

/// The whole number or the quoted text at the end of a predicate, and the text before it.
private enum LastValue {
  /// The shape ends with the sign or the quote of the value; nil where what is there may not be one
  /// value, or one that is read otherwise than by its characters.
  static func split(_ text: String) -> (shape: String, value: AttributeValue)? {
    var text = text
    return text.withUTF8 { bytes in
      guard let last = bytes.last else { return nil }
      let found = isDigit(last) ? number(in: bytes) : quoted(in: bytes, quote: last)
      guard let found, isBoundary(bytes, before: found.start) else { return nil }
      return (String(decoding: bytes[..<found.begin], as: UTF8.self), found.value)
    }
  }

  /// Where the value starts, where its own characters begin, and what it is.
  private typealias Found = (start: Int, begin: Int, value: AttributeValue)

  private static func number(in bytes: UnsafeBufferPointer<UInt8>) -> Found? {
    var begin = bytes.count
    while begin > 0, isDigit(bytes[begin - 1]) { begin -= 1 }
    let digits = bytes.count - begin
    // Zeros in front belong to other notations, and more digits may be no whole number.
    guard digits <= 18, digits == 1 || bytes[begin] != UInt8(ascii: "0") else { return nil }
    let number = bytes[begin...].reduce(Int64(0)) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    let isNegative = begin > 0 && bytes[begin - 1] == UInt8(ascii: "-")
    return (isNegative ? begin - 1 : begin, begin, .integer(isNegative ? -number : number))
  }

  private static func quoted(in bytes: UnsafeBufferPointer<UInt8>, quote: UInt8) -> Found? {
    guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
      let start = bytes.dropLast().lastIndex(of: quote)
    else { return nil }
    let content = bytes[(start + 1)..<(bytes.count - 1)]
    // A quote is one no longer where a mark is joined to it.
    guard content.first.map({ $0 < 0x80 }) ?? true, content.last.map({ $0 < 0x80 }) ?? true,
      !content.contains(UInt8(ascii: "\\"))
    else { return nil }
    return (start, start + 1, .string(String(decoding: content, as: UTF8.self)))
  }

  /// Whether what stands before the value is no part of it.
  private static func isBoundary(_ bytes: UnsafeBufferPointer<UInt8>, before place: Int) -> Bool {
    place > 0 && " =<>".utf8.contains(bytes[place - 1])
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
