import Expressions
import ObjectModel

/// The members of a JSON object, which are taken one by one; those that remain are unknown keys.
struct JSONObject {
  private var members: [(key: String, value: JSONTree)]

  init(tree: JSONTree, key: String) throws(MappingFileError) {
    guard case .object(let members) = tree.content else {
      throw MappingFileError(.wrongKind(key: key, expected: "an object"), line: tree.line)
    }
    self.members = members
  }

  mutating func take(_ key: String) -> JSONTree? {
    guard let index = members.firstIndex(where: { $0.key == key }) else { return nil }
    return members.remove(at: index).value
  }

  func has(_ key: String) -> Bool { members.contains { $0.key == key } }

  mutating func text(key: String) throws(MappingFileError) -> String? {
    guard let value = take(key) else { return nil }
    return try value.string(key: key)
  }

  mutating func hash(key: String) throws(MappingFileError) -> VersionHash? {
    guard let value = take(key) else { return nil }
    return try value.word(key: key) { VersionHash(hexadecimal: $0) }
  }

  func requireEmpty() throws(MappingFileError) {
    if let (key, value) = members.first {
      throw MappingFileError(.unknownKey(key), line: value.line)
    }
  }
}

extension JSONTree {
  func string(key: String) throws(MappingFileError) -> String {
    guard case .string(let text) = content else {
      throw MappingFileError(.wrongKind(key: key, expected: "a string"), line: line)
    }
    return text
  }

  /// The value that a string stands for.
  ///
  /// - Throws: `MappingFileError` with `badValue`, for any other string.
  func word<Value>(
    key: String, meaning: (String) -> Value?
  ) throws(MappingFileError) -> Value {
    let text = try string(key: key)
    guard let value = meaning(text) else {
      throw MappingFileError(.badValue(key: key, value: text), line: line)
    }
    return value
  }

  var scalarText: String {
    switch content {
    case .number(let text), .string(let text): text
    default: kind
    }
  }
}

extension VersionHash {
  fileprivate init?(hexadecimal text: String) {
    let digits = Array(text.utf8)
    guard digits.count == 64 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: 64, by: 2) {
      let pair = String(decoding: digits[index...(index + 1)], as: UTF8.self)
      guard !pair.hasPrefix("+"), !pair.hasPrefix("-"), let byte = UInt8(pair, radix: 16) else {
        return nil
      }
      bytes.append(byte)
    }
    self.init(bytes: bytes)
  }
}
