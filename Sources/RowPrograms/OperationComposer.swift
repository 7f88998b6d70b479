import ObjectModel
import Schema

/// Replaces columns of a store on paper by the operations that would have filled them.
struct OperationComposer {
  private let first: MigrationProgram

  init(first: MigrationProgram) { self.first = first }

  /// The program that would have filled that table; nil where the table would be empty.
  func table(name: String) -> TableProgram? {
    first.tables.first { $0.destinationTable == name }
  }

  /// An operation on a table between, as one on the table before it.
  func compose(
    _ operation: ColumnOperation, before: TableProgram, entity: Int
  ) throws(NotComposable) -> ColumnOperation {
    func made(_ column: String) throws(NotComposable) -> ColumnOperation {
      guard let program = before.columns.first(where: { $0.name == column }) else {
        throw NotComposable()
      }
      return program.operations[entity]
    }
    switch operation {
    case .constant: return operation
    case .place: throw NotComposable()
    case .copy(let column, let replacement):
      return Self.replacingNull(try made(column), replacement: replacement)
    case .convert(let column, let type, let replacement):
      switch try made(column) {
      case .constant(.null): return .constant(replacement)
      case .copy(let source, .null):
        return .convert(column: source, to: type, replacingNull: replacement)
      case let value: return .then(value, operation)
      }
    case .addExternalTag(let column, let replacement):
      return try tagged(try made(column), replacement: replacement) {
        .addExternalTag(column: $0, replacingNull: replacement)
      }
    case .removeExternalTag(let column, let replacement):
      return try tagged(try made(column), replacement: replacement) {
        .removeExternalTag(column: $0, replacingNull: replacement)
      }
    case .reference(let column, let filter):
      return try reference(operation: try made(column), filter: filter, made: made)
    case .renumber(let column, let map):
      return try Self.renumbered(try made(column), map: map)
    case .lookUpNumber(let column, let name, let map):
      guard let target = table(name: name) else { return .constant(.null) }
      switch try made(column) {
      case .reference(let source, _):
        return .lookUpNumber(
          column: source, table: target.sourceTable,
          map: Self.composed(target.entities, then: map))
      case .constant(.null): return .constant(.null)
      default: throw NotComposable()
      }
    case .ownerKey(let name, let column, let entities, let others):
      // A step that chooses among rows needs those of the store before it.
      if others != nil { throw NotComposable() }
      guard let owners = table(name: name) else { return .constant(.null) }
      guard case .column(let source, let holders) = try plainReference(column, before: owners)
      else { return .constant(.null) }
      return .ownerKey(
        table: owners.sourceTable, column: source,
        entities: owners.entities.filter {
          entities.contains($0.destination) && holders.contains($0.source)
        }.map(\.source), others: nil)
    // What it is called for, or looks up, would exist on paper only; masks are made at the end.
    case .call, .remask, .unless, .either, .paired: throw NotComposable()
    case .then(let key, .lookUpNumber(let column, let name, let map)):
      guard let target = table(name: name) else { return .constant(.null) }
      let made = try compose(key, before: before, entity: entity)
      if made == .constant(.null) { return made }
      return .then(
        made,
        .lookUpNumber(
          column: column, table: target.sourceTable,
          map: Self.composed(target.entities, then: map)))
    case .then(let inner, let outer):
      return .then(try compose(inner, before: before, entity: entity), outer)
    }
  }

  /// An entity number that an operation makes, with another in its place.
  private static func renumbered(
    _ operation: ColumnOperation, map: [TableProgram.Renumbering]
  ) throws(NotComposable) -> ColumnOperation {
    switch operation {
    case .renumber(let source, let earlier):
      .renumber(column: source, map: composed(earlier, then: map))
    case .lookUpNumber(let source, let table, let earlier):
      .lookUpNumber(column: source, table: table, map: composed(earlier, then: map))
    case .then(let key, let number): .then(key, try renumbered(number, map: map))
    case .constant(.null): .constant(.null)
    default: throw NotComposable()
    }
  }

