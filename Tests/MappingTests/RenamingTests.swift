import Expressions
import Mapping
import ObjectModel
import TestSupport
import Testing

/// Which source name each destination name continues (docs/reference/migration.md, "Renaming").
struct RenamingTests {
  /// An attribute: `a` or, with the identifier x, `a=x`.
  private static func attributes(_ text: String) -> [Attribute] {
    text.split(separator: " ").map { word in
      let parts = word.split(separator: "=").map(String.init)
      return .optional(parts[0], was: parts.count > 1 ? parts[1] : nil)
    }
  }

  private static func inference(
    _ old: [Entity], _ new: [Entity]
  ) throws -> MappingInference {
    MappingInference(
      from: try ManagedObjectModel(entities: old), to: try ManagedObjectModel(entities: new))
  }

  @Test func `names without identifiers are paired as they are among others that have some`() throws
  {
    // What is paired by its name alone is no other pair because one more name moves.
    for (old, new) in [
      ("a b c", "c d a"), ("a", "b"), ("a=a b", "a b=b"), ("a b", ""), ("", "a b"),
      ("b a", "a=a c b=b"),
    ] {
      let plain = try Self.inference(
        [Entity("E", Self.attributes(old))], [Entity("E", Self.attributes(new))])
      let mixed = try Self.inference(
        [Entity("E", Self.attributes("\(old) y"))], [Entity("E", Self.attributes("\(new) z=y"))])
      #expect(Self.pairs(plain, of: "E") + ["z<y"] == Self.pairs(mixed, of: "E"))
      #expect(plain.refusals == mixed.refusals)
    }
  }

  /// `new<old` for every attribute of the entity that continues one.
  private static func pairs(_ inference: MappingInference, of entity: String) -> [String] {
    (inference.mapping.mapping(toDestination: entity)?.attributeMappings ?? []).compactMap {
      if case .attribute(let source, _) = $0.origin { "\($0.name)<\(source)" } else { nil }
    }.sorted()
  }

  @Test(arguments: [
    // Nothing but names, one rename, chains and swaps.
    ("a b", "a c", "a<a"), ("a", "b=a", "b<a"), ("a b", "b=a c=b", "b<a c<b"),
    ("a b", "a=b b=a z", "a<b b<a"), ("a b c", "b=a c=b a=c z", "a<c b<a c<b"),
    // An identifier that both versions bear, or that only the later one still bears.
    ("b=a", "c=a", "c<b"), ("b=a", "c=b", "c<b"), ("b=a", "b", "b<b"), ("b", "b=a", "b<b"),
    // The identifier is another property's present name: a kept name wins.
    ("p=s s", "p=s s z", "p<p s<s"), ("s p=s", "s p=s z", "p<p s<s"), ("p=s s", "s z", "s<s"),
    ("p=s s", "p=s z", "p<p"), ("a b", "a b=a z", "a<a b<b"), ("a", "b=a a", "a<a"),
    ("a", "a b=a c=a", "a<a"), ("p s", "p=s s z", "p<p s<s"),
    // What is left over on both sides is one name each.
    ("p=s s", "q=s s", "q<p s<s"), ("p=s q=s s", "p=s s r=s", "p<p r<q s<s"),
  ])
  func `a kept name wins where an identifier joins several`(
    old: String, new: String, expected: String
  ) throws {
    let inference = try Self.inference(
      [Entity("E", Self.attributes(old))], [Entity("E", Self.attributes(new))])
    #expect(Self.pairs(inference, of: "E") == expected.split(separator: " ").map(String.init))
    #expect(inference.refusals.isEmpty)
  }

