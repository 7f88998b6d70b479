package import Mapping
import ObjectModel
package import Schema

/// What it takes to make objects one by one, in nanoseconds of two cores that do nothing else.
///
/// Measured over mapping models of few and many relationships. What a policy does besides shows
/// only while it does it.
package struct ObjectCosts: Hashable, Sendable {
  /// Creating one object of a mapping, with its attributes.
  package let creation: Double
  /// Relating one object to others.
  package let relation: Double
  /// On how many objects of its source entity the filter of the mapping is tried for each one that
  /// it takes, 0 without a filter.
  ///
  /// Filters that begin with one entity are taken to share its objects.
  package let tries: Int

  /// Trying the filter of a mapping on an object of its source entity.
  private static let filtered = 2_500.0
  /// Numbering, validating and summing up one object once all are related.
  private static let completion = 400.0

  private static let (object, attribute, relationship, pair) = (1_500.0, 150.0, 1_900.0, 4_400.0)

  /// The costs of mappings, in their order.
  ///
  /// - Parameter rows: the number of rows of a source table; called once for each.
  package static func all(
    of mappings: [EntityMapping], in schema: StoreSchema,
    rows: (_ table: String) throws -> Int64
  ) rethrows -> [ObjectCosts] {
    var counts: [String: Int64] = [:]
    let filtered = mappings.filter(\.isFiltered).compactMap(\.sourceEntityName)
    return try mappings.map { mapping in
      guard let name = mapping.sourceEntityName else { return ObjectCosts(of: mapping, pairs: 0) }
      let pairs = try pairs(of: name, in: schema) { table in
        if let known = counts[table] { return known }
        let count = try rows(table)
        counts[table] = count
        return count
      }
      let tries = mapping.isFiltered ? filtered.count { $0 == name } : 0
      return ObjectCosts(of: mapping, pairs: pairs, tries: tries)
    }
  }

  /// Nanoseconds for all objects of mappings: those that filters divide are taken once.
  ///
  /// - Parameters:
  ///   - objects: how many objects of an entity of the source there are.
  ///   - rows: how many rows a table of the source has.
  package static func work(
    of mappings: [EntityMapping], in schema: StoreSchema, objects: (_ entity: String) -> Int64,
    rows: (_ table: String) throws -> Int64
  ) rethrows -> Int64 {
    let all = try all(of: mappings, in: schema, rows: rows)
    let work = zip(mappings, all).reduce(0.0) { sum, pair in
      guard let source = pair.0.sourceEntityName else { return sum }
      let taken = Double(pair.1.taken(of: objects(source)))
      return sum + taken * (pair.1.creation + pair.1.relation + completion)
    }
    return Int64(min(work, 1e18))
  }

  /// Takes how many pairs of many-to-many relationships a source object of the mapping is in, and
  /// how often its filter is tried.
  package init(of mapping: EntityMapping, pairs: Double, tries: Int = 0) {
    self.tries = tries
    let filtered = Double(tries) * Self.filtered
    guard mapping.destinationEntityName != nil, mapping.kind != .remove else {
      (creation, relation) = (Self.object + filtered, 0)
      return
    }
    creation = Self.object + filtered + Self.attribute * Double(mapping.attributeMappings.count)
    relation =
      300 + Self.relationship * Double(mapping.relationshipMappings.count)
      + (mapping.relationshipMappings.isEmpty ? 0 : Self.pair * pairs)
  }

  /// How many of the objects of its source entity the mapping takes.
  package func taken(of objects: Int64) -> Int64 { objects / Int64(max(1, tries)) }

  /// How many pairs of many-to-many relationships an object of an entity is in, on average.
  private static func pairs(
    of entity: String, in schema: StoreSchema, rows: (_ table: String) throws -> Int64
  ) rethrows -> Double {
    try schema.joinTables.reduce(0) { sum, join in
      let ends = [join.first.entityName, join.second.entityName].filter { name in
        schema.model.isKind(entity, of: name)
      }
      guard let end = ends.first.flatMap({ schema.model.entity(name: $0) }),
        let table = schema.table(of: end)
      else { return sum }
      let objects = try rows(table.name)
      let pairs = try objects > 0 ? Double(rows(join.name)) / Double(objects) : 0
      return sum + Double(ends.count) * pairs
    }
  }
}
