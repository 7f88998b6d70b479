import GRDB
import Mapping
import ObjectModel
import Schema
import StoreFormat
import Survey

/// Searches the rows of a store for what its own model does not allow, all tests on one table in
/// one pass.
struct DefectSearch {
  let survey: StoreSurvey
  /// The rows from which on a table is not sorted before it is known that rows may agree.
  var manyRows = TargetKeys.manyRows

  /// A test that rows with a defect satisfy.
  struct Test {
    var kind: Defect.Kind
    var entity: String
    var property: String
    var rows: RowCounter.Question
    /// The column with the reported key.
    var key = "s.Z_PK"
    /// The statement that repairs the rows that satisfy the test.
    var remedy = Remedy.none
  }

  /// The statement that repairs a row.
  enum Remedy: Equatable {
    case none
    /// Sets columns to NULL.
    case nullify([String])
    /// Deletes the row.
    case delete
  }

  /// The defects of the store, which stay unless a choice repairs them.
  func defects(fate: (Defect.Kind) -> Defect.Fate = { _ in .kept }) throws -> [Defect] {
    try defects(of: open(), fate: fate)
  }

  /// Tests that are ready to be counted.
  struct Open {
    fileprivate var search: DefectSearch
    fileprivate var tests: [Test]
    fileprivate var keys: TargetKeys

    /// Makes the functions that the tests call known to a connection.
    func install(in db: Database) { keys.install(in: db) }

    /// Adds the tests to a counter, which answers them in the passes of its others.
    func ask(_ counter: inout RowCounter) {
      for test in tests { counter.ask(test.rows) }
    }

    /// The defects, by the answers of a counter.
    func defects(
      counter: RowCounter, fate: (Defect.Kind) -> Defect.Fate = { _ in .kept }
    ) throws -> [Defect] {
      try tests.compactMap { test in
        let count = counter.answer(test.rows)
        guard count > 0 else { return nil }
        return Defect(
          kind: test.kind, entity: test.entity, property: test.property, count: count,
          keys: try search.keys(of: test, limit: Loss.keyLimit), fate: fate(test.kind))
      }
    }
  }

  /// All tests, for the passes of another counter.
  func open() throws -> Open {
    let keys = try TargetKeys(of: allReferences, in: survey)
    return Open(
      search: self, tests: references(in: keys) + oneSided + (try orders()) + missingValues,
      keys: keys)
  }

  private func defects(
    of open: Open, fate: (Defect.Kind) -> Defect.Fate
  ) throws -> [Defect] {
    guard !open.tests.isEmpty else { return [] }
    var counter = RowCounter(survey.reader, prepare: open.install)
    open.ask(&counter)
    try counter.count()
    return try open.defects(counter: counter, fate: fate)
  }

  /// References that lead nowhere, and stay as they are.
  func danglingReferences() throws -> [Defect] {
    let keys = try TargetKeys(of: allReferences, in: survey)
    return try defects(of: Open(search: self, tests: references(in: keys), keys: keys)) { _ in .kept
    }
  }

  /// The same as losses that have to be allowed.
  func danglingLosses() throws -> [Loss] {
    try danglingReferences().map {
      Loss(
        kind: .relationship, cause: .dangling, entity: $0.entity, property: $0.property,
        count: $0.count, keys: $0.keys)
    }
  }

  /// The keys of rows that satisfy a test, in their order.
  func keys(of test: Test, limit: Int? = nil) throws -> [Int64] {
    try survey.reader.connection.run { try Self.keys(of: test, in: $0, limit: limit) }
  }

  /// The same in another copy of the store.
  static func keys(of test: Test, in db: Database, limit: Int? = nil) throws -> [Int64] {
    let end = limit.map { " LIMIT \($0)" } ?? ""
    return try Row.fetchAll(
      db,
      sql: "SELECT \(test.key) FROM \(test.rows.from) WHERE \(test.rows.test) ORDER BY 1\(end)"
    ).compactMap { Int64.fromDatabaseValue($0[0]) }
  }

  // MARK: References

  /// A reference in a column, or a pair in a join table.
  struct Reference {
    var entity: String
    var property: String
    /// The table of the row, and that of the object.
    var table: String
    var target: String
    var column: String
    /// The columns that belong to the reference, its own first.
    var columns: [String]
    /// Which rows have it.
    var owners: String?
    var key = "s.Z_PK"
    var isPair = false

