import Mapping
import ObjectMigration
import ObjectModel
import Planning
import RowPrograms
import Schema
import StoreFormat
import Survey

/// Plans the work orders of groups of mappings.
struct ObjectPlanner {
  let survey: StoreSurvey
  let destination: StoreSchema
  let mappings: [MappingModel]

  /// One work order for each group, the largest first; partitions are numbered as groups are.
  func plan(groups: MappingGroups) throws -> MigrationPlan {
    let rows = max(1, survey.rowCounts.estimatedTotal)
    let perRow = Double(survey.access.fingerprint.bytes) / Double(rows)
    var next = 1
    var partitions: [Partition] = []
    var orders: [WorkOrder] = []
    for (index, group) in groups.groups.enumerated() {
      let own = zip(group.members, mappings).flatMap { places, model in
        places.map { model.entityMappings[$0] }
      }
      let pieces = tables(group: group).map { name, root in
        defer { next += 1 }
        let rows = root.map { rowCount(of: own, into: $0) } ?? 0
        return Piece(
          number: next, destinationTable: name, keys: .all, rows: rows,
          bytes: max(1, Int64(Double(rows) * perRow)))
      }
      var order = WorkOrder(number: 0, partition: index + 1, pieces: pieces)
      order.work = try ObjectCosts.work(
        of: own, in: survey.schema, objects: survey.count(of:), rows: survey.someRows(ofTable:))
      partitions.append(
        Partition(
          number: index + 1, tables: pieces.map(\.destinationTable), rows: order.rows,
          bytes: order.bytes))
      orders.append(order)
    }
    orders.sort { ($0.bytes, $1.partition) > ($1.bytes, $0.partition) }
    for index in orders.indices { orders[index].number = index + 1 }
    return MigrationPlan(
      partitions: partitions, workOrders: orders, program: .none(deriving: destination.derived))
  }

  /// The tables that a group fills; those of pairs have no root.
  private func tables(group: MappingGroups.Group) -> [(name: String, root: String?)] {
    let roots = Set(group.roots)
    let model = destination.model
    let joins = destination.joinTables.filter { table in
      model.entity(name: table.first.entityName).map { roots.contains(model.root(of: $0).name) }
        ?? false
    }
    return destination.tables.filter { roots.contains($0.rootName) }.map { ($0.name, $0.rootName) }
      + joins.map { ($0.name, nil) }
  }

  /// The source objects that become objects of a table, as far as filters do not drop any.
  private func rowCount(of mappings: [EntityMapping], into root: String) -> Int64 {
    let model = destination.model
    return mappings.reduce(0) { sum, mapping in
      guard let source = mapping.sourceEntityName,
        let entity = mapping.destinationEntityName.flatMap({ model.entity(name: $0) }),
        model.root(of: entity).name == root
      else { return sum }
      return sum + share(of: mapping, in: survey.count(of: source))
    }
  }

  /// The objects of its source entity that a mapping is taken to get: filters divide them evenly,
  /// and all shares are all objects.
  private func share(of mapping: EntityMapping, in objects: Int64) -> Int64 {
    let sharers = mappings.flatMap(\.entityMappings).filter {
      $0.sourceEntityName == mapping.sourceEntityName && $0.filter != nil
    }
    guard let place = sharers.firstIndex(where: { $0.name == mapping.name }) else {
      return objects
    }
    let (count, place64) = (Int64(sharers.count), Int64(place))
    return objects * (place64 + 1) / count - objects * place64 / count
  }
}
