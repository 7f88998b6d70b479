package import Mapping
import ObjectModel
package import Schema

/// Compiles the programs of the history tables, from what becomes of the entities.
///
/// It is what Core Data's own migrations in place do to them (docs/reference/store-format.md,
/// "Persistent history"): every row stays with its key, but for changes of entities that are gone.
package struct HistoryCompiler {
  private let source: StoreSchema
  private let destination: StoreSchema
  private let origins: AttributeOrigins

  /// Takes the schemas of the stores, and the mappings between them in their order; where either
  /// store has no history, there is nothing to compile.
  package init(source: StoreSchema, destination: StoreSchema, mappings: [MappingModel]) {
    self.source = source
    self.destination = destination
    origins = AttributeOrigins(mappings: mappings)
  }

  /// The programs of all history tables of the destination.
  ///
  /// - Parameter tables: the programs of the entities, which map old entity numbers to new ones.
  package func programs(tables: [TableProgram]) -> [TableProgram] {
    guard let before = source.history, let after = destination.history else { return [] }
    let existing = Set(before.tables.flatMap(\.columns).map(\.name))
    return after.tables.map { table in
      table.name == HistoryTables.changes
        ? changes(table, existing: existing, entities: tables.flatMap(\.entities))
        : unchanged(table)
    }
  }

  /// A program that takes every row as it is.
  private func unchanged(_ table: EntityTable) -> TableProgram {
    let number = HistoryTables.entity(ofTable: table.name)?.number.rawValue ?? 0
    return TableProgram(
      sourceTable: table.name, destinationTable: table.name,
      entities: [.init(source: number, destination: number)],
      columns: table.columns.dropFirst(3).map {
        ColumnProgram(
          name: $0.name, type: $0.type,
          operations: [.copy(column: $0.name, replacingNull: .null)])
      })
  }

  private func changes(
    _ table: EntityTable, existing: Set<String>, entities: [TableProgram.Renumbering]
  ) -> TableProgram {
    // Where mappings divide an entity, there are no changes of it.
    var pairs: [TableProgram.Renumbering] = []
    for entity in entities.sorted(by: { $0.source < $1.source })
    where pairs.last?.source != entity.source {
      pairs.append(.init(source: entity.source, destination: entity.destination))
    }
    let changes = pairs.map {
      EntityChange($0, source: source, destination: destination, origins: origins)
    }
    let columns = table.columns.dropFirst(3).map { column in
      ColumnProgram(
        name: column.name, type: column.type,
        operations: changes.map { $0.operation(column.name, existing: existing) })
    }
    return TableProgram(
      sourceTable: table.name, destinationTable: table.name, entities: pairs, columns: columns,
      entityColumn: HistoryTables.entityColumn)
  }
}

extension HistoryTables {
  /// The column of a change with the entity number of the object that changed.
  package static let entityColumn = "ZENTITY"
  /// The column of a change with the properties that it updated.
  package static let maskColumn = "ZCOLUMNS"
}

/// What becomes of the changes of one entity.
private struct EntityChange {
  let numbers: TableProgram.Renumbering
  let mask: MaskChange?
  /// The tombstone of the source for each of those of the destination's entity; nil for a new one.
  let preserved: [Int?]
  let keepsTombstones: Bool

  init(
    _ numbers: TableProgram.Renumbering, source: StoreSchema, destination: StoreSchema,
    origins: AttributeOrigins
  ) {
    self.numbers = numbers
    let before = source.changedEntity(number: numbers.source)
    let after = destination.changedEntity(number: numbers.destination)
    guard let before, let after else {
      (mask, preserved, keepsTombstones) = (nil, [], true)
      return
    }
    let masks = MaskChange(from: before.layout, to: after.layout)
    mask = masks.isIdentity ? nil : masks
    let origin = origins.origin(from: before.entity, to: after.entity)
    preserved = after.preserved.map { origin($0).flatMap(before.preserved.firstIndex) }
    keepsTombstones = preserved == Array(before.preserved.indices)
  }

  func operation(_ column: String, existing: Set<String>) -> ColumnOperation {
    if column == HistoryTables.entityColumn, numbers.source != numbers.destination {
      return .constant(.integer(numbers.destination))
    }
    if column == HistoryTables.maskColumn, let mask { return .remask(column: column, mask) }
    if column.hasPrefix("ZTOMBSTONE"), let place = Int(column.dropFirst("ZTOMBSTONE".count)),
      !keepsTombstones, place < preserved.count
    {
      guard let from = preserved[place] else { return .constant(.null) }
      return copy("ZTOMBSTONE\(from)", existing: existing)
    }
    // Beyond those of the entity, Core Data leaves what was there.
    return copy(column, existing: existing)
  }

  private func copy(_ column: String, existing: Set<String>) -> ColumnOperation {
    existing.contains(column)
      ? .copy(column: column, replacingNull: .null) : .constant(.null)
  }
}

/// The attributes of a source that those of a destination continue, through consecutive mappings.
private struct AttributeOrigins {
  let mappings: [MappingModel]

  /// Returns a function from attributes of a destination entity to those of a source entity.
  func origin(from source: Entity, to destination: Entity) -> (String) -> String? {
    var steps: [EntityMapping] = []
    var name = source.name
    for (place, mapping) in mappings.enumerated() {
      // An entity that is divided is so by the only mapping.
      let isLast = place == mappings.count - 1
      let found =
        isLast
        ? mapping.maker(from: name, to: destination.name)
        : mapping.makers(ofSource: name).first
      guard let found, let next = found.destinationEntityName else { return { $0 } }
      steps.append(found)
      name = next
    }
    return { attribute in
      steps.reversed().reduce(attribute as String?) { name, step in
        name.flatMap(step.continuedAttribute)
      }
    }
  }
}

extension EntityMapping {
  /// The attribute of the source that one of the destination continues; nil for a new one.
  fileprivate func continuedAttribute(_ name: String) -> String? {
    var others: Set<String> = []
    for mapping in attributeMappings {
      guard case .attribute(let origin, _) = mapping.origin else { continue }
      if mapping.name == name { return origin }
      others.insert(origin)
    }
    // A value that is set or computed replaces none of a deleted object.
    return others.contains(name) ? nil : name
  }
}

extension StoreSchema {
  fileprivate func changedEntity(
    number: Int64
  ) -> (entity: Entity, layout: HistoryLayout, preserved: [String])? {
    guard let name = numbers[EntityNumber(rawValue: number)], let entity = model.entity(name: name),
      let table = table(of: entity)
    else { return nil }
    return (
      entity, HistoryLayout(of: entity, table: table, in: model),
      HistoryTables.preserved(of: entity, in: model)
    )
  }
}
