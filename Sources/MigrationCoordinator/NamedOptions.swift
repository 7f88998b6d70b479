import Foundation
import Mapping
import Planning

/// Rules of a request as options of the tool, read from how they are encoded: there is no separate
/// list of options.
struct NamedOptions {
  private var values: [String: OptionValue]

  /// Reads the options from rules.
  init(_ rules: some Encodable) {
    do {
      let data = try JSONEncoder().encode(rules)
      values = try JSONDecoder().decode([String: OptionValue].self, from: data)
    } catch {
      preconditionFailure("rules are texts, numbers and flags: \(error)")
    }
  }

  /// The rules; nil where a word is none of its option's.
  func rules<Rules: Decodable>(_ type: Rules.Type = Rules.self) -> Rules? {
    guard let data = try? JSONEncoder().encode(values) else { return nil }
    return try? JSONDecoder().decode(type, from: data)
  }

  /// The options with their values, those of a group under the names of both.
  var all: [String: OptionValue] {
    var result: [String: OptionValue] = [:]
    for (name, value) in values {
      guard case .group(let members) = value else {
        result["--\(name)"] = value
        continue
      }
      for (member, value) in members { result["--\(name)-\(member)"] = value }
    }
    return result
  }

  /// The options that differ from those of other rules.
  func differing(from other: NamedOptions) -> [String: OptionValue] {
    let other = other.all
    return all.filter { other[$0.key] != $0.value }
  }

  /// Sets an option to a word, or a flag; false where there is no such option.
  mutating func set(_ option: String, to word: String) -> Bool {
    for (name, value) in values {
      let key = "--\(name)"
      switch value {
      case .flag where option == key: values[name] = .flag(true)
      case .word where option == key: values[name] = .word(word)
      case .group(var members) where option.hasPrefix("\(key)-"):
        let member = String(option.dropFirst(key.count + 1))
        guard case .word? = members[member] else { continue }
        members[member] = .word(word)
        values[name] = .group(members)
      default: continue
      }
      return true
    }
    return false
  }
}

extension OptionValue {
  /// The value as it is typed; a flag has no word.
  var text: String {
    switch self {
    case .flag, .group: ""
    case .number(let number): "\(number)"
    case .word(let word): word
    case .list(let list): list.joined(separator: " ")
    }
  }
}

extension RunDifference {
  /// The options in which rules differ, by name; `earlier` has no text for what was not given.
  static func options<Rules: Encodable>(
    of rules: Rules, earlier: Rules, default standard: Rules
  ) -> [RunDifference] {
    let (new, old) = (NamedOptions(rules), NamedOptions(earlier))
    let given = old.differing(from: NamedOptions(standard))
    let names = Set(new.differing(from: old).keys).union(old.differing(from: new).keys)
    return names.sorted().map { name in
      guard let option = MigrationOption(rawValue: String(name.dropFirst(2))) else {
        preconditionFailure("\(name) is the name of a rule and of no option")
      }
      let text = given[name].map { $0 == .flag(true) ? "yes" : $0.text }
      return .option(option, earlier: text ?? "")
    }
  }
}
