/// A command or an option that there is none of, with the one that was probably meant.
struct UsageMistake: Error, Equatable {
  /// A command's name, with that of the command around it, and its options, as its help lists them.
  typealias Commands = [String: Set<String>]

  /// What was given.
  let word: String
  /// The command whose option it should have been; nil where no command has the word's name.
  let command: String?
  /// The nearest name that there is; nil where none is near.
  let suggestion: String?

  /// The first word of a command line that nothing is named after; nil where there is none.
  init?(_ arguments: [String], commands: Commands) {
    let words = arguments.first == "help" ? arguments.dropFirst() : arguments[...]
    guard let first = words.first, !first.hasPrefix("-") else { return nil }
    var name = first
    let inner = commands.keys.filter { $0.hasPrefix("\(first) ") }
    if !inner.isEmpty, let second = words.dropFirst().first, !second.hasPrefix("-") {
      name = "\(first) \(second)"
    }
    guard let options = commands[name] else {
      self.init(word: name, command: nil, among: commands.keys.sorted())
      return
    }
    let given = words.dropFirst().prefix { $0 != "--" }.filter { $0.hasPrefix("--") }
      .compactMap { $0.split(separator: "=").first.map(String.init) }
    guard let unknown = given.first(where: { !options.contains($0) }) else { return nil }
    self.init(word: unknown, command: name, among: options.sorted())
  }

  private init(word: String, command: String?, among names: [String]) {
    (self.word, self.command) = (word, command)
    let near = names.map { (name: $0, distance: Self.distance(word, $0)) }
      .min { $0.distance < $1.distance }
    suggestion =
      near.flatMap { $0.distance <= max(1, word.count / 3) ? $0.name : nil }
      ?? names.first { word.count >= 3 && $0.hasPrefix(word) }
  }

  /// What there is none of, and what was probably meant.
  var sentence: String {
    let meant = suggestion.map { " Did you mean \($0)?" } ?? ""
    let fact =
      command.map { "godwit \($0) has no option \(word)." } ?? "godwit has no command \(word)."
    return fact + meant
  }

  /// The sentence, and where to read on, as the parser words its own errors.
  var text: String {
    let help = command.map { "godwit \($0) --help" } ?? "godwit --help"
    return "Error: \(sentence)\n  See '\(help)' for more information."
  }

  /// How many characters have to be put in, left out, changed, or swapped with their neighbour.
  private static func distance(_ first: String, _ second: String) -> Int {
    // What is as long as a path is no mistyped name.
    guard first.utf8.count <= 64 else { return .max }
    let (a, b) = (Array(first), Array(second))
    var before: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var least = min(row[j], last[j + 1]) + 1
        least = min(least, last[j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
          least = min(least, before[j - 1] + 1)
        }
        row.append(least)
      }
      (before, last) = (last, row)
    }
    return last[b.count]
  }
}
