import Testing

@testable import PageEngine

@Suite struct MergeHeapTests {
  /// What a merge of runs gives: each entry with the number of its run.
  private func merged(_ runs: [[Int]]) -> [[Int]] {
    let heap = MergeHeap<Int>(capacity: runs.count)
    var places = Array(repeating: 1, count: runs.count)
    for (number, run) in runs.enumerated() {
      if let first = run.first { heap.add(first, run: number) }
    }
    var result: [[Int]] = []
    while let top = heap.top {
      result.append([top.entry, top.run])
      if places[top.run] < runs[top.run].count {
        heap.replaceTop(by: runs[top.run][places[top.run]])
        places[top.run] += 1
      } else {
        heap.removeTop()
      }
    }
    return result
  }

  @Test(arguments: [0, 1, 2, 3, 7, 64, 301])
  func `runs are merged in order, equal entries by run`(count: Int) {
    // A sequence without a pattern, the same at every run of the test.
    var state: UInt64 = 42
    let runs = (0..<count).map { run in
      (0..<(run * 7 % 13)).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 58)
      }.sorted()
    }
    let expected = runs.enumerated().flatMap { number, run in run.map { [$0, number] } }
      .sorted { $0.lexicographicallyPrecedes($1) }
    #expect(merged(runs) == expected)
  }
}
