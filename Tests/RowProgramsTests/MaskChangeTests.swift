import ObjectModel
import Schema
import TestSupport
import Testing

@testable import RowPrograms

/// The bits of changes, put where the destination has them.
struct MaskChangeTests {
  private func layout(_ attributes: [String]) throws -> HistoryLayout {
    let model = try ManagedObjectModel(Entity("Item", attributes.map { .optional($0) }))
    let schema = try StoreSchema(model)
    return HistoryLayout(of: model.entities[0], table: schema.tables[0], in: model)
  }

  private func applied(_ change: MaskChange, to mask: [UInt8]) -> [UInt8] {
    mask.withUnsafeBytes { change.applied(to: $0) }
  }

  @Test func `each property has the bit of its new place, and one that is gone none`() throws {
    let names = (0..<9).map { "p\($0)" }
    let change = MaskChange(from: try layout(names), to: try layout(["a"] + names.dropFirst()))
    #expect(applied(change, to: [0x80, 0]) == [0, 0])
    #expect(applied(change, to: [0x40, 0x80]) == [0x40, 0x80])
    let wider = MaskChange(from: try layout(names), to: try layout(["a", "b"] + names))
    #expect(applied(wider, to: [0xFF, 0x80]) == [0x3F, 0xE0])
    // Bits that no property has stand for nothing.
    #expect(applied(wider, to: [0, 0x7F, 0xFF]) == [0, 0])
    #expect(applied(wider, to: []) == [0, 0])
  }

  @Test func `what was in the room before is gone`() throws {
    let change = MaskChange(from: try layout(["a", "b"]), to: try layout(["b", "c"]))
    var room: [UInt8] = [0xFF, 0xFF]
    [0x40 as UInt8].withUnsafeBytes { mask in
      room.withUnsafeMutableBytes { change.apply(mask, into: $0) }
    }
    #expect(room == [0x80, 0xFF])
  }

  @Test func `the text of a change says what it does`() throws {
    let change = MaskChange(from: try layout(["a", "b", "c"]), to: try layout(["b", "bb", "c"]))
    let read = try #require(MaskChange(text: change.text))
    for mask in UInt8.min...UInt8.max {
      #expect(applied(read, to: [mask]) == applied(change, to: [mask]))
    }
    #expect(MaskChange(text: "1:8") == nil)
    #expect(MaskChange(text: "1:x") == nil)
  }
}
