import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import PageEngine

/// Where records lie that are longer than what a worker keeps in memory.
@Suite(.scratchFolder) struct RecordBufferTests {
  private let folder = ScratchFolder.current

  @Test func `a long record lies in a file without a name, which has all of its bytes`() throws {
    let buffer = RecordBuffer(byteCount: 16, spillingInto: folder)
    let length = RecordBuffer.longestInMemory + 4097
    for byte in [UInt8(1), 2] {
      let room = try buffer.room(for: length)
      #expect(room.count >= length)
      room.initializeMemory(as: UInt8.self, repeating: byte)
      #expect(room.first == byte && room[length - 1] == byte)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.string).isEmpty)
  }

  @Test func `short records stay in memory after a long one`() throws {
    let buffer = RecordBuffer(byteCount: 16, spillingInto: folder)
    let before = try buffer.room(for: 16).baseAddress
    _ = try buffer.room(for: RecordBuffer.longestInMemory + 1)
    #expect(try buffer.room(for: 16).baseAddress == before)
    #expect(try buffer.room(for: 1 << 16).count >= 1 << 16)
  }

  @Test func `a folder that takes no file is named`() throws {
    let missing = folder.appending("missing")
    let buffer = RecordBuffer(byteCount: 16, spillingInto: missing)
    let error = #expect(throws: PageError.self) {
      try buffer.room(for: RecordBuffer.longestInMemory + 1)
    }
    #expect(error?.problem == .write(Errno.noSuchFileOrDirectory.rawValue))
    #expect(error?.file == missing)
  }

  @Test func `without a folder every record lies in memory`() throws {
    let buffer = RecordBuffer(byteCount: 16, spillingInto: nil)
    #expect(try buffer.room(for: RecordBuffer.longestInMemory + 1).count > 4 << 20)
  }
}
