import GRDB
import SystemPackage
import TestSupport
import Testing

@testable import StoreFormat

@Suite(.scratchFolder) struct StoreSalvageTests {
  private typealias Keys = SalvagedStore.Keys

  private func told(_ store: SalvageStore, _ table: String) throws -> SalvagedStore.Table? {
    try store.salvaged().told.tables.first { $0.table == table }
  }

  private func keys(_ salvaged: SalvageStore.Salvaged, _ table: String) -> [Int64] {
    (salvaged.rows[table] ?? []).compactMap { Int64.fromDatabaseValue($0[0]) }
  }

  /// The keys of the rows of a table with the ones in a leaf left out.
  private func keysBut(_ lost: [Int64], of table: String, _ store: SalvageStore) -> [Int64] {
    store.leaves(table).flatMap { store.keys($0) }.filter { !lost.contains($0) }
  }

  @Test(arguments: [512, 1024, 4096, 65536], ["UTF-8", "UTF-16le", "UTF-16be"])
  func `of a sound store everything is taken`(pageSize: Int, encoding: String) throws {
    let store = try SalvageStore(pageSize: pageSize, encoding: encoding)
    let before = try SalvageStore.rows(store.path)
    let found = try store.salvaged()
    #expect(found.told.isWhole)
    #expect(found.told.rowsTaken == 600)
    #expect(found.rows == before)
    #expect(try store.header("page_size") == "\(pageSize)")
    #expect(try store.header("encoding") == encoding)
    #expect(try store.header("auto_vacuum") == "2")
    #expect(try store.header("user_version") == "7")
    #expect(try StoreSalvage(of: store.path).examine() == found.told)
  }

  @Test func `an index that is whole names the keys of a lost page`() throws {
    var store = try SalvageStore()
    let leaf = store.leaves("ZA")[2]
    let lost = store.keys(leaf)
    let left = keysBut(lost, of: "ZA", store)
    store.clear(leaf)
    let found = try store.salvaged()
    #expect(keys(found, "ZA") == left)
    let table = try #require(found.told.tables.first)
    #expect(table.table == "ZA" && table.damagedPages == [leaf] && table.isExact)
    #expect(table.lostKeys.compactMap(\.first) == lost)
    #expect(table.lostKeyCount == Int64(lost.count))
    #expect(found.told.indexes.isEmpty)
  }

  @Test func `without an index the keys between the neighbours are told`() throws {
    var store = try SalvageStore()
    let leaves = store.leaves("ZC")
    let (first, last) = (store.keys(leaves[1]).last, store.keys(leaves[3]).first)
    store.clear(leaves[2])
    let table = try #require(try told(store, "ZC"))
    #expect(table.ranges == [Keys(first: (first ?? 0) + 1, last: (last ?? 0) - 1)])
    #expect(!table.isExact && table.lostKeys.isEmpty)
    #expect(table.mostLost == (last ?? 0) - (first ?? 0) - 1)
  }

  @Test func `what is lost at the end is bound by the highest key ever given`() throws {
    var store = try SalvageStore()
    let leaf = try #require(store.leaves("ZC").last)
    let first = try #require(store.keys(leaf).first)
    store.clear(leaf)
    let table = try #require(try told(store, "ZC"))
    #expect(table.ranges == [Keys(first: first - 1, last: nil)])
    #expect(table.mostLost == 600 - first + 2)
  }

