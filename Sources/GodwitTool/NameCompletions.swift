import ArgumentParser
import Godwit
import SystemPackage

/// Names that shells complete, read from the stores and models on the command line.
enum NameCompletions {
  /// The versions of the models.
  static let versions = CompletionKind.custom { words, _, _ in versions(in: words) }
  /// The entities of the stores and of the current versions of models.
  static let entities = CompletionKind.custom { words, _, _ in entities(in: words) }

  static func versions(in words: [String]) -> [String] {
    names(words) { path in
      ((try? ModelInspection(of: path))?.versions ?? []).map(\.name)
    }
  }

  static func entities(in words: [String]) -> [String] {
    names(words) { path in
      if let store = try? StoreInspection(of: path) { return store.entities.map(\.name) }
      let versions = (try? ModelInspection(of: path))?.versions ?? []
      return versions.filter(\.isCurrent).flatMap { $0.entities.map(\.name) }
    }
  }

  private static func names(
    _ words: [String], _ read: (FilePath) -> [String]
  ) -> [String] {
    let paths = words.dropFirst().map(unquoted).filter { !$0.isEmpty && !$0.hasPrefix("-") }
    return Set(paths.flatMap { read(FilePath($0)) }).sorted()
  }

  /// A word of a command line, as a shell reads it.
  static func unquoted(_ word: String) -> String {
    var (text, quote, isEscaped) = ("", Character?.none, false)
    for character in word {
      if isEscaped {
        text.append(character)
        isEscaped = false
      } else if character == "\\", quote != "'" {
        isEscaped = true
      } else if quote == character {
        quote = nil
      } else if quote == nil, character == "'" || character == "\"" {
        quote = character
      } else {
        text.append(character)
      }
    }
    return text
  }

  /// The script for bash, which also completes the commands after `help`.
  static func bashScript(_ script: String, commands: [String]) -> String {
    script.replacing(
      "_\(GodwitTool.name)_help() {\n    :\n}",
      with: "_\(GodwitTool.name)_help() {\n"
        + "    COMPREPLY+=($(compgen -W '\(commands.joined(separator: " "))' -- \"${cur}\"))\n}")
  }
}
