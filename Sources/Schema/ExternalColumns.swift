import ObjectModel

extension StoreSchema {
  /// The columns whose values may be in files, with their places in a record, by table.
  package var externalColumns: [String: [(place: Int, name: String)]] {
    var result: [String: [(place: Int, name: String)]] = [:]
    for table in tables {
      for (place, column) in table.columns.enumerated() {
        guard case .attribute(let entity, let name) = column.role,
          model.entity(name: entity)?.leafAttributes.first(where: { $0.name == name })?
            .storesBinaryDataExternally == true
        else { continue }
        result[table.name, default: []].append((place, column.name))
      }
    }
    return result
  }
}
