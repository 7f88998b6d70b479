import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

@testable import PageEngine

/// Indexes of any values that move as they are: what belongs to its table, and what does not.
@Suite(.scratchFolder) struct MovedIndexTests {
  typealias Indexed = DamagedStore.Indexed

  private static let kinds = [
    Indexed(columns: [3]), Indexed(columns: [4]), Indexed(columns: [5]), Indexed(columns: [6]),
    Indexed(columns: [4], descending: [true]), Indexed(columns: [6], descending: [true]),
    Indexed(columns: [5, 4], descending: [false, true]),
    Indexed(columns: [1, 3, 5], descending: [false, true, false]),
    Indexed(columns: [2, 6, 4], descending: [true, false, true]),
  ]

  @Test(arguments: kinds)
  func `an index of any columns belongs to its table`(indexed: Indexed) throws {
    let moved = try DamagedStore(indexed: indexed).move()
    #expect(moved.rows == 600 && moved.entries == 600 && moved.isWhole)
  }

  @Test(arguments: kinds)
  func `entries that changed places are damage`(indexed: Indexed) throws {
    var store = try DamagedStore(indexed: indexed)
    for leaf in store.leaves(of: store.index).prefix(3) {
      let pointers = store.offset(leaf) + 8
      let (first, second) = (store.number(pointers, 2), store.number(pointers + 2, 2))
      store.put(second, 2, at: pointers)
      store.put(first, 2, at: pointers + 2)
    }
    #expect { try store.move() } throws: { Self.isDamage($0) }
  }

  @Test(arguments: kinds)
  func `an entry that stands twice is damage`(indexed: Indexed) throws {
    var store = try DamagedStore(indexed: indexed)
    let leaf = store.leaves(of: store.index)[1]
    let pointers = store.offset(leaf) + 8
    store.put(store.number(pointers, 2), 2, at: pointers + 2)
    #expect { try store.move() } throws: { Self.isDamage($0) }
  }

  @Test(arguments: kinds)
  func `an entry that is missing or of another row is noticed`(indexed: Indexed) throws {
    var store = try DamagedStore(indexed: indexed)
    let leaf = store.leaves(of: store.index)[0]
    let at = store.offset(leaf) + 3
    store.put(store.cells(leaf) - 1, 2, at: at)
    let moved = try store.move()
    #expect(moved.entries == moved.rows - 1 && !moved.isWhole)
  }

  @Test(arguments: kinds)
  func `a record with a column more or less is damage`(indexed: Indexed) throws {
    let store = try DamagedStore(indexed: indexed)
    for columns in [indexed.columns + [2], Array(indexed.columns.dropLast())] {
      guard !columns.isEmpty else { continue }
      let other = try DamagedStore(
        indexed: Indexed(columns: columns, descending: columns.map { _ in false }))
      var mixed = store
      mixed.take(other)
      #expect(throws: PageError.self) { try mixed.move() }
    }
  }

  @Test func `any changed byte of an index is an error, another sum, or no change`() throws {
    for indexed in Self.kinds {
      let whole = try DamagedStore(indexed: indexed)
      let leaf = whole.leaves(of: whole.index)[1]
      var random = SeededRandom(seed: UInt64(indexed.columns.count))
      var found = 0
      for _ in 0..<30 {
        var store = whole
        let cell = whole.cell(Int.random(in: 0..<whole.cells(leaf), using: &random), of: leaf)
        let at = cell + Int.random(in: 0..<12, using: &random)
        store.put(store.number(at, 1) ^ 1 << Int.random(in: 0..<8, using: &random), 1, at: at)
        do {
          let moved = try store.move()
          #expect(!moved.isWhole || moved.entries != moved.rows, "byte \(at)")
          found += 1
        } catch {
          #expect(error is PageError)
          found += 1
        }
      }
      #expect(found == 30)
    }
  }

  // MARK: Values that no row of such a column has

