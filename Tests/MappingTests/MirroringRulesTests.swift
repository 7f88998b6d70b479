import Expressions
import ObjectModel
import TestSupport
import Testing

@testable import Mapping

/// What CloudKit does not follow in a model.
@Suite struct MirroringRulesTests {
  /// A change of the sample model, and the obstacles that it is, as `place: obstacle`.
  struct Change: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var obstacles: [String]
    var apply: @Sendable (inout [Entity]) -> Void

    init(
      _ name: String, _ obstacles: String..., apply: @escaping @Sendable (inout [Entity]) -> Void
    ) {
      (testDescription, self.obstacles, self.apply) = (name, obstacles, apply)
    }
  }

  private static var entities: [Entity] {
    [
      Entity(
        "Album", [.optional("title"), .optional("code")],
        [.toMany("photos", "Photo", inverse: "album")]),
      Entity(
        "Photo", [.optional("size", .integer32)], [.toOne("album", "Album", inverse: "photos")]),
      Entity("Film", in: "Photo", [.mandatory("length", .double)]),
      Entity("Moment", [.optional("name")]),
    ]
  }

  static let changes = [
    Change("nothing") { _ in },
    Change("an entity more") { $0.append(Entity("Zone", [.optional("x")])) },
    Change("an entity less") { $0.removeAll { $0.name == "Moment" } },
    Change("an attribute more") { $0[0].attributes.append(.optional("note")) },
    Change("a mandatory attribute with a default") {
      $0[0].attributes.append(.mandatory("n", .integer64, default: .integer(1)))
    },
    Change("a mandatory attribute", "Album.n: mandatory") {
      $0[0].attributes.append(.mandatory("n"))
    },
    Change("an attribute that becomes mandatory", "Album.title: mandatory") {
      $0[0].attributes[0].isOptional = false
    },
    Change("a mandatory attribute that stays") { $0[2].attributes[0].isOptional = false },
    Change("an attribute of a new entity", "Zone.x: mandatory") {
      $0.append(Entity("Zone", [.mandatory("x")]))
    },
    Change("an attribute less", "Album.code: propertyRemoved") { $0[0].attributes.removeLast() },
    Change("another name of an attribute", #"Album.code: propertyRenamed(to: "key")"#) {
      $0[0].attributes[1] = .optional("key", was: "code")
    },
    Change(
      "names that change places", #"Album.code: propertyRenamed(to: "title")"#,
      #"Album.title: propertyRenamed(to: "code")"#
    ) {
      // Were all hashes alike, each name would stand for itself.
      $0[0].attributes = [
        .optional("title", was: "code"), .optional("code", was: "title"), .optional("note"),
      ]
    },
    Change("another type", #"Photo.size: typeChanged(source: "Integer 32", destination: "Double")"#)
    {
      $0[1].attributes[0].type = .double
    },
    Change("encryption", "Album.title: encryption") {
      $0[0].attributes[0].allowsCloudEncryption = true
    },
    Change("another name of an entity", #"Moment: entityRenamed(to: "Instant")"#) {
      $0[3] = Entity("Instant", was: "Moment", [.optional("name")])
    },
    Change("another superentity", "Film: superentityChanged") {
      $0[2].superentityName = nil
      $0[2].attributes.append(.optional("size", .integer32))
      $0[2].relationships = []
    },
    Change("an abstract entity", "Moment: entityBecameAbstract") { $0[3].isAbstract = true },
    Change("an order", "Album.photos: ordered") { $0[0].relationships[0].isOrdered = true },
    Change("several instead of one", "Photo.album: relationshipChanged") {
      $0[1].relationships[0].isToMany = true
      $0[1].relationships[0].maxCount = 0
    },
    Change("a relationship that becomes mandatory", "Photo.album: mandatory") {
      $0[1].relationships[0].isOptional = false
    },
    Change("a relationship less", "Album.photos: propertyRemoved", "Photo.album: propertyRemoved") {
      $0[0].relationships = []
      $0[1].relationships = []
    },
    Change("a new ordered relationship", "Moment.films: ordered") {
      $0[3].relationships = [.toMany("films", "Film", inverse: "moment", isOrdered: true)]
      $0[2].relationships = [.toOne("moment", "Moment", inverse: "films")]
    },
    Change("a uniqueness constraint", #"Album: constraint(["code"])"#) {
      $0[0].uniquenessConstraints = [["code"]]
    },
  ]

  @Test(arguments: changes)
  func `what iCloud's schema does not follow is named, and nothing else`(
    change: Change
  ) throws {
    var entities = Self.entities
    change.apply(&entities)
    let source = try Self.model(Self.entities)
    let destination = try Self.model(entities)
    let inference = MappingInference(from: source, to: destination)
    let found = MirroringRules(inference.mapping, from: source, to: destination).refusals
    let told = found.map { refusal in
      let place = [refusal.entity, refusal.property].compactMap(\.self).joined(separator: ".")
      guard case .mirroring(.changed(let what)) = refusal.reason else { return "\(refusal)" }
      return "\(place): \(what)"
    }
    #expect(told.sorted() == change.obstacles)
  }

  private static func model(_ entities: [Entity]) throws -> ManagedObjectModel {
    try ManagedObjectModel(entities: entities)
  }
}