    var from: String { "\(SQL.identifier(name: table)) AS s NOT INDEXED" }
    var name: String { "s.\(SQL.identifier(name: column))" }
    var keys: RowCounter.Keys {
      isPair ? .init(table: table, column: "rowid") : .init(table: table)
    }
    var remedy: Remedy { isPair ? .delete : .nullify(columns) }

    /// The test of rows whose reference satisfies another one as well.
    func test(_ kind: Defect.Kind, where condition: String) -> Test {
      let parts = ["\(name) IS NOT NULL", owners, "(\(condition))"].compactMap(\.self)
      return Test(
        kind: kind, entity: entity, property: property,
        rows: .init(from: from, test: parts.joined(separator: " AND "), parts: keys), key: key,
        remedy: remedy)
    }
  }

  /// References that lead nowhere; without keys the tests serve in any copy of the store.
  func references(in keys: TargetKeys? = nil) -> [Test] {
    allReferences.map { reference in
      let search =
        "NOT EXISTS (SELECT 1 FROM \(SQL.identifier(name: reference.target)) AS t "
        + "WHERE t.Z_PK = \(reference.name))"
      return reference.test(
        .dangling, where: keys?.test(of: reference, otherwise: search) ?? search)
    }
  }

  /// References with the number of an entity that they cannot lead to.
  var unknownReferences: [Test] {
    allReferences.compactMap { reference in
      guard let owner = survey.model.entity(name: reference.entity), reference.columns.count > 1,
        let relationship = owner.relationships.first(where: { $0.name == reference.property }),
        let table = survey.schema.tables.first(where: { $0.name == reference.table }),
        let number = table.column(
          role: .toOneEntity(entity: reference.entity, name: reference.property))?.name
      else { return nil }
      let name = "s.\(SQL.identifier(name: number))"
      let known = survey.numbers(ofFamily: relationship.destinationEntityName)
      return reference.test(
        .unknownReference, where: "\(name) IS NOT NULL AND \(name) NOT IN (\(known))")
    }
  }

  /// All references of the store, those of join tables last.
  var allReferences: [Reference] {
    survey.schema.tables.flatMap { table in
      table.columns.compactMap { reference(in: $0, of: table) }
    } + survey.schema.joinTables.flatMap(pairs)
  }

  private func reference(in column: Schema.Column, of table: EntityTable) -> Reference? {
    let owner: String
    let property: String
    let others: [Schema.Column.Role]
    switch column.role {
    case .toOne(let entity, let name):
      (owner, property) = (entity, name)
      others = [.toOneEntity(entity: entity, name: name), .toOneOrder(entity: entity, name: name)]
    case .owner(let entity, let name):
      (owner, property) = (entity, name)
      others = [.ownerOrder(entity: entity, name: name)]
    default: return nil
    }
    guard let entity = survey.model.entity(name: owner),
      let relationship = entity.relationships.first(where: { $0.name == property })
    else { return nil }
    // What has no inverse stands on the rows of its objects, and leads to their owner.
    let isOwner = if case .owner = column.role { true } else { false }
    let target = isOwner ? owner : relationship.destinationEntityName
    guard let name = self.table(of: target) else { return nil }
    let holders = isOwner ? relationship.destinationEntityName : owner
    return Reference(
      entity: owner, property: property, table: table.name, target: name, column: column.name,
      columns: [column.name] + others.compactMap { table.column(role: $0)?.name },
      owners: "s.Z_ENT IN (\(survey.numbers(ofFamily: holders)))")
  }

  private func pairs(of join: JoinTable) -> [Reference] {
    [(join.first, join.second), (join.second, join.first)].compactMap { end, other in
      guard let target = table(of: end.entityName) else { return nil }
      // A relationship is that of the object whose key the other column has.
      return Reference(
        entity: other.entityName, property: other.relationshipName, table: join.name,
        target: target, column: end.keyColumn, columns: [end.keyColumn],
        owners: "s.\(SQL.identifier(name: other.keyColumn)) IS NOT NULL",
        key: "s.\(SQL.identifier(name: other.keyColumn))", isPair: true)
    }
  }

  private func table(of entity: String) -> String? {
    survey.model.entity(name: entity).flatMap { survey.schema.table(of: $0)?.name }
  }

  // MARK: One-to-one relationships

