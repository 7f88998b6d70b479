import Mapping
import ObjectModel
import Schema

/// Which destination tables keep the keys of their source objects, and the highest key of each.
///
/// A table keeps keys where all its objects come from one source table: an object's address and
/// every reference to it then stay what they were. Elsewhere, and for objects that a policy makes,
/// keys are given in the order of creation, which the order of mappings and source keys determines.
struct KeyPlan {
  private var keeps: Set<String> = []
  /// The highest key that each table has given.
  private(set) var maxima: [String: Int64] = [:]
  /// Tables that may take one source object more than once.
  private var ambiguous: Set<String> = []

  /// Takes the mappings of all mapping models of a step, since they fill one store.
  init(
    mappings: [EntityMapping], source: StoreSchema, destination: StoreSchema,
    maxima: [String: Int64]
  ) {
    var origins: [String: Set<String>] = [:]
    var pairs: Set<[String]> = []
    for mapping in mappings {
      guard let from = mapping.sourceEntityName.flatMap({ source.model.entity(name: $0) }),
        let to = mapping.destinationEntityName.flatMap({ destination.model.entity(name: $0) }),
        let fromTable = source.table(of: from), let toTable = destination.table(of: to)
      else { continue }
      origins[toTable.name, default: []].insert(fromTable.rootName)
      let isNew = pairs.insert([from.name, toTable.name]).inserted
      if !isNew || !mapping.takesEachObjectOnce { ambiguous.insert(toTable.name) }
    }
    for table in destination.tables {
      guard let roots = origins[table.name], roots.count == 1, let root = roots.first else {
        self.maxima[table.name] = 0
        continue
      }
      keeps.insert(table.name)
      self.maxima[table.name] = max(0, maxima[root] ?? 0)
    }
  }

  func keepsKeys(_ table: String) -> Bool { keeps.contains(table) }

  func isAmbiguous(_ table: String) -> Bool { ambiguous.contains(table) }

  mutating func newKey(_ table: String) throws -> Int64 {
    let (key, isBeyond) = (maxima[table] ?? 0).addingReportingOverflow(1)
    if isBeyond { throw ObjectMigrationError(.keysExhausted(table: table)) }
    maxima[table] = key
    return key
  }

  /// A kept key beyond all that the source's own table of keys admits.
  mutating func note(_ key: Int64, in table: String) {
    if key > maxima[table] ?? 0 { maxima[table] = key }
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
