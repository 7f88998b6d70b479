import Foundation
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct ExternalDataReaderTests {
  private var support: FilePath { ScratchFolder.current.appending(".Store_SUPPORT") }
  private var data: FilePath { ExternalDataFolder.files(support: support) }

  private func makeFolder() throws {
    try Files.createDirectory(support)
    try Files.createDirectory(data)
  }

  private func read(_ name: String, by reader: ExternalDataReader) -> [UInt8]? {
    Array(name.utf8).withUnsafeBytes { text in reader.read(text).map { [UInt8]($0) } }
  }

  @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 262_144, 4_194_303])
  func `files of any length are read whole, one after another`(count: Int) throws {
    try makeFolder()
    let reader = ExternalDataReader(support: support)
    let name = UUID().uuidString
    for seed in [1, 7] as [UInt8] {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) &* seed }
      try Files.writeFileAtomically(bytes, to: data.appending(name))
      #expect(read(name + "\0", by: reader) == bytes)
      #expect(read(name, by: reader) == bytes)
    }
  }

  @Test func `what is no plain file of the folder is left to others`() throws {
    try makeFolder()
    let name = UUID().uuidString
    let secret = ScratchFolder.current.appending("secret")
    try Files.writeFileAtomically("secret".utf8, to: secret)
    try Files.writeFileAtomically("secret".utf8, to: support.appending("secret"))
    try FileManager.default.createSymbolicLink(
      atPath: data.appending(name).string, withDestinationPath: secret.string)
    try Files.createDirectory(data.appending("folder"))
    try Files.writeFileAtomically(
      repeatElement(7, count: 17 << 20), to: data.appending("large"))
    let reader = ExternalDataReader(support: support)
    let names = [
      name, "folder", "large", "missing", "", ".", "..", "../secret", "/etc/passwd", "a\u{e9}",
      String(repeating: "a", count: 37),
    ]
    for name in names { #expect(read(name, by: reader) == nil, "\(name)") }
  }

  @Test func `a folder that is a link is none`() throws {
    try Files.createDirectory(support)
    let other = ScratchFolder.current.appending("other")
    try Files.createDirectory(other)
    try Files.writeFileAtomically("secret".utf8, to: other.appending("A"))
    try FileManager.default.createSymbolicLink(
      atPath: data.string, withDestinationPath: other.string)
    #expect(ExternalDataFolder.opened(support: support) == nil)
    #expect(read("A", by: ExternalDataReader(support: support)) == nil)
  }

  @Test func `the bytes of a folder are those of its files`() throws {
    try makeFolder()
    #expect(Files.bytes(in: data) == 0)
    #expect(Files.bytes(in: support.appending("missing")) == 0)
    for (name, count) in [("a", 3), ("b", 5_000)] {
      try Files.writeFileAtomically(repeatElement(1, count: count), to: data.appending(name))
    }
    #expect(Files.bytes(in: data) == 5_003)
  }
}
