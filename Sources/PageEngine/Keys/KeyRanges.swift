/// Keys of a table that follow each other without a hole.
package struct KeySpan: BitwiseCopyable, Hashable, Sendable {
  /// The lowest key of the span.
  package var first: Int64
  /// The highest key of the span, which belongs to it.
  package var last: Int64

  /// Makes a span of all keys from one to another.
  package init(first: Int64, last: Int64) {
    self.first = first
    self.last = last
  }
}

/// Looks rising keys up among the keys of a table, in one pass over both.
package struct KeyFilter {
  private let reader: SectionReader
  private var span: KeySpan?

  /// Takes the spans of a table in key order, as its workers listed them.
  package init(_ reader: SectionReader) throws(PageError) {
    self.reader = reader
    try advance()
  }

  private mutating func advance() throws(PageError) {
    span = try reader.next(MemoryLayout<KeySpan>.size)?.loadUnaligned(as: KeySpan.self)
  }

  /// Whether a key is present.
  ///
  /// Keys must be requested in ascending order.
  @inline(__always)
  package mutating func contains(_ key: Int64) throws(PageError) -> Bool {
    while let span, span.last < key { try advance() }
    guard let span else { return false }
    return span.first <= key
  }

  /// Whether all keys of a span are present.
  ///
  /// Spans must be requested in ascending order.
  ///
  /// Spans that touch where one piece ends and the next begins count as one.
  package mutating func contains(_ wanted: KeySpan) throws(PageError) -> Bool {
    var first = wanted.first
    while true {
      guard try contains(first), let span else { return false }
      if span.last >= wanted.last { return true }
      first = span.last + 1
    }
  }
}
