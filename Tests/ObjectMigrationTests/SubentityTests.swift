import Expressions
import Mapping
import ObjectMigration
import ObjectModel
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct SubentityTests {
  /// Vehicles and trucks, with depots that hold them and a driver's one vehicle.
  private func model(extraEntity: Bool) throws -> ManagedObjectModel {
    var vehicle = Entity("Vehicle")
    vehicle.attributes = [Herds.attribute("plate", .string)]
    var truck = Entity("Truck")
    truck.superentityName = "Vehicle"
    truck.attributes = [Herds.attribute("load", .double)]
    var driver = Entity("Driver")
    driver.attributes = [Herds.attribute("name", .string)]
    var drives = Relationship(name: "drives", to: "Vehicle")
    drives.isOptional = true
    var spare = Relationship(name: "spare", to: "Vehicle", isToMany: true)
    spare.isOptional = true
    spare.isOrdered = true
    driver.relationships = [drives, spare]
    // Another entity before them moves every number on.
    let others = extraEntity ? [Entity("Animal")] : []
    return try ManagedObjectModel(entities: [vehicle, truck, driver] + others)
  }

  private func mapping(_ source: String, _ properties: [String]) -> EntityMapping {
    var mapping = EntityMapping(
      name: "\(source)To\(source)", kind: .copy, source: source, destination: source)
    mapping.attributeMappings = properties.map {
      PropertyMapping(name: $0, valueExpression: .source(name: $0))
    }
    return mapping
  }

  private func migrate() throws -> Query {
    let store = try Herds.make(
      model(extraEntity: false),
      [
        "INSERT INTO ZVEHICLE (Z_PK, Z_ENT, Z_OPT, ZPLATE, ZLOAD) VALUES (1, 2, 1, 'a', NULL)",
        """
        INSERT INTO ZVEHICLE (Z_PK, Z_ENT, Z_OPT, ZPLATE, ZLOAD, Z1SPARE, Z_FOK_1SPARE) VALUES
        (2, 3, 1, 'b', 2.5, 1, 4096), (3, 2, 1, 'c', NULL, 1, 2048)
        """,
        """
        INSERT INTO ZDRIVER (Z_PK, Z_ENT, Z_OPT, ZNAME, ZDRIVES, Z2_DRIVES) VALUES
        (1, 1, 1, 'dan', 2, 3), (2, 1, 1, 'eva', 1, 2)
        """,
      ], maxima: ["Vehicle": 3, "Driver": 2])
    var driver = mapping("Driver", ["name"])
    driver.relationshipMappings = ["drives", "spare"].map {
      PropertyMapping(name: $0, valueExpression: .destinations(ofRelationship: $0))
    }
    let (result, _) = try CorpusMigration().step(
      store, from: model(extraEntity: false), to: model(extraEntity: true),
      by: [
        MappingModel(entityMappings: [
          driver, mapping("Vehicle", ["plate"]), mapping("Truck", ["plate", "load"]),
        ])
      ])
    return try Query(result)
  }

  @Test func `objects of subentities are taken by their own mapping alone`() throws {
    let query = try migrate()
    #expect(
      try query.texts(
        "SELECT Z_PK || ' ' || Z_ENT || ' ' || ZPLATE FROM ZVEHICLE ORDER BY Z_PK")
        == ["1 3 a", "2 4 b", "3 3 c"])
    #expect(try query.number("SELECT count(*) FROM ZVEHICLE WHERE ZLOAD = 2.5 AND Z_ENT = 4") == 1)
  }

  @Test func `a reference says of which entity its object is`() throws {
    #expect(
      try migrate().texts(
        "SELECT ZNAME || ' ' || ZDRIVES || ' ' || Z3_DRIVES FROM ZDRIVER ORDER BY ZNAME")
        == ["dan 2 4", "eva 1 3"])
  }

  @Test func `an ordered relationship without inverse keeps its order`() throws {
    #expect(
      try migrate().texts(
        "SELECT ZPLATE || ' ' || Z_FOK_2SPARE FROM ZVEHICLE WHERE Z2SPARE = 1 ORDER BY Z_FOK_2SPARE"
      ) == ["c 2048", "b 3072"])
  }
}