  @Test(arguments: [
    ("a=x b=x", "c=x", "x", ["a", "b"], ["c"]), ("a=x b=x", "x", "x", ["a", "b"], ["x"]),
    ("a", "b=a c=a", "a", ["a"], ["b", "c"]), ("a=x", "b=a c=a", "a", ["a"], ["b", "c"]),
    ("a=x x", "c=x", "x", ["a", "x"], ["c"]), ("a=x b=x", "c=x d=x", "x", ["a", "b"], ["c", "d"]),
    ("a=x b=x k=x", "k=x c=x", "x", ["a", "b"], ["c"]),
  ])
  func `what remains ambiguous is refused by name`(
    old: String, new: String, identifier: String, sources: [String], destinations: [String]
  ) throws {
    let found = try Self.inference(
      [Entity("E", Self.attributes(old))], [Entity("E", Self.attributes(new))]
    ).refusals
    #expect(
      found
        == destinations.map {
          Refusal(
            reason: .renamingAmbiguous(
              identifier: identifier, sources: sources, destinations: destinations),
            entity: "E", property: $0)
        })
    #expect(found.allSatisfy { $0.code.rawValue == 134190 })
  }

  @Test func `an entity with an equal hash is copied whatever its identifiers say`() throws {
    let inference = try Self.inference(
      [Entity("E", Self.attributes("a b c")), Entity("F", Self.attributes("x"))],
      [
        Entity("E", was: "F", Self.attributes("a=b b=a c=a")),
        Entity("F", was: "E", Self.attributes("x")),
      ])
    #expect(Self.pairs(inference, of: "E") == ["a<a", "b<b", "c<c"])
    #expect(Self.pairs(inference, of: "F") == ["x<x"])
    #expect(inference.refusals.isEmpty)
  }

  @Test func `an entity whose hash is not known is copied where nothing differs`() throws {
    var place = Attribute.optional("place")
    place.derivation = .init(expression: .builtIn(name: "uppercase:", []))
    let inference = try Self.inference(
      [Entity("E", Self.attributes("a b") + [place])],
      [Entity("E", Self.attributes("a=b b=a") + [place])])
    #expect(Self.pairs(inference, of: "E").prefix(2) == ["a<a", "b<b"])
  }

  @Test func `entities follow the same rule`() throws {
    let renamed = try Self.inference(
      [Entity("A"), Entity("B")],
      [Entity("B", was: "A", Self.attributes("n")), Entity("C", was: "B")])
    #expect(renamed.mapping.destinationName(ofSource: "A") == "B")
    #expect(renamed.mapping.destinationName(ofSource: "B") == "C")
    let kept = try Self.inference(
      [Entity("P", was: "S"), Entity("S")],
      [Entity("P", was: "S", Self.attributes("n")), Entity("S", Self.attributes("n"))])
    #expect(kept.mapping.destinationName(ofSource: "P") == "P")
    #expect(kept.mapping.destinationName(ofSource: "S") == "S")
    let ambiguous = try Self.inference(
      [Entity("A", was: "X"), Entity("B", was: "X")], [Entity("C", was: "X")])
    #expect(
      ambiguous.refusals == [
        Refusal(
          reason: .renamingAmbiguous(identifier: "X", sources: ["A", "B"], destinations: ["C"]),
          entity: "C")
      ])
  }

  @Test func `attributes and relationships are paired among themselves first`() throws {
    let inference = try Self.inference(
      [Entity("E", Self.attributes("a")), Entity("F")],
      [
        Entity("E", Self.attributes("b=a"), [.toOne("r", "F", inverse: nil, was: "a")]),
        Entity("F"),
      ])
    #expect(Self.pairs(inference, of: "E") == ["b<a"])
    #expect(inference.refusals.isEmpty)
  }

  @Test func `an inherited pair decides for the entities below`() throws {
    let inference = try Self.inference(
      [Entity("P", Self.attributes("a")), Entity("C", in: "P", Self.attributes("b=a"))],
      [Entity("P", Self.attributes("c=a")), Entity("C", in: "P", Self.attributes("d=a"))])
    #expect(Self.pairs(inference, of: "P") == ["c<a"])
    #expect(Self.pairs(inference, of: "C") == ["c<a", "d<b"])
    #expect(inference.refusals.isEmpty)
  }

  @Test func `a renamed property that moves up or down keeps its values`() throws {
    let up = try Self.inference(
      [Entity("P"), Entity("C", in: "P", Self.attributes("a b"))],
      [Entity("P", Self.attributes("n=a")), Entity("C", in: "P", Self.attributes("a=b"))])
    #expect(Self.pairs(up, of: "C") == ["a<b", "n<a"])
    let down = try Self.inference(
      [Entity("P", Self.attributes("a b")), Entity("C", in: "P")],
      [Entity("P", Self.attributes("b")), Entity("C", in: "P", Self.attributes("n=a"))])
    #expect(Self.pairs(down, of: "P") == ["b<b"])
    #expect(Self.pairs(down, of: "C") == ["b<b", "n<a"])
  }
}
