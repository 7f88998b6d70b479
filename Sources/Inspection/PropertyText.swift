import Digests
import Expressions
import KeyedArchives
import ObjectModel

extension InspectedProperty {
  /// Takes the value of a cell as its attribute means it; what it cannot mean is a fault.
  mutating func take(
    _ cell: StoredCell, of attribute: Attribute, isUTF16: Bool, extent: ValueExtent = .beginning
  ) {
    switch cell {
    case .null:
      if !attribute.isOptional { fault = "nil, but mandatory" }
    case .text(let head, let count):
      take(head, count: count, isUTF16: isUTF16, extent: extent)
      switch attribute.type {
      case .string, .uri: break
      // A decimal whose digits no number of SQLite's has stays a text.
      case .decimal where !isCut && text.map(AttributeValue.isDecimal) == true: bytes = nil
      default: fault = "a text instead of \(attribute.type.name)"
      }
    case .blob(let head, let count):
      if attribute.type == .uuid, count == 16 {
        text = AttributeValue.uuidText(bytes: head)
      } else {
        (text, bytes) = (head.prefix(extent.bytes).hexadecimal, count)
        isCut = count > Int64(extent.bytes)
        fault = "\(count == 1 ? "1 byte" : "\(count) bytes") instead of \(attribute.type.name)"
      }
    case .integer(let number): take(number, of: attribute)
    case .real(let number): take(number, of: attribute)
    }
  }

  private mutating func take(
    _ head: [UInt8], count: Int64, isUTF16: Bool, extent: ValueExtent
  ) {
    let found = TextHead(head, isUTF16: isUTF16, isWhole: Int64(head.count) == count)
    let start = found.text.prefix(extent.characters)
    isCut = Int64(head.count) < count || start.endIndex < found.text.endIndex
    (text, bytes, isText) = (String(start) + (isCut ? "…" : ""), count, true)
    if !found.isWellFormed { fault = "not well-formed" }
  }

  private mutating func take(_ number: Int64, of attribute: Attribute) {
    text = "\(number)"
    switch attribute.type {
    case .boolean:
      text = number == 0 ? "false" : "true"
      if !(0...1).contains(number) { fault = "\(number) instead of Boolean" }
    case .date: takeDate(Double(number))
    case .integer16, .integer32, .integer64:
      if attribute.type.integerRange?.contains(number) == false {
        fault = "beyond \(attribute.type.name)"
      }
    case .decimal, .double, .float: break
    default: fault = "a whole number instead of \(attribute.type.name)"
    }
  }

  private mutating func take(_ number: Double, of attribute: Attribute) {
    text = "\(number)"
    switch attribute.type {
    case .date: takeDate(number)
    case .double, .float, .decimal: if !number.isFinite { fault = "not finite" }
    default: fault = "a number instead of \(attribute.type.name)"
    }
  }

  private mutating func takeDate(_ seconds: Double) {
    if let date = CalendarDate(secondsSince2001: seconds) {
      text = date.text
    } else {
      text = "\(seconds)"
      fault = "seconds since 2001-01-01, beyond the calendar"
    }
  }
}

/// A description of bytes, as far as they show their kind.
struct BinaryForm {
  /// The first bytes, or the form.
  let text: String
  /// All bytes, if they were read.
  let bytes: [UInt8]?
  let isCut: Bool

  /// The maximum number of bytes read to find the class of an archive.
  private static let archiveLimit: Int64 = 1 << 20

  init(_ value: ValueBytes, isTransformable: Bool, extent: ValueExtent) throws {
    let head = try value.bytes(from: 0, count: min(extent.bytes, Int(clamping: value.count)))
    if isTransformable, head.starts(with: "bplist00".utf8) {
      text = try Self.archiveWords(value)
      bytes = head.count == Int(value.count) ? head : nil
      isCut = false
      return
    }
    isCut = value.count > Int64(head.count)
    text = head.hexadecimal + (isCut ? "…" : "")
    bytes = isCut ? nil : head
  }

  private static func archiveWords(_ value: ValueBytes) throws -> String {
    guard value.count <= archiveLimit else { return "a property list" }
    let bytes = try value.bytes(from: 0, count: Int(value.count))
    guard let archive = try? KeyedArchive(decoding: bytes) else { return "a property list" }
    if let name = try? archive.className(id: archive.root) {
      return "a keyed archive of \(name.prefix(80))"
    }
    guard let string = archive.string(id: archive.root) else { return "a keyed archive" }
    return "a keyed archive of the text \(string.prefix(ValueExtent.beginning.characters))"
  }
}
