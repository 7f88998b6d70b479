import Mapping

/// What would make a migration possible, or keep what it loses, tried on the store.
public struct MigrationSuggestion: Hashable, Sendable, Encodable {
  /// An entity or a property that continues one of another name.
  public struct Renaming: Hashable, Sendable, Encodable {
    /// `entity`, `attribute` or `relationship`.
    public var kind: String
    /// The entity, or `Entity.property`, in the new model.
    public var name: String
    /// Its name in the store's model.
    public var oldName: String
    /// How many objects have a value there; nil where that is not counted.
    public var values: Int64?
    /// How many objects there are.
    public var objects: Int64
    /// Why both may belong together, as a sentence.
    public var evidence: String
  }

  /// New names and removed names that cannot be paired.
  public struct Unclear: Hashable, Sendable, Encodable {
    /// `entity`, `attribute` or `relationship`.
    public var kind: String
    /// The entities, or `Entity.property`, in the new model.
    public var names: [String]
    /// Their candidates in the store's model.
    public var oldNames: [String]
    /// The renaming identifiers that continue the candidates, in the same order.
    public var identifiers: [String]
    /// What all of them are, such as `String`.
    public var type: String
  }

  /// An option of `migrate`.
  public struct Choice: Hashable, Sendable, Encodable {
    /// The words of the command line.
    public var words: [String]
    /// What it answers: `Entity.property: objects have no value`.
    public var answers: String
  }

  /// What a trial of the suggestion came to.
  public struct Trial: Hashable, Sendable, Encodable {
    /// Whether the migration would be possible.
    public var isPossible: Bool
    /// Rows of the result of a copy; nil where only the conditions were checked.
    public var rows: Int64?
    /// Whether that result was compared with the store.
    public var isCompared: Bool
    /// What would be lost, one sentence each.
    public var losses: [String]
    /// What would still stand in the way, one sentence each.
    public var reasons: [String]
  }

  /// The path of the store.
  public var store: String
  /// The model's source with renaming identifiers; nil where none is suggested.
  public var patch: String?
  /// The renamings of the patch.
  public var renamings: [Renaming]
  /// Renamings that only the author of the model can decide.
  public var unclear: [Unclear]
  /// The options.
  public var choices: [Choice]
  /// A mapping model in JSON with the values of `--set`; nil where no value is to be filled in.
  public var mapping: String?
  /// The words of the command, the program first.
  public var command: [String]
  /// What a trial came to.
  public var trial: Trial

  /// Whether there is something to suggest.
  public var isEmpty: Bool { renamings.isEmpty && choices.isEmpty }
}

extension MigrationSuggestion {
  /// The suggestion for people.
  public var lines: [String] {
    guard !isEmpty else {
      return trial.isPossible
        ? ["Nothing to suggest: the migration is possible."] + unclear.map(\.sentence)
        : ["No change is known that would make the migration possible:"] + trial.reasons
          + unclear.map(\.sentence)
    }
    var lines = ["Suggested for \(store):"]
    for renaming in renamings {
      lines.append("  \(renaming.name) could continue \(renaming.oldName): \(renaming.evidence)")
    }
    if !renamings.isEmpty {
      lines.append("  Names, types and values make a renaming likely, not certain: check each one.")
    }
    lines += unclear.map { "  \($0.sentence)" }
    for choice in choices {
      lines.append("  \(Self.text(choice.words)) for \(choice.answers)")
    }
    if let patch {
      lines += ["Change the model, by git apply -p0 or patch -p0:", ""] + Self.split(patch) + [""]
    }
    lines += ["Then:", "  \(Self.text(command))"]
    return lines + trialLines
  }

  private var trialLines: [String] {
    guard trial.isPossible else {
      return ["Tried: the following reasons remain, and need a mapping model:"]
        + trial.reasons.map { "  \($0)" }
    }
    let how = trial.rows.map { rows in
      "on a copy of the store: \(CountText(rows, "row")) migrated and verified"
        + (trial.isCompared ? ", and compared with the store" : "")
    }
    let hasChoice = choices.contains { $0.words.first?.hasPrefix("--on-") == true }
    let none =
      hasChoice
      ? "; nothing is lost except what the options permit." : "; nothing is lost."
    let losses = trial.losses.isEmpty ? none : ". It loses:"
    return ["Tried \(how ?? "on the store, whose values fit")\(losses)"]
      + trial.losses.map { "  \($0)" }
  }

  private static func split(_ text: String) -> [String] {
    ModelPatch.lines(of: text.utf8).dropLast().map { line in
      line.hasSuffix("\t") || line.hasSuffix("\r") ? String(line.dropLast()) : line
    }
  }

  /// Words as a shell takes them.
  package static func text(_ words: [String]) -> String {
    words.map { word in
      let isPlain = word.utf8.allSatisfy {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20)
          || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || "-_./=,:+".utf8.contains($0)
      }
      return isPlain && !word.isEmpty ? word : "'\(word.replacing("'", with: "'\\''"))'"
    }.joined(separator: " ")
  }
}
