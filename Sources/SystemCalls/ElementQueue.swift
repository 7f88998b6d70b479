import Foundation

/// Hands elements from one thread to another in their order, only a few at a time.
package final class ElementQueue<Element>: @unchecked Sendable {
  // @unchecked: `condition` guards all that changes; an element is used only by its current owner.
  private let condition = NSCondition()
  private let most: Int
  private let mostWeight: Int64
  private var elements: [(element: Element, weight: Int64)] = []
  private var weight: Int64 = 0
  private var isClosed = false

  /// - Parameters:
  ///   - most: how many elements wait at most.
  ///   - mostWeight: what they weigh together at most; one alone may weigh more.
  package init(most: Int, mostWeight: Int64 = .max) {
    (self.most, self.mostWeight) = (most, mostWeight)
  }

  /// Waits until there is room for an element; false if the receiver has ended.
  package func give(_ element: Element, weight: Int64 = 0) -> Bool {
    condition.lock()
    defer { condition.unlock() }
    while elements.count >= most || weight > mostWeight - self.weight, !elements.isEmpty, !isClosed
    { condition.wait() }
    if isClosed { return false }
    elements.append((element, weight))
    self.weight += weight
    condition.broadcast()
    return true
  }

  /// Waits for the next element; nil after the last one that was given before the end.
  package func take() -> Element? {
    condition.lock()
    defer { condition.unlock() }
    while elements.isEmpty, !isClosed { condition.wait() }
    guard !elements.isEmpty else { return nil }
    condition.broadcast()
    let (element, weight) = elements.removeFirst()
    self.weight -= weight
    return element
  }

  /// Ends it, from either side.
  package func close() {
    condition.lock()
    defer { condition.unlock() }
    isClosed = true
    condition.broadcast()
  }
}
