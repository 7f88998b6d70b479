/// The order of values in an index ("Datatypes in SQLite", 4.1), with the collation BINARY.
enum FieldOrder {
  /// Less than, equal to or greater than 0, as the first value comes before or after the second.
  @inline(__always)
  static func compare(_ a: Field, _ b: Field) -> Int {
    if a.isInteger && b.isInteger {
      let (left, right) = (a.integer, b.integer)
      return left == right ? 0 : left < right ? -1 : 1
    }
    return compareOthers(a, b)
  }

  private static func compareOthers(_ a: Field, _ b: Field) -> Int {
    let (first, second) = (rank(a), rank(b))
    guard first == second else { return first < second ? -1 : 1 }
    switch first {
    case 0: return 0
    case 1: return compareNumbers(a, b)
    default: return compareBytes(a, b)
    }
  }

  private static func rank(_ field: Field) -> Int {
    if field.isNull { return 0 }
    if field.type < 10 { return 1 }
    return field.isText ? 2 : 3
  }

  private static func compareNumbers(_ a: Field, _ b: Field) -> Int {
    if a.isReal && b.isReal { return a.real == b.real ? 0 : a.real < b.real ? -1 : 1 }
    if a.isReal { return -compare(integer: b.integer, real: a.real) }
    return compare(integer: a.integer, real: b.real)
  }

  /// Compares without rounding the integer, as a real has fewer digits.
  private static func compare(integer: Int64, real: Double) -> Int {
    if real >= 9.223372036854775808e18 { return -1 }
    if real < -9.223372036854775808e18 || real.isNaN { return 1 }
    let whole = Int64(real)
    if integer != whole { return integer < whole ? -1 : 1 }
    let rest = real - Double(whole)
    return rest == 0 ? 0 : rest > 0 ? -1 : 1
  }

  private static func compareBytes(_ a: Field, _ b: Field) -> Int {
    let count = min(a.size, b.size)
    var at = 0
    if count > 0, let left = a.body, let right = b.body {
      while at + 8 <= count {
        let one = UInt64(bigEndian: left.loadUnaligned(fromByteOffset: at, as: UInt64.self))
        let other = UInt64(bigEndian: right.loadUnaligned(fromByteOffset: at, as: UInt64.self))
        if one != other { return one < other ? -1 : 1 }
        at += 8
      }
      while at < count {
        let one = left.load(fromByteOffset: at, as: UInt8.self)
        let other = right.load(fromByteOffset: at, as: UInt8.self)
        if one != other { return one < other ? -1 : 1 }
        at += 1
      }
    }
    return a.size == b.size ? 0 : a.size < b.size ? -1 : 1
  }
}
