package import SystemPackage

/// The name under which a store is kept next to the one that has replaced it:
/// `STORE.before-20261231-235959`, with `.2` and so on behind it where the name is taken, and
/// `.undo` behind all where it is the journal that undoes an edit.
package struct KeptName: Hashable, Sendable {
  /// The name of the store that it was kept for.
  package var store: String
  /// What the kept store is.
  package var kind: KeptStoreKind
  /// The time at which it gave up its name, in UTC, such as `20261231-235959`.
  package var time: String
  /// Which of several of that time it is, from 1.
  package var number: Int
  /// Whether it is the journal that undoes an edit, and no store.
  package var isUndo: Bool

  private static let undoSuffix = ".undo"

  /// Makes the name of a store that is kept at a time.
  package init(
    store: String, kind: KeptStoreKind, time: String, number: Int = 1, isUndo: Bool = false
  ) {
    (self.store, self.kind, self.time) = (store, kind, time)
    (self.number, self.isUndo) = (number, isUndo)
  }

  /// Reads a name; nil for one that Godwit does not give.
  package init?(_ name: String) {
    var rest = name[...]
    isUndo = rest.hasSuffix(Self.undoSuffix)
    if isUndo { rest = rest.dropLast(Self.undoSuffix.count) }
    number = 1
    if let last = Self.cutLast(rest), let found = Int(last.part), found > 1,
      "\(found)" == last.part
    {
      (number, rest) = (found, last.before)
    }
    guard let last = Self.cutLast(rest), !last.before.isEmpty,
      let kind = KeptStoreKind.allCases.first(where: { last.part.hasPrefix("\($0.rawValue)-") })
    else { return nil }
    let time = last.part.dropFirst(kind.rawValue.count + 1)
    // Only the store before an edit is a journal.
    guard Self.isTime(time), kind == .before || !isUndo else { return nil }
    (store, self.kind, self.time) = (String(last.before), kind, String(time))
  }

  /// The name as text.
  package var text: String {
    "\(store).\(kind.rawValue)-\(time)" + (number > 1 ? ".\(number)" : "")
      + (isUndo ? Self.undoSuffix : "")
  }

  /// The store that was edited, where a name is that of the journal which undoes it:
  /// `STORE.before-TIME.undo`.
  package static func edited(by undo: FilePath) -> FilePath? {
    guard let kept = undo.lastComponent.flatMap({ KeptName($0.string) }), kept.isUndo else {
      return nil
    }
    return undo.removingLastComponent().appending(kept.store)
  }

  /// What is behind the last point and before it; nil where there is none.
  private static func cutLast(_ text: Substring) -> (before: Substring, part: Substring)? {
    guard let point = text.lastIndex(of: ".") else { return nil }
    return (text[..<point], text[text.index(after: point)...])
  }

  /// Whether a text is a time such as `20261231-235959`.
  private static func isTime(_ text: Substring) -> Bool {
    text.utf8.count == 15
      && text.utf8.enumerated().allSatisfy { index, byte in
        index == 8 ? byte == UInt8(ascii: "-") : (0x30...0x39).contains(byte)
      }
  }
}

/// What a kept store is.
package enum KeptStoreKind: String, Hashable, Sendable, CaseIterable {
  /// The store before a migration.
  case before
  /// The store before a rollback: what the migration had made.
  case after
}
