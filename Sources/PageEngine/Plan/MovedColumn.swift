import RowPrograms
import Schema

/// A column whose values come from one column of the source.
struct MovedColumn {
  enum Change: Hashable {
    case none
    /// Entity numbers of other objects.
    case numbers([TableProgram.Renumbering])
    /// That of the row's own entity, which decides what else changes.
    case entity
    /// Masks, by the places of the entities.
    case masks([MaskChange?])
  }

  let source: String
  let change: Change

  /// nil for a column of any other kind.
  init?(_ column: ColumnProgram, of table: TableProgram) {
    if table.isOfChanges, column.name == table.entityColumn {
      // The program names each number, or leaves it as it is.
      let isRenumbered = zip(table.entities, column.operations).allSatisfy { entity, operation in
        switch operation {
        case .constant(.integer(entity.destination)): true
        case .copy(table.entityColumn, .null): entity.source == entity.destination
        default: false
        }
      }
      guard isRenumbered, column.operations.count == table.entities.count else { return nil }
      (source, change) = (table.entityColumn, .entity)
      return
    }
    var sources: Set<String> = []
    var maps: Set<[TableProgram.Renumbering]?> = []
    var masks: [MaskChange?] = []
    for operation in column.operations {
      switch operation {
      case .copy(let name, .null), .reference(let name, nil):
        sources.insert(name)
        maps.insert(nil)
        masks.append(nil)
      case .renumber(let name, let map):
        sources.insert(name)
        maps.insert(map)
        masks.append(nil)
      case .remask(let name, let mask):
        sources.insert(name)
        maps.insert(nil)
        masks.append(mask)
      default: return nil
      }
    }
    guard let name = sources.first, sources.count == 1, let map = maps.first, maps.count == 1
    else { return nil }
    source = name
    if let map {
      change = .numbers(map)
    } else {
      change = masks.allSatisfy { $0 == nil } ? .none : .masks(masks)
    }
  }
}

extension RowPatch {
  /// What a program changes in rows that are otherwise the same; nil if it is nothing.
  init?(_ table: TableProgram, changes: [MovedColumn.Change?], entityColumn: Int) {
    var patch = RowPatch(
      entityColumn: entityColumn,
      entities: table.entities.map { Entity(source: $0.source, destination: $0.destination) })
    for (place, change) in changes.enumerated() {
      switch change {
      case .numbers(let map):
        if map.contains(where: { $0.source != $0.destination }) {
          patch.numbers.append(Numbers(column: place + 3, map: map))
        }
      case .masks(let masks):
        patch.maskColumn = place + 3
        for (index, mask) in masks.enumerated() where index < patch.entities.count {
          patch.entities[index].mask = mask
        }
      case nil, .some(.none), .entity: continue
      }
    }
    let isNeeded =
      !patch.numbers.isEmpty
      || patch.entities.contains { $0.source != $0.destination || $0.mask != nil }
    guard isNeeded else { return nil }
    self = patch
  }
}
