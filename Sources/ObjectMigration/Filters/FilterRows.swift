/// The results of tests for consecutive objects.
package final class FilterRows {
  /// The result for an object that the evaluator has to decide.
  package static let uncertain: Int8 = -1
  /// The result for an object that SQLite has to decide.
  package static let unread: Int8 = -2

  private static let most = 256

  /// How many objects there are.
  package var count: Int { counted.pointee }
  /// The same for a loop over rows, which checks no accesses.
  private let counted: UnsafeMutablePointer<Int>
  private let filters: Int
  private let columns: Int
  private let keys: UnsafeMutablePointer<Int64>
  private let said: UnsafeMutablePointer<Int8>
  private let filled: UnsafeMutablePointer<Bool>

  /// Has room for so many filters, and so many columns that are tested for NULL.
  init(filters: Int, columns: Int) {
    (self.filters, self.columns) = (filters, columns)
    keys = .allocate(capacity: Self.most)
    said = .allocate(capacity: Self.most * max(1, filters))
    filled = .allocate(capacity: Self.most * max(1, columns))
    counted = .allocate(capacity: 1)
    counted.initialize(to: 0)
    keys.initialize(repeating: 0, count: Self.most)
    said.initialize(repeating: 0, count: Self.most * max(1, filters))
    filled.initialize(repeating: false, count: Self.most * max(1, columns))
  }

  deinit {
    counted.deallocate()
    keys.deallocate()
    said.deallocate()
    filled.deallocate()
  }

  // MARK: Objects that are there

  func key(of row: Int) -> Int64 { keys[row] }

  /// The result of each filter: 1, 0, `uncertain`, or `unread` for the first.
  func said(of row: Int) -> UnsafeMutablePointer<Int8> { said + row * filters }

  func isSet(column: Int, of row: Int) -> Bool { filled[row * columns + column] }

  func removeAll() { counted.pointee = 0 }

  // MARK: All objects at once

  /// Whether every filter takes each object or does not.
  var isCertain: Bool {
    var least: Int8 = 0
    for place in 0..<count * filters { least = min(least, said[place]) }
    return least == 0
  }

  /// How many objects a filter takes.
  func taken(by filter: Int) -> Int64 {
    var sum: Int64 = 0
    for row in 0..<count where said[row * filters + filter] == 1 { sum += 1 }
    return sum
  }

  /// Calls `body` with the keys of objects that none of these filters takes.
  func untaken(by places: [Int], _ body: (UnsafeBufferPointer<Int64>) -> Void) {
    withUnsafeTemporaryAllocation(of: Int64.self, capacity: Self.most) { untaken in
      places.withUnsafeBufferPointer { places in
        var found = 0
        for row in 0..<count {
          let said = self.said(of: row)
          var isTaken = false
          for place in places where said[place] == 1 { isTaken = true }
          untaken[found] = keys[row]
          found += isTaken ? 0 : 1
        }
        body(UnsafeBufferPointer(rebasing: untaken[..<found]))
      }
    }
  }

  /// The first object that several of these filters take, and the first two that do.
  func shared(by places: [Int]) -> (row: Int, filters: (Int, Int))? {
    places.withUnsafeBufferPointer { places in
      for row in 0..<count {
        let said = self.said(of: row)
        var first: Int?
        for place in places where said[place] == 1 {
          if let first { return (row, (first, place)) }
          first = place
        }
      }
      return nil
    }
  }

  // MARK: The next object

  /// Whether there is no room for another one.
  package var isFull: Bool { count == Self.most }

  /// The place for each filter's result for the next object.
  package var nextSaid: UnsafeMutablePointer<Int8> { said + count * filters }

  /// The place for the NULL test of each column of the next object.
  package var nextSet: UnsafeMutablePointer<Bool> { filled + count * columns }

  /// Adds the object whose results are complete.
  package func add(key: Int64) {
    keys[count] = key
    counted.pointee += 1
  }
}
