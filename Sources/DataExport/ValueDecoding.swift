import Expressions
import Foundation
import Inspection
import KeyedArchives

/// Makes JSON of the values that programs archive in binary attributes: JSON (SwiftData's arrays),
/// property lists and keyed archives.
enum ValueDecoding {
  /// The longest value that is decoded, in bytes.
  static let limit = 1 << 20
  private static let maximumDepth = 64
  private static let maximumValues = 100_000

  /// The value as JSON without line breaks; nil for bytes of any other form.
  static func json(of bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    guard (2...limit).contains(bytes.count) else { return nil }
    switch bytes[0] {
    case UInt8(ascii: "{"), UInt8(ascii: "["): return compactJSON(bytes)
    case UInt8(ascii: "b") where bytes.starts(with: "bplist00".utf8):
      return propertyList(Array(bytes))
    default: return nil
    }
  }

  /// The same JSON without white space between its parts.
  private static func compactJSON(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    guard String(validating: bytes, as: UTF8.self) != nil,
      (try? JSONSerialization.jsonObject(with: Data(bytes))) != nil
    else { return nil }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var (isText, isEscaped) = (false, false)
    for byte in bytes {
      if isText {
        (isText, isEscaped) = (
          isEscaped || byte != UInt8(ascii: "\""), !isEscaped && byte == UInt8(ascii: "\\")
        )
      } else if byte == UInt8(ascii: "\"") {
        isText = true
      } else if byte <= UInt8(ascii: " ") {
        continue
      }
      result.append(byte)
    }
    return result
  }

  private static func propertyList(_ bytes: [UInt8]) -> [UInt8]? {
    var writer = ArchiveWriter(maximumDepth: maximumDepth, valuesLeft: maximumValues)
    if let archive = try? KeyedArchive(decoding: bytes) {
      guard writer.append(archive.root, of: archive) else { return nil }
    } else {
      guard let list = try? PropertyList(decoding: bytes), writer.append(list) else { return nil }
    }
    return writer.bytes
  }
}

/// Writes property lists and the objects of keyed archives as JSON; false where they are too large.
private struct ArchiveWriter {
  let maximumDepth: Int
  var valuesLeft: Int
  var bytes: [UInt8] = []
  /// The objects around the present one.
  private var path: [KeyedArchive.ID] = []
  /// How many lists and objects of the result are open.
  private var depth = 0

  init(maximumDepth: Int, valuesLeft: Int) {
    (self.maximumDepth, self.valuesLeft) = (maximumDepth, valuesLeft)
  }

