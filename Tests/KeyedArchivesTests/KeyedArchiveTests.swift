import KeyedArchives
import TestSupport
import Testing

@Suite struct KeyedArchiveTests {
  typealias Class = KeyedArchiveWriter.Class
  static let array = Class("NSArray", "NSObject")
  static let dictionary = Class("NSDictionary", "NSObject")
  static let node = Class("Node", "NSObject")

  /// Two objects that refer to each other, with a value of every kind.
  static func sample() -> [UInt8] {
    var writer = KeyedArchiveWriter()
    let root = writer.reserve()
    let child = writer.add(node, fields: [("parent", .reference(root)), ("name", .reference(nil))])
    let one = writer.add("one")
    let text = writer.add(
      Class("NSMutableString", "NSString", "NSObject"), fields: [("NS.string", .string("mutable"))])
    let list = writer.add(array, of: [one, child, writer.add("one")])
    let map = writer.add(dictionary, of: [("a", one), ("b", child)])
    let keys = writer.add(array, of: [writer.add("x"), writer.add("y")])
    let strategy = writer.add(
      Class("NSKnownKeysMappingStrategy1", "NSObject"), fields: [("keys", .reference(keys))])
    let slots = writer.add(array, of: [child, writer.add(KeyedArchive.emptySlot)])
    let known = writer.add(
      Class("NSKnownKeysDictionary1", "NSDictionary", "NSObject"),
      fields: [("searchMapping", .reference(strategy)), ("values", .reference(slots))])
    writer.set(
      root, kind: node,
      fields: [
        ("name", .reference(writer.add("root"))), ("list", .reference(list)),
        ("map", .reference(map)), ("known", .reference(known)), ("text", .reference(text)),
        ("flag", .boolean(true)), ("count", .integer(-5)), ("ratio", .real(0.25)),
        ("bytes", .data([1, 2])),
      ])
    return writer.encoded(root: root)
  }

  @Test func `what was written is found under its key`() throws {
    let archive = try KeyedArchive(decoding: Self.sample())
    let root = archive.root
    #expect(try archive.className(id: root) == "Node")
    #expect(try archive.string(key: "name", of: root) == "root")
    #expect(try archive.string(key: "text", of: root) == "mutable")
    #expect(try archive.bool(key: "flag", of: root))
    #expect(try archive.bool(key: "absent", of: root) == false)
    #expect(try archive.integer(key: "count", of: root) == -5)
    #expect(try archive.real(key: "ratio", of: root) == 0.25)
    #expect(try archive.data(key: "bytes", of: root) == [1, 2])
    let list = try #require(try archive.elements(key: "list", of: root))
    #expect(list.count == 3 && list[0] == list[2])
    let child = try #require(list[1])
    #expect(try archive.reference(key: "parent", of: child) == root)
    #expect(try archive.reference(key: "name", of: child) == nil)
    let map = try #require(try archive.reference(key: "map", of: root))
    #expect(try archive.entries(id: map).map(\.key) == ["a", "b"])
  }

  @Test func `a dictionary of known keys leaves out its empty slots`() throws {
    let archive = try KeyedArchive(decoding: Self.sample())
    let known = try #require(try archive.reference(key: "known", of: archive.root))
    #expect(try archive.entries(id: known).map(\.key) == ["x"])
  }

  @Test func `a key of another kind is an error, not nothing`() throws {
    let archive = try KeyedArchive(decoding: Self.sample())
    #expect { try archive.integer(key: "name", of: archive.root) } throws: {
      ($0 as? KeyedArchiveError)?.problem == .wrongKind(key: "name")
    }
  }

  @Test func `an archive is written the same way each time`() {
    #expect(Self.sample() == Self.sample())
  }

  @Test func `two thousand damaged archives are read or refused`() throws {
    var sources = [Self.sample(), PropertyListTests.everything.encoded()]
    if Corpus.folder != nil {
      sources += try (Corpus.files(endingIn: ".mom") + Corpus.files(endingIn: ".cdm")).map {
        try Corpus.bytes($0)
      }
    }
    var random = SeededRandom(seed: 20)
    var (read, refused, walked) = (0, 0, 0)
    for round in 0..<2000 {
      let damaged = Self.damage(sources[round % sources.count], &random)
      do {
        _ = try PropertyList(decoding: damaged)
        read += 1
      } catch {
        refused += 1
      }
      do {
        try Self.walk(try KeyedArchive(decoding: damaged))
        walked += 1
      } catch {
        refused += 1
      }
    }
    #expect(read > 0 && walked > 0 && refused > 0)
  }

  /// Looks at every object in every way.
  static func walk(_ archive: KeyedArchive) throws(KeyedArchiveError) {
    for number in 1..<archive.count {
      let id = KeyedArchive.ID(rawValue: number)
      _ = try archive.className(id: id)
      _ = archive.string(id: id)
      for member in archive.members(id: id) {
        if case .uid = member.value { _ = try archive.reference(key: member.key, of: id) }
        if member.key == "NS.keys" { _ = try archive.entries(id: id) }
        if member.key == "NS.objects" { _ = try archive.elements(id: id) }
      }
    }
  }

  static func damage(_ bytes: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
    var bytes = bytes
    switch Int.random(in: 0..<4, using: &random) {
    case 0: bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random))
    case 1:
      let trailer = bytes.count - Int.random(in: 1...32, using: &random)
      bytes[trailer] = UInt8.random(in: 0...255, using: &random)
    default:
      for _ in 0..<Int.random(in: 1...16, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(
          in: 0...255, using: &random)
      }
    }
    return bytes
  }

  @Test(.needsCorpus, arguments: Corpus.files(endingIn: ".mom") + Corpus.files(endingIn: ".cdm"))
  func `a real archive is read whole`(name: String) throws {
    try Self.walk(try KeyedArchive(decoding: try Corpus.bytes(name)))
  }
}
