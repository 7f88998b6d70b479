import ObjectModel

/// The order in which the versions of one bundle followed each other, and how it is known.
package struct VersionNumbering: Sendable {
  /// How the order came to be known, from the surest down.
  package enum Evidence: String, Codable, Hashable, Sendable {
    /// The caller named the versions in their order.
    case named
    /// Every version has a number in its version identifiers, and no two have the same.
    case identifiers
    /// The names are alike but for their numbers, as Xcode gives them.
    case names
    /// It is not known: the versions come in the order of their names.
    case none
  }

  /// The versions, the earliest first.
  package let versions: [RouteVersion]
  /// How their order came to be known.
  package let evidence: Evidence

  /// Orders the versions of a bundle; versions that `named` leaves out are left out.
  package init(_ versions: [RouteVersion], named: [String] = []) {
    if !named.isEmpty {
      self.versions = named.compactMap { name in
        versions.first { $0.names.contains(name) }
      }
      evidence = .named
    } else if let sorted = Self.sorted(versions, by: \.identifier) {
      (self.versions, evidence) = (sorted, .identifiers)
    } else if let sorted = Self.sorted(versions, by: \.names.first)
      ?? Self.sortedByMark(versions)
    {
      (self.versions, evidence) = (sorted, .names)
    } else {
      (self.versions, evidence) = (versions, .none)
    }
  }

  /// Takes versions in their order.
  package init(_ versions: [RouteVersion], evidence: Evidence) {
    (self.versions, self.evidence) = (versions, evidence)
  }

  /// The versions by the numbers of their labels; nil where the labels show no order.
  private static func sorted(
    _ versions: [RouteVersion], by label: (RouteVersion) -> String?
  ) -> [RouteVersion]? {
    var numbered: [(numbers: [Int], version: RouteVersion)] = []
    var words: Set<String> = []
    for version in versions {
      guard let label = label(version) else { return nil }
      let (word, numbers) = Self.parts(of: label)
      words.insert(word)
      numbered.append((numbers, version))
    }
    // The first version often has no number: `Model`, `Model 2`.
    guard words.count == 1, numbered.count(where: { $0.numbers.isEmpty }) <= 1,
      Set(numbered.map(\.numbers)).count == numbered.count
    else { return nil }
    return numbered.sorted { $0.numbers.lexicographicallyPrecedes($1.numbers) }.map(\.version)
  }

  /// The versions by the number that each name marks as that of its version: behind a `v`, or else
  /// at its end; nil where the names show no order.
  ///
  /// Other words of such names describe the version: `Shop_tags_v23`, `Shop_prices_v24`.
  private static func sortedByMark(_ versions: [RouteVersion]) -> [RouteVersion]? {
    for mark in [Self.markedNumber, Self.lastNumber] {
      var numbered: [(numbers: [Int], version: RouteVersion)] = []
      var words: Set<String> = []
      for version in versions {
        guard let name = version.names.first else { return nil }
        words.insert(String(name.lowercased().prefix { $0.isLetter }))
        numbered.append((mark(name) ?? [], version))
      }
      // The first version often has no number.
      guard words.count == 1, words != [""], numbered.count(where: { $0.numbers.isEmpty }) <= 1,
        Set(numbered.map(\.numbers)).count == numbered.count
      else { continue }
      return numbered.sorted { $0.numbers.lexicographicallyPrecedes($1.numbers) }.map(\.version)
    }
    return nil
  }

  /// The number behind the only `v` that begins a word and has digits behind it: 2 and 9 of
  /// `Shop_v2.9_tags`.
  private static func markedNumber(_ name: String) -> [Int]? {
    let characters = Array(name)
    let marks = characters.indices.filter { place in
      guard characters[place] == "v" || characters[place] == "V", place + 1 < characters.count,
        isDigit(characters[place + 1])
      else { return false }
      return place == 0 || !characters[place - 1].isLetter
    }
    return marks.count == 1 ? numbers(characters[(marks[0] + 1)...]) : nil
  }

  /// The number at the end of a name.
  private static func lastNumber(_ name: String) -> [Int]? {
    let end = name.reversed().prefix { isDigit($0) || $0 == "." }.reversed()
    return numbers(ArraySlice(end.drop { !isDigit($0) }))
  }

  private static func isDigit(_ character: Character) -> Bool {
    character.isASCII && character.isNumber
  }

  /// The numbers with points between them at the beginning of a text; nil without any.
  private static func numbers(_ text: ArraySlice<Character>) -> [Int]? {
    let parts = String(text.prefix { isDigit($0) || $0 == "." }).split(separator: ".")
    return parts.isEmpty ? nil : parts.map { Int($0) ?? .max }
  }

  /// The text of a label without its numbers, and the numbers.
  private static func parts(of label: String) -> (word: String, numbers: [Int]) {
    var word = ""
    var numbers: [Int] = []
    var digits = ""
    for character in label + " " {
      if character.isASCII, character.isNumber {
        digits.append(character)
      } else {
        if !digits.isEmpty { numbers.append(Int(digits) ?? .max) }
        digits = ""
        if character.isLetter { word.append(contentsOf: character.lowercased()) }
      }
    }
    // `Model v2` next to `Model` is the same word.
    if !numbers.isEmpty, word.hasSuffix("v") { word.removeLast() }
    return (word, numbers)
  }
}

extension RouteVersion {
  /// What its author identifies the version by; nil where there is nothing.
  fileprivate var identifier: String? {
    let texts = model.versionIdentifiers.filter { !$0.isEmpty }.sorted()
    return texts.isEmpty ? nil : texts.joined(separator: " ")
  }
}