  /// The value of an operation, or another where it is missing.
  private static func replacingNull(
    _ operation: ColumnOperation, replacement: StoredValue
  ) -> ColumnOperation {
    if replacement == .null { return operation }
    switch operation {
    case .constant(.null): return .constant(replacement)
    case .constant: return operation
    case .copy(let column, .null): return .copy(column: column, replacingNull: replacement)
    case .convert(let column, let type, .null):
      return .convert(column: column, to: type, replacingNull: replacement)
    case .copy, .convert: return operation
    default: return .then(operation, .copy(column: "", replacingNull: replacement))
    }
  }

  /// A value whose tag comes or goes: the bytes have to be those of a column that is there.
  private func tagged(
    _ value: ColumnOperation, replacement: StoredValue, make: (String) -> ColumnOperation
  ) throws(NotComposable) -> ColumnOperation {
    switch value {
    case .constant(.null): return .constant(replacement)
    case .copy(let column, .null): return make(column)
    default: throw NotComposable()
    }
  }

  private func reference(
    operation: ColumnOperation, filter: ReferenceFilter?,
    made: (String) throws(NotComposable) -> ColumnOperation
  ) throws(NotComposable) -> ColumnOperation {
    guard let filter else { return operation }
    switch operation {
    case .constant(.null): return operation
    case .reference(let source, let earlier):
      if let name = filter.table {
        return try lookedUp(operation, filter: filter, in: name, made: made)
      }
      guard case .renumber(let number, let map) = try made(filter.column) else {
        throw NotComposable()
      }
      var kept = map.filter { filter.kept.contains($0.destination) }.map(\.source)
      if let earlier {
        guard earlier.table == nil, earlier.column == number else { throw NotComposable() }
        kept.removeAll { !earlier.kept.contains($0) }
      }
      return .reference(
        column: source, filter: ReferenceFilter(column: number, table: nil, kept: kept))
    default: throw NotComposable()
    }
  }

  /// A reference that is kept by the entity number of the row which it leads to.
  private func lookedUp(
    _ operation: ColumnOperation, filter: ReferenceFilter, in name: String,
    made: (String) throws(NotComposable) -> ColumnOperation
  ) throws(NotComposable) -> ColumnOperation {
    guard let target = table(name: name) else { return .constant(.null) }
    guard case .reference(let source, nil) = operation,
      case .reference(let key, nil) = try made(filter.column)
    else { throw NotComposable() }
    let kept = target.entities.filter { filter.kept.contains($0.destination) }.map(\.source)
    return .reference(
      column: source, filter: ReferenceFilter(column: key, table: target.sourceTable, kept: kept))
  }

  enum PlainReference {
    /// The column would be empty.
    case none
    /// The column, and the source entities whose rows hold the reference in it.
    case column(String, holders: [Int64])
  }

  /// The source column of a reference that all entities of a table make alike and unfiltered, as
  /// far as they have it.
  func plainReference(
    _ column: String, before: TableProgram
  ) throws(NotComposable) -> PlainReference {
    guard let program = before.columns.first(where: { $0.name == column }) else {
      throw NotComposable()
    }
    var found: String?
    var holders: [Int64] = []
    for (entity, operation) in zip(before.entities, program.operations) {
      switch operation {
      case .constant(.null): break
      case .reference(let source, nil) where found == nil || found == source:
        found = source
        holders.append(entity.source)
      default: throw NotComposable()
      }
    }
    return found.map { .column($0, holders: holders) } ?? .none
  }

  /// A filter by the numbers between, as one by the numbers before.
  func filter(
    _ filter: JoinProgram.Filter, keyColumn: String?
  ) throws(NotComposable) -> JoinProgram.Filter {
    guard let target = table(name: filter.table) else { throw NotComposable() }
    return .init(
      keyColumn: keyColumn, table: target.sourceTable,
      kept: target.entities.filter { filter.kept.contains($0.destination) }.map(\.source))
  }

  private static func composed(
    _ first: [TableProgram.Renumbering], then second: [TableProgram.Renumbering]
  ) -> [TableProgram.Renumbering] {
    first.compactMap { earlier in
      second.first { $0.source == earlier.destination }.map {
        .init(source: earlier.source, destination: $0.destination)
      }
    }
  }
}
