import ObjectModel
import Schema

/// Decides how values satisfy the uniqueness constraints of a table.
///
/// The index of a constraint covers all rows of the table, so values are made unique by the primary
/// key: in one column if it has enough values, otherwise as digits in several.
struct Uniqueness {
  private let model: ManagedObjectModel
  private let rows: UInt64
  private(set) var digits: [String: KeyDigit] = [:]
  /// Columns that stay NULL, which a unique index allows.
  private(set) var emptied: Set<String> = []
  /// To-one columns in which no object may occur twice.
  private(set) var unshared: Set<String> = []
  private(set) var notes: [GenerationReport.Note] = []

  init(
    of table: EntityTable, indexes: [Index], forms: [String: AttributeColumn], maximumKey: Int64,
    model: ManagedObjectModel
  ) throws(GenerationError) {
    self.model = model
    rows = UInt64(max(1, maximumKey))
    for index in indexes where index.table == table.name && index.isUnique {
      let columns = index.parts.compactMap { part in
        table.columns.first { $0.name == part.column }
      }
      try resolve(index, columns: columns, forms: forms)
    }
  }

  private mutating func resolve(
    _ index: Index, columns: [Column], forms: [String: AttributeColumn]
  ) throws(GenerationError) {
    let names = columns.map(\.name)
    let whole = KeyDigit(divisor: 1, modulus: rows)
    if names.contains(where: {
      digits[$0] == whole || emptied.contains($0) || unshared.contains($0)
    }) {
      return
    }
    let free = names.filter { digits[$0] == nil && forms[$0] != nil }
    if let name = free.first(where: { (forms[$0]?.form.capacity ?? 1) >= rows }) {
      digits[name] = whole
    } else if let shared = shared(free, forms: forms) {
      digits.merge(shared) { $1 }
    } else if let column = columns.first(where: { isOneToOne($0) }) ?? firstToOne(columns) {
      unshared.insert(column.name)
    } else if let column = columns.first(where: { forms[$0.name]?.isOptional == true }) {
      emptied.insert(column.name)
      note(column)
    } else {
      throw GenerationError(.constraintCannotHold(index: index.name))
    }
  }

  private func shared(
    _ names: [String], forms: [String: AttributeColumn]
  ) -> [String: KeyDigit]? {
    var result: [String: KeyDigit] = [:]
    var divisor: UInt64 = 1
    for name in names where divisor < rows {
      let modulus = min(forms[name]?.form.capacity ?? 1, (rows + divisor - 1) / divisor)
      result[name] = KeyDigit(divisor: divisor, modulus: modulus)
      divisor *= modulus  // stays below twice the rows
    }
    return divisor >= rows ? result : nil
  }

  private func isOneToOne(_ column: Column) -> Bool {
    guard case .toOne(let entity, let name) = column.role,
      let relationship = model.relationship(name: name, of: entity),
      let inverse = model.inverse(of: relationship)
    else { return false }
    return !inverse.isToMany && !inverse.isTransient
  }

  private func firstToOne(_ columns: [Column]) -> Column? {
    columns.first { if case .toOne = $0.role { true } else { false } }
  }

  private mutating func note(_ column: Column) {
    guard case .attribute(let entity, let name) = column.role else { return }
    notes.append(.init(entity: entity, property: name, reason: .limitedByConstraint))
  }
}
