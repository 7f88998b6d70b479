import ArgumentParser

/// A command as it is typed, cut into words as a shell cuts them: by spaces, but for those within
/// quotes or behind a backslash; nothing else in it has a meaning.
struct CommandWords: ExpressibleByArgument {
  let words: [String]

  /// Cuts a text; nil if a quote is not closed, or where there is no word.
  init?(argument: String) {
    var (words, word) = ([] as [String], nil as String?)
    var (quote, isEscaped) = (nil as Character?, false)
    for character in argument {
      switch character {
      case _ where isEscaped:
        word = (word ?? "") + [character]
        isEscaped = false
      case "\\" where quote != "'": isEscaped = true
      case _ where character == quote: quote = nil
      case "'" where quote == nil, "\"" where quote == nil:
        quote = character
        word = word ?? ""
      case " " where quote == nil, "\t" where quote == nil, "\n" where quote == nil:
        if let word { words.append(word) }
        word = nil
      default: word = (word ?? "") + [character]
      }
    }
    guard quote == nil, !isEscaped else { return nil }
    if let word { words.append(word) }
    guard words.first?.isEmpty == false else { return nil }
    self.words = words
  }
}
