import GRDB
import Mapping
import ObjectModel
import Schema
import StoreFormat
import Survey

/// Leads references and pairs of removed duplicates to the object that stays, in a copy of a store.
///
/// The table `temp.survivors` has the key of each removed object, the key of the one that stays in
/// its place, and the entity number of that one.
struct DuplicateMerging {
  let survey: StoreSurvey
  /// The table of the objects.
  let table: String

  /// SQL that makes the table of survivors.
  static let preparation = """
    CREATE TEMP TABLE survivors (key INTEGER PRIMARY KEY, kept INTEGER, entity INTEGER);
    CREATE TEMP TABLE moved (row INTEGER PRIMARY KEY, key INTEGER, place)
    """

  /// Notes the survivors, and leads everything to them; what was led elsewhere.
  ///
  /// - Parameter pairs: SQL for the keys of removed objects and of those that stay.
  func merge(_ pairs: String, in db: Database) throws -> [Defect] {
    try db.execute(sql: "DELETE FROM temp.survivors")
    try db.execute(
      sql: """
        INSERT OR IGNORE INTO temp.survivors SELECT p.key, p.kept, x.Z_ENT
        FROM (\(pairs)) AS p JOIN \(SQL.identifier(name: table)) AS x ON x.Z_PK = p.kept
        """)
    let search = DefectSearch(survey: survey)
    let references = search.allReferences.filter { $0.target == table }
    var found: [Defect] = []
    for reference in references where !reference.isPair {
      if let defect = try move(reference, in: db) { found.append(defect) }
    }
    for reference in references where reference.isPair {
      if let defect = try movePairs(reference, in: db) { found.append(defect) }
    }
    for reference in search.allReferences where reference.table == table && !reference.isPair {
      try fill(reference, in: db)
    }
    for reference in references where !reference.isPair {
      if let defect = try release(reference, in: db) { found.append(defect) }
    }
    return found
  }

  /// The entity numbers of objects that a reference may lead to.
  private func numbers(_ reference: DefectSearch.Reference) -> String {
    let model = survey.model
    let relationship = model.relationship(name: reference.property, of: reference.entity)
    let isOwner = reference.column != toOneColumn(reference)
    let target =
      reference.isPair || !isOwner
      ? relationship?.destinationEntityName ?? reference.entity : reference.entity
    return survey.numbers(ofFamily: target)
  }

  private func toOneColumn(_ reference: DefectSearch.Reference) -> String? {
    survey.schema.tables.first { $0.name == reference.table }?
      .column(role: .toOne(entity: reference.entity, name: reference.property))?.name
  }

  /// An SQL test for references to removed objects whose relationship can hold the one that stays.
  private func redirected(_ reference: DefectSearch.Reference) -> String {
    "\(reference.name) IN (SELECT key FROM temp.survivors "
      + "WHERE entity IN (\(numbers(reference))))"
  }

  // MARK: Columns

  private func move(_ reference: DefectSearch.Reference, in db: Database) throws -> Defect? {
    let test = ([redirected(reference)] + [reference.owners].compactMap(\.self))
      .joined(separator: " AND ")
    let order = orderColumn(reference)
    try db.execute(sql: "DELETE FROM temp.moved")
    try db.execute(
      sql: """
        INSERT INTO temp.moved SELECT s.Z_PK, \(reference.name), \(order.map { "s.\($0)" } ?? "NULL")
        FROM \(reference.from) WHERE \(test)
        """)
    // Rows that go as well are not worth a word.
    let keys = try Int64.fetchAll(
      db,
      sql: reference.table == table
        ? "SELECT row FROM temp.moved WHERE row NOT IN (SELECT key FROM temp.survivors) ORDER BY 1"
        : "SELECT row FROM temp.moved ORDER BY 1")
    let column = SQL.identifier(name: reference.column)
    let kept = "(SELECT kept FROM temp.survivors WHERE key = \(column))"
    var changes = ["\(column) = \(kept)"]
    if let number = numberColumn(reference) {
      changes.append("\(number) = (SELECT entity FROM temp.survivors WHERE key = \(column))")
    }
    try db.execute(
      sql: "UPDATE \(SQL.identifier(name: reference.table)) SET "
        + "\(changes.joined(separator: ", ")) WHERE Z_PK IN (SELECT row FROM temp.moved)")
    if let order {
      try number(reference.table, owner: column, place: order, row: "Z_PK", in: db)
    }
    return defect(reference, keys: keys, fate: .merged)
  }

  private func column(
    _ reference: DefectSearch.Reference, where isWanted: (Schema.Column.Role) -> Bool
  ) -> String? {
    survey.schema.tables.first { $0.name == reference.table }?.columns.first {
      reference.columns.contains($0.name) && isWanted($0.role)
    }.map { SQL.identifier(name: $0.name) }
  }

  private func numberColumn(_ reference: DefectSearch.Reference) -> String? {
    column(reference) { if case .toOneEntity = $0 { true } else { false } }
  }

  private func orderColumn(_ reference: DefectSearch.Reference) -> String? {
    column(reference) {
      switch $0 {
      case .toOneOrder, .ownerOrder: true
      default: false
      }
    }
  }

