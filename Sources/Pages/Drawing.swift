/// A place or a length in a picture, in pixels or as a share of its width.
struct Length: CustomStringConvertible {
  private let value: Double
  private let unit: String

  /// A share of the width, 0...1.
  static func share(_ value: Double) -> Length { Length(value: value * 100, unit: "%") }
  /// Pixels.
  static func pixels(_ value: Double) -> Length { Length(value: value, unit: "") }

  /// The number with at most two decimals.
  var description: String {
    guard value.isFinite else { return "0" }
    let hundredths = Int((min(max(value, -1e6), 1e6) * 100).rounded())
    let (whole, rest) = (abs(hundredths) / 100, abs(hundredths) % 100)
    let decimals =
      rest == 0 ? "" : rest < 10 ? ".0\(rest)" : rest % 10 == 0 ? ".\(rest / 10)" : ".\(rest)"
    return "\(hundredths < 0 ? "-" : "")\(whole)\(decimals)\(unit)"
  }
}

/// The marks of a time axis that begins at 0.
struct TimeAxis {
  /// A mark with its label.
  struct Mark {
    let x: Length
    let anchor: String
    let label: String
  }

  /// Marks at round times, at most six besides 0.
  let marks: [Mark]

  private static let steps: [Double] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200,
    14_400, 21_600, 43_200, 86_400,
  ]

  /// Takes the end of the axis, in seconds.
  init(to end: Double) {
    guard end.isFinite, end > 0 else {
      marks = [Mark(x: .share(0), anchor: "start", label: "0 s")]
      return
    }
    let step = Self.steps.first { end / $0 < 7 } ?? end / 6
    marks = (0...Int(end / step)).map { index in
      let time = Double(index) * step
      let anchor = index == 0 ? "start" : time / end > 0.94 ? "end" : "middle"
      return Mark(x: .share(time / end), anchor: anchor, label: Self.label(of: time))
    }
  }

  /// A time, such as `0.2 s`, `40 s`, `2 min` or `1 h 20 min`.
  static func label(of time: Double) -> String {
    if time < 60 { return "\(Length.pixels(time)) s" }
    let whole = Int(min(time, 1e12))
    let (hours, minutes, seconds) = (whole / 3600, whole % 3600 / 60, whole % 60)
    let parts = [(hours, "h"), (minutes, "min"), (seconds, "s")]
    return parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: " ")
  }
}
