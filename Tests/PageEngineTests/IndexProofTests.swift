import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

@testable import PageEngine

/// Whether an index that moves as it is has the entries that its table asks for, in their order.
@Suite(.scratchFolder) struct IndexProofTests {
  private func damaged(_ change: (inout DamagedStore) throws -> Void) throws -> DamagedStore {
    var store = try DamagedStore()
    try change(&store)
    return store
  }

  @Test func `an entry that stands twice is damage`() throws {
    let store = try damaged { store in
      let leaf = store.leaves(of: store.index)[1]
      let pointers = store.offset(leaf) + 8
      store.put(store.number(pointers, 2), 2, at: pointers + 2)
    }
    #expect(throws: PageError.self) { try store.move() }
  }

  @Test func `entries that changed places are damage`() throws {
    let store = try damaged { store in
      let leaf = store.leaves(of: store.index)[1]
      let pointers = store.offset(leaf) + 8
      let (first, second) = (store.number(pointers, 2), store.number(pointers + 2, 2))
      store.put(second, 2, at: pointers)
      store.put(first, 2, at: pointers + 2)
    }
    #expect(throws: PageError.self) { try store.move() }
  }

  @Test func `an entry with the number of another row does not belong to its table`() throws {
    let store = try damaged { store in
      // The last byte of an entry is the last of its row's number.
      let leaf = store.leaves(of: store.index)[1]
      let cell = store.cell(0, of: leaf)
      let end = cell + 1 + store.number(cell, 1)
      store.put(store.number(end - 1, 1) ^ 1, 1, at: end - 1)
    }
    let moved = try store.move()
    #expect(moved.rows == moved.entries && !moved.isWhole)
  }

  @Test func `a row with another value does not belong to its index`() throws {
    let store = try damaged { store in
      let leaf = store.leaves(of: store.table)[0]
      // Size, key, a header of eight bytes, Z_ENT of none and Z_OPT of one: then ZN of four.
      let cell = store.cell(1, of: leaf)
      var body = cell + 2 + store.number(cell + 2, 1)
      for place in 1..<4 where place < 3 {
        body += Field.size(type: UInt64(store.number(cell + 3 + place, 1)))
      }
      store.put(store.number(body + 2, 1) ^ 4, 1, at: body + 2)
    }
    let moved = try store.move()
    #expect(moved.rows == moved.entries && !moved.isWhole)
  }

  @Test func `entries that rise where they should fall are damage`() throws {
    let store = try DamagedStore()
    #expect(throws: PageError.self) { try store.move(descending: [true]) }
  }

  @Test func `values are ordered as SQLite orders them`() throws {
    let queue = try DatabaseQueue()
    let values: [(any DatabaseValueConvertible)?] = [
      nil, Int64.min, -5, 0, 1, 1.5, Int64(1) << 53, Double(Int64(1) << 53) + 2,
      Int64(1) << 53 + 1, Int64.max, 9.3e18, -9.3e18, "", "a", "a\0", "ab", "longer than a word",
      "longer than a wore", "é", "z", Data(), Data([0, 1]), Data([1]),
    ]
    try queue.write { db in
      try db.execute(sql: "CREATE TABLE t (v)")
      for value in values { try db.execute(sql: "INSERT INTO t VALUES (?)", arguments: [value]) }
      let rows = try Row.fetchAll(db, sql: "SELECT v FROM t ORDER BY v")
      let scratch = UnsafeMutableRawPointer.allocate(byteCount: 8 * rows.count, alignment: 8)
      defer { scratch.deallocate() }
      let fields = try rows.enumerated().map { index, row in
        try Self.field(row[0], scratch + 8 * index)
      }
      for index in fields.indices.dropFirst() {
        #expect(FieldOrder.compare(fields[index - 1].field, fields[index].field) <= 0)
        #expect(FieldOrder.compare(fields[index].field, fields[index - 1].field) >= 0)
      }
    }
  }

  /// The value as a record would hold it, and what keeps its bytes.
  private static func field(
    _ value: DatabaseValue, _ scratch: UnsafeMutableRawPointer
  ) throws -> (field: Field, bytes: ContiguousArray<UInt8>) {
    switch value.storage {
    case .null: return (.null, [])
    case .int64(let number): return (Field(value: number, scratch: scratch), [])
    case .double(let number): return (Field(real: number, scratch: scratch), [])
    case .string(let text): return Self.bytes(Array(text.utf8), type: 13)
    case .blob(let data): return Self.bytes(Array(data), type: 12)
    }
  }

  private static func bytes(
    _ bytes: [UInt8], type: UInt64
  ) -> (field: Field, bytes: ContiguousArray<UInt8>) {
    let kept = ContiguousArray(bytes + Array(repeating: 0, count: 8))
    let body = kept.withUnsafeBytes { $0.baseAddress }
    return (Field(type: UInt64(bytes.count) * 2 + type, body: body), kept)
  }
}
