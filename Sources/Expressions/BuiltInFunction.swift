/// A function of the format language, under the selector that archives hold.
package enum BuiltInFunction: String, CaseIterable, Hashable, Sendable {
  case sum = "sum:"
  case count = "count:"
  case minimum = "min:"
  case maximum = "max:"
  case average = "average:"
  case median = "median:"
  case mode = "mode:"
  case standardDeviation = "stddev:"
  case add = "add:to:"
  case subtract = "from:subtract:"
  case multiply = "multiply:by:"
  case divide = "divide:by:"
  case modulus = "modulus:by:"
  case power = "raise:toPower:"
  case squareRoot = "sqrt:"
  case logarithm = "log:"
  case naturalLogarithm = "ln:"
  case exponential = "exp:"
  case ceiling = "ceiling:"
  case floor = "floor:"
  case truncate = "trunc:"
  case round = "round:"
  case absolute = "abs:"
  case bitwiseAnd = "bitwiseAnd:with:"
  case bitwiseOr = "bitwiseOr:with:"
  case bitwiseXor = "bitwiseXor:with:"
  case leftShift = "leftshift:by:"
  case rightShift = "rightshift:by:"
  case onesComplement = "onesComplement:"
  case now = "now"
  case uppercase = "uppercase:"
  case lowercase = "lowercase:"
  case canonical = "canonical:"
  case length = "length:"
  case noIndex = "noindex:"
  case cast = "castObject:toType:"
  /// `collection[index]`
  case element = "objectFrom:withIndex:"

  /// The function that a text means by that name: `sum(…)` is short for `sum:(…)`.
  package init?(written name: String) {
    guard let found = Self(rawValue: name) ?? Self(rawValue: name + ":") else { return nil }
    self = found
  }

  package var argumentCount: Int { rawValue.count { $0 == ":" } }

  /// Whether several arguments mean one collection of them.
  package var takesCollection: Bool {
    switch self {
    case .sum, .count, .minimum, .maximum, .average, .median, .mode, .standardDeviation: true
    default: false
    }
  }

  /// Functions of Foundation that are refused, with the reason.
  package static let refused: [String: String] = [
    "random": sameResult, "random:": sameResult, "randomn:": sameResult,
    "distanceToLocation:fromLocation:": "attributes hold no locations",
  ]
  private static let sameResult = "a migration gives the same result in every run"
}
