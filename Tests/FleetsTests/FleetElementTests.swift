import Testing

@testable import Fleets

@Suite struct FleetElementTests {
  @Test func `elements have equal work, whatever the sizes`() {
    var cut = ElementCut(count: 3)
    var work = [Int64](repeating: 0, count: 3)
    let sizes: [Int64] = [900, 500, 400, 300, 200, 100].map { $0 << 20 }
    for bytes in sizes { work[cut.element(ofNext: bytes)] += bytes }
    #expect(work.max() == 900 << 20)
    #expect(work.min() ?? 0 >= 700 << 20)
  }

  @Test func `small stores are counted too`() {
    var cut = ElementCut(count: 4)
    var stores = [Int](repeating: 0, count: 4)
    for _ in 0..<1000 { stores[cut.element(ofNext: 0)] += 1 }
    #expect(stores == [250, 250, 250, 250])
  }

  @Test func `sizes that nothing has do not trap`() {
    var cut = ElementCut(count: 2)
    for bytes in [Int64.max, .max, .max, -1, .min] { _ = cut.element(ofNext: bytes) }
  }

  @Test(arguments: [
    ("3/20", true), ("0/1", true), ("20/20", false), ("-1/4", false), ("1", false), ("1/0", false),
    ("1/2/3", false), ("/", false), ("a/b", false),
  ])
  func `an element is a number and a count`(text: String, isElement: Bool) {
    #expect((FleetElement(text) != nil) == isElement)
  }

  @Test func `numbers become ranges`() {
    #expect(ArrayRanges.text([3, 7, 8, 9]) == "3,7-9")
    #expect(ArrayRanges.text([]) == "")
    #expect(ArrayRanges.text([0, 1]) == "0-1")
  }
}
