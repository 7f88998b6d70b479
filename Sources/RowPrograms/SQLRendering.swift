import ObjectModel
import Schema

/// Keys from `first` to `last`, both included.
package struct KeyRange: Hashable, Codable, Sendable {
  /// The lowest key of the range.
  package var first: Int64
  /// The highest key of the range, which belongs to it.
  package var last: Int64

  /// Makes a range of at least one key.
  package init(first: Int64, last: Int64) {
    precondition(first <= last, "a range runs upward")
    self.first = first
    self.last = last
  }

  /// Every key there can be.
  package static let all = Self(first: .min, last: .max)

  /// The condition that a column lies in the range, or nil where every value does.
  ///
  /// Of ranges that follow each other, each value is in one, be it an integer or not: a real lies
  /// with the integer below it, texts and blobs lie behind all numbers.
  func condition(column: String) -> String? {
    let bounds = [
      first == .min ? nil : "\(column) >= \(first)",
      last == .max ? nil : "\(column) < \(last + 1)",
    ].compactMap(\.self)
    return bounds.isEmpty ? nil : bounds.joined(separator: " AND ")
  }
}

extension TableProgram {
  /// A query for the destination rows of a key range, in key order; of nothing where it is nil.
  ///
  /// It reads the table itself: an index may lack rows.
  ///
  /// - Parameter schema: the name under which the source store is attached.
  package func query(in range: KeyRange?, schema: String) -> String {
    query(where: range.map { $0.condition(column: "s.Z_PK") } ?? "0", schema: schema)
  }

  /// The same for the row whose key is the first parameter of the statement.
  package func queryByKey(schema: String) -> String { query(where: "s.Z_PK = ?1", schema: schema) }

  private func query(where condition: String?, schema: String) -> String {
    let list = columns.map {
      "\(expression(of: $0, schema: schema)) AS \(SQL.identifier(name: $0.name))"
    }
    let number = isOfChanges ? "s.Z_ENT" : entityNumber
    let conditions =
      ["s.\(entityColumn) IN (\(entities.map { "\($0.source)" }.joined(separator: ", ")))"]
      + [condition].compactMap(\.self)
      + (isFiltered ? [takenTest] : [])
    return """
      SELECT s.Z_PK AS Z_PK, \(number) AS Z_ENT, s.Z_OPT AS Z_OPT\
      \(list.map { ",\n  \($0)" }.joined())
      FROM \(schema).\(SQL.identifier(name: sourceTable)) AS s NOT INDEXED
      WHERE \(conditions.joined(separator: " AND "))
      ORDER BY s.Z_PK
      """
  }
}

extension TableProgram {
  /// The entity number of a destination row in SQL, of a source row named `s`.
  var entityNumber: String { choice(entities.map { "\($0.destination)" }) }

  /// A query for expressions over all source rows of a key range, named `s`, in key order.
  package func query(of expressions: [String], in range: KeyRange, schema: String) -> String {
    let condition = range.condition(column: "s.Z_PK").map { " WHERE \($0)" } ?? ""
    return """
      SELECT \(expressions.joined(separator: ", "))
      FROM \(schema).\(SQL.identifier(name: sourceTable)) AS s NOT INDEXED\(condition)
      ORDER BY s.Z_PK
      """
  }
}

extension TableProgram {
  /// The value of a column in SQL, of a source row named `s`: in rows that become ones of the
  /// entity of that number, or in any row; nil where there is no such column or entity.
  package func expression(of name: String, entity number: Int64?, schema: String) -> String? {
    if name == "Z_PK" { return "s.Z_PK" }
    guard let column = columns.first(where: { $0.name == name }) else { return nil }
    guard let number else { return expression(of: column, schema: schema) }
    return entities.firstIndex { $0.destination == number }.map {
      column.operations[$0].expression(schema: schema)
    }
  }
}

extension TableProgram {
  /// A query for how many source rows a key range has, of whatever entity, counted in the table
  /// itself.
  package func count(in range: KeyRange, schema: String) -> String {
    let condition = range.condition(column: "Z_PK").map { " WHERE \($0)" } ?? ""
    return
      "SELECT count(*) FROM \(schema).\(SQL.identifier(name: sourceTable)) NOT INDEXED\(condition)"
  }
}