  @Test func `a broken chain loses its row alone`() throws {
    var store = try SalvageStore()
    // The row with the key 18 has a value of three pages.
    let leaf = try #require(store.leaves("ZA").first { store.keys($0).contains(18) })
    let place = try #require(store.keys(leaf).firstIndex(of: 18))
    let cell = store.offset(leaf) + store.number(store.pointers(leaf)[place], 2)
    let end = try #require(
      TreePage(
        Array(store.bytes[store.offset(leaf)..<store.offset(leaf) + 1024]), number: leaf,
        usable: 1024, kind: .table)?.cells[place]?.range.upperBound)
    #expect(cell < store.offset(leaf) + end)
    store.put(0, 4, at: store.offset(leaf) + end - 4)
    let found = try store.salvaged()
    #expect(keys(found, "ZA") == keysBut([18], of: "ZA", store))
    #expect(found.told.tables.first?.lostKeys == [Keys(first: 18, last: 18)])
  }

  @Test func `a page of two parents goes to the one that the pointer map tells`() throws {
    for vacuum in [0, 2] {
      var store = try SalvageStore(vacuum: vacuum)
      let (mine, other) = (store.leaves("ZA")[1], store.leaves("ZC")[1])
      let (lostOfA, lostOfC) = (store.keys(mine), store.keys(other))
      let (leftOfA, allOfC) = (
        keysBut(lostOfA, of: "ZA", store), keysBut([], of: "ZC", store)
      )
      store.put(Int(other), 4, at: store.children("ZA")[1])
      let found = try store.salvaged()
      #expect(keys(found, "ZA") == leftOfA)
      // Without a map nobody knows whose it is.
      #expect(keys(found, "ZC") == (vacuum == 2 ? allOfC : allOfC.filter { !lostOfC.contains($0) }))
      #expect(found.told.tables.count == (vacuum == 2 ? 1 : 2))
    }
  }

  @Test(arguments: [(6, [3]), (4, [3, 4])]) func `a key out of order is not taken`(
    other: Int, lost: [Int]
  ) throws {
    var store = try SalvageStore()
    let leaf = store.leaves("ZC")[0]
    let (pointers, keys) = (store.pointers(leaf), store.keys(leaf))
    // One byte of size and one of key, as all rows of the first page have.
    store.bytes[store.offset(leaf) + store.number(pointers[3], 2) + 1] = UInt8(keys[other])
    let found = try store.salvaged()
    // Of two neighbours with one key neither is certain; one farther away has others around it.
    let gone = lost.map { keys[$0] }
    #expect(
      self.keys(found, "ZC") == keys.filter { !gone.contains($0) }
        + store.leaves("ZC").dropFirst().flatMap { store.keys($0) })
    let ranges = try #require(found.told.tables.first?.ranges)
    for key in gone {
      #expect(ranges.contains { ($0.first ?? 0)...($0.last ?? 0) ~= key })
    }
  }

  @Test func `a page that hides a cell is told with all its keys`() throws {
    var store = try SalvageStore()
    let leaf = store.leaves("ZC")[1]
    let keys = store.keys(leaf)
    store.put(keys.count - 1, 2, at: store.offset(leaf) + 3)
    let found = try store.salvaged()
    let last = try #require(keys.last)
    #expect(self.keys(found, "ZC").contains(keys[0]) && !self.keys(found, "ZC").contains(last))
    let range = try #require(found.told.tables.first?.ranges.first)
    #expect(((range.first ?? 0)...(range.last ?? 0)).contains(last))
  }

  @Test func `an index that has lost a page is told, and no row is`() throws {
    var store = try SalvageStore()
    let before = try SalvageStore.rows(store.path)
    let leaf = store.leaves("ZA_ZN")[1]
    store.clear(leaf)
    let found = try store.salvaged()
    #expect(found.rows == before && found.told.tables.isEmpty)
    #expect(found.told.indexes.map(\.damagedPages) == [[leaf]])
  }

  @Test func `rows that only an index names are told`() throws {
    var store = try SalvageStore()
    let leaf = store.leaves("ZA")[1]
    // The last cell goes, and what it took is a free block.
    let (pointers, key) = (store.pointers(leaf), try #require(store.keys(leaf).last))
    let at = store.number(try #require(pointers.last), 2)
    let size = try #require(
      TreePage(
        Array(store.bytes[store.offset(leaf)..<store.offset(leaf) + 1024]), number: leaf,
        usable: 1024, kind: .table)?.cells.last??.range.count)
    store.put(0, 2, at: store.offset(leaf) + at)
    store.put(size, 2, at: store.offset(leaf) + at + 2)
    store.put(at, 2, at: store.offset(leaf) + 1)
    store.put(pointers.count - 1, 2, at: store.offset(leaf) + 3)
    let table = try #require(try told(store, "ZA"))
    #expect(table.damagedPages.isEmpty && table.lostKeys == [Keys(first: key, last: key)])
  }

  @Test(arguments: [true, false], [true, false])
  func `of two rows that may not both be there that of the sound page stays`(
    isFirst: Bool, hasIndex: Bool
  ) throws {
    var store = try SalvageStore(pairs: 300)
    let leaves = store.leaves("Z_1P")
    // A row on a damaged page has the numbers of one on another page, and a value of its own.
    let (damaged, sound) = isFirst ? (leaves[1], leaves[3]) : (leaves[3], leaves[1])
    let (lost, kept) = (store.keys(damaged)[2], store.keys(sound)[2])
    let (broken, whole) = (end(ofPair: 2, on: damaged, store), end(ofPair: 2, on: sound, store))
    let pair = store.number(whole - 3, 2)
    store.put(pair, 2, at: broken - 3)
    store.put(Int(UInt8(ascii: "x")), 1, at: broken - 1)
    // One byte that nothing accounts for.
    store.put(1, 1, at: store.offset(damaged) + 7)
    if !hasIndex {
      for leaf in store.leaves("sqlite_autoindex_Z_1P_1") { store.clear(leaf) }
    }
    let found = try store.salvaged()
    let rows = try #require(found.rows["Z_1P"])
    #expect(rows.count == 299 && rows.allSatisfy { $0[2] == "c".databaseValue })
    #expect(rows.contains { $0[1] == pair.databaseValue })
    let table = try #require(found.told.tables.first { $0.table == "Z_1P" })
    let told = Set(table.lostKeys + table.ranges)
    #expect(told == [Keys(first: lost, last: lost)] && lost != kept)
    #expect(table.rowsTaken == 299 && found.told.rowsTaken == 600 + 299)
  }

  /// Where a cell with 100, a number of two bytes and a letter ends.
  private func end(ofPair index: Int, on leaf: UInt32, _ store: SalvageStore) -> Int {
    let at = store.offset(leaf) + store.number(store.pointers(leaf)[index], 2)
    // The sizes of the record and of its key stand in front of it.
    return at + 1 + (store.keys(leaf)[index] > 127 ? 2 : 1) + 4 + 1 + 2 + 1
  }

  @Test(arguments: ["ZA", "Z_METADATA", "Z_PRIMARYKEY", "sqlite_schema"])
  func `a store is refused by the name of what cannot be read at all`(name: String) throws {
    var store = try SalvageStore()
    let page = store.roots[name] ?? 1
    store.bytes[page == 1 ? 100 : store.offset(page)] = 99
    let error = #expect(throws: StoreError.self) { try store.salvaged() }
    #expect(error?.problem == .notSalvageable([name]))
  }

  @Test func `a tree that leads into itself ends`() throws {
    var store = try SalvageStore()
    let root = try #require(store.roots["ZC"])
    let lost = store.keys(store.leaves("ZC")[2])
    store.put(Int(root), 4, at: store.children("ZC")[2])
    let found = try store.salvaged()
    #expect(keys(found, "ZC").allSatisfy { !lost.contains($0) })
    #expect(found.told.tables.first?.damagedPages == [root])
  }

  @Test func `a row longer than the memory is refused by its key`() throws {
    let store = try SalvageStore()
    let queue = try DatabaseQueue(path: store.path.string)
    try queue.write { try $0.execute(sql: "UPDATE ZC SET ZB = zeroblob(3000000) WHERE Z_PK = 40") }
    try queue.close()
    let error = #expect(throws: StoreError.self) {
      try StoreSalvage(of: store.path, memory: 1 << 20).examine()
    }
    guard case .rowTooLong(let row)? = error?.problem else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(row?.table == "ZC" && row?.key == 40 && (row?.bytes ?? 0) > 3_000_000)
    #expect(try StoreSalvage(of: store.path).examine().isWhole)
  }

  @Test func `of a file that was cut short the rest is taken`() throws {
    var store = try SalvageStore()
    let pages = store.bytes.count / 1024
    store.bytes.removeLast(20 * 1024 + 100)
    let found = try store.salvaged()
    #expect(found.told.pagesMissing == 21)
    #expect(found.told.rowsTaken < 600 && found.told.rowsTaken > 100)
    #expect(found.told.tables.flatMap(\.damagedPages).contains { Int($0) > pages - 21 })
  }

  @Test(arguments: 0..<150) func `damage anywhere ends in a copy or a refusal`(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    var store = try SalvageStore(pageSize: 512, vacuum: seed % 2 * 2, rows: 120)
    let before = try SalvageStore.rows(store.path)
    for _ in 0..<[1, 3, 40][seed % 3] {
      let at = Int.random(in: 100..<store.bytes.count, using: &random)
      store.bytes[at] = [0, 255, UInt8.random(in: 0...255, using: &random)][seed % 3]
    }
    do {
      let found = try store.salvaged()
      for (table, rows) in found.rows {
        #expect(rows.count <= (before[table]?.count ?? 0) + 1)
        if found.told.isWhole { #expect(rows.count == before[table]?.count) }
      }
    } catch let error as StoreError {
      guard case .notSalvageable = error.problem else { throw error }
    }
  }

  @Test func `of keys that contradict each other none is certain`() {
    #expect(Rising.certain([1, 2, 3]) == [0, 1, 2])
    #expect(Rising.certain([1, 9, 2, 3]) == [0, 2, 3])
    #expect(Rising.certain([1, 3, 2, 4]) == [0, 3])
    #expect(Rising.certain([5, 5]).isEmpty)
    #expect(Rising.certain([]).isEmpty)
    #expect(Rising.certain([.min, .max]) == [0, 1])
  }
}
