import KeyedArchives
import Testing

@Suite struct PropertyListTests {
  static let everything = PropertyList.dictionary([
    "text": .string("plain"), "wide": .string("žluťoučký 🦤"), "empty": .string(""),
    "yes": .boolean(true), "no": .boolean(false), "small": .integer(7), "word": .integer(65_535),
    "long": .integer(4_294_967_296), "negative": .integer(-1), "least": .integer(.min),
    "huge": .unsigned(.max), "real": .real(-0.5), "date": .date(700_000_000.25),
    "data": .data([0, 1, 255]), "uid": .uid(300), "null": .null,
    "list": .array([.string("plain"), .array([]), .dictionary(["x": .integer(1)])]),
    "long list": .array((0..<300).map { .integer($0) }), "set": .set([.integer(1)]),
  ])

  @Test func `every kind of value survives encoding`() throws {
    #expect(try PropertyList(decoding: Self.everything.encoded()) == Self.everything)
  }

  @Test func `equal strings are stored once`() {
    let long = PropertyList.string(ExactText(String(repeating: "x", count: 1000)))
    #expect(PropertyList.array([long, long, long]).encoded().count < 1100)
  }

  @Test func `texts that are only canonically equal stay two`() throws {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    let list = PropertyList.dictionary([
      ExactText(composed): .string("one"), ExactText(decomposed): .string("other"),
      "texts": .array([.string(ExactText(composed)), .string(ExactText(decomposed))]),
    ])
    let read = try PropertyList(decoding: list.encoded())
    #expect(read == list)
    let members = try #require(read.dictionaryValue)
    #expect(members.count == 3)
    #expect(members[ExactText(decomposed)] == .string("other"))
    let texts = members["texts"]?.arrayValue ?? []
    #expect(
      texts.map { Array(($0.stringValue ?? "").utf8) }
        == [composed, decomposed].map { Array($0.utf8) })
    #expect(PropertyList.string(ExactText(composed)) != .string(ExactText(decomposed)))
    #expect(ExactText(composed) != ExactText(decomposed))
  }

  @Test func `a cycle is refused`() {
    let list = BinaryPropertyList(objects: [.array([1]), .array([0])], top: 0)
    #expect(throws: PropertyListError(.cycle, at: 0)) {
      try PropertyList(decoding: list.encoded())
    }
  }

  @Test func `nesting beyond any sound file is refused`() {
    var objects = (1...100_000).map { BinaryPropertyList.Object.array([$0]) }
    objects.append(.null)
    let bytes = BinaryPropertyList(objects: objects, top: 0).encoded()
    #expect { try PropertyList(decoding: bytes) } throws: {
      ($0 as? PropertyListError)?.problem == .tooDeep
    }
  }

  @Test func `shared objects cannot blow up into a huge tree`() {
    var objects = (1...40).map { BinaryPropertyList.Object.array([$0, $0]) }
    objects.append(.null)
    let bytes = BinaryPropertyList(objects: objects, top: 0).encoded()
    #expect { try PropertyList(decoding: bytes) } throws: {
      ($0 as? PropertyListError)?.problem == .tooLarge
    }
  }

  @Test func `offsets that all name one big array do not ask for memory`() throws {
    var bytes = BinaryPropertyList(
      objects: [.array([Int](repeating: 0, count: 60_000))]
        + [BinaryPropertyList.Object](repeating: .null, count: 60_000), top: 0
    ).encoded()
    let offsetSize = Int(bytes[bytes.count - 26])
    let table = bytes.count - 32 - 60_001 * offsetSize
    for index in 1...60_000 {
      for byte in 0..<offsetSize {
        bytes[table + index * offsetSize + byte] = byte == offsetSize - 1 ? 8 : 0
      }
    }
    #expect { try BinaryPropertyList(decoding: bytes) } throws: {
      ($0 as? PropertyListError)?.problem == .overlappingObjects
    }
  }

  @Test(arguments: [[], Array("bplist00".utf8), Array("<?xml version".utf8)] as [[UInt8]])
  func `what is no property list is said to be none`(bytes: [UInt8]) {
    #expect(throws: PropertyListError(.notABinaryPropertyList)) {
      try PropertyList(decoding: bytes)
    }
  }
}
