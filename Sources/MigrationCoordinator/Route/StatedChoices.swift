import Planning
import StoreFormat

extension ResultRules {
  /// The rules that differ from the default, by the option that names each.
  var statedChoices: [String: String] {
    // Expressions and join tables belong to the way, which a record states next to the choices.
    NamedOptions(self).differing(from: NamedOptions(ResultRules())).filter {
      if case .list = $0.value { false } else { true }
    }.mapValues(\.text)
  }
}

extension MigrationRequest {
  /// The choices on which the result depends, by the option that names each; empty for one without
  /// a word.
  var statedChoices: [String: String] {
    var result = shared?.choices(by: rules) ?? rules.statedChoices
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
      || !versionOrder.isEmpty || division.isStepwise || !rules.settings.isEmpty
  }

  /// The consent to losses that a record states.
  package static func consent(stated choices: [String: String]) -> LossConsent {
    guard let names = choices["--allow-loss"] else { return .none }
    return names.isEmpty ? .all : .some(Set(names.split(separator: ",").map(String.init)))
  }

  /// Takes the choices that a record states and this request does not make itself.
  ///
  /// - Returns: the unknown ones.
  package mutating func take(stated: [String: String]) -> [String] {
    let own = statedChoices
    var unknown: [String: String] = [:]
    for (option, word) in stated where own[option] == nil {
      if !take(option, word) { unknown[option] = word }
    }
    return Self.typed(unknown)
  }

  private mutating func take(_ option: String, _ word: String) -> Bool {
    // What may be lost does not matter to a result that is there.
    if option == "--allow-loss" { return true }
    if option == "--journal-mode" {
      journalMode = JournalMode(rawValue: word) ?? journalMode
      return JournalMode(rawValue: word) != nil
    }
    var options = NamedOptions(rules)
    guard options.set(option, to: word), let found = options.rules(ResultRules.self) else {
      return false
    }
    rules = found
    return true
  }
}
