extension ModelDiff {
  /// The lines of `godwit diff` of two models.
  public var lines: [String] {
    let open = notCompared.map { "not compared: \($0)" }
    guard !isAlike else {
      let same = "\(first) and \(second) are equal"
      return open.isEmpty ? ["\(same)."] : ["\(same), as far as they can be read."] + open
    }
    var lines = ["\(first) and \(second) differ:"]
    if !way.isEmpty {
      lines.append("  compared along the route of a migration: \(way.joined(separator: ", "))")
    }
    lines += changes.map { "  \($0.words)" }
    lines += entities.flatMap { $0.lines.map { "  \($0)" } }
    if !same.isEmpty { lines.append("  = \(same.joined(separator: ", "))") }
    return lines + verdict + open
  }

  /// Whether stores need a migration, and whether one can be inferred.
  private var verdict: [String] {
    guard let inference else {
      return ["The version hashes are the same: stores need no migration."]
    }
    let need =
      needsMigration == nil
      ? "Whether stores need a migration is not known, for lack of a version hash."
      : "Stores of the first need a migration."
    let count = inference.refusals.count
    let answer =
      inference.isPossible
      ? inference.conditions.isEmpty
        ? "It can be inferred." : "It can be inferred, as far as the objects allow:"
      : "It cannot be inferred, for \(count == 1 ? "one reason" : "\(count) reasons"):"
    let list = inference.isPossible ? inference.conditions : inference.refusals
    return [need, answer] + list.map { "  \($0)" }
  }

  fileprivate static func mark(of fate: String) -> String {
    switch fate {
    case "new": "+"
    case "lost": "-"
    case "renamed": ">"
    default: "~"
    }
  }

  fileprivate static func how(_ pairing: String?) -> String {
    pairing == "renamingIdentifier" ? " by its renaming identifier" : ""
  }
}

extension ModelDiff.Change {
  fileprivate var words: String {
    if old == nil, new == nil { return "\(aspect) differ" }
    return "\(aspect): \(old ?? "none") → \(new ?? "none")"
  }

  /// What is new or lost has one value.
  fileprivate var value: String { "\(aspect) \(new ?? old ?? "")" }
}

extension ModelDiff.Entity {
  private var isAlone: Bool { fate == "new" || fate == "lost" }

  /// What differs of the entity, its heading first.
  var lines: [String] {
    [heading] + changes.map { "    \(isAlone ? $0.value : $0.words)" }
      + parts.flatMap { part in part.lines.map { "    \($0)" } }
  }

  private var heading: String {
    let names = oldName.map { "\($0) → \(name)" } ?? name
    let how = oldName == nil ? "" : ModelDiff.how(pairing)
    return "\(ModelDiff.mark(of: fate)) \(names)  \(fate)\(how)"
  }
}

extension ModelDiff.Part {
  private var isAlone: Bool { fate == "new" || fate == "lost" }

  fileprivate var lines: [String] {
    let kind = kind == "fetchedProperty" ? "fetched property" : kind
    let names = oldName.map { "\($0) → \(name)" } ?? name
    let how = oldName == nil ? "" : ModelDiff.how(pairing)
    let heading = "\(ModelDiff.mark(of: fate)) \(kind) \(names)  \(fate)\(how)"
    if isAlone {
      let facts = changes.map(\.value).joined(separator: ", ")
      return [facts.isEmpty ? heading : "\(heading): \(facts)"]
    }
    return [heading] + changes.map { "    \($0.words)" }
  }
}
