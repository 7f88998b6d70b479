import Foundation

/// A JSON value with its line and with the order of keys.
struct JSONTree {
  enum Content {
    case null
    case boolean(Bool)
    /// The digits as they are written.
    case number(String)
    case string(String)
    case array([JSONTree])
    case object([(key: String, value: JSONTree)])
  }

  var content: Content
  var line: Int

  /// Parses a whole text.
  ///
  /// - Throws: `MappingFileError`, also for duplicate keys, since one would be lost.
  init(parsing bytes: [UInt8]) throws(MappingFileError) {
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw MappingFileError(.notJSON(reason: "it is not UTF-8"))
    }
    var parser = JSONParser(bytes)
    self = try parser.whole()
  }

  fileprivate init(content: Content, line: Int) {
    self.content = content
    self.line = line
  }

  /// The kind of the value, in words for an error.
  var kind: String {
    switch content {
    case .null: "null"
    case .boolean: "a boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

private struct JSONParser {
  private let bytes: [UInt8]
  private var position = 0
  private var line = 1
  private var lineStart = 0
  private var depth = 0
  /// The deepest nesting that is read; mapping files have five levels.
  private static let maximumDepth = 32

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func whole() throws(MappingFileError) -> JSONTree {
    let result = try value()
    skipSpace()
    guard position == bytes.count else { throw error("there is more after its end") }
    return result
  }

  private mutating func value() throws(MappingFileError) -> JSONTree {
    skipSpace()
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.maximumDepth else { throw error("it nests too deep") }
    guard position < bytes.count else { throw error("it ends too early") }
    let start = line
    switch bytes[position] {
    case UInt8(ascii: "{"): return JSONTree(content: .object(try members()), line: start)
    case UInt8(ascii: "["): return JSONTree(content: .array(try elements()), line: start)
    case UInt8(ascii: "\""): return JSONTree(content: .string(try string()), line: start)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      return JSONTree(content: .number(try number()), line: start)
    default:
      for (word, content) in [
        ("null", JSONTree.Content.null), ("true", .boolean(true)), ("false", .boolean(false)),
      ] where bytes[position...].starts(with: word.utf8) {
        position += word.utf8.count
        return JSONTree(content: content, line: start)
      }
      throw error("a value is expected")
    }
  }

  private mutating func members() throws(MappingFileError) -> [(key: String, value: JSONTree)] {
    var result: [(key: String, value: JSONTree)] = []
    var seen: Set<String> = []
    position += 1
    if take("}") { return [] }
    repeat {
      skipSpace()
      guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
        throw error("a key in quotes is expected")
      }
      let key = try string()
      guard seen.insert(key).inserted else { throw error("the key \(key) is there twice") }
      guard take(":") else { throw error("a colon is expected") }
      result.append((key, try value()))
    } while take(",")
    guard take("}") else { throw error("a comma or a closing brace is expected") }
    return result
  }

  private mutating func elements() throws(MappingFileError) -> [JSONTree] {
    var result: [JSONTree] = []
    position += 1
    if take("]") { return [] }
    repeat { result.append(try value()) } while take(",")
    guard take("]") else { throw error("a comma or a closing bracket is expected") }
    return result
  }

  private mutating func number() throws(MappingFileError) -> String {
    let start = position
    while position < bytes.count, "+-.eE0123456789".utf8.contains(bytes[position]) { position += 1 }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    guard Self.isNumber(text), let value = Double(text), value.isFinite else {
      throw error("\(text) is not a number")
    }
    return text
  }

  /// Whether a text that `Double` reads is a number of JSON as well: no sign but a minus, no zero
  /// before other digits, and digits after a point (RFC 8259, section 6).
  private static func isNumber(_ text: String) -> Bool {
    let digits = text.hasPrefix("-") ? text.dropFirst() : Substring(text)
    let whole = digits.prefix { $0.isNumber }
    guard !whole.isEmpty, whole.count == 1 || whole.first != "0" else { return false }
    let rest = digits[whole.endIndex...]
    return rest.first != "." || rest.dropFirst().first?.isNumber == true
  }

  private mutating func string() throws(MappingFileError) -> String {
    position += 1
    var units: [UInt8] = []
    while position < bytes.count {
      let byte = bytes[position]
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        return String(decoding: units, as: UTF8.self)
      case UInt8(ascii: "\\"): units += Array(String(try escape()).utf8)
      case 0..<0x20: throw error("a string holds a control character")
      default:
        units.append(byte)
        position += 1
      }
    }
    throw error("a string does not end")
  }

  private mutating func escape() throws(MappingFileError) -> Character {
    position += 1
    guard position < bytes.count else { throw error("a string does not end") }
    let byte = bytes[position]
    position += 1
    switch byte {
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "/"): return "/"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{c}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return Character(try scalar())
    default: throw error("a string holds an unknown escape")
    }
  }

  private mutating func scalar() throws(MappingFileError) -> Unicode.Scalar {
    let first = try unit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard bytes[position...].starts(with: "\\u".utf8) else { throw error("half a surrogate pair") }
    position += 2
    let pair = String(decoding: [first, try unit()], as: UTF16.self)
    guard let scalar = pair.unicodeScalars.first, scalar != "\u{fffd}" else {
      throw error("half a surrogate pair")
    }
    return scalar
  }

  private mutating func unit() throws(MappingFileError) -> UInt16 {
    let digits = bytes[position...].prefix(4)
    guard digits.count == 4, digits.first != UInt8(ascii: "+"),
      let value = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
    else { throw error("four hexadecimal digits are expected") }
    position += 4
    return value
  }

  private mutating func take(_ symbol: Character) -> Bool {
    skipSpace()
    guard position < bytes.count, bytes[position] == symbol.asciiValue else { return false }
    position += 1
    return true
  }

  private mutating func skipSpace() {
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\n"):
        line += 1
        lineStart = position + 1
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): break
      default: return
      }
      position += 1
    }
  }

  private func error(_ reason: String) -> MappingFileError {
    MappingFileError(.notJSON(reason: reason), line: line, column: position - lineStart + 1)
  }
}

/// Writes JSON in the single layout of mapping files, so that two of them can be compared.
struct MappingJSON {
  private(set) var text = ""
  private var indent = 0

  init() {}

  mutating func object(_ members: [(key: String, write: (inout MappingJSON) -> Void)]) {
    list(
      members.map { member in { $0.member(key: member.key, write: member.write) } }, open: "{",
      close: "}")
  }

  mutating func array(_ elements: [(inout MappingJSON) -> Void]) {
    list(elements, open: "[", close: "]")
  }

  mutating func raw(_ word: String) { text += word }

  mutating func string(value: String) {
    text += "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case "\u{0}"..<"\u{20}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }

  private mutating func member(key: String, write: (inout MappingJSON) -> Void) {
    string(value: key)
    text += ": "
    write(&self)
  }

  private mutating func list(
    _ parts: [(inout MappingJSON) -> Void], open: String, close: String
  ) {
    guard !parts.isEmpty else {
      text += open + close
      return
    }
    text += open
    indent += 2
    for (index, part) in parts.enumerated() {
      text += (index == 0 ? "\n" : ",\n") + String(repeating: " ", count: indent)
      part(&self)
    }
    indent -= 2
    text += "\n" + String(repeating: " ", count: indent) + close
  }
}
