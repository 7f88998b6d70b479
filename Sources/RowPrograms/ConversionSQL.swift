package import ObjectModel

// SQL for the number conversions of `AttributeType`. Row programs convert with it, and conditions
// and losses are counted with it beforehand.
extension AttributeType {
  /// An SQL expression for the value that a number gets in this type.
  package func converting(_ number: String) -> String {
    switch numberKind {
    case .integer: "CAST(\(number) AS INTEGER)"
    case .boolean: "(\(number) <> 0)"
    case .real: "CAST(\(number) AS REAL)"
    case .decimal, nil: number
    }
  }

  /// An SQL test for numbers that do not fit this type even without their fraction.
  package func excludes(_ number: String) -> String {
    // A text is greater than any number; `abs` has no place for the least integer.
    let isNumber = "typeof(\(number)) IN ('integer', 'real')"
    if let greatestReal {
      return "\(isNumber) AND (\(number) > \(greatestReal) OR \(number) < -\(greatestReal))"
    }
    guard let integerRange, self != .boolean else { return "0" }
    guard integerRange != Int64.min...Int64.max else {
      return "typeof(\(number)) = 'real' AND (\(number) >= 9223372036854775808.0 "
        + "OR \(number) < -9223372036854775808.0)"
    }
    return "\(isNumber) AND (\(number) >= "
      + "\(integerRange.upperBound + 1) OR \(number) <= \(integerRange.lowerBound - 1))"
  }

  /// An SQL test for values of another type that change in this one.
  ///
  /// Numbers that do not fit it are refusals, as far as the other type can hold such numbers.
  package func changes(_ number: String, of old: AttributeType) -> String {
    let changes = "(\(changesAnyway(number)))"
    return old.canOverflow(as: self) ? "\(changes) AND NOT (\(excludes(number)))" : changes
  }

  private func changesAnyway(_ number: String) -> String {
    switch numberKind {
    case .boolean: "\(number) NOT IN (0, 1)"
    case .real:
      // Nearly all values end at the first comparison; without an affinity, texts and blobs are
      // greater than any number. The largest integers become 2^63, which the way back cuts to one
      // of them.
      "+\(number) NOT BETWEEN -9007199254740992 AND 9007199254740992 "
        + "AND CASE typeof(\(number)) WHEN 'integer' THEN "
        + "CAST(CAST(\(number) AS REAL) AS INTEGER) <> \(number) "
        + "OR \(number) > 9223372036854775295 ELSE typeof(\(number)) IN ('text', 'blob') END"
    case .integer, .decimal, nil: "CAST(\(number) AS INTEGER) <> \(number)"
    }
  }
}