  /// Renumbers the objects of owners that got some from others; added ones come last.
  private func number(
    _ table: String, owner: String, place: String, row: String, in db: Database
  ) throws {
    let name = SQL.identifier(name: table)
    try db.execute(
      sql: """
        UPDATE \(name) SET \(place) = n.place FROM (
          SELECT s.\(row) AS number, 1024 + 1024 * row_number() OVER (
            PARTITION BY s.\(owner) ORDER BY m.row IS NOT NULL, m.key, s.\(place), s.\(row)) AS place
          FROM \(name) AS s LEFT JOIN temp.moved AS m ON m.row = s.\(row)
          WHERE s.\(owner) IN (SELECT x.\(owner) FROM \(name) AS x
            WHERE x.\(row) IN (SELECT row FROM temp.moved))) AS n
        WHERE n.number = \(name).\(row)
        """)
  }

  /// Gives objects that stay what the removed ones refer to, where they refer to nothing.
  private func fill(_ reference: DefectSearch.Reference, in db: Database) throws {
    let name = SQL.identifier(name: table)
    let column = SQL.identifier(name: reference.column)
    let owners = reference.owners.map { " AND \($0)" } ?? ""
    for other in reference.columns.reversed() {
      let value = SQL.identifier(name: other)
      try db.execute(
        sql: """
          UPDATE \(name) AS s SET \(value) = (
            SELECT r.\(value) FROM temp.survivors AS v JOIN \(name) AS r ON r.Z_PK = v.key
            WHERE v.kept = s.Z_PK AND r.\(column) IS NOT NULL AND r.\(column) IS NOT s.Z_PK
            ORDER BY v.key LIMIT 1)
          WHERE \(column) IS NULL AND Z_PK IN (SELECT kept FROM temp.survivors)\(owners)
          """)
    }
  }

  /// Empties references of one-to-one relationships to an object that already has another one.
  private func release(_ reference: DefectSearch.Reference, in db: Database) throws -> Defect? {
    guard
      let relationship = survey.model.relationship(
        name: reference.property, of: reference.entity), !relationship.isToMany,
      let (holder, inverse) = survey.model.inverseWithOwner(of: relationship), !inverse.isToMany,
      let back = survey.schema.tables.first(where: { $0.name == reference.target })?
        .column(role: .toOne(entity: holder.name, name: inverse.name))?.name
    else { return nil }
    let column = SQL.identifier(name: reference.column)
    let name = SQL.identifier(name: reference.table)
    let other =
      "(SELECT t.\(SQL.identifier(name: back)) "
      + "FROM \(SQL.identifier(name: table)) AS t WHERE t.Z_PK = s.\(column))"
    let test = """
      s.\(column) IN (SELECT kept FROM temp.survivors) AND \(other) IS NOT s.Z_PK
      AND \(other) IS NOT NULL AND EXISTS (SELECT 1 FROM \(name) AS o
        WHERE o.\(column) = s.\(column) AND o.Z_PK <> s.Z_PK)
      """
    var keys = try Int64.fetchAll(
      db, sql: "SELECT s.Z_PK FROM \(name) AS s WHERE \(test) ORDER BY 1")
    let list = reference.columns.map { "\(SQL.identifier(name: $0)) = NULL" }
    try db.execute(
      sql: "UPDATE \(name) AS s SET \(list.joined(separator: ", ")) WHERE \(test)")
    if reference.table == table {
      let removed = Set(try Int64.fetchAll(db, sql: "SELECT key FROM temp.survivors"))
      keys.removeAll(where: removed.contains)
    }
    return defect(reference, keys: keys, fate: .nullified)
  }

  // MARK: Pairs

  private func movePairs(_ reference: DefectSearch.Reference, in db: Database) throws -> Defect? {
    guard let join = survey.schema.joinTables.first(where: { $0.name == reference.table }) else {
      return nil
    }
    let name = SQL.identifier(name: join.name)
    let column = SQL.identifier(name: reference.column)
    let test = redirected(reference)
    let keys = try Int64.fetchAll(
      db, sql: "SELECT \(reference.key) FROM \(reference.from) WHERE \(test) ORDER BY 1")
    guard !keys.isEmpty else { return nil }
    // The place of an object at the other end belongs to the order that this object keeps.
    let far = join.first.keyColumn == reference.column ? join.second : join.first
    try db.execute(sql: "DELETE FROM temp.moved")
    try db.execute(
      sql: """
        INSERT INTO temp.moved SELECT s.rowid, \(reference.name), \
        \(far.orderColumn.map { "s.\(SQL.identifier(name: $0))" } ?? "NULL")
        FROM \(reference.from) WHERE \(test)
        """)
    try db.execute(
      sql: """
        UPDATE OR IGNORE \(name)
        SET \(column) = (SELECT kept FROM temp.survivors WHERE key = \(column))
        WHERE rowid IN (SELECT row FROM temp.moved)
        """)
    // A pair that the object which stays has already is left, and goes.
    try db.execute(
      sql: """
        DELETE FROM \(name) WHERE rowid IN (SELECT row FROM temp.moved)
        AND \(column) IN (SELECT key FROM temp.survivors)
        """)
    if let order = far.orderColumn {
      try number(
        join.name, owner: column, place: SQL.identifier(name: order), row: "rowid", in: db)
    }
    return defect(reference, keys: keys, fate: .merged)
  }

  private func defect(
    _ reference: DefectSearch.Reference, keys: [Int64], fate: Defect.Fate
  ) -> Defect? {
    guard !keys.isEmpty else { return nil }
    var defect = Defect(
      kind: .removedTarget, entity: reference.entity, property: reference.property,
      count: Int64(keys.count), keys: keys, fate: fate)
    defect.targetCause = .duplicate
    return defect
  }
}
