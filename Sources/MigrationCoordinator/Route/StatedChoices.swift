import ObjectMigration

extension MigrationRequest {
  /// The choices on which the result depends, by the option that names each; empty for one without
  /// a word.
  var statedChoices: [String: String] {
    var result = defectChoices.options.filter { !$0.value.isEmpty }
    if history != .keep { result["--history"] = history.rawValue }
    if cloudKit != .refuse { result["--cloudkit"] = cloudKit.rawValue }
    if extraTables != .refuse { result["--extra-tables"] = extraTables.rawValue }
    if validation != .strict { result["--validation"] = validation.rawValue }
    if salvages { result["--salvage"] = "" }
    if givesNewUUID { result["--new-uuid"] = "" }
    if let journalMode { result["--journal-mode"] = journalMode.rawValue }
    switch lossConsent {
    case .none: break
    case .all: result["--allow-loss"] = ""
    case .some(let names): result["--allow-loss"] = names.sorted().joined(separator: ",")
    }
    return result
  }

  /// The same as a caller of the tool types them.
  package var choicesAsTyped: [String] { Self.typed(statedChoices) }

  /// Choices as a caller of the tool types them.
  package static func typed(_ choices: [String: String]) -> [String] {
    choices.sorted { $0.key < $1.key }.map { $1.isEmpty ? $0 : "\($0) \($1)" }
  }

  /// Whether anything is chosen that changes what becomes of the rows.
  package var choosesRows: Bool { !statedChoices.keys.allSatisfy(Self.isWithoutRows) }

  /// A consent to losses changes the way at most, and the others what is refused or how it lies.
  private static func isWithoutRows(_ option: String) -> Bool {
    ["--allow-loss", "--journal-mode", "--validation", "--cloudkit", "--new-uuid"]
      .contains(option)
  }

  /// Whether it names the way itself.
  package var namesRoute: Bool {
    !mappings.isEmpty || !mappingFolders.isEmpty || isProgressive || infersOnly || !infers
      || !versionOrder.isEmpty || isStepwise || !settings.isEmpty
  }

  /// Takes the choices that a record states and this request does not make itself.
  ///
  /// - Returns: those of which nothing is known.
  package mutating func take(stated: [String: String]) -> [String] {
    let own = statedChoices
    var unknown: [String: String] = [:]
    for (option, word) in stated where own[option] == nil {
      if !take(option, word) { unknown[option] = word }
    }
    return Self.typed(unknown)
  }

  private mutating func take(_ option: String, _ word: String) -> Bool {
    switch option {
    case "--history": HistoryChoice(rawValue: word).map { history = $0 } != nil
    case "--cloudkit": CloudKitChoice(rawValue: word).map { cloudKit = $0 } != nil
    case "--extra-tables": ExtraTableChoice(rawValue: word).map { extraTables = $0 } != nil
    case "--validation": ValidationMode(rawValue: word).map { validation = $0 } != nil
    case "--journal-mode": JournalMode(rawValue: word).map { journalMode = $0 } != nil
    case "--salvage":
      {
        salvages = true
        return true
      }()
    case "--new-uuid":
      {
        givesNewUUID = true
        return true
      }()
    // What may be lost is no matter of a result that is there.
    case "--allow-loss": true
    default: defectChoices.take(option, word)
    }
  }
}
