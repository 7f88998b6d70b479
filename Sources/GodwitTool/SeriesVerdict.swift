import Godwit

/// What became of several stores, in a line.
///
/// Such as `3 stores: 2 migrated, 1 failed.`
struct SeriesVerdict: CustomStringConvertible {
  private let ends: [MigrationSeries.End]

  init(_ ends: [MigrationSeries.End]) { self.ends = ends }

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
      + counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }.joined(separator: ", ") + "."
  }
}
