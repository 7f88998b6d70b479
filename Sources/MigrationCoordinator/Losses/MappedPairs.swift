import Mapping
import ObjectModel
import Planning
import Schema
import StoreFormat
import Survey

/// Finds out what became of the pairs of each join table of the source where objects are made one
/// by one, as far as the mappings alone decide it.
///
/// It does not cover pairs that policies and expressions may make, nor those of relationships that
/// several others continue.
struct MappedPairs {
  private let survey: StoreSurvey
  private let mappings: [EntityMapping]
  /// The join tables of the destination that continue one of the source, by its name.
  private var continued: [String: Set<String>] = [:]
  /// The join tables of the destination that something else fills too, and those of the source
  /// whose pairs become something else.
  private var (mixed, turned): (Set<String>, Set<String>) = ([], [])

  /// Follows the relationships of all mappings of a step; nil where there are policies.
  init?(_ models: [MappingModel], survey: StoreSurvey, destination: StoreSchema) {
    self.survey = survey
    mappings = models.flatMap(\.entityMappings)
    if mappings.contains(where: { $0.ownPolicyClassName != nil }) { return nil }
    for mapping in mappings {
      if let name = mapping.newObjects?.pairRelationship,
        let join = Self.join(of: name, in: mapping.sourceEntityName, schema: survey.schema)
      {
        turned.insert(join)
      }
      for name in mapping.newObjects?.relationships ?? [] {
        if let join = Self.join(of: name, in: mapping.destinationEntityName, schema: destination) {
          mixed.insert(join)
        }
      }
      for property in mapping.relationshipMappings {
        let target = Self.join(
          of: property.name, in: mapping.destinationEntityName, schema: destination)
        let source = property.sourceRelationshipName.flatMap {
          Self.join(of: $0, in: mapping.sourceEntityName, schema: survey.schema)
        }
        switch (source, target) {
        case (let source?, let target?): continued[source, default: []].insert(target)
        case (let source?, nil): turned.insert(source)
        case (nil, let target?) where property.valueExpression != nil: mixed.insert(target)
        default: break
        }
      }
    }
    for targets in continued.values {
      for target in targets where continued.values.count(where: { $0.contains(target) }) > 1 {
        mixed.insert(target)
      }
    }
  }

  /// The join table that keeps a relationship of an entity, or of one that it inherits from.
  private static func join(
    of relationship: String, in entity: String?, schema: StoreSchema
  ) -> String? {
    guard let entity = entity.flatMap({ schema.model.entity(name: $0) }) else { return nil }
    let levels = Set(schema.model.lineage(of: entity).map(\.name))
    return schema.joinTables.first { join in
      [join.first, join.second].contains {
        $0.relationshipName == relationship && levels.contains($0.entityName)
      }
    }?.name
  }

  /// The accounts of the pairs, with the rows that tables of the destination got, by their names in
  /// SQL.
  func accounts(
    written: [String: Int64], incomplete: (JoinTable) -> Int64
  ) throws -> [StageAccounts.OfPairs] {
    try survey.schema.joinTables.compactMap { join in
      let targets = continued[join.name] ?? []
      guard targets.count < 2, mixed.isDisjoint(with: targets), !turned.contains(join.name)
      else { return nil }
      let rows = try survey.reader.rowCount(of: join.name, by: .rows)
      let out = targets.first.flatMap { written[SQL.identifier(name: $0)] } ?? 0
      let dropped = rows - incomplete(join) - out
      // Where several mappings take an object, pairs become more.
      if dropped < 0 { return nil }
      return .init(
        entity: join.first.entityName, relationship: join.first.relationshipName, rowsIn: rows,
        rowsOut: out, incomplete: incomplete(join), dropped: dropped)
    }
  }

  /// Whether every pair of existing objects has to continue: one mapping takes all objects of each
  /// entity, and those of one end refer to all results of the others.
  private func isWhole(_ join: JoinTable) -> Bool {
    let ends = [join.first, join.second].map { end in
      (end, mappings.filter { survey.model.isKind($0.sourceEntityName, of: end.entityName) })
    }
    for (_, own) in ends where Set(own.map(\.sourceEntityName)).count < own.count { return false }
    return zip(ends, ends.reversed()).contains { end, other in
      end.1.allSatisfy { mapping in
        mapping.relationshipMappings.contains { property in
          guard case .relationship(end.0.relationshipName, let name) = property.origin else {
            return false
          }
          return name == nil || other.1.allSatisfy { $0.name == name }
        }
      }
    }
  }

  /// The pairs that have to go, since one of their objects is not there; nil where others may.
  func dangling(_ join: JoinTable) throws -> Int64? {
    guard continued[join.name] != nil, isWhole(join) else { return nil }
    let tests = [join.first, join.second].compactMap { end -> String? in
      guard let entity = survey.model.entity(name: end.entityName),
        let table = survey.schema.table(of: entity)
      else { return nil }
      let key = SQL.identifier(name: end.keyColumn)
      return "NOT EXISTS (SELECT 1 FROM \(SQL.identifier(name: table.name)) WHERE Z_PK = j.\(key))"
    }
    let keys = [join.first, join.second].map {
      "j.\(SQL.identifier(name: $0.keyColumn)) IS NOT NULL"
    }
    return try survey.reader.number(
      sql: """
        SELECT count(*) FROM \(SQL.identifier(name: join.name)) AS j NOT INDEXED
        WHERE \(keys.joined(separator: " AND ")) AND (\(tests.joined(separator: " OR ")))
        """)
  }
}
