/// Activities over time, as bars in lanes.
///
/// Its width is that of the page, and its texts keep their size.
package struct TimelinePicture: Sendable {
  /// A bar of a lane.
  package struct Bar: Hashable, Sendable {
    /// When it begins and ends, in seconds of the time axis.
    package var start, end: Double
    /// What it stands for; shown by the pointer.
    package var title: String
    /// Its colour: bars of one tone belong together.
    package var tone: Int
    /// Whether what it stands for failed.
    package var isBad: Bool

    /// Takes times in seconds.
    package init(from start: Double, to end: Double, title: String, tone: Int, isBad: Bool = false)
    {
      (self.start, self.end) = (start, end)
      (self.title, self.tone, self.isBad) = (title, tone, isBad)
    }
  }

  /// Bars that do not overlap.
  package struct Lane: Hashable, Sendable {
    /// What the lane shows.
    package var label: String
    /// Its bars, by time.
    package var bars: [Bar]

    /// Takes bars by time.
    package init(label: String, bars: [Bar]) { (self.label, self.bars) = (label, bars) }
  }

  private let lanes: [Lane]
  private let end: Double

  /// Takes lanes from top to bottom, and the end of the time axis in seconds.
  package init(_ lanes: [Lane], to end: Double) { (self.lanes, self.end) = (lanes, max(end, 1e-6)) }

  private struct Values {
    struct Lane {
      struct Bar {
        let x, width: Length
        let tone: String
        let title: Markup
      }
      let label: Markup
      let labelY, y: Length
      let bars: [Bar]
    }
    let height, axisY, labelY: Length
    let description: Markup
    let lanes: [Lane]
    let marks: [TimeAxis.Mark]
  }

  private static let (laneHeight, captionHeight, axisHeight) = (38.0, 15.0, 22.0)

  /// The picture as an element of SVG.
  package var svg: Markup {
    let bottom = Double(lanes.count) * Self.laneHeight
    let rows = zip(0..., lanes).map { index, lane in
      let top = Double(index) * Self.laneHeight
      return Values.Lane(
        label: Markup(lane.label), labelY: .pixels(top + 11), y: .pixels(top + Self.captionHeight),
        bars: lane.bars.map(drawn))
    }
    let names = lanes.map(\.label).joined(separator: ", ")
    return Templates.render(
      .timeline,
      Values(
        height: .pixels(bottom + Self.axisHeight), axisY: .pixels(bottom),
        labelY: .pixels(bottom + 16), description: Markup("Over time: \(names)"), lanes: rows,
        marks: TimeAxis(to: end).marks))
  }

  private func drawn(_ bar: Bar) -> Values.Lane.Bar {
    let start = min(max(0, bar.start / end), 1)
    // What took no time can still be seen.
    let width = max(0.002, min(max(0, bar.end / end), 1) - start)
    return .init(
      x: .share(min(start, 1 - width)), width: .share(width),
      tone: bar.isBad ? "bad" : "tone\(((bar.tone % 8) + 8) % 8)", title: Markup(bar.title))
  }
}
