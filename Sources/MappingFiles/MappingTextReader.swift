import Expressions
package import Mapping
import ObjectModel

/// Reads mapping models from JSON (docs/reference/mapping-file.md).
package enum MappingTextReader {
  /// Reads a mapping model.
  ///
  /// - Throws: `MappingFileError` with mapping, property and line, and the column in an expression.
  package static func mapping(decoding bytes: [UInt8]) throws(MappingFileError) -> MappingModel {
    try file(decoding: bytes).mapping
  }

  /// Reads a mapping model, and the two versions that it was made for where the file names them.
  ///
  /// - Throws: `MappingFileError` with mapping, property and line, and the column in an expression.
  static func file(
    decoding bytes: [UInt8]
  ) throws(MappingFileError) -> (mapping: MappingModel, versions: MappingFile.Versions?) {
    let tree = try JSONTree(parsing: bytes)
    var root = try JSONObject(tree: tree, key: "the file")
    guard try root.text(key: "format") == MappingText.format else {
      throw MappingFileError(.notAMappingModel)
    }
    let version = root.take("version")
    guard case .number(MappingText.version)? = version?.content else {
      throw MappingFileError(.unsupportedVersion(version?.scalarText ?? ""), line: version?.line)
    }
    _ = root.take("$schema")
    let versions = (
      try root.text(key: "sourceVersion"), try root.text(key: "destinationVersion")
    )
    guard let list = root.take("mappings") else {
      throw MappingFileError(.incomplete(object: "the file", key: "mappings"))
    }
    guard case .array(let members) = list.content else {
      throw MappingFileError(
        .wrongKind(key: "mappings", expected: "an array"), line: list.line)
    }
    try root.requireEmpty()
    var result: [EntityMapping] = []
    var names: Set<String> = []
    for member in members {
      let mapping = try EntityMapping(member)
      guard names.insert(mapping.name).inserted else {
        throw MappingFileError(.duplicateMapping, line: member.line, mapping: mapping.name)
      }
      result.append(mapping)
    }
    guard let source = versions.0, let destination = versions.1 else {
      return (MappingModel(entityMappings: result), nil)
    }
    return (
      MappingModel(entityMappings: result),
      MappingFile.Versions(source: source, destination: destination)
    )
  }
}

extension EntityMapping {
  fileprivate init(_ tree: JSONTree) throws(MappingFileError) {
    var object = try JSONObject(tree: tree, key: "mappings")
    let named = try object.text(key: "name")
    let source = try object.text(key: "source")
    let destination = try object.text(key: "destination")
    guard let name = named ?? Self.standardName(source: source, destination: destination) else {
      throw MappingFileError(.incomplete(object: "a mapping", key: "name"), line: tree.line)
    }
    guard source != nil || destination != nil else {
      throw MappingFileError(
        .incomplete(object: name, key: "source"), line: tree.line, mapping: name)
    }
    do throws(MappingFileError) {
      let policy = try object.text(key: "policy")
      let standard = Self.standardKind(source: source, destination: destination, policy: policy)
      self.init(name: name, kind: standard, source: source, destination: destination)
      let isTyped = object.has("type")
      if let type = object.take("type") {
        kind = try type.word(key: "type") { EntityMapping.Kind(rawValue: $0) }
      }
      migrationPolicyClassName = policy
      try readNewObjects(&object, isTyped: isTyped, line: tree.line)
      sourceVersionHash = try object.hash(key: "sourceHash")
      destinationVersionHash = try object.hash(key: "destinationHash")
      try readSource(&object)
      if let info = object.take("userInfo") { userInfo = try UserInfoText.values(tree: info) }
      attributeMappings = try Self.properties(key: "attributes", object: &object)
      relationshipMappings = try Self.properties(key: "relationships", object: &object)
      try object.requireEmpty()
    } catch {
      throw error.at(line: tree.line, mapping: name)
    }
  }

  private mutating func readSource(_ object: inout JSONObject) throws(MappingFileError) {
    if let filter = object.take("filter") {
      let predicate = try filter.string(key: "filter")
      guard let source = sourceEntityName, destinationEntityName != nil,
        !object.has("sourceExpression")
      else {
        throw MappingFileError(.unknownKey("filter"), line: filter.line)
      }
      do {
        try FormatText.check(predicate: predicate)
      } catch {
        throw error.at(line: filter.line, property: "filter")
      }
      sourceExpression = .sourceObjects(of: source, where: predicate)
    }
    guard let written = object.take("sourceExpression") else { return }
    if case .null = written.content {
      sourceExpression = nil
      return
    }
    do throws(MappingFileError) {
      sourceExpression = try FormatText.expression(
        text: try written.string(key: "sourceExpression"))
    } catch {
      throw error.at(line: written.line, property: "sourceExpression")
    }
  }

  private static func properties(
    key: String, object: inout JSONObject
  ) throws(MappingFileError) -> [PropertyMapping] {
    guard let tree = object.take(key) else { return [] }
    guard case .object(let members) = tree.content else {
      throw MappingFileError(.wrongKind(key: key, expected: "an object"), line: tree.line)
    }
    var result: [PropertyMapping] = []
    for (name, value) in members {
      do {
        result.append(
          try PropertyMapping(
            name: name, tree: value, isRelationship: key == "relationships"))
      } catch {
        throw error.at(line: value.line, property: name)
      }
    }
    return result
  }
}

extension PropertyMapping {
  fileprivate init(
    name: String, tree: JSONTree, isRelationship: Bool
  ) throws(MappingFileError) {
    self.init(name: name, valueExpression: nil)
    guard case .object = tree.content else {
      valueExpression = try FormatText.optionalExpression(tree: tree)
      return
    }
    var object = try JSONObject(tree: tree, key: name)
    if let keys = object.take("sortedBy") {
      guard isRelationship else {
        throw MappingFileError(.unknownKey("sortedBy"), line: keys.line)
      }
      sortedBy = try SortKey.keys(tree: keys)
    }
    if let value = object.take("value") {
      valueExpression = try FormatText.optionalExpression(tree: value)
    }
    if let info = object.take("userInfo") { userInfo = try UserInfoText.values(tree: info) }
    try object.requireEmpty()
  }
}

private enum UserInfoText {
  static func values(tree: JSONTree) throws(MappingFileError) -> [String: AttributeValue] {
    guard case .object(let members) = tree.content else {
      throw MappingFileError(.wrongKind(key: "userInfo", expected: "an object"), line: tree.line)
    }
    var result: [String: AttributeValue] = [:]
    for (key, value) in members { result[key] = try self.value(key: key, tree: value) }
    return result
  }

  private static func value(
    key: String, tree: JSONTree
  ) throws(MappingFileError) -> AttributeValue {
    switch tree.content {
    case .null: return .null
    case .boolean(let flag): return .boolean(flag)
    case .string(let text): return .string(text)
    case .number(let digits):
      if let whole = Int64(digits) { return .integer(whole) }
      if let real = Double(digits) { return .real(real) }
      throw MappingFileError(.badValue(key: key, value: digits), line: tree.line)
    case .object: return try constant(key: key, tree: tree)
    case .array: throw MappingFileError(.unsupportedUserInfo(key: key), line: tree.line)
    }
  }

  private static func constant(
    key: String, tree: JSONTree
  ) throws(MappingFileError) -> AttributeValue {
    var object = try JSONObject(tree: tree, key: key)
    guard let text = try object.text(key: "constant"),
      case .constant(let value) = try FormatText.expression(text: text)
    else { throw MappingFileError(.unsupportedUserInfo(key: key), line: tree.line) }
    try object.requireEmpty()
    return value
  }
}
