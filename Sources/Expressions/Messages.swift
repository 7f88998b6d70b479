import Foundation

extension ExpressionEvaluator {
  /// The selectors that read a key path, which every value answers.
  static let keySelectors: Set<String> = ["valueForKey:", "valueForKeyPath:"]

  /// Answers `FUNCTION(receiver, "selector", …)`; a message to nil yields nil.
  func send(
    _ selector: String, to receiver: ObjectValue, arguments: [ObjectValue]
  ) throws -> ObjectValue {
    let expected = selector.utf8.count { $0 == UInt8(ascii: ":") }
    guard arguments.count == expected else {
      throw EvaluationError(
        .argumentCount(of: selector, expected: expected, actual: arguments.count))
    }
    if receiver.isNull { return .null }
    if Self.keySelectors.contains(selector) {
      return try Self.follow(try Self.text(value: arguments[0], of: selector), from: receiver)
    }
    switch receiver {
    case .object(let object): return try object.perform(selector, arguments: arguments)
    case .scalar(let scalar):
      return try ScalarMessages.send(selector, to: scalar, arguments: arguments)
    case .collection(let collection):
      return try CollectionMessages.send(selector, to: collection, arguments: arguments)
    }
  }
}

/// Properties and messages of texts, numbers, dates and the like, by Foundation's names.
enum ScalarMessages {
  static func value(ofKey key: String, of value: AttributeValue) throws -> ObjectValue {
    if key == "self" { return .scalar(value) }
    guard let result = property(key: key, of: value) else {
      throw EvaluationError(.unknownKey(key, of: value.kindName))
    }
    return .scalar(result)
  }

  static func send(
    _ selector: String, to value: AttributeValue, arguments: [ObjectValue]
  ) throws -> ObjectValue {
    if arguments.isEmpty, let result = property(key: selector, of: value) { return .scalar(result) }
    if case .string(let text) = value, !arguments.isEmpty {
      let texts = try arguments.map { try ExpressionEvaluator.text(value: $0, of: selector) }
      if let result = answer(selector, text: text, arguments: texts) { return result }
    }
    if case .date(let seconds) = value, let argument = arguments.first {
      switch (selector, argument) {
      case ("dateByAddingTimeInterval:", _):
        let more = try ExpressionEvaluator.number(value: argument, of: selector).double
        return .scalar(.date(seconds + more))
      case ("timeIntervalSinceDate:", .scalar(.date(let other))):
        return .scalar(.real(seconds - other))
      default: break
      }
    }
    throw EvaluationError(.unknownSelector(selector, of: value.kindName))
  }

  static func property(key: String, of value: AttributeValue) -> AttributeValue? {
    if key == "description", let text = Casting.text(value: value) { return .string(text) }
    return switch value {
    case .string(let text): property(key: key, ofText: text)
    case .boolean, .integer, .real, .decimal: property(key: key, ofNumber: value)
    case .date(let seconds):
      switch key {
      case "timeIntervalSinceReferenceDate": .real(seconds)
      // 2001-01-01 is that many seconds after 1970-01-01.
      case "timeIntervalSince1970": .real(seconds + 978_307_200)
      default: nil
      }
    case .data(let bytes): key == "length" ? .integer(Int64(bytes.count)) : nil
    case .uuid(let bytes):
      key == "UUIDString" ? .string(AttributeValue.uuidText(bytes: bytes)) : nil
    case .uri(let text):
      switch key {
      case "absoluteString": .string(text)
      case "lastPathComponent", "pathExtension", "path", "scheme", "host":
        URL(string: text).flatMap { part(key: key, of: $0) }.map { .string($0) } ?? .null
      default: nil
      }
    case .null: AttributeValue.null
    }
  }

  private static func part(key: String, of url: URL) -> String? {
    switch key {
    case "lastPathComponent": url.lastPathComponent
    case "pathExtension": url.pathExtension
    case "path": url.path
    case "scheme": url.scheme
    default: url.host
    }
  }

  private static func property(key: String, ofText text: String) -> AttributeValue? {
    switch key {
    case "length": .integer(Int64(text.utf16.count))
    case "uppercaseString": .string(text.uppercased())
    case "lowercaseString": .string(text.lowercased())
    case "capitalizedString": .string(text.capitalized)
    case "intValue", "integerValue", "longLongValue":
      .integer(Int64(clamping: leadingWhole(text)))
    case "doubleValue", "floatValue": .real((text as NSString).doubleValue)
    case "boolValue": .boolean((text as NSString).boolValue)
    case "lastPathComponent": .string((text as NSString).lastPathComponent)
    case "pathExtension": .string((text as NSString).pathExtension)
    case "stringByDeletingPathExtension": .string((text as NSString).deletingPathExtension)
    case "stringByDeletingLastPathComponent":
      .string((text as NSString).deletingLastPathComponent)
    default: nil
    }
  }

