package import Mapping
import ObjectModel
package import Schema

/// Compiles a mapping model into one typed program per table.
package struct ProgramCompiler {
  let mapping: MappingModel
  let source: StoreSchema
  let destination: StoreSchema
  let calls: RowCalls?
  private let mappings: [String?: [EntityMapping]]
  private let families: FamilyMakers

  /// Takes the source's schema with the names that the store really uses, and what of the mapping
  /// expressions and policies compute row by row.
  package init(
    mapping: MappingModel, source: StoreSchema, destination: StoreSchema, calls: RowCalls? = nil
  ) {
    self.calls = calls
    self.mapping = mapping
    self.source = source
    self.destination = destination
    mappings = Dictionary(grouping: mapping.entityMappings, by: \.destinationEntityName)
    families = FamilyMakers(mapping)
  }

  /// What mappings make of families of entities, found once for each pair of families: each mapping
  /// of a large family has relationships to it.
  private final class FamilyMakers {
    struct Families: Hashable {
      var source: String
      var destination: String
    }

    let bySource: [String?: [EntityMapping]]
    var makers: [Families: [EntityMapping]] = [:]
    var numbers: [Families: [TableProgram.Renumbering]] = [:]
    var untaken: [Families: UntakenRows?] = [:]

    init(_ mapping: MappingModel) {
      bySource = Dictionary(
        grouping: mapping.entityMappings.filter(\.isMaker), by: \.sourceEntityName)
    }

    /// The known value of two families, or the one that a body finds.
    func value<Value>(
      _ path: ReferenceWritableKeyPath<FamilyMakers, [Families: Value]>, source: String,
      destination: String, find: () -> Value
    ) -> Value {
      let families = Families(source: source, destination: destination)
      if let known = self[keyPath: path][families] { return known }
      let found = find()
      self[keyPath: path][families] = found
      return found
    }
  }

  /// The rows of a source entity's family from which no mapping makes objects of a destination
  /// family; nil if the entity number alone identifies them.
  func untaken(ofFamily name: String, within: String) -> UntakenRows? {
    families.value(\.untaken, source: name, destination: within) {
      let makers = makers(ofFamily: name, within: within)
      return makers.contains(where: \.isFiltered) ? untaken(by: makers, of: name) : nil
    }
  }

  private func untaken(by makers: [EntityMapping], of entity: String) -> UntakenRows? {
    source.model.entity(name: entity).flatMap { source.table(of: $0)?.name }.map {
      UntakenRows(table: $0, mappings: makers.compactMap { mapping.place(named: $0.name) })
    }
  }

  /// The mappings that make what a family of the destination holds of a source entity's family.
  private func makers(ofFamily name: String, within: String) -> [EntityMapping] {
    families.value(\.makers, source: name, destination: within) {
      source.model.family(of: name).filter { !$0.isAbstract }.flatMap {
        families.bySource[$0.name] ?? []
      }.filter { destination.model.isKind($0.destinationEntityName, of: within) }
    }
  }

  /// Compiles; throws where data are held in a form from which the wanted one cannot be made.
  package func compile() throws(CompileError) -> MigrationProgram {
    var problems: [CompileError.Place] = []
    var fills: [OrderFill] = []
    let tables = destination.tables.compactMap { compile($0, problems: &problems, fills: &fills) }
    let joins = destination.joinTables.compactMap {
      compile($0, problems: &problems, fills: &fills)
    }
    guard problems.isEmpty else { throw CompileError(places: problems) }
    return MigrationProgram(
      tables: tables, joins: joins, orderFills: fills, references: referenceChecks())
  }

  /// One source entity whose rows a destination table takes.
  struct Pair {
    var mapping: EntityMapping
    var old: Entity
    var new: Entity
    var numbers: TableProgram.Renumbering
    /// The names of the source entity and of all its ancestors.
    var oldLineage: Set<String>
    /// The names of the destination entity and of all its ancestors.
    var newLineage: Set<String>
  }

  private func compile(
    _ table: EntityTable, problems: inout [CompileError.Place], fills: inout [OrderFill]
  ) -> TableProgram? {
    let pairs = table.entityNames.flatMap(pairs)
    guard let first = pairs.first, let sourceTable = source.table(of: first.old) else { return nil }
    let columns = ColumnCompiler(compiler: self, table: table, sourceTable: sourceTable)
    var programs: [ColumnProgram] = []
    for column in table.columns.dropFirst(3) {
      var operations: [ColumnOperation?] = []
      for pair in pairs {
        do {
          operations.append(try columns.operation(for: column, pair: pair))
        } catch {
          problems.append(error)
          operations.append(nil)
        }
      }
      let elsewhere = Self.operationElsewhere(operations)
      let owner = Self.owner(of: elsewhere, in: sourceTable)
      programs.append(
        ColumnProgram(
          name: column.name, type: column.type,
          operations: zip(pairs, operations).map { pair, operation in
            // A value of the entity's own has its new place elsewhere, or none.
            operation
              ?? (owner.map(pair.oldLineage.contains) == true ? .constant(.null) : elsewhere)
          }))
      if let fill = columns.orderFill(for: column, pairs: pairs) { fills.append(fill) }
    }
    return TableProgram(
      sourceTable: sourceTable.name, destinationTable: table.name, entities: pairs.map(\.numbers),
      columns: programs)
  }

  /// What rows of entities without the property get: what they had, where the column stays one.
  ///
  /// Core Data never looks there, but some of its own migrations left values in such rows, and
  /// carried them along ever after.
  private static func operationElsewhere(_ operations: [ColumnOperation?]) -> ColumnOperation {
    let known = Set(operations.compactMap(\.self))
    if known.count == 1, case .copy(let column, _)? = known.first {
      return .copy(column: column, replacingNull: .null)
    }
    return .constant(.null)
  }

  /// The source entity that declares the attribute whose column an operation copies.
  private static func owner(of operation: ColumnOperation, in table: EntityTable) -> String? {
    guard case .copy(let name, _) = operation,
      case .attribute(let owner, _)? = table.columns.first(where: { $0.name == name })?.role
    else { return nil }
    return owner
  }

  /// The mappings that fill a concrete destination entity.
  private func pairs(name: String) -> [Pair] {
    (mappings[name] ?? []).compactMap { entityMapping in
      guard let sourceName = entityMapping.sourceEntityName,
        let old = source.model.entity(name: sourceName),
        let new = destination.model.entity(name: name),
        !old.isAbstract, !new.isAbstract,
        let from = source.numbers[sourceName], let to = destination.numbers[name]
      else { return nil }
      return Pair(
        mapping: entityMapping, old: old, new: new,
        numbers: .init(
          source: from.rawValue, destination: to.rawValue,
          others: entityMapping.isFiltered ? untaken(by: [entityMapping], of: sourceName) : nil),
        oldLineage: Set(source.model.lineage(of: old).map(\.name)),
        newLineage: Set(destination.model.lineage(of: new).map(\.name)))
    }
  }

  private func compile(
    _ table: JoinTable, problems: inout [CompileError.Place], fills: inout [OrderFill]
  ) -> JoinProgram? {
    let pairs: PairSource?
    do {
      pairs = try sourcePairs(of: table)
    } catch {
      problems.append(error)
      return nil
    }
    guard let pairs else { return nil }
    let ends = [(table.first, pairs.ownerOrder), (table.second, pairs.targetOrder)]
    for (index, (end, order)) in ends.enumerated() {
      guard let column = end.orderColumn, order == nil else { continue }
      let other = index == 0 ? table.second : table.first
      fills.append(
        OrderFill(
          table: table.name, ownerColumn: other.keyColumn, keyColumn: end.keyColumn,
          orderColumn: column))
    }
    var sources: [String?] = [pairs.ownerColumn, pairs.targetColumn]
    if table.first.orderColumn != nil { sources.append(pairs.ownerOrder) }
    if table.second.orderColumn != nil { sources.append(pairs.targetOrder) }
    let before = source.joinTables.first { $0.name == pairs.table }
    return JoinProgram(
      sourceTable: pairs.table, destinationTable: table.name, columns: table.columnNames,
      sources: sources, filters: pairs.filters, drops: pairs.drops,
      keepsRowNumbers: pairs.filters.isEmpty && pairs.drops.isEmpty
        && before?.columnNames == sources)
  }

  /// The pairs of source objects that a destination join table holds, seen from its first end.
  private func sourcePairs(of table: JoinTable) throws(CompileError.Place) -> PairSource? {
    for (end, flipped) in [(table.first, false), (table.second, true)] {
      if let pairs = try pairs(of: end.relationshipName, in: end.entityName) {
        return flipped ? pairs.flipped : pairs
      }
    }
    return nil
  }

  /// Where the source keeps the pairs of a destination relationship; throws where sibling entities
  /// keep them in several places, which one column or table cannot continue.
  func pairs(
    of relationship: String, in entity: String
  ) throws(CompileError.Place) -> PairSource? {
    guard let declaring = destination.model.entity(name: entity),
      let targets = destination.model.relationship(named: relationship, of: declaring)?
        .destinationEntityName
    else { return nil }
    let finder = PairFinder(compiler: self, owners: entity, targets: targets)
    var found: PairSource?
    let family = destination.model.family(of: entity).map(\.name)
    for entityMapping in mapping.entityMappings {
      guard let name = entityMapping.destinationEntityName, family.contains(name),
        let sourceName = entityMapping.sourceEntityName,
        let old = entityMapping.relationshipMappings.first(where: { $0.name == relationship })?
          .sourceRelationshipName,
        let pairs = finder.pairs(entity: sourceName, relationship: old)
      else { continue }
      if let found, found != pairs {
        throw CompileError.Place(entity: entity, property: relationship)
      }
      found = pairs
    }
    return found
  }

  /// All columns of the destination that hold keys, and the tables that the keys belong to.
  private func referenceChecks() -> [ReferenceCheck] {
    var result: [ReferenceCheck] = []
    for table in destination.tables {
      for column in table.columns {
        let target: String?
        switch column.role {
        case .toOne(let entity, let name):
          target =
            destination.model.entity(name: entity)?.relationships.first { $0.name == name }?
            .destinationEntityName
        case .owner(let entity, _): target = entity
        default: target = nil
        }
        if let target, let name = tableName(ofEntity: target) {
          result.append(
            ReferenceCheck(table: table.name, column: column.name, destinationTable: name))
        }
      }
    }
    for table in destination.joinTables {
      for end in [table.first, table.second] {
        if let name = tableName(ofEntity: end.entityName) {
          result.append(
            ReferenceCheck(table: table.name, column: end.keyColumn, destinationTable: name))
        }
      }
    }
    return result
  }

  private func tableName(ofEntity name: String) -> String? {
    destination.model.entity(name: name).flatMap { destination.table(of: $0)?.name }
  }

  /// The numbers of a source entity's family that have a place in a family of the destination;
  /// where several mappings take objects of one, each with the rows that it does not stand for.
  func renumberings(ofFamily name: String, within: String) -> [TableProgram.Renumbering] {
    families.value(\.numbers, source: name, destination: within) {
      let makers = makers(ofFamily: name, within: within)
      let names = makers.reduce(into: [:]) { names, maker in
        names[maker.sourceEntityName, default: Set()].insert(maker.name)
      }
      return makers.compactMap { maker in
        guard let old = maker.sourceEntityName, let from = source.numbers[old],
          let to = maker.destinationEntityName.flatMap({ destination.numbers[$0] })
        else { return nil }
        let isShared = names[old, default: []].count > 1
        return .init(
          source: from.rawValue, destination: to.rawValue,
          others: isShared ? untaken(by: [maker], of: old) : nil)
      }
    }
  }

  /// The source numbers of the entities of a family that have a place in one of the destination.
  func kept(ofFamily name: String, within: String) -> [Int64] {
    renumberings(ofFamily: name, within: within).map(\.source).reduce(into: []) {
      if !$0.contains($1) { $0.append($1) }
    }
  }

  /// Whether an object of the entity or its subentities may stay behind, or leave for elsewhere.
  func losesObjects(ofFamily name: String, within: String) -> Bool {
    let kept = Set(makers(ofFamily: name, within: within).compactMap(\.sourceEntityName))
    return source.model.family(of: name).contains { !$0.isAbstract && !kept.contains($0.name) }
  }
}

/// Relationships whose stored form in the source cannot become the one in the destination.
package struct CompileError: Error, Hashable, Sendable {
  /// A relationship of the destination.
  package struct Place: Error, Hashable, Sendable {
    /// The destination entity.
    package var entity: String
    /// The name of the relationship.
    package var property: String
  }

  /// All such relationships of the mapping.
  package var places: [Place]
}
