import Expressions
import ObjectModel
import Testing

@Suite struct FittingValueTests {
  @Test(arguments: [1e300, -1e128, .infinity, -.infinity, 1e-200, -.leastNonzeroMagnitude])
  func `a number that no decimal can hold does not fit`(number: Double) {
    #expect(throws: UnfitValue.range) { try AttributeType.decimal.fitted(.real(number)) }
    #expect(AttributeType.double.canOverflow(as: .decimal))
  }

  @Test(arguments: [(0, "0.0"), (9e127, "9e+127"), (-1e-128, "-1e-128"), (2.5, "2.5")])
  func `any other number becomes a decimal`(number: Double, digits: String) throws {
    #expect(try AttributeType.decimal.fitted(.real(number)) == .decimal(digits))
  }
}
