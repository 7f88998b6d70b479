import KeyedArchives

/// Reads the small property lists next to models, in any of the three formats.
enum PropertyListFile {
  /// The dictionary in the file, nil if it is damaged.
  static func dictionary(decoding bytes: [UInt8]) -> [ExactText: PropertyList]? {
    if bytes.starts(with: "bplist".utf8) {
      return (try? PropertyList(decoding: bytes))?.dictionaryValue
    }
    let text = bytes.drop { $0 == 0x20 || ($0 >= 0x09 && $0 <= 0x0d) }
    if text.first == UInt8(ascii: "{") {
      return OpenStepText(bytes)?.entries
    }
    guard let tree = try? XMLTree(parsing: bytes, maximumElements: 100_000),
      tree.root.name == "plist", let first = tree.children(of: tree.root).first
    else { return nil }
    return value(element: first, tree: tree, depth: 0)?.dictionaryValue
  }

  private static func value(
    element: XMLTree.Element, tree: XMLTree, depth: Int
  ) -> PropertyList? {
    guard depth < 100 else { return nil }
    let text = element.text
    switch element.name {
    case "string": return .string(ExactText(text))
    case "true": return .boolean(true)
    case "false": return .boolean(false)
    case "integer": return Int64(text).map { .integer($0) }
    case "real": return Double(text).map { .real($0) }
    // Versions are named by strings; dates and data next to them are skipped.
    case "date", "data": return .string(ExactText(text))
    case "array":
      let members = tree.children(of: element).map {
        value(element: $0, tree: tree, depth: depth + 1)
      }
      return members.contains(nil) ? nil : .array(members.compactMap { $0 })
    case "dict":
      let members = tree.children(of: element)
      guard members.count.isMultiple(of: 2) else { return nil }
      var result: [ExactText: PropertyList] = [:]
      for index in stride(from: 0, to: members.count, by: 2) {
        guard members[index].name == "key",
          let value = value(element: members[index + 1], tree: tree, depth: depth + 1)
        else { return nil }
        result[ExactText(members[index].text)] = value
      }
      return .dictionary(result)
    default: return nil
    }
  }
}

/// The outermost entries of a property list in OpenStep format, as other tools write version files.
///
/// Entries with a string are kept; anything nested is skipped by its brackets.
private struct OpenStepText {
  private(set) var entries: [ExactText: PropertyList] = [:]
  private var rest: Substring

  init?(_ bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    rest = Substring(text)
    guard take("{") else { return nil }
    while !take("}") {
      guard let key = string(), take("=") else { return nil }
      if let value = string() {
        entries[ExactText(key)] = .string(ExactText(value))
      } else if !skipNested() {
        return nil
      }
      guard take(";") else { return nil }
    }
  }

  private mutating func take(_ character: Character) -> Bool {
    rest = rest.drop { $0.isWhitespace }
    guard rest.first == character else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func string() -> String? {
    rest = rest.drop { $0.isWhitespace }
    if rest.first == "\"" {
      rest.removeFirst()
      var text = ""
      while let character = rest.popFirst() {
        if character == "\"" { return text }
        if character == "\\", let escaped = rest.popFirst() {
          text.append(escaped)
        } else {
          text.append(character)
        }
      }
      return nil
    }
    let word = rest.prefix { $0.isLetter || $0.isNumber || "_-./$:".contains($0) }
    rest = rest.dropFirst(word.count)
    return word.isEmpty ? nil : String(word)
  }

  private mutating func skipNested() -> Bool {
    var depth = 0
    repeat {
      rest = rest.drop { $0.isWhitespace }
      switch rest.first {
      case nil: return false
      case "{", "(", "<":
        depth += 1
        rest.removeFirst()
      case "}", ")", ">":
        depth -= 1
        rest.removeFirst()
      case "=", ";", ",": rest.removeFirst()
      default: if string() == nil { return false }
      }
    } while depth > 0
    return true
  }
}
