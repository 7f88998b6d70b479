/// A function of the format language, under the selector that archives hold.
package enum BuiltInFunction: String, CaseIterable, Hashable, Sendable {
  /// The sum of the numbers of a collection; nil members are left out, here and below.
  case sum = "sum:"
  /// How many members a collection has, nil ones counted.
  case count = "count:"
  /// The smallest number, text or date of a collection.
  case minimum = "min:"
  /// The greatest number, text or date of a collection.
  case maximum = "max:"
  /// The mean of the numbers of a collection; nil of none.
  case average = "average:"
  /// The number in the middle, or the mean of the two there; nil of none.
  case median = "median:"
  /// The most frequent numbers, ascending, as an array.
  case mode = "mode:"
  /// The standard deviation of a population; nil of none.
  case standardDeviation = "stddev:"
  /// `a + b`; also a date and seconds.
  case add = "add:to:"
  /// `a - b`; also a date and seconds, or two dates.
  case subtract = "from:subtract:"
  /// `a * b`
  case multiply = "multiply:by:"
  /// `a / b`, whole where both are.
  case divide = "divide:by:"
  /// The remainder of `a / b`.
  case modulus = "modulus:by:"
  /// `a ** b`
  case power = "raise:toPower:"
  /// The square root as a real number; nil of a negative one.
  case squareRoot = "sqrt:"
  /// The logarithm to base 10.
  case logarithm = "log:"
  /// The logarithm to base e.
  case naturalLogarithm = "ln:"
  /// The exponential function.
  case exponential = "exp:"
  /// The next whole number above, of the same type.
  case ceiling = "ceiling:"
  /// The next whole number below, of the same type.
  case floor = "floor:"
  /// The number without its fraction, of the same type.
  case truncate = "trunc:"
  /// The nearest whole number, halves away from zero, of the same type.
  case round = "round:"
  /// The number without its sign.
  case absolute = "abs:"
  /// `a & b` of whole numbers.
  case bitwiseAnd = "bitwiseAnd:with:"
  /// `a | b` of whole numbers.
  case bitwiseOr = "bitwiseOr:with:"
  /// `a ^ b` of whole numbers.
  case bitwiseXor = "bitwiseXor:with:"
  /// `a << b` of whole numbers.
  case leftShift = "leftshift:by:"
  /// `a >> b` of whole numbers, which keeps the sign.
  case rightShift = "rightshift:by:"
  /// `~a` of a whole number.
  case onesComplement = "onesComplement:"
  /// The moment at which the migration began, the same for every row.
  case now = "now"
  /// The text in upper case.
  case uppercase = "uppercase:"
  /// The text in lower case.
  case lowercase = "lowercase:"
  /// The text without case, diacritics and width.
  case canonical = "canonical:"
  /// The length of a text in UTF-16 units.
  case length = "length:"
  /// Its argument; to Core Data a hint not to use an index.
  case noIndex = "noindex:"
  /// The value as one of another class, by the class's name.
  case cast = "castObject:toType:"
  /// `collection[index]`
  case element = "objectFrom:withIndex:"

  // Godwit's own, which Core Data does not have:
  /// A UUID that is the same in every run, of the source object.
  case identifier = "uuid"
  /// A UUID that is the same in every run, of an object, a URI or a text.
  case identifierOf = "uuid:"
  /// The date of a text, in a format.
  case dateOfText = "date:format:"
  /// The bytes of a text, in an encoding.
  case dataOfText = "data:encoding:"

  /// The function that a text means by that name: `sum(…)` is short for `sum:(…)`, and `date(a, b)`
  /// for `date:format:(a, b)`.
  package init?(written name: String, argumentCount: Int? = nil) {
    if argumentCount != 0, name == Self.identifier.rawValue {
      self = .identifierOf
      return
    }
    let short = Self.ownFunctions.first {
      $0.rawValue.hasPrefix("\(name):") && $0.argumentCount == argumentCount
    }
    guard let found = Self(rawValue: name) ?? Self(rawValue: name + ":") ?? short else {
      return nil
    }
    self = found
  }

  private static let ownFunctions: [Self] = [.identifierOf, .dateOfText, .dataOfText]

  /// Whether it gives the same for every object, where its arguments do.
  package var isSteady: Bool { self != .identifier && self != .now }

  /// How many arguments it takes: the colons of its selector.
  package var argumentCount: Int { rawValue.count { $0 == ":" } }

  /// Whether several arguments mean one collection of them.
  package var takesCollection: Bool {
    switch self {
    case .sum, .count, .minimum, .maximum, .average, .median, .mode, .standardDeviation: true
    default: false
    }
  }

  /// The classes to which `cast` casts, by their names.
  package static let castClasses: Set = [
    "NSString", "NSNumber", "NSDecimalNumber", "NSDate", "NSUUID", "NSURL", "NSData",
  ]

  /// Functions of Foundation that are refused, with the reason.
  package static let refused: [String: String] = [
    "random": sameResult, "random:": sameResult, "randomn:": sameResult,
    "distanceToLocation:fromLocation:": "attributes hold no locations",
  ]
  private static let sameResult =
    "a migration gives the same result in every run; uuid() gives each object an identifier"
}
