import Foundation

/// Compares texts with or without regard to case and diacritics.
struct TextMatcher {
  let caseInsensitive: Bool
  let diacriticInsensitive: Bool
  let patterns: PatternCache

  private func folded(_ text: String) -> String {
    guard caseInsensitive || diacriticInsensitive else { return text }
    var options: String.CompareOptions = []
    if caseInsensitive { options.insert(.caseInsensitive) }
    if diacriticInsensitive { options.insert(.diacriticInsensitive) }
    return text.folding(options: options, locale: nil)
  }

  func folded(_ value: ObjectValue) -> ObjectValue {
    if case .scalar(.string(let text)) = value { return .string(value: folded(text)) }
    return value
  }

  func areEqual(_ left: ObjectValue, _ right: ObjectValue) -> Bool {
    folded(left).isEqual(to: folded(right))
  }

  func contains(_ text: String, part: String) -> Bool {
    let (text, part) = (Array(folded(text).utf8), Array(folded(part).utf8))
    guard part.count <= text.count else { return false }
    return (0...(text.count - part.count)).contains { text[$0...].starts(with: part) }
  }

  func compare(
    _ text: String, comparison: ValuePredicate.Comparison, pattern: String
  ) throws -> Bool {
    switch comparison {
    case .beginsWith: return folded(text).utf8.starts(with: folded(pattern).utf8)
    case .endsWith:
      return folded(text).utf8.reversed().starts(with: folded(pattern).utf8.reversed())
    case .like:
      return Self.isLike(Array(folded(text)), pattern: Self.wildcards(pattern: folded(pattern)))
    default:
      // A pattern's letters also name classes, so its case is left to the regular expression.
      let matcher = TextMatcher(
        caseInsensitive: false, diacriticInsensitive: diacriticInsensitive, patterns: patterns)
      return try patterns.matches(
        matcher.folded(text), pattern: matcher.folded(pattern), caseInsensitive: caseInsensitive)
    }
  }

  private enum Wildcard: Equatable {
    case one(Character)
    case anyOne
    case any
  }

  private static func wildcards(pattern: String) -> [Wildcard] {
    var result: [Wildcard] = []
    var characters = Substring(pattern)
    while let character = characters.popFirst() {
      switch character {
      case "*": if result.last != .any { result.append(.any) }
      case "?": result.append(.anyOne)
      case "\\": result.append(.one(characters.popFirst() ?? "\\"))
      default: result.append(.one(character))
      }
    }
    return result
  }

  /// Goes back to the last `*` only, so the time is at most the product of the lengths.
  private static func isLike(_ text: [Character], pattern: [Wildcard]) -> Bool {
    var (place, next) = (0, 0)
    var star: (pattern: Int, text: Int)?
    while place < text.count {
      if next < pattern.count, pattern[next] == .any {
        star = (next, place)
        next += 1
      } else if next < pattern.count,
        pattern[next] == .anyOne || pattern[next] == .one(text[place])
      {
        place += 1
        next += 1
      } else if let last = star {
        star = (last.pattern, last.text + 1)
        place = last.text + 1
        next = last.pattern + 1
      } else {
        return false
      }
    }
    return pattern[next...].allSatisfy { $0 == .any }
  }
}

/// Compiled regular expressions, by their text.
package final class PatternCache {
  private var compiled: [String: NSRegularExpression] = [:]
  // ICU reports after 10,000 steps, those of empty repetitions among them. A text of some words
  // takes less; a pattern that goes through a text once for each of its characters, a few for each
  // thousand of them.
  private static let reportsAllowed = 40
  private static let charactersForReport = 100
  private static let maximumPatterns = 500

  /// Makes an empty cache.
  package init() {}

  /// Whether the pattern matches the whole text.
  func matches(_ text: String, pattern: String, caseInsensitive: Bool) throws -> Bool {
    let expression = try expression(pattern: pattern, caseInsensitive: caseInsensitive)
    let length = text.utf16.count
    let allowed = Self.reportsAllowed + length / Self.charactersForReport
    var (found, reports, wasGivenUp) = (false, 0, false)
    expression.enumerateMatches(
      in: text, options: [.reportProgress, .reportCompletion, .anchored],
      range: NSRange(location: 0, length: length)
    ) { match, flags, stop in
      found = found || match != nil
      // Nested repetitions end where the memory for their alternatives does.
      wasGivenUp = wasGivenUp || flags.contains(.internalError)
      reports += flags.contains(.progress) ? 1 : 0
      if found || reports > allowed { stop.pointee = true }
    }
    if !found, wasGivenUp || reports > allowed { throw EvaluationError(.patternTooSlow(pattern)) }
    return found
  }

  private func expression(
    pattern: String, caseInsensitive: Bool
  ) throws -> NSRegularExpression {
    let key = (caseInsensitive ? "i" : "c") + pattern
    if let known = compiled[key] { return known }
    do {
      let made = try NSRegularExpression(
        pattern: "\\A(?:\(pattern))\\z", options: caseInsensitive ? .caseInsensitive : [])
      if compiled.count >= Self.maximumPatterns { compiled = [:] }
      compiled[key] = made
      return made
    } catch {
      throw EvaluationError(.invalidPattern(pattern))
    }
  }
}
