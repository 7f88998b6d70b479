import PageEngine
import TestSupport

/// Makes tables of any shape from a seed.
struct RandomTables {
  var generator: SeededRandom

  init(seed: UInt64) { generator = SeededRandom(seed: seed) }

  mutating func tables() -> [TestTable] {
    (0..<Int.random(in: 1...5, using: &generator)).map { table($0) }
  }

  private mutating func table(_ number: Int) -> TestTable {
    let types = ["INTEGER", "FLOAT", "TIMESTAMP", "DECIMAL", "VARCHAR", "BLOB"]
    let width = Int.random(in: 1...12, using: &generator)
    var table = TestTable(
      name: "ZT\(number)",
      columns: (0..<width).map { ("ZC\($0)", types[Int.random(in: 0..<6, using: &generator)]) })
    let hasBlobs = Bool.random(using: &generator)
    var key = Int64.random(in: -5000...5000, using: &generator)
    for _ in 0..<Int.random(in: 0...2500, using: &generator) {
      table.rows.append((key, table.columns.map { value($0.type, hasBlobs) }))
      key += Int64.random(in: 1...(key % 97 == 0 ? 1 << 40 : 3), using: &generator)
    }
    for index in 0..<Int.random(in: 0...3, using: &generator) {
      table.indexes.append(self.index("ZI\(number)_\(index)", table))
    }
    return table
  }

  private mutating func index(_ name: String, _ table: TestTable) -> TestIndex {
    let integers = table.columns.indices.filter { table.columns[$0].type == "INTEGER" }
    if let column = integers.randomElement(using: &generator), Bool.random(using: &generator),
      !table.rows.contains(where: { if case .real = $0.values[column] { true } else { false } })
    {
      return TestIndex(name: name, columns: [column], descending: [false], isInteger: true)
    }
    let columns = Array(
      table.columns.indices.shuffled(using: &generator).prefix(
        Int.random(in: 1...3, using: &generator)))
    return TestIndex(
      name: name, columns: columns, descending: columns.map { _ in Bool.random(using: &generator) })
  }

  private mutating func value(_ type: String, _ hasBlobs: Bool) -> Value {
    if Int.random(in: 0..<8, using: &generator) == 0 { return .null }
    switch type {
    case "INTEGER": return .integer(integer())
    case "FLOAT", "TIMESTAMP", "DECIMAL":
      return Bool.random(using: &generator)
        ? .integer(integer())
        : .real(Double(Int.random(in: -100_000...100_000, using: &generator)) / 4)
    case "VARCHAR": return .text(String(repeating: "aé\u{1}", count: length(40)))
    default:
      if Int.random(in: 0..<9, using: &generator) == 0 {
        // Such a column keeps integers and reals apart, and an index takes them as equal.
        let number = Int64.random(in: -3...3, using: &generator)
        return Bool.random(using: &generator) ? .integer(number) : .real(Double(number))
      }
      let isLong = hasBlobs && Int.random(in: 0..<20, using: &generator) == 0
      let count = isLong ? length(60_000) : length(60)
      let seed = UInt8.random(in: 0...255, using: &generator)
      return .blob((0..<count).map { UInt8(truncatingIfNeeded: $0) &+ seed })
    }
  }

  private mutating func length(_ most: Int) -> Int { Int.random(in: 0...most, using: &generator) }

  private mutating func integer() -> Int64 {
    let bits = UInt64.random(in: 0...63, using: &generator)
    let value = Int64.random(in: 0...Int64.max, using: &generator) >> Int64(63 - bits)
    return Bool.random(using: &generator) ? value : -value
  }
}
