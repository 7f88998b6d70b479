import Foundation
import ModelFiles

/// An XML store of Core Data, in which Xcode saves a mapping model: objects with attributes and
/// references.
struct CoreDataDocument {
  /// One object of the store.
  struct Object {
    var type: String
    var attributes: [String: String] = [:]
    /// The identifiers of the objects that each relationship refers to.
    var relationships: [String: [String]] = [:]
  }

  private(set) var objects: [String: Object] = [:]

  init(decoding bytes: [UInt8]) throws(MappingFileError) {
    let tree: XMLTree
    do {
      tree = try XMLTree(parsing: bytes)
    } catch {
      throw MappingFileError(error)
    }
    guard tree.root.name == "database" else { throw MappingFileError(.notAMappingModel) }
    for element in tree.children(of: tree.root, named: "object") {
      let type = try Self.required("type", of: element, in: "object")
      let id = try Self.required("id", of: element, in: type)
      var object = Object(type: type)
      for member in tree.children(of: element) {
        let name = try Self.required("name", of: member, in: id)
        if member.name == "attribute" {
          let isText = member.attributes["type"] == "string"
          object.attributes[name] = isText ? XMLStoreText.decoded(member.text) : member.text
        } else if member.name == "relationship" {
          object.relationships[name] = (member.attributes["idrefs"] ?? "")
            .split(separator: " ").map(String.init)
        }
      }
      guard objects.updateValue(object, forKey: id) == nil else {
        throw MappingFileError(.badValue(key: "id", value: id))
      }
    }
  }

  private static func required(
    _ name: String, of element: XMLTree.Element, in object: String
  ) throws(MappingFileError) -> String {
    guard let value = element.attributes[name] else {
      throw MappingFileError(.incomplete(object: object, key: name))
    }
    return value
  }

  /// The objects that a relationship refers to.
  ///
  /// - Throws: `MappingFileError` with `danglingReference`, for a missing object or one of another
  ///   type.
  func targets(
    relationship: String, of object: Object, id: String, type: String
  ) throws(MappingFileError) -> [(id: String, object: Object)] {
    var result: [(id: String, object: Object)] = []
    for target in object.relationships[relationship] ?? [] {
      guard let found = objects[target], found.type == type else {
        throw MappingFileError(.danglingReference(object: id, key: relationship))
      }
      result.append((target, found))
    }
    return result
  }
}

extension CoreDataDocument.Object {
  /// A text that is not empty; the editor leaves empty ones, such as the name of a policy that was
  /// removed.
  func text(name: String) -> String? {
    attributes[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The bytes of a binary attribute, nil if it is absent.
  func bytes(name: String) throws(MappingFileError) -> [UInt8]? {
    guard let text = text(name: name) else { return nil }
    guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
      throw MappingFileError(.badValue(key: name, value: "not base64"))
    }
    return [UInt8](data)
  }

  func number(name: String) throws(MappingFileError) -> Int64? {
    guard let text = text(name: name) else { return nil }
    guard let value = Int64(text) else { throw MappingFileError(.badValue(key: name, value: text)) }
    return value
  }

  /// A flag, true if it is absent, as the defaults of these objects are.
  func flag(name: String) throws(MappingFileError) -> Bool {
    guard let text = text(name: name) else { return true }
    switch text {
    case "1": return true
    case "0": return false
    default: throw MappingFileError(.badValue(key: name, value: text))
    }
  }
}

/// Text of an XML store: `\uXXXX` for a UTF-16 unit with its two bytes swapped.
///
/// `messageID \u3c00 10000` means `messageID < 10000` (docs/reference/mapping-file.md, "Mapping
/// documents").
enum XMLStoreText {
  static func decoded(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "\\")) else { return text }
    var units: [UInt16] = []
    let all = Array(text.utf16)
    var index = 0
    while index < all.count {
      if let unit = escape(all, at: index) {
        units.append(unit.byteSwapped)
        index += 6
      } else {
        units.append(all[index])
        index += 1
      }
    }
    return String(decoding: units, as: UTF16.self)
  }

  private static func escape(_ units: [UInt16], at index: Int) -> UInt16? {
    guard index + 6 <= units.count, units[index] == UInt16(UInt8(ascii: "\\")),
      units[index + 1] == UInt16(UInt8(ascii: "u"))
    else { return nil }
    var value: UInt16 = 0
    for unit in units[(index + 2)..<(index + 6)] {
      guard let scalar = Unicode.Scalar(unit), let digit = Character(scalar).hexDigitValue,
        scalar.isASCII
      else { return nil }
      value = value << 4 | UInt16(digit)
    }
    return value
  }
}
