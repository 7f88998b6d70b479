/// Builds a keyed archive object by object; equal strings become one object.
package struct KeyedArchiveWriter: Sendable {
  /// The number of an object in the archive.
  package typealias ID = KeyedArchive.ID

  /// The class of an archived object, for `$classname` and `$classes`.
  package struct Class: Hashable, Sendable {
    /// The name of the class and those of its superclasses, up to `NSObject`.
    package var chain: [String]

    /// Takes the names from the class itself to `NSObject`.
    package init(_ chain: String...) {
      precondition(!chain.isEmpty, "a class has a name")
      self.chain = chain
    }
  }

  /// The value of a key of an object.
  package enum Field: Sendable {
    /// Another object, nil for `$null`.
    case reference(ID?)
    /// An array of other objects, inside the object.
    case references([ID])
    /// A boolean inside the object.
    case boolean(Bool)
    /// An integer inside the object.
    case integer(Int64)
    /// A number inside the object.
    case real(Double)
    /// Bytes inside the object.
    case data([UInt8])
    /// A string inside the object, not an object of its own.
    case string(String)
  }

  private enum Entry: Sendable {
    case reserved
    case scalar(BinaryPropertyList.Object)
    case object([(key: String, value: Field)], ID)
    case description([String])
    case tree(PropertyList)
  }

  /// Object 0 is `$null`.
  private var entries: [Entry] = [.scalar(.string("$null"))]
  private var scalars: [BinaryPropertyList.Object: ID] = [:]
  private var classes: [Class: ID] = [:]

  /// Starts an archive with only `$null`.
  package init() {}

  /// A number for an object that is described later, so that others can already refer to it.
  package mutating func reserve() -> ID { append(.reserved) }

  /// Describes a reserved object, once.
  package mutating func set(
    _ id: ID, kind: Class, fields: [(key: String, value: Field)]
  ) {
    guard case .reserved = entries[id.rawValue] else {
      preconditionFailure("an object is described once")
    }
    entries[id.rawValue] = .object(fields, description(of: kind))
  }

  /// Adds an object with its keys.
  package mutating func add(_ kind: Class, fields: [(key: String, value: Field)]) -> ID {
    let id = reserve()
    set(id, kind: kind, fields: fields)
    return id
  }

  /// Adds a string, or returns an equal one.
  package mutating func add(_ string: String) -> ID { scalar(object: .string(ExactText(string))) }
  /// Adds an integer, or returns an equal one.
  package mutating func add(_ integer: Int64) -> ID { scalar(object: .integer(integer)) }
  /// Adds a boolean, or returns an equal one.
  package mutating func add(_ boolean: Bool) -> ID { scalar(object: .boolean(boolean)) }
  /// Adds a number.
  package mutating func add(_ real: Double) -> ID { append(.scalar(.real(real))) }
  /// Adds bytes, or returns equal ones.
  package mutating func add(_ data: [UInt8]) -> ID { scalar(object: .data(data)) }

  /// Adds all objects of another archive unchanged, and returns its root; nil if the bytes are not
  /// an archive.
  package mutating func add(archive bytes: [UInt8]) -> ID? {
    guard let list = try? PropertyList(decoding: bytes).dictionaryValue,
      case .array(let objects)? = list["$objects"],
      case .uid(let root)? = list["$top"]?.dictionaryValue?["root"], objects.indices.contains(root),
      root > 0
    else { return nil }
    // Object 0 of both is `$null`.
    let base = entries.count - 1
    for object in objects.dropFirst() {
      entries.append(.tree(object.shifted(by: base, limit: objects.count)))
    }
    return ID(rawValue: root + base)
  }

  /// Adds an array or a set of this class.
  package mutating func add(_ kind: Class, of members: [ID]) -> ID {
    add(kind, fields: [("NS.objects", .references(members))])
  }

  /// Adds a dictionary of this class.
  package mutating func add(_ kind: Class, of members: [(key: String, value: ID)]) -> ID {
    let id = reserve()
    let keys = members.map { add($0.key) }
    set(
      id, kind: kind,
      fields: [("NS.keys", .references(keys)), ("NS.objects", .references(members.map(\.value)))])
    return id
  }

  /// The archive with this root object, in the binary format.
  ///
  /// - Precondition: every reserved object is described.
  package func encoded(root: ID) -> [UInt8] {
    var table = FlatTable()
    let archiver = table.shared(.string("NSKeyedArchiver"))
    let version = table.shared(.integer(100_000))
    let rootReference = table.shared(.uid(root.rawValue))
    let rootKey = table.shared(.string("root"))
    let top = table.append(.dictionary(keys: [rootKey], values: [rootReference]))
    let objects = table.append(.null)
    var numbers: [Int] = []
    numbers.reserveCapacity(entries.count)
    for entry in entries { numbers.append(Self.flatten(entry, table: &table)) }
    table.objects[objects] = .array(numbers)
    let keys = ["$version", "$archiver", "$top", "$objects"].map { table.shared(key: $0) }
    let list = table.append(.dictionary(keys: keys, values: [version, archiver, top, objects]))
    return BinaryPropertyList(objects: table.objects, top: list).encoded()
  }

  private static func flatten(_ entry: Entry, table: inout FlatTable) -> Int {
    switch entry {
    case .reserved: preconditionFailure("every reserved object is described")
    case .scalar(let scalar): return table.append(scalar)
    case .tree(let tree): return flatten(tree, table: &table)
    case .description(let chain):
      let names = chain.map { table.shared(key: $0) }
      let classes = table.append(.array(names))
      let keys = ["$classname", "$classes"].map { table.shared(key: $0) }
      return table.append(.dictionary(keys: keys, values: [names[0], classes]))
    case .object(let fields, let kind):
      var keys: [Int] = []
      var values: [Int] = []
      for (key, value) in fields {
        keys.append(table.shared(key: key))
        values.append(flatten(value, table: &table))
      }
      keys.append(table.shared(.string("$class")))
      values.append(table.shared(.uid(kind.rawValue)))
      return table.append(.dictionary(keys: keys, values: values))
    }
  }

  private static func flatten(_ tree: PropertyList, table: inout FlatTable) -> Int {
    switch tree {
    case .null: return table.append(.null)
    case .boolean(let value): return table.append(.boolean(value))
    case .integer(let value): return table.append(.integer(value))
    case .unsigned(let value): return table.append(.unsigned(value))
    case .real(let value): return table.append(.real(value))
    case .date(let value): return table.append(.date(value))
    case .data(let value): return table.append(.data(value))
    case .string(let value): return table.append(.string(value))
    case .uid(let value): return table.shared(.uid(value))
    case .array(let members):
      let numbers = members.map { flatten($0, table: &table) }
      return table.append(.array(numbers))
    case .set(let members):
      let numbers = members.map { flatten($0, table: &table) }
      return table.append(.set(numbers))
    case .dictionary(let members):
      let sorted = members.sorted { $0.key < $1.key }
      let keys = sorted.map { table.shared(.string($0.key)) }
      let values = sorted.map { flatten($0.value, table: &table) }
      return table.append(.dictionary(keys: keys, values: values))
    }
  }

  private static func flatten(_ field: Field, table: inout FlatTable) -> Int {
    switch field {
    case .reference(let id): return table.shared(.uid(id?.rawValue ?? 0))
    case .references(let ids):
      let members = ids.map { table.shared(.uid($0.rawValue)) }
      return table.append(.array(members))
    case .boolean(let value): return table.shared(.boolean(value))
    case .integer(let value): return table.shared(.integer(value))
    case .real(let value): return table.append(.real(value))
    case .data(let value): return table.shared(.data(value))
    case .string(let value): return table.shared(.string(ExactText(value)))
    }
  }

  private mutating func description(of kind: Class) -> ID {
    if let id = classes[kind] { return id }
    let id = append(.description(kind.chain))
    classes[kind] = id
    return id
  }

  private mutating func scalar(object: BinaryPropertyList.Object) -> ID {
    if let id = scalars[object] { return id }
    let id = append(.scalar(object))
    scalars[object] = id
    return id
  }

  private mutating func append(_ entry: Entry) -> ID {
    entries.append(entry)
    return ID(rawValue: entries.count - 1)
  }
}

/// The objects of the property list that is being written; equal scalars are stored once.
private struct FlatTable {
  var objects: [BinaryPropertyList.Object] = []
  private var scalars: [BinaryPropertyList.Object: Int] = [:]

  init() {}

  mutating func append(_ object: BinaryPropertyList.Object) -> Int {
    objects.append(object)
    return objects.count - 1
  }

  mutating func shared(key: String) -> Int { shared(.string(ExactText(key))) }

  mutating func shared(_ object: BinaryPropertyList.Object) -> Int {
    if let index = scalars[object] { return index }
    let index = append(object)
    scalars[object] = index
    return index
  }
}
