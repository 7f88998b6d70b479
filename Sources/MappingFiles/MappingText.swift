import Expressions
package import Mapping
import ObjectModel

/// Writes mapping models as JSON (docs/reference/mapping-file.md).
package enum MappingText {
  static let format = "godwit mapping model"
  static let version = "1"

  /// The mapping model as JSON, ending in a newline, with the versions that it was made for.
  ///
  /// - Throws: `MappingFileError` with `noText`, if a value has no text in the predicate format.
  package static func text(
    mapping: MappingModel, versions: MappingFile.Versions? = nil
  ) throws(MappingFileError) -> String {
    var entries: [(inout MappingJSON) -> Void] = []
    for entityMapping in mapping.entityMappings {
      do {
        let members = try members(of: entityMapping)
        entries.append { $0.object(members) }
      } catch {
        throw error.at(mapping: entityMapping.name)
      }
    }
    var text = MappingJSON()
    var members: [Member] = [
      ("format", { $0.string(value: format) }), ("version", { $0.raw(version) }),
    ]
    if let versions {
      members.append(("sourceVersion", { $0.string(value: versions.source) }))
      members.append(("destinationVersion", { $0.string(value: versions.destination) }))
    }
    members.append(("mappings", { $0.array(entries) }))
    text.object(members)
    return text.text + "\n"
  }

  private typealias Member = (key: String, write: (inout MappingJSON) -> Void)

  private static func members(
    of mapping: EntityMapping
  ) throws(MappingFileError) -> [Member] {
    var result: [Member] = []
    func add(_ key: String, value: String?) {
      if let value { result.append((key, { $0.string(value: value) })) }
    }
    add("name", value: mapping.name)
    add("type", value: mapping.kind.rawValue)
    add("source", value: mapping.sourceEntityName)
    add("sourceHash", value: mapping.sourceVersionHash?.hexadecimal)
    add("destination", value: mapping.destinationEntityName)
    add("destinationHash", value: mapping.destinationVersionHash?.hexadecimal)
    if let member = try source(of: mapping) { result.append(member) }
    if let objects = mapping.newObjects {
      do {
        let members = try objects.members()
        result.append(("onePer", { $0.object(members) }))
      } catch {
        throw error.at(property: "onePer")
      }
    }
    add("policy", value: mapping.migrationPolicyClassName)
    if let info = try userInfo(info: mapping.userInfo) { result.append(info) }
    if !mapping.attributeMappings.isEmpty {
      let members = try properties(mappings: mapping.attributeMappings)
      result.append(("attributes", { $0.object(members) }))
    }
    if !mapping.relationshipMappings.isEmpty {
      let members = try properties(mappings: mapping.relationshipMappings)
      result.append(("relationships", { $0.object(members) }))
    }
    return result
  }

  /// The key for the source objects: none for all objects, `filter` for a predicate,
  /// `sourceExpression` for anything else.
  private static func source(of mapping: EntityMapping) throws(MappingFileError) -> Member? {
    let isMapped = mapping.sourceEntityName != nil && mapping.destinationEntityName != nil
    guard let expression = mapping.sourceExpression else {
      return isMapped ? ("sourceExpression", { $0.raw("null") }) : nil
    }
    if isMapped, let filter = mapping.filter, FormatText.isPredicate(filter) {
      return filter == ValueExpression.everything ? nil : ("filter", { $0.string(value: filter) })
    }
    do {
      let text = try FormatText.text(of: expression)
      return ("sourceExpression", { $0.string(value: text) })
    } catch {
      throw error.at(property: "sourceExpression")
    }
  }

  private static func properties(
    mappings: [PropertyMapping]
  ) throws(MappingFileError) -> [Member] {
    var result: [Member] = []
    for mapping in mappings {
      do {
        let write = try value(expression: mapping.valueExpression)
        let info = try userInfo(info: mapping.userInfo)
        if info != nil || !mapping.sortedBy.isEmpty {
          // Without a value, what is sorted is what the mapping copies.
          let isOpen = mapping.valueExpression == nil && !mapping.sortedBy.isEmpty
          var members: [Member] = isOpen ? [] : [("value", write)]
          if let order = order(mapping.sortedBy) { members.append(order) }
          if let info { members.append(info) }
          result.append((mapping.name, { $0.object(members) }))
        } else {
          result.append((mapping.name, write))
        }
      } catch {
        throw error.at(property: mapping.name)
      }
    }
    return result
  }

  private static func order(_ keys: [SortKey]) -> Member? {
    if keys.isEmpty { return nil }
    let entries = keys.map { key in { (text: inout MappingJSON) in text.string(value: key.text) } }
    return ("sortedBy", { $0.array(entries) })
  }

  private static func value(
    expression: ValueExpression?
  ) throws(MappingFileError) -> (inout MappingJSON) -> Void {
    guard let expression else { return { $0.raw("null") } }
    let text = try FormatText.text(of: expression)
    return { $0.string(value: text) }
  }

  private static func userInfo(
    info: [String: AttributeValue]
  ) throws(MappingFileError) -> Member? {
    guard !info.isEmpty else { return nil }
    var members: [Member] = []
    for (key, value) in info.sorted(by: { $0.key < $1.key }) {
      switch value {
      case .null: members.append((key, { $0.raw("null") }))
      case .boolean(let flag): members.append((key, { $0.raw(flag ? "true" : "false") }))
      case .integer(let number): members.append((key, { $0.raw("\(number)") }))
      case .real(let number) where number.isFinite: members.append((key, { $0.raw("\(number)") }))
      case .string(let text): members.append((key, { $0.string(value: text) }))
      default:
        // JSON has no literal for the rest, which are written as constants of the predicate format.
        let text = try FormatText.text(of: .constant(value))
        members.append((key, { $0.object([("constant", { $0.string(value: text) })]) }))
      }
    }
    return ("userInfo", { $0.object(members) })
  }
}
