import KeyedArchives

/// What an archived model says, object by object, without regard to numbers and order.
///
/// Entities, properties and indexes have names, by which others refer to them; everything else is
/// written out where it is used.
struct ArchiveGraph {
  /// The keys of each named object.
  private(set) var objects: [String: [String: String]] = [:]
  private let archive: KeyedArchive
  private var names: [KeyedArchive.ID: String] = [:]

  init(_ bytes: [UInt8]) throws {
    archive = try KeyedArchive(decoding: bytes)
    names[archive.root] = "model"
    for number in 1..<archive.count {
      let id = KeyedArchive.ID(rawValue: number)
      if let name = try name(of: id) { names[id] = name }
    }
    for (id, name) in names {
      var keys: [String: String] = [:]
      for member in archive.members(id: id) { keys[member.key] = try text(member.value, in: id) }
      objects[name] = keys
    }
  }

  private func name(of id: KeyedArchive.ID) throws -> String? {
    guard let kind = try archive.className(id: id) else { return nil }
    if kind == "NSEntityDescription" { return try archive.string(key: "NSEntityName", of: id) }
    guard let entity = try archive.reference(key: "NSEntity", of: id),
      let owner = try archive.string(key: "NSEntityName", of: entity)
    else { return nil }
    if let name = try archive.string(key: "NSPropertyName", of: id) { return "\(owner).\(name)" }
    if let name = try archive.string(key: "NSIndexName", of: id) { return "\(owner)[\(name)]" }
    return nil
  }

  private func text(
    _ value: BinaryPropertyList.Object, in id: KeyedArchive.ID
  ) throws -> String {
    switch value {
    case .uid(0): "nil"
    case .uid(let number): try text(KeyedArchive.ID(rawValue: number))
    case .boolean(let value): value ? "true" : "false"
    case .integer(let value): "\(value)"
    case .real(let value): "\(value)"
    case .data(let bytes): "\(bytes)"
    case .string(let text): "\"\(text)\""
    case .array(let members):
      try archive.resolve(members).map { try text($0, in: id) }.joined(separator: ", ")
    default: "\(value)"
    }
  }

  private func text(_ id: KeyedArchive.ID) throws -> String {
    if let name = names[id] { return "<\(name)>" }
    // Compilers differ in which texts they leave as NSMutableString.
    if let text = archive.string(id: id) { return "\"\(text)\"" }
    guard let kind = try archive.className(id: id) else {
      if case .dictionary = archive.object(id: id) {
        return "class \(archive.members(id: id).count)"
      }
      return try text(archive.object(id: id), in: id)
    }
    switch kind {
    case "NSArray", "NSMutableArray":
      return kind + " "
        + "\(try archive.elements(id: id).map { try $0.map { try text($0) } ?? "nil" })"
    case "NSSet", "NSMutableSet":
      return kind + " "
        + "\(try archive.elements(id: id).map { try $0.map { try text($0) } ?? "nil" }.sorted())"
    case "NSDictionary", "NSMutableDictionary", "NSKnownKeysDictionary1":
      let entries = try archive.entries(id: id).map { "\($0.key): \(try text($0.value))" }
      return kind + " \(entries.sorted())"
    default:
      let members = try archive.members(id: id).filter { $0.key != "$class" }.map {
        "\($0.key): \(try text($0.value, in: id))"
      }
      return kind + " \(members.sorted())"
    }
  }

  /// Whether any entity has a class of its own.
  var namesClasses: Bool {
    objects.values.contains { $0["NSClassNameForEntity"].map { $0 != "nil" } ?? false }
  }

  /// A key that two graphs hold differently.
  struct Difference: Hashable, CustomStringConvertible {
    var object: String
    var key: String
    var ours: String
    var theirs: String

    var description: String { "\(object) \(key): \(ours) for \(theirs)" }
  }

  /// Every key in which two graphs differ.
  func differences(from other: ArchiveGraph) -> [Difference] {
    var result: [Difference] = []
    for name in Set(objects.keys).union(other.objects.keys).sorted() {
      let (one, two) = (objects[name] ?? [:], other.objects[name] ?? [:])
      for key in Set(one.keys).union(two.keys).sorted() where one[key] != two[key] {
        result.append(
          Difference(
            object: name, key: key, ours: one[key] ?? "absent", theirs: two[key] ?? "absent"))
      }
    }
    return result
  }
}
