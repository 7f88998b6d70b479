import GRDB
import Mapping
import ObjectModel
import Schema
import StoreFormat
import Survey

/// The number of references of each relationship, counted before and after the repair.
struct RepairedReferences: Hashable, Codable, Sendable {
  /// The references of one relationship.
  struct Counted: Hashable, Codable, Sendable {
    /// The entity that declares the relationship; of pairs, after which the join table is named.
    var entity: String
    /// The relationship.
    var relationship: String
    /// References before.
    var before: Int64
    /// References that are gone, by cause.
    var dropped: [LossCause: Int64] = [:]
  }

  private(set) var counted: [Counted] = []

  /// Counts all references of a store.
  init(_ search: DefectSearch, in db: Database) throws {
    counted = try Self.count(search, in: db)
  }

  private static func count(_ search: DefectSearch, in db: Database) throws -> [Counted] {
    var result: [Counted] = []
    var joins: Set<String> = []
    for reference in search.allReferences {
      if reference.isPair, !joins.insert(reference.table).inserted { continue }
      let name = search.account(of: reference)
      let owners = reference.isPair ? nil : reference.owners
      let test = ["\(reference.name) IS NOT NULL", owners].compactMap(\.self)
      let count = try Int64.fetchOne(
        db,
        sql: "SELECT count(*) FROM \(reference.from) WHERE \(test.joined(separator: " AND "))")
      result.append(
        Counted(entity: name.entity, relationship: name.relationship, before: count ?? 0))
    }
    return result
  }

  /// Compares with the same store after the repair, and leaves out what is unchanged.
  ///
  /// - Parameter defects: what was repaired; references that are gone for no cause of their own
  ///   went with the objects that had them.
  mutating func account(
    _ search: DefectSearch, defects: [Defect], in db: Database
  ) throws {
    let after = try Self.count(search, in: db)
    let kinds = Set(defects.map(\.kind))
    let rest: LossCause =
      kinds.contains(.duplicate)
      ? .duplicate : kinds.contains(.severalObjects) ? .severalObjects : .missingReference
    for index in counted.indices {
      var gone = counted[index].before - after[index].before
      let own = defects.filter { defect in
        let name = search.account(ofProperty: defect.property, of: defect.entity)
        return name.entity == counted[index].entity
          && name.relationship == counted[index].relationship
      }
      for (kind, cause) in [
        (Defect.Kind.dangling, LossCause.dangling), (.unknownReference, .unknownReference),
      ] {
        let count = own.filter { $0.kind == kind && $0.fate != .kept }.reduce(0) { $0 + $1.count }
        if count > 0 { counted[index].dropped[cause] = count }
        gone -= count
      }
      for defect in own where defect.kind == .removedTarget && defect.fate != .merged {
        counted[index].dropped[defect.targetCause ?? rest, default: 0] += defect.count
        gone -= defect.count
      }
      if gone > 0 { counted[index].dropped[rest, default: 0] += gone }
    }
    counted.removeAll(where: \.dropped.isEmpty)
  }
}

extension DefectSearch {
  /// The relationship under which a reference is accounted for.
  func account(of reference: Reference) -> (entity: String, relationship: String) {
    account(ofProperty: reference.property, of: reference.entity)
  }

  /// The same of a relationship; of two that share a join table, the one that names it.
  func account(ofProperty name: String, of entity: String) -> (entity: String, relationship: String)
  {
    for join in survey.schema.joinTables
    where join.second.entityName == entity && join.second.relationshipName == name {
      return (join.first.entityName, join.first.relationshipName)
    }
    return (entity, name)
  }
}

extension DefectSearch {
  /// References to removed objects that became nil, and pairs that went with one.
  func losses(of defects: [Defect]) -> [Loss] {
    var result: [Loss] = []
    for defect in defects where defect.kind == .removedTarget && defect.fate != .merged {
      let name = account(ofProperty: defect.property, of: defect.entity)
      let keys = [Int64](defect.keys.prefix(Loss.keyLimit))
      let cause = defect.targetCause ?? .missingReference
      if let index = result.firstIndex(where: {
        $0.entity == name.entity && $0.property == name.relationship && $0.cause == cause
      }) {
        result[index].count += defect.count
        continue
      }
      result.append(
        Loss(
          kind: .relationship, cause: cause, entity: name.entity, property: name.relationship,
          count: defect.count, keys: keys))
    }
    return result
  }
}
