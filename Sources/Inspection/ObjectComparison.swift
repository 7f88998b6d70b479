import ObjectModel
import Schema

/// Compares the objects of two stores of one model, by their keys.
///
/// Rows of both are read in the order of keys and none is kept, so memory does not grow with the
/// stores. Counts of saves (`Z_OPT`) are left out, and of places in orders only their order counts.
package struct ObjectComparison {
  private let first: ObjectReader
  private let second: ObjectReader

  /// Takes readers of both stores, whose models have equal version hashes.
  package init(_ first: ObjectReader, _ second: ObjectReader) {
    (self.first, self.second) = (first, second)
  }

  /// Compares everything.
  ///
  /// - Parameters:
  ///   - limit: how many differences are kept; all are counted.
  ///   - progress: is called with the name of each table before it is read.
  package func differences(
    limit: Int, progress: (_ table: String) -> Void = { _ in }
  ) throws -> StoreDifferences {
    var result = StoreDifferences(limit: limit)
    for table in first.schema.tables {
      progress(table.name)
      let names = Set(table.columns.map(\.name))
      guard let other = second.schema.tables.first(where: { $0.name == table.name }),
        names == Set(other.columns.map(\.name))
      else {
        result.tablesNotCompared.append("\(table.name) has other columns in the second store")
        continue
      }
      var merge = try TableMerge(table, first: first, second: second)
      try merge.compareRows(into: &result)
      for column in merge.moved.sorted() {
        try compareOrder(of: table.columns[column], in: table, &result)
      }
    }
    for table in first.schema.joinTables {
      progress(table.name)
      let other = second.schema.joinTables.first {
        $0.first.entityName == table.first.entityName
          && $0.first.relationshipName == table.first.relationshipName
      }
      guard let other else {
        result.tablesNotCompared.append("\(table.name) joins other entities in the second store")
        continue
      }
      try compare(table, other, &result)
    }
    return result
  }

  // MARK: Orders

  /// The order of the objects on whose rows a column has places.
  private func compareOrder(
    of column: Column, in table: EntityTable, _ result: inout StoreDifferences
  ) throws {
    let model = first.schema.model
    let merge: OrderMerge
    let owner: Column?
    switch column.role {
    case .toOneOrder(let entity, let name):
      guard let toOne = model.relationship(name: name, of: entity),
        let ordered = model.inverse(of: toOne)
      else { return }
      merge = OrderMerge(entity: toOne.destinationEntityName, relationship: ordered.name)
      owner = table.column(role: .toOne(entity: entity, name: name))
    case .ownerOrder(let entity, let name):
      merge = OrderMerge(entity: entity, relationship: name)
      owner = table.column(role: .owner(entity: entity, name: name))
    case .primaryKey, .entityNumber, .optimisticLock, .attribute, .toOne, .toOneEntity, .owner:
      return
    }
    guard let owner else { return }
    let place = OrderMerge.Place(
      table: table.name, owner: owner.name, member: "Z_PK", order: column.name)
    try merge.compare(place, of: first, place, of: second, into: &result)
  }

  // MARK: Pairs

  private func compare(
    _ table: JoinTable, _ other: JoinTable, _ result: inout StoreDifferences
  ) throws {
    for (table, reader) in [(table, first), (other, second)] {
      let count = try PairMerge.countWithoutKeys(table, reader: reader)
      if count > 0 {
        result.tablesNotCompared.append(
          count == 1
            ? "\(table.name) has a row whose keys are not two numbers"
            : "\(table.name) has \(count) rows whose keys are not two numbers")
      }
    }
    var merge = PairMerge(table, other, readers: (first, second))
    try merge.comparePairs(into: &result)
    // The column of one end has the places in the relationship of the other.
    if merge.isMoved.second, let place = Self.place(table, table.first, table.second),
      let otherPlace = Self.place(other, other.first, other.second)
    {
      let order = OrderMerge(
        entity: table.first.entityName, relationship: table.first.relationshipName)
      try order.compare(place, of: first, otherPlace, of: second, into: &result)
    }
    if merge.isMoved.first, let place = Self.place(table, table.second, table.first),
      let otherPlace = Self.place(other, other.second, other.first)
    {
      let order = OrderMerge(
        entity: table.second.entityName, relationship: table.second.relationshipName)
      try order.compare(place, of: first, otherPlace, of: second, into: &result)
    }
  }

  private static func place(
    _ table: JoinTable, _ owner: JoinTable.End, _ member: JoinTable.End
  ) -> OrderMerge.Place? {
    member.orderColumn.map {
      OrderMerge.Place(
        table: table.name, owner: owner.keyColumn, member: member.keyColumn, order: $0)
    }
  }
}