extension TableProgram {
  /// A query for the number of changes of a key range whose masks name more properties than are
  /// known, by the number of the destination's entity; nil where none can.
  package func wideMaskCount(in range: KeyRange, schema: String) -> String? {
    wideMaskCount(where: range.condition(column: "Z_PK"), schema: schema)
  }

  /// The same for the change whose key is the first parameter of the statement.
  package func wideMaskCountByKey(schema: String) -> String? {
    wideMaskCount(where: "Z_PK = ?1", schema: schema)
  }

  private func wideMaskCount(where test: String?, schema: String) -> String? {
    guard let masks = columns.first(where: { $0.name == HistoryTables.maskColumn }), isOfChanges
    else { return nil }
    let tests = zip(entities, masks.operations).compactMap { entity, operation -> String? in
      guard case .remask(let column, let change) = operation, !change.uncertain.isEmpty else {
        return nil
      }
      let bits = StoredValue.blob(change.uncertainMask).sql
      return "WHEN \(entity.source) THEN CASE WHEN "
        + "\(MaskChange.meetFunction)(\(SQL.identifier(name: column)), \(bits)) "
        + "THEN \(entity.destination) END"
    }
    if tests.isEmpty { return nil }
    let condition = test.map { " WHERE \($0)" } ?? ""
    return """
      SELECT n, count(*) FROM (SELECT CASE \(SQL.identifier(name: entityColumn)) \
      \(tests.joined(separator: " ")) END AS n \
      FROM \(schema).\(SQL.identifier(name: sourceTable)) NOT INDEXED\(condition))
      WHERE n IS NOT NULL GROUP BY 1 ORDER BY 1
      """
  }
}

extension JoinProgram {
  /// A query for the destination rows of a range of first keys, in key order.
  ///
  /// - Parameters:
  ///   - position: after what the rows begin, in SQL: a row number, or a row of two keys; nil for
  ///     all rows.
  ///   - schema: the name under which the source store is attached.
  ///   - numbered: whether the row's number comes first.
  package func query(
    in range: KeyRange, after position: String? = nil, schema: String, numbered: Bool = false
  ) -> String {
    let (one, other) = (
      "s.\(SQL.identifier(name: sources[0] ?? "Z_PK"))", "s.\(SQL.identifier(name: secondColumn))"
    )
    var list = zip(columns, sources).map { column, source in
      let value =
        places[column].map {
          SQL.place(table: $0, condition: "o.first = \(one) AND o.second = \(other)")
        }
        ?? source.map { "s.\(SQL.identifier(name: $0))" } ?? "NULL"
      return "\(value) AS \(SQL.identifier(name: column))"
    }
    if numbered { list.insert("s.rowid AS rowid", at: 0) }
    let first = keepsRowNumbers ? "s.rowid" : one
    let after = position.map {
      keepsRowNumbers ? "\(first) > \($0)" : "(\(one), \(other)) > (\($0))"
    }
    let conditions =
      self.conditions(schema: schema)
      + [range.condition(column: first)].compactMap(\.self)
      + [after].compactMap(\.self)
    // Rows in the order of their pairs come by the index of the pairs, and are counted afterwards.
    let scan = keepsRowNumbers ? " NOT INDEXED" : ""
    return """
      SELECT \(list.joined(separator: ", "))
      FROM \(schema).\(SQL.identifier(name: sourceTable)) AS s\(scan)
      WHERE \(conditions.joined(separator: " AND "))
      ORDER BY \(keepsRowNumbers ? first : "\(one), \(other)")
      """
  }
}

extension JoinProgram {
  /// What a row of the source table, named `s`, has to meet.
  private func conditions(schema: String) -> [String] {
    let keys = [sources[0] ?? "Z_PK", secondColumn].map { "s.\(SQL.identifier(name: $0))" }
    return keys.map { "\($0) IS NOT NULL" } + filters.map { $0.condition(schema: schema) }
      + drops.map { $0.rows.exclusion(key: "s.\(SQL.identifier(name: $0.column))") }
  }

