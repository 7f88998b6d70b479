import Godwit
import Synchronization
import SystemPackage

/// Paths as the user typed them, for sentences that name them in full.
///
/// The library names files by absolute paths. If a relative path was typed, sentences use the typed
/// form of it and of paths below it; JSON has absolute paths.
struct TypedPaths: Sendable {
  /// A typed path.
  private struct Form {
    let absolute, typed: String
    /// Whether a link was typed; other files of its target have the name of the target.
    let isLink: Bool
  }

  /// The typed paths, the longest first.
  private var forms: [Form] = []

  private static let current = Mutex(TypedPaths())

  /// Takes note of a path that was typed.
  static func note(_ text: String) {
    let path = FilePath(text)
    guard path.isRelative else { return }
    let absolutes = ToolProcess.absolutePaths(of: path)
    let isLink = ToolProcess.isLink(path)
    current.withLock { paths in
      for absolute in absolutes { paths.add(absolute.string, typed: text, isLink: isLink) }
    }
  }

  /// The text with paths as they were typed.
  static func applied(to text: String) -> String { current.withLock(\.self).applied(to: text) }

  mutating func add(_ absolute: String, typed: String, isLink: Bool = false) {
    // The root is the beginning of every path.
    guard absolute.utf8.count > 1, !forms.contains(where: { $0.absolute == absolute }) else {
      return
    }
    var typed = typed
    while typed.utf8.count > 1, typed.hasSuffix("/") { typed.removeLast() }
    forms.append(Form(absolute: absolute, typed: typed, isLink: isLink))
    forms.sort { $0.absolute.utf8.count > $1.absolute.utf8.count }
  }

  func applied(to text: String) -> String {
    var result = text
    for form in forms where result.contains(form.absolute) {
      var shown = ""
      var rest = result[...]
      while let found = rest.firstRange(of: form.absolute) {
        let before = rest[..<found.lowerBound]
        shown += before
        // Within another path it is a part of that.
        let isWithin = (before.last ?? shown.last).map(Self.isOfPath) ?? false
        rest = rest[found.upperBound...]
        // Such as `.before-` or `-wal`, and not the end of a sentence.
        let isOfTarget = form.isLink && rest.prefix(2).count { Self.isOfPath($0) && $0 != "/" } == 2
        shown += isWithin || isOfTarget ? form.absolute : form.typed
      }
      result = shown + rest
    }
    return result
  }

  private static func isOfPath(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || "/.-_~+@".contains(character)
  }
}
