import Godwit

/// What became of several stores, in a line.
///
/// Such as `3 stores: 2 migrated, 1 failed (Old.sqlite).`
struct SeriesVerdict: CustomStringConvertible {
  private let ends: [MigrationSeries.End]

  init(_ ends: [MigrationSeries.End]) { self.ends = ends }

  /// The most stores that are named.
  private static let mostNames = 8

  /// The names of stores that failed, in brackets.
  private func failed(_ words: [String]) -> String {
    let names = zip(ends, words).filter { $1 == "failed" }.map { "\($0.0.store)" }
    let more = names.count - Self.mostNames
    let list = names.prefix(Self.mostNames).joined(separator: ", ")
    return names.isEmpty ? "" : " (\(list)\(more > 0 ? ", and \(more) more" : ""))"
  }

  var description: String {
    let words = ends.map { end -> String in
      switch end.result?.outcome {
      case .migrated: "migrated"
      case .copied: "copied"
      case .alreadyCurrent: "current already"
      case .alreadyThere, .finishedEarlier: "done earlier"
      case nil: end.failure?.exitStatus == .interrupted ? "interrupted" : "failed"
      }
    }
    let counts = [
      "migrated", "copied", "current already", "done earlier", "interrupted", "failed",
    ].map { word in (word, words.count { $0 == word }) }
    return "\(CountText(ends.count, "store")): "
      + counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
      + "\(failed(words))."
  }
}
