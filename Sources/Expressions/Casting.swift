import Foundation

/// What `CAST(value, "Class")` makes of a value.
enum Casting {
  static func cast(_ value: ObjectValue, to className: String) throws -> AttributeValue {
    guard case .scalar(let scalar) = value else {
      throw EvaluationError(.cannotCast(value.kindName, to: className))
    }
    if scalar == .null { return .null }
    guard let result = cast(scalar, to: className) else {
      throw EvaluationError(.cannotCast(scalar.shown, to: className))
    }
    return result
  }

  private static func cast(_ value: AttributeValue, to className: String) -> AttributeValue? {
    switch className {
    case "NSString": text(value: value).map { .string($0) }
    case "NSNumber": number(value: value)
    case "NSDecimalNumber": decimal(value: value)
    case "NSDate": date(value: value)
    case "NSUUID":
      if case .uuid = value { value } else { AttributeValue(value: value, castTo: className) }
    case "NSURL":
      if case .uri = value { value } else { AttributeValue(value: value, castTo: className) }
    case "NSData":
      if case .data = value { value } else { AttributeValue(value: value, castTo: className) }
    default: nil
    }
  }

  /// Whether some value of the kind of an example has a form of a class.
  static func exists(_ example: AttributeValue, as className: String) -> Bool {
    switch (example, className) {
    case (.null, _), (.string, "NSString"), (.string, "NSNumber"), (.string, "NSDecimalNumber"),
      (.string, "NSUUID"), (.string, "NSURL"), (.string, "NSData"):
      true
    case (.boolean, _), (.integer, _), (.real, _), (.decimal, _):
      ["NSString", "NSNumber", "NSDecimalNumber", "NSDate"].contains(className)
    case (.date, _): ["NSString", "NSNumber", "NSDate"].contains(className)
    case (.uuid, _): ["NSString", "NSUUID"].contains(className)
    case (.uri, _): ["NSString", "NSURL"].contains(className)
    case (.data, _): className == "NSData"
    default: false
    }
  }

  static func text(value: AttributeValue) -> String? {
    switch value {
    case .string(let text), .uri(let text): text
    case .boolean(let flag): flag ? "1" : "0"
    case .integer(let number): "\(number)"
    case .real(let number):
      number == number.rounded() && abs(number) < 1e15 ? "\(Int64(number))" : "\(number)"
    case .decimal(let digits): digits
    case .uuid(let bytes): AttributeValue.uuidText(bytes: bytes)
    case .date(let seconds): text(date: seconds)
    case .null, .data: nil
    }
  }

  /// The description of `NSDate`, in any time zone: "2001-01-01 00:00:00 +0000".
  ///
  /// Nil before 1583, where calendars differ, and from the year 10000 on.
  private static func text(date seconds: Double) -> String? {
    let text = Date(timeIntervalSinceReferenceDate: seconds.rounded(.down)).description
    guard text.utf8.count == 25, let year = Int(text.prefix(4)), year >= 1583 else { return nil }
    return text
  }

  static func number(value: AttributeValue) -> AttributeValue? {
    switch value {
    case .boolean, .integer, .real, .decimal: value
    case .date(let seconds): .real(seconds)
    case .string(let text):
      Int64(text).map { .integer($0) } ?? Double(text).map { Number.real($0).value }
    default: nil
    }
  }

  private static func decimal(value: AttributeValue) -> AttributeValue? {
    switch value {
    case .decimal: value
    case .boolean, .integer, .real: Number(value).map { .decimal("\($0.decimal)") }
    case .string: AttributeValue(value: value, castTo: "NSDecimalNumber")
    default: nil
    }
  }

  private static func date(value: AttributeValue) -> AttributeValue? {
    switch value {
    case .date: value
    case .boolean, .integer, .real, .decimal: Number(value).map { .date($0.double) }
    default: nil
    }
  }
}
