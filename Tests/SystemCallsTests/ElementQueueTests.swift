import Synchronization
import SystemCalls
import Testing

@Suite struct ElementQueueTests {
  @Test(arguments: [1, 3]) func `every element arrives, in order`(most: Int) throws {
    let queue = ElementQueue<Int>(most: most)
    let thread = try #require(
      BackgroundThread {
        for number in 0..<5000 { _ = queue.give(number) }
        queue.close()
      })
    var taken: [Int] = []
    while let number = queue.take() { taken.append(number) }
    thread.join()
    #expect(taken == Array(0..<5000))
    #expect(queue.take() == nil)
  }

  @Test func `no more wait than there is room for, but one that is too heavy alone`() throws {
    let queue = ElementQueue<Int>(most: 3, mostWeight: 10)
    let given = Atomic(0)
    let thread = try #require(
      BackgroundThread {
        for weight: Int64 in [20, 4, 4, 4, .max] {
          _ = queue.give(Int(weight), weight: weight)
          given.add(1, ordering: .relaxed)
        }
        queue.close()
      })
    var taken: [Int] = []
    while let weight = queue.take() {
      // What was given is taken, waits within its bounds, or is only just being given.
      taken.append(weight)
      let arrived = given.load(ordering: .relaxed)
      #expect(arrived <= taken.count + 3)
    }
    thread.join()
    #expect(taken == [20, 4, 4, 4, .max])
  }

  @Test func `whoever gives ends where nobody takes any more`() throws {
    let queue = ElementQueue<Int>(most: 1)
    let refused = Atomic(false)
    let thread = try #require(
      BackgroundThread {
        while queue.give(1) {}
        refused.store(true, ordering: .relaxed)
      })
    #expect(queue.take() == 1)
    queue.close()
    thread.join()
    let isRefused = refused.load(ordering: .relaxed)
    #expect(isRefused)
  }
}
