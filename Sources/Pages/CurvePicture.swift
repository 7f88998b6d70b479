/// How a quantity ran over time, as a curve above its axis.
package struct CurvePicture: Sendable {
  /// A value at one moment.
  package struct Point: Hashable, Sendable {
    /// Seconds of the time axis.
    package var time: Double
    /// The value, at least 0.
    package var value: Double

    /// Takes a time in seconds and a value of at least 0.
    package init(_ time: Double, _ value: Double) { (self.time, self.value) = (time, value) }
  }

  private let title: String
  private let points: [Point]
  private let end: Double
  private let line: (value: Double, label: String)?
  private let label: @Sendable (Double) -> String

  /// Takes points by time.
  ///
  /// - Parameters:
  ///   - end: the end of the time axis, in seconds.
  ///   - limit: a value at which a line is drawn, with its label; nil for none.
  ///   - label: words for a value.
  package init(
    _ title: String, _ points: [Point], to end: Double,
    limit: (value: Double, label: String)? = nil,
    label: @escaping @Sendable (Double) -> String
  ) {
    (self.title, self.points, self.end) = (title, points, max(end, 1e-6))
    (line, self.label) = (limit, label)
  }

  private struct Values {
    struct Line {
      let y: Length
      let labelY: Length
      let label: Markup
    }
    let title, highest: Markup
    let area, curve: String
    let limit: Line?
    let marks: [TimeAxis.Mark]
  }

  private static let (top, height) = (20.0, 100.0)

  /// The picture as an element of SVG.
  package var svg: Markup {
    let highest = points.map(\.value).filter(\.isFinite).max() ?? 0
    let scale = max(highest, line?.value ?? 0, 1e-9)
    let places = points.map { point in
      let x = min(max(0, point.time / end), 1) * 1000
      let y = Self.height - min(max(0, point.value / scale), 1) * Self.height
      return "\(Length.pixels(x)),\(Length.pixels(y))"
    }
    let curve = places.joined(separator: " ")
    let area = points.first.map { first in
      let (left, right) = (first.time / end, (points.last?.time ?? end) / end)
      return "\(Length.pixels(left * 1000)),100 \(curve) \(Length.pixels(right * 1000)),100"
    }
    return Templates.render(
      .curves,
      Values(
        title: Markup(title), highest: Markup("at most \(label(highest))"), area: area ?? "",
        curve: curve,
        limit: line.map {
          let y = Self.top + Self.height * (1 - $0.value / scale)
          return .init(y: .pixels(y), labelY: .pixels(y + 13), label: Markup($0.label))
        }, marks: TimeAxis(to: end).marks))
  }
}
