import Expressions
import Mapping
import ObjectModel
import TestSupport
import Testing

/// What becomes of references, by the objects at both ends and the mappings that take them.
@Suite struct ReferenceFatesTests {
  private func place(
    byRows: Bool = true, _ change: (inout MappingModel) -> Void = { _ in },
    to changeModel: (inout [Entity]) -> Void = { _ in }
  ) throws -> (fates: ReferenceFates, place: ReferenceFates.Place?) {
    var mapping = ShopModels.mapping()
    change(&mapping)
    let source = try ShopModels.model()
    let fates = ReferenceFates(
      models: [mapping], source: source, destination: try ShopModels.model(changeModel),
      isByRows: byRows, isInferred: false)
    let relationship = try #require(source.relationship(name: "customer", of: "Order"))
    let place = fates.place(
      of: relationship, declaredBy: "Order", form: .toOne, hasObjects: { _ in true })
    return (fates, place)
  }

  private func end(_ entity: String?, _ takers: Int...) -> ReferenceFates.End {
    .init(entity: entity, takers: Set(takers))
  }

  @Test func `a mapping of all objects that reads one end loses nothing`() throws {
    #expect(try place().place == nil)
    #expect(try place { $0.entityMappings[0].relationshipMappings = [] }.place == nil)
    #expect(try place(byRows: false).place == nil)
  }

  @Test func `a reference to an object that no filter takes is lost, and gone with its own object`()
    throws
  {
    let found = try place {
      $0.entityMappings[0].sourceExpression = .sourceObjects(of: "Customer", where: "name != nil")
    }
    let (fates, place) = (found.fates, try #require(found.place))
    #expect(fates.fate(place, owner: end("Order", 2), target: end("Customer", 0)) == .kept)
    #expect(
      fates.fate(place, owner: end("Order", 2), target: end("Customer")) == .lost(.filter))
    #expect(fates.fate(place, owner: end("Order"), target: end("Customer")) == .gone(.filter))
    #expect(
      fates.fate(place, owner: end("Order", 2), target: end(nil)) == .dangling(isKept: true))
  }

  @Test func `objects without a mapping take references to them along`() throws {
    let found = try place { $0.entityMappings.removeFirst() }
    let place = try #require(found.place)
    #expect(
      found.fates.fate(place, owner: end("Order", 1), target: end("Customer"))
        == .lost(.unmappedEntity))
  }

  @Test func `what no mapping reads is unread, whatever becomes of the other object`() throws {
    let found = try place {
      $0.entityMappings[0].relationshipMappings = []
      $0.entityMappings[2].relationshipMappings = []
    }
    let place = try #require(found.place)
    #expect(place.isUnread && !place.needsOtherEnd)
    #expect(
      found.fates.fate(place, owner: end("Order", 2), target: end("Customer"))
        == .unread(.unmappedProperty))
  }

  @Test func `a policy leaves references open, where objects are made one by one`() throws {
    func change(_ mapping: inout MappingModel) {
      mapping.entityMappings[0].migrationPolicyClassName = "Policy"
    }
    #expect(try place(change).place == nil)
    let found = try place(byRows: false, change)
    let place = try #require(found.place)
    #expect(place.isOpen)
    #expect(
      found.fates.fate(place, owner: end("Order", 2), target: end("Customer", 0)) == .open)
  }

  @Test func `several owners of an object that may have one are a collision`() throws {
    let found = try place(byRows: false) { _ in
    } to: {
      $0[0].relationships[0].isToMany = false
    }
    #expect(try #require(found.place).winner == .target)
  }

  @Test func `one object next to all of them is no collision`() throws {
    let found = try place(byRows: false) {
      $0.entityMappings[0].relationshipMappings.append(
        PropertyMapping(name: "main", valueExpression: .destinations(ofRelationship: "orders")))
    } to: {
      $0[0].relationships.append(Relationship(name: "main", to: "Order"))
    }
    #expect(found.place == nil)
  }
}
