import GRDB
import Mapping
import Schema

/// Drops objects that would lack a mandatory to-one relationship, where that is chosen.
extension DefectRepair {
  /// Makes the table of the references that became nil, in a copy that is repaired.
  static func prepareEmptied(in db: Database) throws {
    try db.execute(
      sql: "CREATE TEMP TABLE emptied (name, key, PRIMARY KEY (name, key)) WITHOUT ROWID")
  }

  /// Adds the rows whose reference became nil.
  static func noteEmptied(_ defect: Defect, in db: Database) throws {
    try db.execute(
      sql: "INSERT OR IGNORE INTO temp.emptied SELECT ?, key FROM temp.touched",
      arguments: [EmptiedReferences.name(defect.entity, defect.property)])
  }

  /// The causes that drop such objects, as far as the rows of the store show them.
  ///
  /// - Parameter afterOthers: whether `prepareEmptied` has made the table of references that became
  ///   nil.
  func drops(_ demands: [StageDemands], afterOthers: Bool) -> [Repair] {
    guard choices.missing == .drop else { return [] }
    return demands.flatMap { step -> [Repair] in
      var checker = step.checker
      if afterOthers { checker.emptied = Self.wasEmptied }
      return step.mandatoryReferences.compactMap { condition -> Repair? in
        guard case .rows(let rows)? = checker.question(condition: condition),
          let table = checker.sourceTable(of: condition)
        else { return nil }
        return Repair(
          defect: Defect(
            kind: .missingReference, entity: condition.sourceEntity,
            property: condition.property ?? "", count: 0, keys: [], fate: .removed),
          find: {
            try Int64.fetchAll(
              $0, sql: "SELECT s.Z_PK FROM \(rows.from) WHERE \(rows.test) ORDER BY 1")
          },
          statement: "DELETE FROM \(SQL.identifier(name: table)) "
            + "WHERE Z_PK IN (SELECT key FROM temp.touched)", removesFrom: table)
      }
    }
  }

  private static func wasEmptied(_ entity: String, _ relationship: String) -> String? {
    let name = SQL.literal(text: EmptiedReferences.name(entity, relationship))
    return "EXISTS (SELECT 1 FROM temp.emptied AS e WHERE e.name = \(name) AND e.key = s.Z_PK)"
  }
}

extension Defect {
  /// One defect for dropped objects of one property, for references to them, and for those after
  /// the first one, which several passes found.
  static func joined(_ defects: [Defect]) -> [Defect] {
    var result: [Defect] = []
    for defect in defects {
      let place = result.firstIndex {
        [.missingReference, .removedTarget, .severalObjects].contains(defect.kind)
          && [$0.kind.rawValue, $0.entity, $0.property, $0.fate.rawValue]
            == [defect.kind.rawValue, defect.entity, defect.property, defect.fate.rawValue]
          && $0.targetCause == defect.targetCause
      }
      guard let place else {
        result.append(defect)
        continue
      }
      result[place].count += defect.count
      result[place].keys = (result[place].keys + defect.keys).sorted()
      result[place].removed.merge(defect.removed, uniquingKeysWith: +)
    }
    return result
  }
}
