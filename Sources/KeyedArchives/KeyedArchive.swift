/// An archive of `NSKeyedArchiver`: objects that refer to each other by number, read key by key.
///
/// No class is instantiated, and no reference followed unless the caller does. A key that is absent
/// or refers to `$null` is nil; a key with a value of another kind throws.
package struct KeyedArchive: Hashable, Sendable {
  /// The number of an object in the archive.
  package struct ID: RawRepresentable, Hashable, Sendable {
    /// The index in `$objects`, from 1; 0 is `$null`.
    package var rawValue: Int
    /// Takes an index, which the archive does not check.
    package init(rawValue: Int) { self.rawValue = rawValue }
  }

  /// The object under `root` in `$top`.
  package let root: ID
  let list: BinaryPropertyList
  /// The position in `list` of each archived object; object 0 is `$null`.
  let table: [Int]

  /// Reads an archive in the binary format.
  ///
  /// - Throws: `KeyedArchiveError`, also if it has no root object.
  package init(decoding bytes: [UInt8]) throws(KeyedArchiveError) {
    let list: BinaryPropertyList
    do {
      list = try BinaryPropertyList(decoding: bytes)
    } catch {
      throw KeyedArchiveError(.propertyList(error))
    }
    self.list = list
    guard let objects = Self.member(key: "$objects", of: list.top, in: list),
      case .array(let table) = list.objects[objects],
      let tops = Self.member(key: "$top", of: list.top, in: list),
      let top = Self.member(key: "root", of: tops, in: list),
      case .uid(let root) = list.objects[top], root > 0, root < table.count
    else { throw KeyedArchiveError(.notAKeyedArchive) }
    self.table = table
    self.root = ID(rawValue: root)
  }

  /// The number of objects, including `$null`.
  package var count: Int { table.count }

  /// The object in the property list: a scalar, or the dictionary of its keys.
  package func object(id: ID) -> BinaryPropertyList.Object { list.objects[table[id.rawValue]] }

  /// The keys of an object with their values, including `$class`; empty for a scalar.
  package func members(id: ID) -> [(key: String, value: BinaryPropertyList.Object)] {
    guard case .dictionary(let keys, let values) = object(id: id) else { return [] }
    return zip(keys, values).compactMap { key, value in
      guard case .string(let name) = list.objects[key] else { return nil }
      return (name.text, list.objects[value])
    }
  }

  /// The members of an array inside an object.
  package func resolve(_ indexes: [Int]) -> [BinaryPropertyList.Object] {
    indexes.map { list.objects[$0] }
  }

  /// The name of the object's class, nil for a scalar.
  package func className(id: ID) throws(KeyedArchiveError) -> String? {
    guard let description = try reference(key: "$class", of: id) else { return nil }
    guard let name = inline("$classname", of: description), case .string(let name) = name else {
      throw KeyedArchiveError(.wrongKind(key: "$classname"), object: description.rawValue)
    }
    return name.text
  }

  /// The object that a key refers to, nil if the key is absent or refers to `$null`.
  package func reference(key: String, of id: ID) throws(KeyedArchiveError) -> ID? {
    guard let value = inline(key, of: id) else { return nil }
    guard case .uid(let uid) = value else { throw wrongKind(key, id: id) }
    return try existing(uid, key: key, id: id)
  }

  /// The integer under a key, with booleans as 0 and 1; nil if the key is absent.
  package func integer(key: String, of id: ID) throws(KeyedArchiveError) -> Int64? {
    guard let value = inline(key, of: id) else { return nil }
    switch value {
    case .integer(let value): return value
    case .boolean(let value): return value ? 1 : 0
    default: throw wrongKind(key, id: id)
    }
  }

  /// The boolean under a key, false if the key is absent.
  package func bool(key: String, of id: ID) throws(KeyedArchiveError) -> Bool {
    switch inline(key, of: id) {
    case nil: return false
    case .boolean(let value)?: return value
    case .integer(let value)?: return value != 0
    default: throw wrongKind(key, id: id)
    }
  }

  /// The number under a key, nil if the key is absent.
  package func real(key: String, of id: ID) throws(KeyedArchiveError) -> Double? {
    switch inline(key, of: id) {
    case nil: return nil
    case .real(let value)?: return value
    case .integer(let value)?: return Double(value)
    default: throw wrongKind(key, id: id)
    }
  }

  /// The bytes under a key, inside the object; nil if the key is absent.
  package func data(key: String, of id: ID) throws(KeyedArchiveError) -> [UInt8]? {
    guard let value = inline(key, of: id) else { return nil }
    guard case .data(let bytes) = value else { throw wrongKind(key, id: id) }
    return bytes
  }

  /// The text of the string or `NSMutableString` that a key refers to, nil if the key is absent.
  package func string(key: String, of id: ID) throws(KeyedArchiveError) -> String? {
    guard let reference = try reference(key: key, of: id) else { return nil }
    guard let text = string(id: reference) else { throw wrongKind(key, id: id) }
    return text
  }

  /// The text of a string or `NSMutableString`, nil for any other object.
  package func string(id: ID) -> String? {
    switch object(id: id) {
    case .string(let text): return text.text
    case .dictionary:
      // NSMutableString keeps its text inline, under NS.string or, converted, under NS.bytes.
      switch inline("NS.string", of: id) ?? inline("NS.bytes", of: id) {
      case .string(let text)?: return text.text
      case .data(let bytes)?: return String(validating: bytes, as: UTF8.self)
      default: return nil
      }
    default: return nil
    }
  }

  /// The members of the array or set that a key refers to, nil for `$null` members; nil if the key
  /// is absent.
  package func elements(key: String, of id: ID) throws(KeyedArchiveError) -> [ID?]? {
    guard let reference = try reference(key: key, of: id) else { return nil }
    return try elements(id: reference)
  }

  /// The members of an array or set, nil for `$null` members.
  package func elements(id: ID) throws(KeyedArchiveError) -> [ID?] {
    try references(key: "NS.objects", of: id)
  }

  /// The entries of a dictionary, whose keys have to be strings.
  ///
  /// `NSKnownKeysDictionary1` is a dictionary too: it has its keys in a mapping that several
  /// dictionaries may share, its values next to it, and a token instead of a missing value.
  package func entries(id: ID) throws(KeyedArchiveError) -> [(key: String, value: ID)] {
    let known = try className(id: id) == "NSKnownKeysDictionary1"
    let keys: [ID?]
    let values: [ID?]
    if known {
      guard let mapping = try reference(key: "searchMapping", of: id),
        let names = try elements(key: "keys", of: mapping),
        let slots = try elements(key: "values", of: id)
      else { throw wrongKind("searchMapping", id: id) }
      (keys, values) = (names, slots)
    } else {
      keys = try references(key: "NS.keys", of: id)
      values = try references(key: "NS.objects", of: id)
    }
    guard keys.count == values.count else { throw wrongKind("NS.keys", id: id) }
    var result: [(key: String, value: ID)] = []
    for (key, value) in zip(keys, values) {
      guard let key, let name = string(id: key) else { throw wrongKind("NS.keys", id: id) }
      guard let value, !known || string(id: value) != Self.emptySlot else { continue }
      result.append((name, value))
    }
    return result
  }

  /// The token of `NSKnownKeysDictionary1` for a missing value.
  package static let emptySlot = "__empty_slot_token_4c24_98dc_ac1e_b773__"

  private func references(key: String, of id: ID) throws(KeyedArchiveError) -> [ID?] {
    guard let value = inline(key, of: id), case .array(let members) = value else {
      throw wrongKind(key, id: id)
    }
    var result: [ID?] = []
    result.reserveCapacity(members.count)
    for member in members {
      guard case .uid(let uid) = list.objects[member] else { throw wrongKind(key, id: id) }
      result.append(try existing(uid, key: key, id: id))
    }
    return result
  }

  private func existing(_ uid: Int, key: String, id: ID) throws(KeyedArchiveError) -> ID? {
    guard uid < table.count else {
      throw KeyedArchiveError(.objectMissing(key: key), object: id.rawValue)
    }
    return uid == 0 ? nil : ID(rawValue: uid)
  }

  private func inline(_ key: String, of id: ID) -> BinaryPropertyList.Object? {
    Self.member(key: key, of: table[id.rawValue], in: list).map { list.objects[$0] }
  }

  private func wrongKind(_ key: String, id: ID) -> KeyedArchiveError {
    KeyedArchiveError(.wrongKind(key: key), object: id.rawValue)
  }

  private static func member(
    key: String, of index: Int, in list: BinaryPropertyList
  ) -> Int? {
    guard case .dictionary(let keys, let values) = list.objects[index] else { return nil }
    for (name, value) in zip(keys, values) {
      if case .string(let text) = list.objects[name], text.text == key { return value }
    }
    return nil
  }
}

/// Why an archive cannot be read, and which object is concerned.
package struct KeyedArchiveError: Error, Hashable, Sendable {
  /// What is wrong with the archive.
  package enum Problem: Hashable, Sendable {
    /// The bytes are not a binary property list.
    case propertyList(PropertyListError)
    /// The property list has no `$objects`, or no root in `$top`.
    case notAKeyedArchive
    /// The key refers to a number beyond the last object.
    case objectMissing(key: String)
    /// The key has a value of another kind than expected, or none where one is required.
    case wrongKind(key: String)
  }

  /// What is wrong.
  package var problem: Problem
  /// The number of the object, 0 for the archive as a whole.
  package var object: Int

  /// Creates an error about an object.
  package init(_ problem: Problem, object: Int = 0) {
    self.problem = problem
    self.object = object
  }
}
