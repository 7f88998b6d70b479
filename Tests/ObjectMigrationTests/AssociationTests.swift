import GRDB
import Testing

@testable import ObjectMigration

struct KeySetTests {
  @Test(arguments: [1, 7, 65_536, 9_999_999_999])
  func `keys come back in order, however close they lie`(step: Int64) {
    var set = KeySet()
    let keys = (-3000...3000).map { Int64($0) * step }
    for key in keys.shuffled() { set.insert(key) }
    for key in keys.prefix(10) { set.insert(key) }
    #expect(set.keys(from: .min, most: .max) == keys)
    #expect(set.keys(from: 1, most: 2) == [step, 2 * step])
    #expect(keys.allSatisfy(set.contains))
    #expect(step == 1 || !keys.contains { set.contains($0 + 1) })
  }

  @Test func `many keys of one stretch are kept as bits`() {
    var set = KeySet()
    for key in stride(from: Int64(0), to: 65_536, by: 3) { set.insert(key) }
    #expect(set.keys(from: 65_530, most: 10) == [65_532, 65_535])
    #expect(set.keys(from: 65_536, most: 10) == [])
    #expect(set.contains(3) && !set.contains(4))
  }

  @Test func `the last keys of all are found too`() {
    var set = KeySet()
    for key in [Int64.max, .min, 0] { set.insert(key) }
    #expect(set.keys(from: .min, most: 9) == [.min, 0, .max])
    #expect(set.contains(.max))
  }
}

struct AssociationTests {
  typealias Place = Associations.Place

  private func associations(_ body: (Associations) throws -> Void) throws {
    let queue = try DatabaseQueue()
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: "ATTACH ':memory:' AS link")
      let statements = PreparedStatements(db)
      defer { statements.close() }
      try body(Associations(statements: statements))
    }
  }

  @Test func `kept and new keys are found alike, both ways and in order`() throws {
    try associations { associations in
      for key in Int64(1)...1000 {
        // Every third object gets a new key, every fifth becomes two.
        try associations.add(
          mapping: 2, source: Place(table: 1, key: key),
          destination: Place(table: 4, key: key.isMultiple(of: 3) ? key + 5000 : key), number: 9,
          isFirst: true)
        if key.isMultiple(of: 5) {
          try associations.add(
            mapping: 0, source: Place(table: 1, key: key), destination: Place(table: 3, key: key),
            number: 8, isFirst: true)
        }
      }
      let found = try associations.destinations(of: Place(table: 1, key: 15), mapping: nil)
      #expect(found.map(\.place) == [Place(table: 3, key: 15), Place(table: 4, key: 5015)])
      #expect(found.map(\.number) == [8, 9])
      #expect(
        try associations.sources(of: Place(table: 4, key: 5015), mapping: 2).map(\.key) == [15])
      #expect(try associations.sources(of: Place(table: 4, key: 16), mapping: 2).map(\.key) == [16])
      var seen: [Int64] = []
      var last: (source: Place, destination: Place)?
      while let pairs = Optional(try associations.pairs(mapping: 2, after: last, limit: 7)),
        let end = pairs.last
      {
        seen += pairs.map(\.source.key)
        last = (end.source, end.destination.place)
      }
      #expect(seen == Array(1...1000))
      try associations.reset()
      #expect(try associations.pairs(mapping: 2, after: nil, limit: 7).isEmpty)
      #expect(try associations.destinations(of: Place(table: 1, key: 15), mapping: nil).isEmpty)
    }
  }
}
