package import Foundation

/// How plans and work orders are written as JSON, which itself has no infinite numbers.
package enum PlanCoding {
  private static let infinity = "infinity"
  private static let notANumber = "nan"

  /// An encoder that writes infinite numbers as texts, and the same for the same.
  package static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: infinity, negativeInfinity: "-" + infinity, nan: notANumber)
    return encoder
  }

  /// A decoder that reads those texts as numbers again.
  package static var decoder: JSONDecoder {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: infinity, negativeInfinity: "-" + infinity, nan: notANumber)
    return decoder
  }
}
