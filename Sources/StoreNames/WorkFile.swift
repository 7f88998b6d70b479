package import SystemPackage

/// A file of Godwit in a work folder.
///
/// Godwit removes what has one of these names, and no more: a folder with another file stays.
package enum WorkFile: String, Hashable, Sendable, CaseIterable {
  /// States that Godwit made the folder, and for what.
  case mark = "godwit.json"
  /// Held by the one migration of a destination.
  case lock = "godwit.lock"
  /// The plan.
  case plan = "plan.json"
  /// What the run was made for.
  case run = "run.json"
  /// The status file (`StatusPlace`).
  case status = "status.mdb"
  /// Belongs to the status file as long as anybody has it open.
  case statusLock = "status.mdb-lock"
  /// There while the result takes the store's place.
  case swapJournal = "swap.json"
  /// The store while it is being assembled.
  case result = "result.sqlite"
  /// A copy of a source with repaired defects, or with a journal.
  case source = "source.sqlite"
  /// The pages of a source's `-wal`.
  case walPages = "source.pages"
  /// What could be read of a damaged source.
  case salvaged = "salvaged.sqlite"
  /// The keys of rows that filters leave behind.
  case untakenRows = "dropped.sqlite"
  /// The shard of a work order's attempt.
  case shard = "shard-#.#.sqlite"
  /// The references between objects of a shard that are made one by one.
  case shardLinks = "shard-#.#.links"
  /// Declares a work order done.
  case manifest = "shard-#.json"
  /// The store that a stage makes.
  case stageStore = "stage-#.sqlite"
  /// Declares a stage done.
  case stageMarker = "stage-#.json"
  /// The work folder of a stage.
  case stageFolder = "stage-#.godwit"
  /// The folder with the external files of the store that a stage makes.
  case stageSupport = ".stage-#_SUPPORT"
  /// In which workers take pages of the result.
  case claims
  /// Lists of the leaves whose rows were renumbered.
  case renumbered
  /// What rows look up in others.
  case lookUps = "lookups"
  /// The places of rows in relationships that had no order, where SQLite has to make them.
  case places = "places.sqlite"
  /// Keys of an index while they are sorted.
  case keys

  /// What is behind the name of a result in the names of files that are made of it.
  package enum ResultSuffix: String, CaseIterable, Sendable {
    /// The old store until it has the name under which it is kept, or is gone.
    case kept = "-kept"
    /// A second name of a file, to test whether the file system has hard links.
    case link = "-link"
    /// The file that is linked for this test.
    case probe = "-probe"
    /// A copy to which workers that were given up on cannot write.
    case fenced = "-fenced"

    /// The path of such a file.
    package func path(of result: FilePath) -> FilePath { FilePath("\(result)\(rawValue)") }
  }

  /// Where the file is in a work folder, with the numbers that its name has: of the work order and
  /// the attempt, or of the stage.
  package func path(in folder: FilePath, _ numbers: Int...) -> FilePath {
    var rest = numbers[...]
    return folder.appending(
      rawValue.split(separator: "#", omittingEmptySubsequences: false).reduce("") { name, part in
        name.isEmpty ? "\(part)" : "\(name)\(rest.removeFirst())\(part)"
      })
  }

  /// Where `shardLinks` is for a shard.
  package static func links(ofShard shard: FilePath) -> FilePath {
    var links = shard
    links.extension = "links"
    return links
  }

  /// Where a file is made that gets its own name once it is complete.
  package static func unfinished(_ path: FilePath) -> FilePath {
    FilePath("\(path)\(unfinishedSuffix)")
  }

  private static let unfinishedSuffix = ".making"

  /// The file that has this name, or from which the name was derived: that of a log of SQLite's, or
  /// of a file that is not complete; nil for a name that Godwit does not give.
  package init?(_ name: FilePath.Component) {
    let text = name.string[...]
    var form = Self.form(of: Self.withoutTemporarySuffix(text) ?? text)
    for suffix in StoreFile.logSuffixes where form.hasSuffix(suffix) {
      form.removeLast(suffix.count)
      break
    }
    if form.hasSuffix(Self.unfinishedSuffix) { form.removeLast(Self.unfinishedSuffix.count) }
    for suffix in ResultSuffix.allCases where form == Self.result.rawValue + suffix.rawValue {
      form = Self.result.rawValue
    }
    self.init(rawValue: form)
  }

  /// A name with `#` in place of each number; one that has a `#` of its own is no form.
  private static func form(of name: Substring) -> String {
    var form = ""
    var digits = 0
    for character in name {
      if character == "#" { return "" }
      guard character.isASCII, character.isNumber else {
        form.append(character)
        digits = 0
        continue
      }
      digits += 1
      // No number of Godwit's has more.
      if digits > 10 { return "" }
      if digits == 1 { form.append("#") }
    }
    return form
  }

  /// Whether the file is there before its folder bears a mark, under this name.
  package static func precedesMark(_ name: FilePath.Component) -> Bool {
    name.string == lock.rawValue
      || withoutTemporarySuffix(name.string[...]).map { $0 == mark.rawValue } ?? false
  }

  /// The name that a file gets once it is complete, of one that is being written
  /// (`plan.json.4711.2.tmp`); nil for any other name.
  package static func withoutTemporarySuffix(_ text: Substring) -> Substring? {
    guard text.hasSuffix(".tmp") else { return nil }
    var rest = text.dropLast(".tmp".count)
    for _ in 0..<2 {
      guard let dot = rest.lastIndex(of: "."), form(of: rest[dot...]) == ".#" else { return nil }
      rest = rest[..<dot]
    }
    return rest
  }
}