  /// References to objects that do not lead back.
  private var oneSided: [Test] {
    allReferences.compactMap { reference in
      guard !reference.isPair, let owner = survey.model.entity(name: reference.entity),
        let relationship = owner.relationships.first(where: { $0.name == reference.property }),
        !relationship.isToMany,
        let (holder, inverse) = survey.model.inverseWithOwner(of: relationship),
        !inverse.isToMany,
        let table = survey.schema.tables.first(where: { $0.name == reference.target }),
        let back = table.column(role: .toOne(entity: holder.name, name: inverse.name))
      else { return nil }
      return reference.test(
        .oneSided,
        where: "EXISTS (SELECT 1 FROM \(SQL.identifier(name: reference.target)) AS t "
          + "WHERE t.Z_PK = \(reference.name) "
          + "AND t.\(SQL.identifier(name: back.name)) IS NOT s.Z_PK)")
    }
  }

  // MARK: Orders

  private func orders() throws -> [Test] {
    try allReferences.compactMap { reference in
      let order: String?
      if reference.isPair {
        let join = survey.schema.joinTables.first { $0.name == reference.table }
        order = join.flatMap { join in
          [join.first, join.second].first { $0.keyColumn == reference.column }?.orderColumn
        }
      } else {
        order =
          survey.schema.tables.first { $0.name == reference.table }?.columns.first {
            reference.columns.contains($0.name) && $0.role.isOrder
          }?.name
      }
      guard let order else { return nil }
      let owner = reference.isPair ? reference.key : reference.name
      let place = "s.\(SQL.identifier(name: order))"
      let isOdd = "typeof(\(place)) <> 'integer'"
      guard try mayRepeat([owner, place], of: reference) else {
        return reference.test(.order, where: isOdd).withoutRemedy(inParts: true)
      }
      let twice =
        "s.rowid IN (SELECT row FROM (SELECT s.rowid AS row, count(*) OVER "
        + "(PARTITION BY \(owner), \(place)) AS n FROM \(reference.from) "
        + "WHERE \(owner) IS NOT NULL AND \(place) IS NOT NULL) WHERE n > 1)"
      return reference.test(.order, where: "\(isOdd) OR \(twice)").withoutRemedy(inParts: false)
    }
  }

  /// Whether two rows of a table may have the same numbers in some columns; a large table is not
  /// sorted where none can.
  private func mayRepeat(_ columns: [String], of reference: Reference) throws -> Bool {
    let rows = survey.estimatedRows(ofTable: reference.table)
    guard rows >= manyRows else { return true }
    // One number may be stored as an integer in one row and as a real in another.
    let numbers = columns.map { "\($0) + 0.0" }.joined(separator: ", ")
    let test = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
    return try survey.reader.connection.run { db in
      try RowRepetition.isPossible(
        in: "SELECT \(numbers) FROM \(reference.from) WHERE \(test)", rows: rows, db: db)
    }
  }

  // MARK: Values

  private var missingValues: [Test] {
    survey.schema.tables.flatMap { table in
      table.columns.compactMap { column in
        guard let (entity, name) = mandatory(column.role) else { return nil }
        return Test(
          kind: .missingValue, entity: entity, property: name,
          rows: .init(
            from: "\(SQL.identifier(name: table.name)) AS s NOT INDEXED",
            test: "s.\(SQL.identifier(name: column.name)) IS NULL "
              + "AND s.Z_ENT IN (\(survey.numbers(ofFamily: entity)))",
            parts: .init(table: table.name)))
      }
    }
  }

  /// The property that a column must have a value of; nil where it may be NULL.
  private func mandatory(_ role: Schema.Column.Role) -> (entity: String, name: String)? {
    switch role {
    case .attribute(let entity, let name):
      let attribute = survey.model.entity(name: entity)?.leafAttributes.first { $0.name == name }
      return attribute?.isOptional == false ? (entity, name) : nil
    case .toOne(let entity, let name):
      let relationship = survey.model.entity(name: entity)?.relationships.first { $0.name == name }
      return relationship?.isMandatoryReference == true ? (entity, name) : nil
    default: return nil
    }
  }
}

extension DefectSearch.Test {
  /// The test of rows that are not repaired.
  ///
  /// - Parameter inParts: whether each row shows the defect by itself.
  fileprivate func withoutRemedy(inParts: Bool) -> Self {
    var result = self
    result.remedy = .none
    if !inParts { result.rows.parts = nil }
    return result
  }
}

extension Schema.Column.Role {
  fileprivate var isOrder: Bool {
    switch self {
    case .toOneOrder, .ownerOrder: true
    default: false
    }
  }
}
