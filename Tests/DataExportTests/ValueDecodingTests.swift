import KeyedArchives
import Testing

@testable import DataExport

@Suite struct ValueDecodingTests {
  private func json(_ bytes: [UInt8]) -> String? {
    bytes.withUnsafeBytes { ValueDecoding.json(of: $0) }.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func `JSON loses its line breaks and keeps its texts`() {
    #expect(
      json(Array("[1, \"a \\\" b\\\\\",\n {\"c\": null}]".utf8)) == #"[1,"a \" b\\",{"c":null}]"#)
  }

  @Test func `Bytes that only begin like JSON are not decoded`() {
    #expect(json(Array("[1, 2".utf8)) == nil)
    #expect(json(Array("{".utf8) + [0xFF, UInt8(ascii: "}")]) == nil)
    #expect(json(Array("bplist00".utf8)) == nil)
    #expect(json([]) == nil)
  }

  @Test func `A property list becomes JSON with its types`() {
    let list = PropertyList.dictionary([
      "date": .date(0.5), "flag": .boolean(true), "bytes": .data([1, 2, 3, 4]),
      "list": .array([.integer(-7), .real(1.5), .string("ä\u{1}")]),
    ])
    #expect(
      json(list.encoded())
        == #"{"bytes":"AQIDBA==","date":"2001-01-01T00:00:00.500Z","flag":true,"#
        + #""list":[-7,1.5,"ä\u0001"]}"#)
  }

  @Test func `A property list that is nested too deeply stays as bytes`() {
    let list = (0..<100).reduce(PropertyList.null) { inner, _ in .array([inner]) }
    #expect(json(list.encoded()) == nil)
  }

  private func archive(_ objects: [PropertyList], root: Int = 1) -> [UInt8] {
    PropertyList.dictionary([
      "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000),
      "$objects": .array([.string("$null")] + objects), "$top": .dictionary(["root": .uid(root)]),
    ]).encoded()
  }

  private func named(_ name: String) -> PropertyList {
    .dictionary([
      "$classname": .string(ExactText(name)), "$classes": .array([.string(ExactText(name))]),
    ])
  }

  @Test func `A keyed archive of Foundation's classes becomes the value that it means`() {
    let bytes = archive([
      .dictionary(["$class": .uid(4), "NS.objects": .array([.uid(2), .uid(3), .uid(0), .uid(5)])]),
      .string("one"), .integer(2), named("NSArray"),
      .dictionary(["$class": .uid(6), "NS.time": .real(60)]), named("NSDate"),
    ])
    #expect(json(bytes) == #"["one",2,null,"2001-01-01T00:01:00Z"]"#)
  }

  @Test func `An object of an app's class has its keys and its class`() {
    let bytes = archive([
      .dictionary(["$class": .uid(2), "name": .uid(3), "size": .integer(4), "next": .uid(1)]),
      named("Shop.Price"), .string("a"),
    ])
    #expect(json(bytes) == #"{"$class":"Shop.Price","name":"a","next":{"$ref":1},"size":4}"#)
  }
}
