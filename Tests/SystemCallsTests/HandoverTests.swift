import Synchronization
import SystemCalls
import Testing

@Suite struct HandoverTests {
  @Test(arguments: [1, 3]) func `every element arrives, in order`(most: Int) throws {
    let handover = Handover<Int>(most: most)
    let thread = try #require(
      BackgroundThread {
        for number in 0..<5000 { _ = handover.give(number) }
        handover.close()
      })
    var taken: [Int] = []
    while let number = handover.take() { taken.append(number) }
    thread.join()
    #expect(taken == Array(0..<5000))
    #expect(handover.take() == nil)
  }

  @Test func `no more wait than there is room for, but one that is too heavy alone`() throws {
    let handover = Handover<Int>(most: 3, mostWeight: 10)
    let given = Atomic(0)
    let thread = try #require(
      BackgroundThread {
        for weight: Int64 in [20, 4, 4, 4, .max] {
          _ = handover.give(Int(weight), weight: weight)
          given.add(1, ordering: .relaxed)
        }
        handover.close()
      })
    var taken: [Int] = []
    while let weight = handover.take() {
      // What was given is taken, waits within its bounds, or is only just being given.
      taken.append(weight)
      let arrived = given.load(ordering: .relaxed)
      #expect(arrived <= taken.count + 3)
    }
    thread.join()
    #expect(taken == [20, 4, 4, 4, .max])
  }

  @Test func `whoever gives ends where nobody takes any more`() throws {
    let handover = Handover<Int>(most: 1)
    let refused = Atomic(false)
    let thread = try #require(
      BackgroundThread {
        while handover.give(1) {}
        refused.store(true, ordering: .relaxed)
      })
    #expect(handover.take() == 1)
    handover.close()
    thread.join()
    let isRefused = refused.load(ordering: .relaxed)
    #expect(isRefused)
  }
}
