import Mapping
import ObjectModel
import Schema

/// Which destination tables keep the keys of their source objects, and the highest key of each.
///
/// A table keeps keys where all its objects come from one source table: an object's address and
/// every reference to it then stay what they were. Elsewhere, and for objects that a policy makes,
/// keys are given in the order of creation, which the order of mappings and source keys determines.
struct KeyPlan {
  private struct Table {
    let name: String
    var keepsKeys = false
    /// The highest key that the table has given.
    var maximum: Int64 = 0
    /// Whether it may take one source object more than once.
    var isAmbiguous = false
  }

  /// In the order of the destination's schema.
  private var tables: [Table] = []

  /// Takes the mappings of all mapping models of a step, since they fill one store.
  init(
    mappings: [EntityMapping], source: StoreSchema, destination: StoreSchema,
    maxima: [String: Int64]
  ) {
    var origins: [String: Set<String>] = [:]
    var pairs: Set<[String]> = []
    var ambiguous: Set<String> = []
    // New objects have keys above those that are kept.
    for mapping in mappings where mapping.newObjects == nil {
      guard let from = mapping.sourceEntityName.flatMap({ source.model.entity(name: $0) }),
        let to = mapping.destinationEntityName.flatMap({ destination.model.entity(name: $0) }),
        let fromTable = source.table(of: from), let toTable = destination.table(of: to)
      else { continue }
      origins[toTable.name, default: []].insert(fromTable.rootName)
      let isNew = pairs.insert([from.name, toTable.name]).inserted
      if !isNew || !mapping.takesEachObjectOnce { ambiguous.insert(toTable.name) }
    }
    for table in destination.tables {
      var made = Table(name: table.name, isAmbiguous: ambiguous.contains(table.name))
      if let roots = origins[table.name], roots.count == 1, let root = roots.first {
        made.keepsKeys = true
        made.maximum = max(0, maxima[root] ?? 0)
      }
      tables.append(made)
    }
  }

  /// The highest key that a table of the schema has given.
  func maximum(table: Int) -> Int64 { tables[table].maximum }

  /// Whether a table has the keys of its source objects.
  func keepsKeys(_ table: Int) -> Bool { tables[table].keepsKeys }

  /// Whether a table may take one source object more than once.
  func isAmbiguous(_ table: Int) -> Bool { tables[table].isAmbiguous }

  /// The next key of a table.
  mutating func newKey(_ table: Int) throws -> Int64 {
    let (key, isBeyond) = tables[table].maximum.addingReportingOverflow(1)
    if isBeyond { throw ObjectMigrationError(.keysExhausted(table: tables[table].name)) }
    tables[table].maximum = key
    return key
  }

  /// A kept key beyond all that the source's own table of keys admits.
  mutating func note(_ key: Int64, in table: Int) {
    if key > tables[table].maximum { tables[table].maximum = key }
  }
}

extension EntityMapping {
  /// Whether its source objects are those of its source entity, each one once.
  var takesEachObjectOnce: Bool { sourceExpression == nil || filter != nil }
}

/// The plan of keys, which the managers of one step share.
final class KeyHolder {
  var plan: KeyPlan
  init(_ plan: KeyPlan) { self.plan = plan }
}