  /// Replaces the value of an entry, whose column comes first, by another of as many bytes.
  private func replaced(
    column: Int, of type: UInt64, by other: UInt64, body: [UInt8]
  ) throws -> DamagedStore {
    var store = try DamagedStore(indexed: Indexed(columns: [column]))
    for leaf in store.leaves(of: store.index) {
      for index in 0..<store.cells(leaf) {
        let cell = store.cell(index, of: leaf)
        guard store.number(cell + 2, 1) == Int(type) else { continue }
        store.put(Int(other), 1, at: cell + 2)
        store.put(body, at: cell + 4)
        return store
      }
    }
    throw PageError(.endOfFile)
  }

  @Test func `values that SQLite would keep otherwise do not move`() throws {
    let real = { (number: Double) in
      withUnsafeBytes(of: number.bitPattern.bigEndian) { [UInt8]($0) }
    }
    let cases = [
      // Whole reals in a column of reals, and what is no number.
      try replaced(column: 4, of: 7, by: 7, body: real(0)),
      try replaced(column: 4, of: 7, by: 7, body: real(-0.0)),
      try replaced(column: 4, of: 7, by: 7, body: real(-7)),
      try replaced(column: 4, of: 7, by: 7, body: real(-.nan)),
      // An integer of eight bytes there; a number spelled out, and one as a text.
      try replaced(column: 4, of: 7, by: 6, body: [0x80, 0, 0, 0, 0, 0, 0, 0]),
      try replaced(column: 3, of: 3, by: 3, body: [0, 0, 5]),
      try replaced(column: 3, of: 3, by: 19, body: Array("123".utf8)),
      try replaced(column: 5, of: 17, by: 2, body: [1, 5]),
    ]
    for store in cases {
      #expect { try store.move() } throws: { error in
        // As a rule it stands at a wrong place besides.
        Self.isDamage(error) || (error as? PageError)?.problem == .unmovable
      }
    }
    #expect { try cases[2].move() } throws: { ($0 as? PageError)?.problem == .unmovable }
  }

  @Test func `a column holds what it would make of a value itself`() throws {
    let scratch = UnsafeMutableRawPointer.allocate(byteCount: 32, alignment: 8)
    defer { scratch.deallocate() }
    let affinities: [Affinity] = [.integer, .real, .numeric, .text, .none]
    let integers: [Int64] = [0, 1, 5, -5, 1 << 46, 1 << 47, -(1 << 47), .min, .max]
    let reals = [0, -0.0, 1.5, 3, -7, 0x1p46, 0x1p47, 0x1p62, 0x1p63, -0x1p63, 1e300, .infinity]
    let fields =
      integers.map { Field(value: $0, scratch: scratch) } + [.null]
      + [Field(type: 12, body: scratch), Field(type: 13, body: scratch)]
    for affinity in affinities {
      for (index, field) in fields.enumerated() {
        if index < integers.count { _ = Field(value: integers[index], scratch: scratch) }
        check(affinity, field, scratch + 8)
      }
      for number in reals { check(affinity, Field(real: number, scratch: scratch), scratch + 8) }
    }
  }

  /// What a column keeps, it makes of itself; what it makes of anything, it keeps.
  private func check(_ affinity: Affinity, _ field: Field, _ scratch: UnsafeMutableRawPointer) {
    guard let made = affinity.applied(to: field, scratch: scratch, encoding: .utf8) else {
      return #expect(!affinity.holds(field))
    }
    let isSame =
      made.type == field.type
      && (0..<field.size).allSatisfy {
        made.body?.load(fromByteOffset: $0, as: UInt8.self)
          == field.body?.load(fromByteOffset: $0, as: UInt8.self)
      }
    if affinity.holds(field) { #expect(isSame, "\(affinity) \(field)") }
    if isSame && !field.isText { #expect(affinity.holds(field), "\(affinity) \(field)") }
    if !made.isText { #expect(affinity.holds(made), "\(affinity) \(made)") }
  }

  private static func isDamage(_ error: any Error) -> Bool {
    if case .damaged = (error as? PageError)?.problem { return true }
    return false
  }
}
