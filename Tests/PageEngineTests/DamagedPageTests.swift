import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import PageEngine

/// What the readers of pages make of pages that no SQLite wrote: an error with a place, or rows;
/// never a trap, a hang, or memory without bounds.
@Suite(.scratchFolder, .timeLimit(.minutes(15))) struct DamagedPageTests {
  /// One way to damage a store.
  struct Damage: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var apply: @Sendable (inout DamagedStore) throws -> Void

    init(_ name: String, _ apply: @escaping @Sendable (inout DamagedStore) throws -> Void) {
      testDescription = name
      self.apply = apply
    }

    /// A damage of the table's first leaf.
    static func leaf(
      _ name: String, _ apply: @escaping @Sendable (inout DamagedStore, _ page: Int) -> Void
    ) -> Damage {
      Damage(name) { store in
        let leaf = store.leaves(of: store.table)[0]
        apply(&store, store.offset(leaf))
      }
    }

    /// A damage of the table's root, an interior page.
    static func root(
      _ name: String, _ apply: @escaping @Sendable (inout DamagedStore, _ page: Int) -> Void
    ) -> Damage {
      Damage(name) { store in apply(&store, store.offset(store.table)) }
    }

    /// A damage of the first cell, which begins with the size of its record and its key, one or two
    /// bytes each.
    static func cell(_ name: String, _ bytes: [UInt8], at place: Int = 0) -> Damage {
      Damage(name) { store in
        let leaf = store.leaves(of: store.table)[0]
        store.put(bytes, at: store.cell(0, of: leaf) + place)
      }
    }
  }

  static let trees: [Damage] = [
    .root("a root of no type") { $0.put(0, 1, at: $1) },
    .root("more children than a page holds") { $0.put(0xffff, 2, at: $1 + 3) },
    .root("a child's cell past the page") { $0.put(0xffff, 2, at: $1 + 12) },
    .root("a child's cell at the page's last byte") { $0.put($0.pageSize - 1, 2, at: $1 + 12) },
    Damage("a child that is the page itself") { store in
      store.put(Int(store.table), 4, at: store.cell(0, of: store.table))
    },
    Damage("a last child that is the page itself") { store in
      store.put(Int(store.table), 4, at: store.offset(store.table) + 8)
    },
    Damage("children that are all the same") { store in
      let first = Int(store.leaves(of: store.table)[0])
      for index in 0..<store.cells(store.table) {
        store.put(first, 4, at: store.cell(index, of: store.table))
      }
      store.put(first, 4, at: store.offset(store.table) + 8)
    },
    Damage("no child") { $0.put(0, 4, at: $0.cell(0, of: $0.table)) },
    Damage("a child that is the first page") { $0.put(1, 4, at: $0.cell(0, of: $0.table)) },
    Damage("a child past the file") { store in
      store.put(Int(store.pageCount) + 1, 4, at: store.cell(0, of: store.table))
    },
    Damage("the last page that a number can tell") { store in
      store.put(0xffff_ffff, 4, at: store.offset(store.table) + 8)
    },
    Damage("a child that leads back up") { store in
      let leaf = store.leaves(of: store.table)[1]
      store.put(
        Array(store.bytes[store.offset(store.table)..<store.offset(store.table) + 12]),
        at: store.offset(leaf))
      store.put(0, 2, at: store.offset(leaf) + 3)
      store.put(Int(store.table), 4, at: store.offset(leaf) + 8)
    },
    Damage("levels below levels") { store in
      // Each has no cell, and the next page for its last child.
      let type = store.bytes[store.offset(store.table)]
      let first = (3...store.pageCount).first { $0 > max(store.table, store.index) } ?? 0
      for page in first..<first + 30 {
        store.put([type, 0, 0, 0, 0, 0, 0, 0], at: store.offset(page))
        store.put(Int(page) + 1, 4, at: store.offset(page) + 8)
      }
      store.put(Int(first), 4, at: store.cell(0, of: store.table))
    },
  ]

  static let leaves: [Damage] = [
    .leaf("a leaf of no type") { $0.put(255, 1, at: $1) },
    .leaf("more cells than a page holds") { $0.put(0xffff, 2, at: $1 + 3) },
    .leaf("more cells than there are") { $0.put(($0.pageSize - 8) / 2, 2, at: $1 + 3) },
    .leaf("a cell past the page") { $0.put(0xffff, 2, at: $1 + 8) },
    .leaf("a number that runs off the page") {
      $0.put($0.pageSize - 1, 2, at: $1 + 8)
      $0.put(0xff, 1, at: $1 + $0.pageSize - 1)
    },
    .leaf("a key that runs off the page") {
      $0.put($0.pageSize - 2, 2, at: $1 + 8)
      $0.put([3, 0xff], at: $1 + $0.pageSize - 2)
    },
    .leaf("a record that runs off the page") {
      $0.put($0.pageSize - 3, 2, at: $1 + 8)
      $0.put([100, 2, 8], at: $1 + $0.pageSize - 3)
    },
  ]

  /// What is only of tables: an index may have two entries alike.
  static let tables: [Damage] = [
    .root("a root of an index") { $0.put(2, 1, at: $1) },
    .leaf("a leaf of an index") { $0.put(10, 1, at: $1) },
    .leaf("two cells of the same key") { $0.put($0.number($1 + 8, 2), 2, at: $1 + 10) },
  ]

  static let records: [Damage] = [
    .cell("a record of 2^63 bytes", [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
    .cell("a record of 2^31 bytes", [0x88, 0x80, 0x80, 0x80, 0x00]),
    .cell("a record of 2^30 bytes", [0x84, 0x80, 0x80, 0x80, 0x00]),
    .cell("a header longer than the record", [0x7f], at: 2),
    .cell("no header", [0], at: 2),
    .cell("a type that runs off the header", [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], at: 3),
    .cell("a type that no file has", [10], at: 4),
    .cell("another type that no file has", [11], at: 5),
    .cell("a text longer than the record", [0xff, 0x7f], at: 5),
  ]

  static let chains: [Damage] = [
    Damage("a chain that ends early") { store in
      let (_, pointer) = try store.chain()
      store.put(0, 4, at: store.offset(UInt32(store.number(pointer, 4))))
    },
    Damage("no chain") { $0.put(0, 4, at: try $0.chain().pointer) },
    Damage("a chain that leads to itself") { store in
      let page = store.number(try store.chain().pointer, 4)
      store.put(page, 4, at: store.offset(UInt32(page)))
    },
    Damage("a chain that leads back to its leaf") { store in
      let (leaf, pointer) = try store.chain()
      store.put(Int(leaf), 4, at: pointer)
    },
    Damage("a chain past the file") { store in
      store.put(Int(store.pageCount) + 1, 4, at: try store.chain().pointer)
    },
    Damage("a chain that goes on") { store in
      var page = UInt32(store.number(try store.chain().pointer, 4))
      while store.number(store.offset(page), 4) != 0 {
        page = UInt32(store.number(store.offset(page), 4))
      }
      store.put(5, 4, at: store.offset(page))
    },
  ]

  @Test func `an undamaged store is read as SQLite reads it`() throws {
    for pageSize in [512, 4096, 65_536] {
      let store = try DamagedStore(pageSize: pageSize)
      let rows = try store.rows()
      #expect(rows.count == 600)
      let isSame = try store.rowsOfSQLite() == rows
      #expect(isSame)
    }
    let moved = try DamagedStore().move()
    #expect(moved.rows == 600 && moved.entries == 600 && moved.isWhole)
  }

  @Test(arguments: trees + leaves + tables + records + chains)
  func `damage of a table is an error with a page`(damage: Damage) throws {
    for pageSize in [4096, 1024] {
      var store = try DamagedStore(pageSize: pageSize, rows: pageSize == 4096 ? 600 : 300)
      let before = store.bytes
      try damage.apply(&store)
      try #require(store.bytes != before)
      let error = #expect(throws: PageError.self) { try store.rows() }
      guard case .damaged(let page)? = error?.problem else {
        Issue.record("\(String(describing: error))")
        continue
      }
      #expect(page > 0 && page <= store.pageCount)
    }
  }

  @Test(arguments: trees + leaves + tables + records + chains)
  func `damage of a table is not moved`(damage: Damage) throws {
    var store = try DamagedStore()
    try damage.apply(&store)
    let error = #expect(throws: PageError.self) { try store.move() }
    switch error?.problem {
    // What is not moved is read row by row, which finds the place.
    case .damaged, .unmovable: break
    default: Issue.record("\(String(describing: error))")
    }
  }

  @Test(arguments: trees + leaves)
  func `damage of an index is not moved`(damage: Damage) throws {
    var store = try DamagedStore()
    let before = store.bytes
    try store.damageIndex(damage.apply)
    try #require(store.bytes != before)
    let error = #expect(throws: PageError.self) { try store.move() }
    switch error?.problem {
    case .damaged, .unmovable: break
    default: Issue.record("\(String(describing: error))")
    }
  }

  @Test func `a row that another one lies in is not made longer by its patch`() throws {
    var store = try DamagedStore()
    let leaf = store.leaves(of: store.table)[0]
    let page = store.offset(leaf)
    // A record of 4610 bytes, 518 of them on the page, ends where the page does; the second byte of
    // its length is what the other one has in ZN.
    let (long, other) = (3571, 3561)
    let chain = try store.chain().pointer
    let first = Array(store.bytes[chain..<chain + 4])
    store.put([13, 0, 0, 0, 2], at: page)
    store.put(other, 2, at: page + 5)
    store.put(long, 2, at: page + 8)
    store.put(other, 2, at: page + 10)
    store.put([10, 4, 8, 0, 9, 1, 1, 0, 0, 12], at: page + other)
    store.put([0xa4, 2, 2, 9, 0, 9, 1, 0, 0, 0, 0xc7, 0x7c, 5], at: page + long)
    store.put(first, at: page + 4092)
    let patch = try Self.patch(column: 3, (2, 3))
    let error = #expect(throws: PageError.self) { try store.move(patch: patch) }
    guard case .damaged(let page)? = error?.problem else {
      Issue.record("\(String(describing: error))")
      return
    }
    // Bytes behind the page would tell some other one.
    #expect(page > 0 && page <= store.pageCount)
  }

  @Test func `a file that is cut at any page is an error, or what is read is whole`() throws {
    let store = try DamagedStore(rows: 200)
    let whole = try store.rows()
    for pages in 0..<store.pageCount {
      var cut = store
      cut.cut(to: pages)
      for told in [pages, store.pageCount] {
        do {
          let isWhole = try cut.rows(pageCount: told) == whole
          // Only pages of the index may be missing.
          #expect(isWhole && pages > store.pageCount / 2, "\(pages) of \(store.pageCount) pages")
        } catch {
          let problem = try #require(error as? PageError).problem
          switch problem {
          case .endOfFile: #expect(told > pages)
          case .damaged: break
          default: Issue.record("\(problem)")
          }
        }
      }
      #expect(throws: PageError.self, "\(pages) pages") { try cut.move() }
    }
  }

  /// Has entities stay as they are, and numbers in a column become others.
  private static func patch(column: Int, _ numbers: (Int, Int)...) throws -> RowPatch {
    let map = numbers.map { #"{"source": \#($0), "destination": \#($1)}"# }.joined(separator: ", ")
    let json = """
      {
        "entityColumn": 1, "entities": [{"source": 1, "destination": 1}],
        "numbers": [{"column": \(column), "map": [\(map)]}]
      }
      """
    return try JSONDecoder().decode(RowPatch.self, from: Data(json.utf8))
  }

  /// Changes a few bytes anywhere but in the first page, which this module does not read.
  private static func change(
    _ store: inout DamagedStore, _ random: inout SeededRandom
  ) {
    let at = Int.random(in: store.pageSize..<store.bytes.count - 16, using: &random)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: store.put(Int(store.bytes[at]) ^ 1 << Int.random(in: 0..<8, using: &random), 1, at: at)
    case 1: store.put([0, 0xff].randomElement(using: &random) ?? 0, 1, at: at)
    case 2: store.put(Int.random(in: 0...0xffff, using: &random), 2, at: at)
    case 3:
      let from = Int.random(in: 0..<store.bytes.count - 16, using: &random)
      store.put(Array(store.bytes[from..<from + 16]), at: at)
    default:
      // The heads of pages are where most can go wrong.
      let page = UInt32.random(in: 2...store.pageCount, using: &random)
      let place = store.offset(page) + Int.random(in: 0..<32, using: &random)
      store.put(Int.random(in: 0...255, using: &random), 1, at: place)
    }
  }

  @Test(arguments: 0..<12 as Range<UInt64>)
  func `rows that are read of changed bytes are those that SQLite reads`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let pageSize = [4096, 512, 4096, 1024][Int(seed % 4)]
    let store = try DamagedStore(pageSize: pageSize, rows: 120)
    let whole = try store.rows()
    var (read, refused) = (0, 0)
    for number in 0..<150 {
      var changed = store
      for _ in 0...number % 3 { Self.change(&changed, &random) }
      do {
        let rows = try changed.rows()
        read += 1
        if rows == whole { continue }
        guard let expected = try changed.rowsOfSQLite() else { continue }
        let isSame = rows == expected
        #expect(isSame, "change \(number) of seed \(seed)")
      } catch {
        #expect(error is PageError, "\(error)")
        refused += 1
      }
    }
    #expect(read > 10 && refused > 10, "\(read) read, \(refused) refused")
  }

  @Test(arguments: 20..<30 as Range<UInt64>, [false, true])
  func `what is moved of changed bytes is whole, or an error`(
    seed: UInt64, isPatched: Bool
  ) throws {
    var random = SeededRandom(seed: seed)
    let store = try DamagedStore(rows: 120)
    // One number stays as long as it is, the other takes a byte more.
    let patch = isPatched ? try Self.patch(column: 2, (0, 0), (1, 5), (2, 3)) : nil
    var (moved, refused) = (0, 0)
    for number in 0..<150 {
      var changed = store
      for _ in 0...number % 3 { Self.change(&changed, &random) }
      do {
        let rows = try changed.move(patch: patch).rows
        moved += 1
        if let expected = try changed.rowsOfSQLite() {
          #expect(rows == Int64(expected.count), "change \(number) of seed \(seed)")
        }
      } catch {
        #expect(error is PageError, "\(error)")
        refused += 1
      }
    }
    #expect(moved > 10 && refused > 10, "\(moved) moved, \(refused) refused")
  }
}