  private mutating func list<Element>(
    _ elements: some Sequence<Element>, write: (inout ArchiveWriter, Element) -> Bool
  ) -> Bool {
    guard depth < maximumDepth else { return false }
    depth += 1
    defer { depth -= 1 }
    bytes.append(UInt8(ascii: "["))
    for (index, element) in elements.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      guard write(&self, element) else { return false }
    }
    bytes.append(UInt8(ascii: "]"))
    return true
  }

  private mutating func object<Value>(
    _ members: some Sequence<(key: String, value: Value)>,
    write: (inout ArchiveWriter, Value) -> Bool
  ) -> Bool {
    guard depth < maximumDepth else { return false }
    depth += 1
    defer { depth -= 1 }
    bytes.append(UInt8(ascii: "{"))
    for (index, member) in members.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      bytes.append(jsonString: member.key)
      bytes.append(UInt8(ascii: ":"))
      guard write(&self, member.value) else { return false }
    }
    bytes.append(UInt8(ascii: "}"))
    return true
  }

  private mutating func takeValue() -> Bool {
    valuesLeft -= 1
    return valuesLeft >= 0
  }

  // MARK: Property lists

  mutating func append(_ value: PropertyList) -> Bool {
    guard takeValue() else { return false }
    switch value {
    case .null: return append(scalar: .null)
    case .boolean(let value): return append(scalar: .boolean(value))
    case .integer(let value): return append(scalar: .integer(value))
    case .unsigned(let value): return append(scalar: .unsigned(value))
    case .real(let value): return append(scalar: .real(value))
    case .date(let value): return append(scalar: .date(value))
    case .data(let value): return append(scalar: .data(value))
    case .string(let value): return append(scalar: .string(value))
    case .uid(let value): return append(scalar: .integer(Int64(value)))
    case .array(let members), .set(let members): return list(members) { $0.append($1) }
    case .dictionary(let members):
      return object(members.sorted { $0.key < $1.key }.map { ($0.key.text, $0.value) }) {
        $0.append($1)
      }
    }
  }

  /// A value without members.
  private mutating func append(scalar: BinaryPropertyList.Object) -> Bool {
    switch scalar {
    case .null: bytes.append(contentsOf: "null".utf8)
    case .boolean(let value): bytes.append(contentsOf: value ? "true".utf8 : "false".utf8)
    case .integer(let value): bytes.append(decimal: value)
    case .unsigned(let value): bytes.append(contentsOf: "\(value)".utf8)
    case .real(let value):
      if value.isFinite { bytes.append(real: value) } else { bytes.append(jsonString: "\(value)") }
    case .date(let seconds):
      let date = CalendarDate(secondsSince2001: seconds, precision: .exact)
      bytes.append(jsonString: date?.text ?? "\(seconds)")
    case .data(let value):
      bytes.append(UInt8(ascii: "\""))
      value.withUnsafeBytes { bytes.append(base64: $0) }
      bytes.append(UInt8(ascii: "\""))
    case .string(let value): bytes.append(jsonString: value.text)
    case .uid, .array, .set, .dictionary: return false
    }
    return true
  }

  // MARK: Keyed archives

  mutating func append(_ id: KeyedArchive.ID?, of archive: KeyedArchive) -> Bool {
    guard takeValue() else { return false }
    guard let id else { return append(scalar: .null) }
    guard !path.contains(id) else {
      return object([("$ref", Int64(id.rawValue))]) { $0.append(scalar: .integer($1)) }
    }
    path.append(id)
    defer { path.removeLast() }
    guard case .dictionary = archive.object(id: id) else {
      return append(member: archive.object(id: id), of: archive)
    }
    if let text = archive.string(id: id) { return append(scalar: .string(ExactText(text))) }
    let name = (try? archive.className(id: id)) ?? nil
    return append(known: id, class: name, of: archive)
      ?? append(other: id, class: name, of: archive)
  }

  /// An object of one of Foundation's classes; nil for any other.
  private mutating func append(
    known id: KeyedArchive.ID, class name: String?, of archive: KeyedArchive
  ) -> Bool? {
    switch name {
    case "NSArray", "NSMutableArray", "NSSet", "NSMutableSet":
      guard let members = try? archive.elements(id: id) else { return nil }
      return list(members) { $0.append($1, of: archive) }
    case "NSDictionary", "NSMutableDictionary", "NSKnownKeysDictionary1":
      guard let entries = try? archive.entries(id: id) else { return nil }
      return object(entries) { $0.append($1, of: archive) }
    case "NSDate":
      guard let seconds = (try? archive.real(key: "NS.time", of: id)).flatMap(\.self) else {
        return nil
      }
      return append(scalar: .date(seconds))
    case "NSData", "NSMutableData":
      guard let value = (try? archive.data(key: "NS.data", of: id)).flatMap(\.self) else {
        return nil
      }
      return append(scalar: .data(value))
    case "NSNull": return append(scalar: .null)
    case "NSUUID":
      guard let value = (try? archive.data(key: "NS.uuidbytes", of: id)).flatMap(\.self),
        value.count == 16
      else { return nil }
      return append(scalar: .string(ExactText(AttributeValue.uuidText(bytes: value))))
    case "NSURL":
      guard (try? archive.reference(key: "NS.base", of: id)).flatMap(\.self) == nil,
        let text = (try? archive.string(key: "NS.relative", of: id)).flatMap(\.self)
      else { return nil }
      return append(scalar: .string(ExactText(text)))
    default: return nil
    }
  }

  /// An object of any class: its keys, and its class under `$class`.
  private mutating func append(
    other id: KeyedArchive.ID, class name: String?, of archive: KeyedArchive
  ) -> Bool {
    let members = archive.members(id: id).filter { $0.key != "$class" }
      .sorted { $0.key < $1.key }
    let first =
      name.map { [(key: "$class", value: BinaryPropertyList.Object.string(ExactText($0)))] } ?? []
    return object(first + members) { $0.append(member: $1, of: archive) }
  }

  private mutating func append(
    member: BinaryPropertyList.Object, of archive: KeyedArchive
  ) -> Bool {
    switch member {
    case .uid(let uid):
      guard uid < archive.count else { return false }
      return append(uid == 0 ? nil : KeyedArchive.ID(rawValue: uid), of: archive)
    case .array(let indexes), .set(let indexes):
      return list(archive.resolve(indexes)) { $0.takeValue() && $0.append(member: $1, of: archive) }
    // Archives keep dictionaries as objects, so one instead of a value has no known form.
    case .dictionary: return false
    default: return append(scalar: member)
    }
  }
}
