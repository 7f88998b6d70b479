import Schema
package import SystemPackage

/// What a name in a work folder stands for: Godwit removes what it gives names to, and no more.
package enum WorkFileName: Hashable, Sendable {
  /// A file of the migration.
  case file
  /// The mark or the lock of the folder itself, which go last.
  case keeper
  /// The work folder of one stage: `step-3.godwit`.
  case stageFolder
  /// The folder with the external files of the store that a stage makes: `.step-3_SUPPORT`.
  case stageSupport

  /// nil for a name that Godwit does not give.
  package init?(_ name: FilePath.Component) {
    var text = name.string[...]
    if let whole = Self.withoutTemporarySuffix(text) { text = whole }
    if text == "godwit.json" || text == "godwit.lock" {
      self = .keeper
    } else if Self.number(text: text, between: "step-", and: ".godwit") != nil {
      self = .stageFolder
    } else if Self.number(text: text, between: ".step-", and: "_SUPPORT") != nil {
      self = .stageSupport
    } else if Self.isFile(text) {
      self = .file
    } else {
      return nil
    }
  }

  /// Whether the name is one that a migration gives before its folder bears a mark.
  package static func precedesMark(_ name: FilePath.Component) -> Bool {
    name.string == "godwit.lock"
      || withoutTemporarySuffix(name.string[...]).map { $0 == "godwit.json" } ?? false
  }

  private static let files: Set<Substring> = [
    "plan.json", "run.json", "status.mdb", "status.mdb-lock", "swap.json", "claims", "renumbered",
    "lookups", "lookups.making", "source.pages", "keys",
    "places.sqlite.making", "dropped.sqlite.making", "result.sqlite-kept", "result.sqlite-link",
    "result.sqlite-probe", "result.sqlite-fenced",
  ]
  private static let databases: Set<Substring> = [
    "source.sqlite", "result.sqlite", "skeleton.sqlite", "places.sqlite",
    "dropped.sqlite", "salvaged.sqlite",
  ]

  private static func isFile(_ text: Substring) -> Bool {
    if files.contains(text) { return true }
    var database = text
    for suffix in StoreFile.logSuffixes where text.hasSuffix(suffix) {
      database = text.dropLast(suffix.count)
    }
    if databases.contains(database) || files.contains(database) { return true }
    if number(text: database, between: "step-", and: ".sqlite") != nil { return true }
    if number(text: text, between: "step-", and: ".json") != nil { return true }
    if number(text: text, between: "shard-", and: ".json") != nil { return true }
    for end in [".sqlite", ".links"] where database.hasPrefix("shard-") && database.hasSuffix(end) {
      let numbers = database.dropFirst("shard-".count).dropLast(end.count)
        .split(separator: ".", omittingEmptySubsequences: false)
      if numbers.count == 2, numbers.allSatisfy(isNumber) { return true }
    }
    return false
  }

  /// The name that a file gets once it is complete, of one that is being written
  /// (`plan.json.4711.2.tmp`); nil for any other name.
  package static func withoutTemporarySuffix(_ text: Substring) -> Substring? {
    guard text.hasSuffix(".tmp") else { return nil }
    var rest = text.dropLast(".tmp".count)
    for _ in 0..<2 {
      guard let dot = rest.lastIndex(of: "."), isNumber(rest[dot...].dropFirst()) else {
        return nil
      }
      rest = rest[..<dot]
    }
    return rest
  }

  private static func number(
    text: Substring, between start: String, and end: String
  ) -> Substring? {
    guard text.count > start.count + end.count, text.hasPrefix(start), text.hasSuffix(end) else {
      return nil
    }
    let middle = text.dropFirst(start.count).dropLast(end.count)
    return isNumber(middle) ? middle : nil
  }

  private static func isNumber(_ text: Substring) -> Bool {
    !text.isEmpty && text.count <= 10 && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }
}
