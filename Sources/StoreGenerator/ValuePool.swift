/// Text and bytes that values are parts of, so that a value is only a position and a length.
///
/// The memory stays in place as long as the pool, and SQLite reads values from it directly.
final class ValuePool {
  static let bytes = 262_144
  /// The characters of text, more than the longest value has.
  private static let characters = 24_576

  private let memory: UnsafeMutableRawBufferPointer
  private let text: UnsafeMutableRawBufferPointer
  /// The start of each character in bytes, and below in UTF-16 code units; one more than there are
  /// characters.
  private let byteOffsets: [Int]
  private let unitOffsets: [Int]

  init(seed: UInt64) {
    memory = .allocate(byteCount: Self.bytes, alignment: 8)
    var draw = Draw(Mixing.salt(seed, parts: "bytes"))
    for offset in Swift.stride(from: 0, to: Self.bytes, by: 8) {
      memory.storeBytes(of: draw.next().littleEndian, toByteOffset: offset, as: UInt64.self)
    }
    var bytes: [UInt8] = []
    var byteOffsets = [0]
    var unitOffsets = [0]
    let words = Self.words.map { word in
      (word + " ").map { (bytes: Array($0.utf8), units: $0.utf16.count) }
    }
    draw = Draw(Mixing.salt(seed, parts: "text"))
    while byteOffsets.count <= Self.characters {
      // Plain words are the first two thirds of the list, and more frequent still.
      let isPlain = draw.below(limit: 3) > 0
      let word = words[draw.below(limit: isPlain ? Self.plainWords : words.count)]
      for character in word {
        bytes += character.bytes
        byteOffsets.append(bytes.count)
        unitOffsets.append(unitOffsets[unitOffsets.count - 1] + character.units)
      }
    }
    text = .allocate(byteCount: bytes.count, alignment: 1)
    text.copyBytes(from: bytes)
    self.byteOffsets = byteOffsets
    self.unitOffsets = unitOffsets
  }

  deinit {
    memory.deallocate()
    text.deallocate()
  }

  /// A part of the text, of at most this length and nearly as long.
  func text(units: Int, draw: inout Draw) -> (bytes: UnsafeRawBufferPointer, units: Int) {
    let last = byteOffsets.count - 1
    let start = draw.below(limit: last)
    var end = min(last, start + min(units, last))
    while unitOffsets[end] - unitOffsets[start] > units {
      // No character of the list has more than 11 units, so this never takes off too many.
      end -= max(1, (unitOffsets[end] - unitOffsets[start] - units) / 11)
    }
    return (
      UnsafeRawBufferPointer(rebasing: text[byteOffsets[start]..<byteOffsets[end]]),
      unitOffsets[end] - unitOffsets[start]
    )
  }

  /// A part of the bytes.
  func bytes(count: Int, draw: inout Draw) -> UnsafeRawBufferPointer {
    precondition(count <= Self.bytes, "no value is larger than the pool")
    let start = draw.below(limit: Self.bytes - count + 1)
    return UnsafeRawBufferPointer(rebasing: memory[start..<start + count])
  }

  private static let plainWords = 24
  /// Plain, accented, decomposed, right to left, without spaces, beyond the first plane, joined.
  private static let words = [
    "godwit", "migrates", "from", "Alaska", "to", "New", "Zealand", "without", "a", "stop",
    "11,680",
    "km", "the", "store", "keeps", "its", "objects", "it's", "100%", "\"quoted\"", "under_score",
    "tab\there", "line\n", "semi;colon",
    "Zürich", "smørrebrød", "naïve", "Łódź", "ÇA", "ſtraße", "e\u{301}te\u{301}",
    "A\u{30A}ngstro\u{308}m",
    "שלום", "مرحبا", "Привет", "Ελλάδα", "नमस्ते", "日本語", "中文字符", "한국어", "👋🏽", "👩‍👩‍👧‍👦", "🇳🇿", "𝔘𝔫𝔦",
    "ﬁ", "\u{200B}", "İstanbul", "½",
  ]
}
