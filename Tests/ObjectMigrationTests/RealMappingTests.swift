import Expressions
import Godwit
import Mapping
import MappingFiles
import ModelFiles
import ObjectMigration
import ObjectModel
import Schema
import StoreGenerator
import SystemPackage
import TestPolicies
import TestSupport
import Testing

/// Mapping models of real applications on generated objects, with the default for policies.
@Suite(.needsCorpus, .scratchFolder) struct RealMappingTests {
  static let names = Corpus.files(endingIn: ".xcmappingmodel").filter { $0.hasPrefix("mappings/") }

  @Test(arguments: names)
  func `a real mapping model takes every object that it maps`(name: String) throws {
    let file = try MappingFile.read(Corpus.path(name))
    let source = try #require(file.source?.model)
    let destination = try #require(file.destination?.model)
    let store = ScratchFolder.current.appending("source.sqlite")
    _ = try StoreGenerator(model: source, rows: 2000, seed: 1).generate(to: store)
    var migration = CorpusMigration()
    migration.validation = .report
    for policy in Set(file.mapping.entityMappings.compactMap(\.migrationPolicyClassName)) {
      migration.policies.register(policy) { AnsweringPolicy() }
    }
    let (result, report) = try migration.step(
      store, from: source, to: destination, by: [file.mapping])
    let (before, after) = (try Query(store), try Query(result))
    #expect(try after.texts("PRAGMA integrity_check") == ["ok"])
    var compared = 0
    for mapping in file.mapping.entityMappings {
      compared += try check(mapping, source, destination, before, after)
    }
    #expect(compared > 0)
    #expect(report.objectsRead == report.objectsWritten)
  }

  /// Every attribute that is copied plainly has in the new table what it had in the old.
  ///
  /// - Returns: how many were compared.
  private func check(
    _ mapping: Mapping.EntityMapping, _ source: ManagedObjectModel,
    _ destination: ManagedObjectModel, _ before: Query, _ after: Query
  ) throws -> Int {
    guard let from = mapping.sourceEntityName.flatMap({ source.entity(name: $0) }),
      let to = mapping.destinationEntityName.flatMap({ destination.entity(name: $0) })
    else { return 0 }
    var compared = 0
    let (old, new) = (try StoreSchema(source), try StoreSchema(destination))
    let (oldTable, newTable) = (try #require(old.table(of: from)), try #require(new.table(of: to)))
    func rows(
      _ query: Query, _ schema: StoreSchema, _ table: EntityTable, _ entity: Entity,
      _ column: String
    ) throws -> [String] {
      try query.texts(
        """
        SELECT Z_PK || ' ' || ifnull(quote(\(SQL.identifier(name: column))), '')
        FROM \(SQL.identifier(name: table.name)) WHERE Z_ENT = \(schema.numbers[entity.name]?.rawValue ?? 0)
        ORDER BY Z_PK
        """)
    }
    for property in mapping.attributeMappings + mapping.relationshipMappings {
      let isRelationship = property.sourceRelationshipName != nil
      var name = property.sourceRelationshipName
      if case .attribute(let attribute, .null) = property.origin { name = attribute }
      guard let name, let oldColumn = column(name, from, source, oldTable, isRelationship),
        let newColumn = column(property.name, to, destination, newTable, isRelationship)
      else { continue }
      #expect(
        try rows(before, old, oldTable, from, oldColumn)
          == rows(after, new, newTable, to, newColumn), "\(mapping.name).\(property.name)")
      compared += 1
    }
    return compared
  }

  private func column(
    _ name: String, _ entity: Entity, _ model: ManagedObjectModel, _ table: EntityTable,
    _ isRelationship: Bool
  ) -> String? {
    model.lineage(of: entity).compactMap { level in
      table.column(
        role: isRelationship
          ? .toOne(entity: level.name, name: name) : .attribute(entity: level.name, name: name))?
        .name
    }.first
  }
}
