import Expressions
import Mapping

extension EntityMapping {
  /// Takes the key `onePer`, with which a mapping maps what it lists and nothing else.
  mutating func readNewObjects(
    _ object: inout JSONObject, isTyped: Bool, line: Int
  ) throws(MappingFileError) {
    newObjects = try NewObjects(reading: &object)
    guard let newObjects else { return }
    func fail(_ problem: MappingFileError.Problem) -> MappingFileError {
      MappingFileError(problem, line: line, property: "onePer")
    }
    if migrationPolicyClassName != nil { throw fail(.unknownKey("policy")) }
    if destinationEntityName == nil { throw fail(.incomplete(object: name, key: "destination")) }
    if sourceEntityName == nil, newObjects.unit != .all {
      throw fail(.incomplete(object: name, key: "source"))
    }
    let made: Kind = sourceEntityName == nil ? .add : .transform
    if isTyped, kind != made { throw fail(.badValue(key: "type", value: kind.rawValue)) }
    kind = made
  }
}

extension NewObjects {
  /// Takes the key `onePer` of a mapping; nil where there is none.
  fileprivate init?(reading members: inout JSONObject) throws(MappingFileError) {
    guard let tree = members.take("onePer") else { return nil }
    do throws(MappingFileError) {
      var object = try JSONObject(tree: tree, key: "onePer")
      let units = ["pairIn", "value", "all"].filter { object.has($0) }
      guard units.count == 1 else {
        let other = units.dropFirst().first
        throw other.map { MappingFileError(.unknownKey($0)) }
          ?? MappingFileError(.incomplete(object: "onePer", key: "pairIn, value or all"))
      }
      self.init(unit: try Self.unit(&object))
      if valueExpression != nil {
        attribute = try object.text(key: "attribute")
        if let flag = object.take("findsExisting") {
          findsExisting = try flag.flag(key: "findsExisting")
        }
        guard !findsExisting || attribute != nil else {
          throw MappingFileError(.incomplete(object: "onePer", key: "attribute"))
        }
      }
      sourceRelationship = try object.text(key: "sourceIn")
      if pairRelationship != nil { memberRelationship = try object.text(key: "memberIn") }
      try object.requireEmpty()
    } catch {
      throw error.at(line: tree.line, property: "onePer")
    }
  }

  private static func unit(_ object: inout JSONObject) throws(MappingFileError) -> Unit {
    if let name = try object.text(key: "pairIn") { return .pair(relationship: name) }
    if let all = object.take("all") {
      guard try all.flag(key: "all") else {
        throw MappingFileError(.badValue(key: "all", value: "false"), line: all.line)
      }
      return .all
    }
    guard let text = try object.text(key: "value") else {
      throw MappingFileError(.incomplete(object: "onePer", key: "value"))
    }
    let takesNil = try object.take("nil").map { (tree) throws(MappingFileError) in
      try tree.word(key: "nil") { ["none": false, "one": true][$0] }
    }
    return .value(try FormatText.expression(text: text), takesNil: takesNil ?? false)
  }

  /// The members of the key `onePer`.
  func members() throws(MappingFileError) -> [(key: String, write: (inout MappingJSON) -> Void)] {
    var result: [(key: String, write: (inout MappingJSON) -> Void)] = []
    func add(_ key: String, _ text: String?) {
      if let text { result.append((key, { $0.string(value: text) })) }
    }
    switch unit {
    case .pair(let relationship): add("pairIn", relationship)
    case .value(let expression, let takesNil):
      add("value", try FormatText.text(of: expression))
      if takesNil { add("nil", "one") }
    case .all: result.append(("all", { $0.raw("true") }))
    }
    add("attribute", attribute)
    if findsExisting { result.append(("findsExisting", { $0.raw("true") })) }
    add("sourceIn", sourceRelationship)
    add("memberIn", memberRelationship)
    return result
  }
}

extension SortKey {
  /// Reads the keys by which a relationship is sorted: texts, with `-` in front where high values
  /// come first, or objects.
  static func keys(tree: JSONTree) throws(MappingFileError) -> [SortKey] {
    guard case .array(let members) = tree.content, !members.isEmpty else {
      throw MappingFileError(
        .wrongKind(key: "sortedBy", expected: "an array with at least one key"), line: tree.line)
    }
    var result: [SortKey] = []
    for member in members { result.append(try SortKey(tree: member)) }
    return result
  }

  private init(tree: JSONTree) throws(MappingFileError) {
    guard case .object = tree.content else {
      let text = try tree.string(key: "sortedBy")
      let isDescending = text.hasPrefix("-")
      self.init(path: isDescending ? String(text.dropFirst()) : text, isDescending: isDescending)
      return
    }
    var object = try JSONObject(tree: tree, key: "sortedBy")
    guard let key = try object.text(key: "key") else {
      throw MappingFileError(.incomplete(object: "sortedBy", key: "key"), line: tree.line)
    }
    let flag = object.take("descending")
    self.init(path: key, isDescending: try flag?.flag(key: "descending") ?? false)
    try object.requireEmpty()
  }

  /// The key as a mapping file has it.
  var text: String { (isDescending ? "-" : "") + path }
}

extension FormatText {
  /// The expression of a property; nil for `null`.
  static func optionalExpression(
    tree: JSONTree
  ) throws(MappingFileError) -> ValueExpression? {
    if case .null = tree.content { return nil }
    do throws(MappingFileError) {
      return try expression(text: try tree.string(key: "value"))
    } catch {
      throw error.at(line: tree.line)
    }
  }
}

extension JSONTree {
  fileprivate func flag(key: String) throws(MappingFileError) -> Bool {
    guard case .boolean(let flag) = content else {
      throw MappingFileError(.wrongKind(key: key, expected: "true or false"), line: line)
    }
    return flag
  }
}