  /// The number at the start of a text, 0 without one.
  private static func leadingWhole(_ text: String) -> Int64 {
    let trimmed = text.drop { $0.isWhitespace }
    let sign = trimmed.first == "-" || trimmed.first == "+" ? 1 : 0
    let digits = trimmed.dropFirst(sign).prefix { $0.isASCII && $0.isNumber }
    guard !digits.isEmpty else { return 0 }
    return Int64(trimmed.prefix(sign) + digits) ?? (trimmed.first == "-" ? .min : .max)
  }

  private static func property(key: String, ofNumber value: AttributeValue) -> AttributeValue? {
    guard let number = Number(value) else { return nil }
    switch key {
    case "stringValue": return Casting.text(value: value).map { .string($0) }
    case "boolValue": return .boolean(number.double != 0)
    case "doubleValue", "floatValue": return .real(number.double)
    case "intValue", "integerValue", "longLongValue":
      if case .integer(let whole) = number { return .integer(whole) }
      return Int64(exactly: number.double.rounded(.towardZero)).map { .integer($0) }
    default: return nil
    }
  }

  /// Whether values of a kind answer a selector; the value is an example of them.
  static func answers(_ selector: String, as value: AttributeValue) -> Bool {
    let count = selector.utf8.count { $0 == UInt8(ascii: ":") }
    if count == 0 { return property(key: selector, of: value) != nil }
    return switch value {
    case .string:
      answer(selector, text: "", arguments: [String](repeating: "", count: count)) != nil
    case .date: ["dateByAddingTimeInterval:", "timeIntervalSinceDate:"].contains(selector)
    default: false
    }
  }

  private static func answer(
    _ selector: String, text: String, arguments: [String]
  ) -> ObjectValue? {
    switch (selector, arguments.count) {
    case ("stringByAppendingString:", 1): return .string(value: text + arguments[0])
    case ("stringByAppendingPathComponent:", 1):
      return .string(value: (text as NSString).appendingPathComponent(arguments[0]))
    case ("stringByReplacingOccurrencesOfString:withString:", 2):
      return .string(value: text.replacingOccurrences(of: arguments[0], with: arguments[1]))
    case ("componentsSeparatedByString:", 1):
      let parts = text.components(separatedBy: arguments[0]).map { ObjectValue.string(value: $0) }
      return .collection(ValueCollection(kind: .array, members: parts))
    case ("hasPrefix:", 1): return .boolean(value: text.utf8.starts(with: arguments[0].utf8))
    case ("hasSuffix:", 1):
      return .boolean(value: text.utf8.reversed().starts(with: arguments[0].utf8.reversed()))
    case ("isEqualToString:", 1): return .boolean(value: text.utf8.elementsEqual(arguments[0].utf8))
    default: return nil
    }
  }
}

extension ValueCollection {
  /// Whether arrays and sets answer a selector.
  package static func answers(_ selector: String) -> Bool {
    if ExpressionEvaluator.keySelectors.contains(selector) { return true }
    let count = selector.utf8.count { $0 == UInt8(ascii: ":") }
    let arguments = [ObjectValue](repeating: .null, count: count)
    do {
      _ = try CollectionMessages.send(
        selector, to: ValueCollection(kind: .array, members: []), arguments: arguments)
      return true
    } catch let error as EvaluationError {
      if case .unknownSelector = error.problem { return false }
      return true
    } catch {
      return true
    }
  }
}

/// Messages of arrays and sets, by Foundation's names.
enum CollectionMessages {
  static func send(
    _ selector: String, to collection: ValueCollection, arguments: [ObjectValue]
  ) throws -> ObjectValue {
    let members = collection.members
    switch (selector, arguments.count) {
    case ("count", 0): return .integer(value: Int64(members.count))
    case ("firstObject", 0), ("anyObject", 0): return members.first ?? .null
    case ("lastObject", 0): return members.last ?? .null
    case ("allObjects", 0), ("array", 0):
      return .collection(ValueCollection(kind: .array, members: members))
    case ("set", 0): return .collection(ValueCollection(kind: .set, members: members))
    case ("containsObject:", 1):
      return .boolean(value: members.contains { $0.isEqual(to: arguments[0]) })
    case ("componentsJoinedByString:", 1):
      let separator = try ExpressionEvaluator.text(value: arguments[0], of: selector)
      let texts = members.map { member -> String in
        if case .scalar(let scalar) = member { return Casting.text(value: scalar) ?? "" }
        return ""
      }
      return .string(value: texts.joined(separator: separator))
    default: throw EvaluationError(.unknownSelector(selector, of: "a collection"))
    }
  }
}
