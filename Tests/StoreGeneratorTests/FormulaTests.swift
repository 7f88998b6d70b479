import TestSupport
import Testing

@testable import StoreGenerator

@Suite struct FormulaTests {
  @Test(arguments: [1, 2, 3, 4, 5, 8, 100, 1_023, 1_024, 1_025] as [Int64])
  func `a permutation has each number once and can be undone`(count: Int64) {
    for salt in 1...5 as ClosedRange<UInt64> {
      let permutation = Permutation(count: count, salt: salt)
      let images = (0..<count).map(permutation.image)
      #expect(images.sorted() == Array(0..<count))
      #expect(images.map(permutation.preimage) == Array(0..<count))
    }
  }

  @Test func `a permutation of many numbers can be undone`() {
    let permutation = Permutation(count: 1_099_511_627_000, salt: 9)
    for number in Swift.stride(from: 0, to: permutation.count, by: 1_099_511_627) {
      let image = permutation.image(place: number)
      #expect((0..<permutation.count).contains(image))
      #expect(permutation.preimage(image) == number)
    }
  }

  @Test func `a permutation shuffles`() {
    let permutation = Permutation(count: 10_000, salt: 1)
    let images = (0..<10_000).map { permutation.image(place: $0) }
    let rising = zip(images, images.dropFirst()).filter { $0 < $1 }.count
    #expect((4_500...5_500).contains(rising))
  }

  @Test(arguments: [0, 1, 36, 37, 1_296, 1_297] as [UInt64])
  func `a digit knows its width`(modulus: UInt64) {
    let widths: [UInt64: Int] = [0: 0, 1: 1, 36: 1, 37: 2, 1_296: 2, 1_297: 3]
    guard modulus > 0 else { return }
    #expect(KeyDigit(divisor: 1, modulus: modulus).width == widths[modulus])
  }
}