  /// A query for how many rows of one source table some programs take, each counted once; they may
  /// be divided among them.
  package static func count(takenByAny programs: [JoinProgram], schema: String) -> String {
    let table = SQL.identifier(name: programs.first?.sourceTable ?? "")
    let tests = programs.map { "(\($0.conditions(schema: schema).joined(separator: " AND ")))" }
    return """
      SELECT count(*) FROM \(schema).\(table) AS s NOT INDEXED
      WHERE \(tests.joined(separator: " OR "))
      """
  }
}

extension JoinProgram.Filter {
  fileprivate func condition(schema: String) -> String {
    let numbers = kept.map { "\($0)" }.joined(separator: ", ")
    guard let keyColumn else { return "s.Z_ENT IN (\(numbers))" }
    return condition(schema: schema, key: "s.\(SQL.identifier(name: keyColumn))", alias: "t")
  }

  /// A test for the row of a key in the table of the filter, which is named `alias`.
  fileprivate func condition(schema: String, key: String, alias: String) -> String {
    let numbers = kept.map { "\($0)" }.joined(separator: ", ")
    return """
      EXISTS (SELECT 1 FROM \(schema).\(SQL.identifier(name: table)) AS \(alias) \
      WHERE \(alias).Z_PK = \(key) AND \(alias).Z_ENT IN (\(numbers)))
      """
  }
}

extension TableProgram {
  fileprivate func expression(of column: ColumnProgram, schema: String) -> String {
    let rendered = column.operations.map { $0.expression(schema: schema) }
    guard let first = rendered.first else { return "NULL" }
    if rendered.allSatisfy({ $0 == first }) { return first }
    return choice(rendered)
  }

  /// One of some values, one for each of the entities in their order: by the entity of a row, and
  /// by the mapping that takes it where several do.
  private func choice(_ values: [String]) -> String {
    let cases = byNumber(values).map { number, choices in
      let parts = choices.map { entity, value in
        "WHEN \(entity.others?.exclusion(key: "s.Z_PK") ?? "1") THEN \(value)"
      }
      let one = choices.count == 1 ? choices[0].1 : "CASE \(parts.joined(separator: " ")) END"
      return "WHEN \(number) THEN \(one)"
    }
    return cases.isEmpty ? "NULL" : "CASE s.\(entityColumn) \(cases.joined(separator: " ")) END"
  }

  /// A test that holds of rows of these entities that some mapping takes.
  private var takenTest: String {
    let cases = byNumber(entities.map { $0.others?.exclusion(key: "s.Z_PK") }).compactMap {
      number, choices -> String? in
      let tests = choices.compactMap(\.1)
      guard tests.count == choices.count else { return nil }
      return "WHEN \(number) THEN \(tests.joined(separator: " OR "))"
    }
    return "CASE s.\(entityColumn) \(cases.joined(separator: " ")) ELSE 1 END"
  }

  /// The entities of each source number with what belongs to them.
  private func byNumber<Value>(
    _ values: [Value]
  ) -> [(number: Int64, choices: [(Renumbering, Value)])] {
    var result: [(number: Int64, choices: [(Renumbering, Value)])] = []
    for (entity, value) in zip(entities, values) {
      if let place = result.firstIndex(where: { $0.number == entity.source }) {
        result[place].choices.append((entity, value))
      } else {
        result.append((entity.source, [(entity, value)]))
      }
    }
    return result
  }
}

extension ColumnOperation {
  /// The value in SQL, of a row named `s`.
  package func expression(schema: String) -> String { expression(schema: schema, input: nil) }

