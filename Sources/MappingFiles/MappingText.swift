import Foundation
package import Mapping
import ObjectModel
import ValueExpressions

/// Writes a mapping model as the JSON file that docs/mapping-file.md describes.
package enum MappingText {
  static let format = "godwit mapping model"
  static let version = "1"

  /// The text of the file; throws where a value has no text in the format language.
  package static func text(_ mapping: MappingModel) throws(MappingFileError) -> String {
    var entries: [(inout JSONText) -> Void] = []
    for entityMapping in mapping.entityMappings {
      do {
        let members = try members(of: entityMapping)
        entries.append { $0.object(members) }
      } catch {
        throw error.at(mapping: entityMapping.name)
      }
    }
    var text = JSONText()
    text.object([
      ("format", { $0.string(format) }), ("version", { $0.raw(version) }),
      ("mappings", { $0.array(entries) }),
    ])
    return text.text + "\n"
  }

  private typealias Member = (key: String, write: (inout JSONText) -> Void)

  private static func members(
    of mapping: EntityMapping
  ) throws(MappingFileError) -> [Member] {
    var result: [Member] = []
    func add(_ key: String, _ value: String?) {
      if let value { result.append((key, { $0.string(value) })) }
    }
    add("name", mapping.name)
    add("type", mapping.kind.rawValue)
    add("source", mapping.sourceEntityName)
    add("sourceHash", mapping.sourceVersionHash?.hexadecimal)
    add("destination", mapping.destinationEntityName)
    add("destinationHash", mapping.destinationVersionHash?.hexadecimal)
    if let member = try source(of: mapping) { result.append(member) }
    add("policy", mapping.migrationPolicyClassName)
    if let info = try userInfo(mapping.userInfo) { result.append(info) }
    if !mapping.attributeMappings.isEmpty {
      let members = try properties(mapping.attributeMappings)
      result.append(("attributes", { $0.object(members) }))
    }
    if !mapping.relationshipMappings.isEmpty {
      let members = try properties(mapping.relationshipMappings)
      result.append(("relationships", { $0.object(members) }))
    }
    return result
  }

  /// All objects of the source entity need no word, a predicate is a filter, and anything else stands
  /// as the expression that it is.
  private static func source(of mapping: EntityMapping) throws(MappingFileError) -> Member? {
    let isMapped = mapping.sourceEntityName != nil && mapping.destinationEntityName != nil
    guard let expression = mapping.sourceExpression else {
      return isMapped ? ("sourceExpression", { $0.raw("null") }) : nil
    }
    if isMapped, let filter = mapping.filter, FormatText.isPredicate(filter) {
      return filter == ValueExpression.everything ? nil : ("filter", { $0.string(filter) })
    }
    do {
      let text = try FormatText.text(of: expression)
      return ("sourceExpression", { $0.string(text) })
    } catch {
      throw error.at(property: "sourceExpression")
    }
  }

  private static func properties(
    _ mappings: [PropertyMapping]
  ) throws(MappingFileError) -> [Member] {
    var result: [Member] = []
    for mapping in mappings {
      do {
        let (write, isTyped) = try value(mapping.valueExpression)
        if let info = try userInfo(mapping.userInfo) {
          result.append((mapping.name, { $0.object([("value", write), info]) }))
        } else if isTyped {
          result.append((mapping.name, { $0.object([("value", write)]) }))
        } else {
          result.append((mapping.name, write))
        }
      } catch {
        throw error.at(property: mapping.name)
      }
    }
    return result
  }

  /// Writes a value, and tells whether it is a typed constant, which must stand under a key.
  private static func value(
    _ expression: ValueExpression?
  ) throws(MappingFileError) -> (write: (inout JSONText) -> Void, isTyped: Bool) {
    guard let expression else { return ({ $0.raw("null") }, false) }
    if case .constant(let constant) = expression, !FormatText.hasText(expression),
      let member = TypedConstant.member(constant)
    {
      return ({ $0.object([(member.key, { $0.string(member.text) })]) }, true)
    }
    let text = try FormatText.text(of: expression)
    return ({ $0.string(text) }, false)
  }

  private static func userInfo(
    _ info: [String: AttributeValue]
  ) throws(MappingFileError) -> Member? {
    guard !info.isEmpty else { return nil }
    var members: [Member] = []
    for (key, value) in info.sorted(by: { $0.key < $1.key }) {
      switch value {
      case .null: members.append((key, { $0.raw("null") }))
      case .boolean(let flag): members.append((key, { $0.raw(flag ? "true" : "false") }))
      case .integer(let number): members.append((key, { $0.raw("\(number)") }))
      case .real(let number) where number.isFinite: members.append((key, { $0.raw("\(number)") }))
      case .string(let text): members.append((key, { $0.string(text) }))
      default:
        guard let constant = TypedConstant.member(value) else {
          throw MappingFileError(.unsupportedUserInfo(key: key))
        }
        members.append((key, { $0.object([(constant.key, { $0.string(constant.text) })]) }))
      }
    }
    return ("userInfo", { $0.object(members) })
  }
}

/// A constant that neither JSON nor the format language has a literal for: its type, then its text.
enum TypedConstant {
  static func member(_ value: AttributeValue) -> (key: String, text: String)? {
    switch value {
    case .date(let seconds) where seconds.isFinite: ("date", "\(seconds)")
    case .decimal(let digits): ("decimal", digits)
    case .data(let bytes): ("data", Data(bytes).base64EncodedString())
    case .uuid(let bytes): ("uuid", uuidText(bytes))
    case .uri(let text): ("uri", text)
    default: nil
    }
  }

  static func value(_ key: String, _ text: String) -> AttributeValue? {
    switch key {
    case "date": Double(text).flatMap { $0.isFinite ? .date($0) : nil }
    case "decimal": isDecimal(text) ? .decimal(text) : nil
    case "data": Data(base64Encoded: text).map { .data([UInt8]($0)) }
    case "uuid": uuidBytes(text).map { .uuid($0) }
    case "uri": .uri(text)
    default: nil
    }
  }

  private static func isDecimal(_ text: String) -> Bool {
    let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
    let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count <= 2 && parts.allSatisfy { !$0.isEmpty }
      && parts.joined().allSatisfy { $0.isASCII && $0.isNumber } && parts.joined().count <= 200
  }

  private static func uuidText(_ bytes: [UInt8]) -> String {
    let digits = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
    var text = ""
    for (index, pair) in digits.enumerated() {
      if [4, 6, 8, 10].contains(index) { text += "-" }
      text += pair.uppercased()
    }
    return text
  }

  private static func uuidBytes(_ text: String) -> [UInt8]? {
    guard let uuid = UUID(uuidString: text)?.uuid else { return nil }
    return withUnsafeBytes(of: uuid) { [UInt8]($0) }
  }
}
