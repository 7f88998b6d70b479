/// A property list as a tree of values, such as the metadata of a store.
package indirect enum PropertyList: Hashable, Sendable {
  /// Null, which only binary property lists can have.
  case null
  /// `NSNumber` of a boolean.
  case boolean(Bool)
  /// `NSNumber` of an integer.
  case integer(Int64)
  /// `NSNumber` of an integer beyond `Int64`.
  case unsigned(UInt64)
  /// `NSNumber` of a number with a fraction.
  case real(Double)
  /// `NSDate`, in seconds since 2001-01-01 00:00:00 UTC.
  case date(Double)
  /// `NSData`.
  case data([UInt8])
  /// `NSString`.
  case string(ExactText)
  /// The number of an object in a keyed archive.
  case uid(Int)
  /// `NSArray`.
  case array([PropertyList])
  /// `NSSet`, in the order of the file.
  case set([PropertyList])
  /// `NSDictionary`, with strings as keys.
  case dictionary([ExactText: PropertyList])

  /// The deepest nesting of collections that is read.
  package static let maximumDepth = 200
  /// The most values of a tree that are read: objects that are referred to repeatedly can make a
  /// large tree of a small file.
  package static let maximumValues = 1_000_000

  /// Reads a binary property list.
  ///
  /// - Throws: `PropertyListError`, also for cycles and for more depth or values than allowed.
  package init(decoding bytes: [UInt8]) throws(PropertyListError) {
    let table = try BinaryPropertyList(decoding: bytes)
    var builder = TreeBuilder(table: table)
    self = try builder.value(index: table.top, depth: 0)
  }

  /// The tree as a binary property list, with sorted keys and equal scalars stored once.
  package func encoded() -> [UInt8] {
    var flattener = Flattener()
    let top = flattener.add(self)
    return BinaryPropertyList(objects: flattener.objects, top: top).encoded()
  }
}

extension PropertyList {
  private struct TreeBuilder {
    let table: BinaryPropertyList
    var path: Set<Int> = []
    var values = 0

    init(table: BinaryPropertyList) { self.table = table }

    mutating func value(index: Int, depth: Int) throws(PropertyListError) -> PropertyList {
      values += 1
      guard values <= PropertyList.maximumValues else {
        throw PropertyListError(.tooLarge, at: index)
      }
      guard path.insert(index).inserted else { throw PropertyListError(.cycle, at: index) }
      guard depth <= PropertyList.maximumDepth else {
        throw PropertyListError(.tooDeep, at: index)
      }
      defer { path.remove(index) }
      switch table.objects[index] {
      case .null: return .null
      case .boolean(let value): return .boolean(value)
      case .integer(let value): return .integer(value)
      case .unsigned(let value): return .unsigned(value)
      case .real(let value): return .real(value)
      case .date(let value): return .date(value)
      case .data(let value): return .data(value)
      case .string(let value): return .string(value)
      case .uid(let value): return .uid(value)
      case .array(let members): return .array(try children(members: members, depth: depth))
      case .set(let members): return .set(try children(members: members, depth: depth))
      case .dictionary(let keys, let members):
        let children = try children(members: members, depth: depth)
        var result: [ExactText: PropertyList] = [:]
        for (key, child) in zip(keys, children) {
          guard case .string(let name) = table.objects[key] else {
            throw PropertyListError(.dictionaryKeyIsNotAString, at: index)
          }
          result[name] = child
        }
        return .dictionary(result)
      }
    }

    private mutating func children(
      members: [Int], depth: Int
    ) throws(PropertyListError) -> [PropertyList] {
      var result: [PropertyList] = []
      for member in members { result.append(try value(index: member, depth: depth + 1)) }
      return result
    }
  }

  private struct Flattener {
    var objects: [BinaryPropertyList.Object] = []
    private var scalars: [BinaryPropertyList.Object: Int] = [:]

    init() {}

    mutating func add(_ value: PropertyList) -> Int {
      switch value {
      case .null: return scalar(object: .null)
      case .boolean(let value): return scalar(object: .boolean(value))
      case .integer(let value): return scalar(object: .integer(value))
      case .unsigned(let value): return scalar(object: .unsigned(value))
      case .real(let value): return append(.real(value))
      case .date(let value): return append(.date(value))
      case .data(let value): return scalar(object: .data(value))
      case .string(let value): return scalar(object: .string(value))
      case .uid(let value): return scalar(object: .uid(value))
      case .array(let members):
        let index = append(.null)
        objects[index] = .array(members.map { add($0) })
        return index
      case .set(let members):
        let index = append(.null)
        objects[index] = .set(members.map { add($0) })
        return index
      case .dictionary(let members):
        let index = append(.null)
        let sorted = members.sorted { $0.key < $1.key }
        let keys = sorted.map { scalar(object: .string($0.key)) }
        objects[index] = .dictionary(keys: keys, values: sorted.map { add($0.value) })
        return index
      }
    }

    private mutating func scalar(object: BinaryPropertyList.Object) -> Int {
      if let index = scalars[object] { return index }
      let index = append(object)
      scalars[object] = index
      return index
    }

    private mutating func append(_ object: BinaryPropertyList.Object) -> Int {
      objects.append(object)
      return objects.count - 1
    }
  }
}

extension PropertyList {
  /// The text of a string, nil for any other value.
  package var stringValue: String? { if case .string(let value) = self { value.text } else { nil } }
  /// The number of an integer within `Int64`, nil for any other value.
  package var integerValue: Int64? { if case .integer(let value) = self { value } else { nil } }
  /// The bytes of data, nil for any other value.
  package var dataValue: [UInt8]? { if case .data(let value) = self { value } else { nil } }
  /// The members of an array, nil for any other value.
  package var arrayValue: [PropertyList]? {
    if case .array(let value) = self { value } else { nil }
  }
  /// The members of a dictionary, nil for any other value.
  package var dictionaryValue: [ExactText: PropertyList]? {
    if case .dictionary(let value) = self { value } else { nil }
  }
}