  /// The operation in SQL, of the expression `input` instead of the column that it names.
  fileprivate func expression(schema: String, input: String?) -> String {
    func name(column: String) -> String { input ?? "s.\(SQL.identifier(name: column))" }
    switch self {
    case .constant(let value): return value.sql
    case .copy(let column, let replacement):
      return Self.value(expression: name(column: column), replacement: replacement)
    case .convert(let column, let type, let replacement):
      return Self.value(
        expression: type.converting(name(column: column)), replacement: replacement)
    case .addExternalTag(let column, let replacement):
      // Where texts are in UTF-16, SQLite joins blobs by units of two bytes.
      return Self.value(
        expression: """
          CASE WHEN length(CAST('a' AS BLOB)) = 1 THEN CAST(X'01' || \(name(column: column)) AS BLOB) \
          ELSE godwit_tagged(CAST(\(name(column: column)) AS BLOB)) END
          """, replacement: replacement)
    case .removeExternalTag(let column, let replacement):
      return Self.value(
        expression: """
          CASE WHEN typeof(\(name(column: column))) <> 'blob' THEN \(name(column: column)) \
          WHEN substr(\(name(column: column)), 1, 1) = X'02' THEN godwit_external(\(name(column: column))) \
          WHEN substr(\(name(column: column)), 1, 1) = X'01' THEN substr(\(name(column: column)), 2) \
          ELSE \(name(column: column)) END
          """, replacement: replacement)
    case .reference(let column, let filter):
      guard let filter else { return name(column: column) }
      let kept = filter.kept.map { "\($0)" }.joined(separator: ", ")
      let number = filter.number(schema: schema)
      return "CASE WHEN \(number) IN (\(kept)) THEN \(name(column: column)) END"
    case .renumber(let column, let map): return map.renumbering(name(column: column))
    case .lookUpNumber(let column, let table, let map):
      return map.renumbering(
        """
        (SELECT t.Z_ENT FROM \(schema).\(SQL.identifier(name: table)) AS t \
        WHERE t.Z_PK = \(name(column: column)))
        """)
    case .ownerKey(let table, let column, let entities, let others):
      let test = others.map { " AND \($0.exclusion(key: "t.Z_PK"))" } ?? ""
      return """
        (SELECT min(t.Z_PK) FROM \(schema).\(SQL.identifier(name: table)) AS t \
        WHERE t.\(SQL.identifier(name: column)) = s.Z_PK \
        AND t.Z_ENT IN (\(entities.map { "\($0)" }.joined(separator: ", ")))\(test))
        """
    case .paired(let look): return look.expression(schema: schema)
    case .unless(let key, let rows, let operation):
      let test = rows.exclusion(key: "s.\(SQL.identifier(name: key))")
      return "CASE WHEN \(test) THEN \(operation.expression(schema: schema, input: input)) END"
    case .either(let first, let second):
      return "ifnull(\(first.expression(schema: schema)), \(second.expression(schema: schema)))"
    case .call(let mapping, let property, _):
      return "godwit_call(\(mapping), \(StoredValue.text(property).sql), s.Z_PK)"
    case .place(let table): return SQL.place(table: table, condition: "o.first = s.Z_PK")
    case .remask(let column, let change):
      return "\(MaskChange.function)(\(name(column: column)), \(SQL.literal(text: change.text)))"
    case .then(let first, let second):
      return second.expression(schema: schema, input: "(\(first.expression(schema: schema)))")
    }
  }

  private static func value(expression: String, replacement: StoredValue) -> String {
    replacement == .null ? expression : "ifnull(\(expression), \(replacement.sql))"
  }
}

extension PairLookUp {
  /// The value in SQL, for a row named `s`.
  fileprivate func expression(schema: String) -> String {
    let key = "t.\(SQL.identifier(name: other))"
    let test = filter.map { " AND \($0.condition(schema: schema, key: key, alias: "f"))" } ?? ""
    return """
      (SELECT t.\(SQL.identifier(name: value)) FROM \(schema).\(SQL.identifier(name: table)) AS t \
      WHERE t.\(SQL.identifier(name: own)) = s.Z_PK AND \(key) IS NOT NULL\(test) \
      ORDER BY \(key) LIMIT 1)
      """
  }
}

extension ReferenceFilter {
  /// The entity number of the object that a row leads to.
  fileprivate func number(schema: String) -> String {
    let column = "s.\(SQL.identifier(name: column))"
    guard let table else { return column }
    return
      "(SELECT t.Z_ENT FROM \(schema).\(SQL.identifier(name: table)) AS t WHERE t.Z_PK = \(column))"
  }
}

extension [TableProgram.Renumbering] {
  fileprivate func renumbering(_ expression: String) -> String {
    if isEmpty { return "NULL" }
    let cases = map { "WHEN \($0.source) THEN \($0.destination)" }
    return "CASE \(expression) \(cases.joined(separator: " ")) END"
  }
}
