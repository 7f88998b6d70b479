/// Elements in sets that only ever grow together.
package struct DisjointSets<Element: Hashable> {
  private let elements: [Element]
  private let places: [Element: Int]
  /// For each element the place of one in the same set, no later than its own.
  private var parents: [Int]

  /// Puts each element into a set of its own; one that is given twice counts once.
  package init(_ elements: some Sequence<Element>) {
    var places: [Element: Int] = [:]
    var distinct: [Element] = []
    for element in elements where places[element] == nil {
      places[element] = distinct.count
      distinct.append(element)
    }
    self.elements = distinct
    self.places = places
    parents = Array(distinct.indices)
  }

  private func leader(at place: Int) -> Int {
    var current = place
    while parents[current] != current { current = parents[current] }
    return current
  }

  /// The earliest element of the set that an element is in; nil for one that was never given.
  package func leader(of element: Element) -> Element? {
    places[element].map { elements[leader(at: $0)] }
  }

  /// Joins the sets of two elements; one that was never given joins nothing.
  package mutating func join(_ element: Element, with other: Element) {
    guard let first = places[element], let second = places[other] else { return }
    let (one, two) = (leader(at: first), leader(at: second))
    parents[max(one, two)] = min(one, two)
  }

  /// The sets in the order of their earliest elements, each in the order of its elements.
  package func sets() -> [[Element]] {
    var result: [[Element]] = []
    var numbers: [Int: Int] = [:]
    for place in elements.indices {
      let leader = leader(at: place)
      if let number = numbers[leader] {
        result[number].append(elements[place])
      } else {
        numbers[leader] = result.count
        result.append([elements[place]])
      }
    }
    return result
  }
}
