// Objects of unknown classes move from one archive to another unchanged: an object with everything
// that it refers to, as an archive of its own.

extension KeyedArchive {
  /// The object with everything that it refers to, as an archive of its own.
  ///
  /// nil if that is damaged or larger than 50,000 values, or if it refers to an object of one of
  /// the given classes, which has no meaning outside its archive.
  package func extracted(_ id: ID, notTo classes: Set<String>) -> [UInt8]? {
    var extract = ArchiveExtract(archive: self, barred: classes)
    guard let objects = extract.objects(from: id.rawValue) else { return nil }
    return PropertyList.dictionary([
      "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000),
      "$top": .dictionary(["root": .uid(1)]), "$objects": .array([.string("$null")] + objects),
    ]).encoded()
  }
}

private struct ArchiveExtract {
  let archive: KeyedArchive
  let barred: Set<String>
  /// The number in the extract, by the number in the archive.
  private var numbers: [Int: Int] = [0: 0]
  private var open: [Int] = []
  /// How many more values may be extracted.
  private var budget = 50_000

  init(archive: KeyedArchive, barred: Set<String>) {
    self.archive = archive
    self.barred = barred
  }

  mutating func objects(from root: Int) -> [PropertyList]? {
    _ = number(of: root)
    var result: [PropertyList] = []
    while result.count < open.count {
      let next = open[result.count]
      guard let name = try? archive.className(id: .init(rawValue: next)) ?? "",
        !barred.contains(name), let tree = tree(archive.table[next], depth: 0)
      else { return nil }
      result.append(tree)
    }
    return result
  }

  private mutating func number(of object: Int) -> Int {
    if let known = numbers[object] { return known }
    open.append(object)
    numbers[object] = open.count
    return open.count
  }

  private mutating func tree(_ index: Int, depth: Int) -> PropertyList? {
    budget -= 1
    guard budget > 0, depth < 50 else { return nil }
    switch archive.list.objects[index] {
    case .null: return .null
    case .boolean(let value): return .boolean(value)
    case .integer(let value): return .integer(value)
    case .unsigned(let value): return .unsigned(value)
    case .real(let value): return .real(value)
    case .date(let value): return .date(value)
    case .data(let value): return .data(value)
    case .string(let value): return .string(value)
    case .uid(let value): return value < archive.count ? .uid(number(of: value)) : nil
    case .array(let members): return trees(members: members, depth: depth).map { .array($0) }
    case .set(let members): return trees(members: members, depth: depth).map { .set($0) }
    case .dictionary(let keys, let values):
      guard let values = trees(members: values, depth: depth) else { return nil }
      var result: [ExactText: PropertyList] = [:]
      for (key, value) in zip(keys, values) {
        guard case .string(let name) = archive.list.objects[key] else { return nil }
        result[name] = value
      }
      return .dictionary(result)
    }
  }

  private mutating func trees(members: [Int], depth: Int) -> [PropertyList]? {
    var result: [PropertyList] = []
    for member in members {
      guard let tree = tree(member, depth: depth + 1) else { return nil }
      result.append(tree)
    }
    return result
  }
}

extension PropertyList {
  /// The tree with `distance` added to every object number; numbers from `limit` on become those of
  /// `$null`.
  func shifted(by distance: Int, limit: Int) -> PropertyList {
    switch self {
    case .uid(let value): .uid(value == 0 || value >= limit ? 0 : value + distance)
    case .array(let members): .array(members.map { $0.shifted(by: distance, limit: limit) })
    case .set(let members): .set(members.map { $0.shifted(by: distance, limit: limit) })
    case .dictionary(let members):
      .dictionary(members.mapValues { $0.shifted(by: distance, limit: limit) })
    default: self
    }
  }
}
