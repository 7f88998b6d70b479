import GRDB
import MigrationEngine
import RowPrograms
import Schema
import StoreFormat

/// References that a choice made nil in the store with which a stage begins.
///
/// Objects that lacked a mandatory relationship before keep lacking it; these did not lack it.
struct EmptiedReferences {
  /// The function that SQL calls: whether the set of that name has a key.
  private static let function = "godwit_emptied"

  private let keys: RowKeys
  private let names: Set<String>

  /// Takes what choices changed; nil where no reference became nil.
  ///
  /// - Throws: `StoreError`, where the temporary folder's disk has no room for the keys.
  init?(_ repaired: [Defect]) throws {
    let emptied = repaired.filter(\.isEmptied)
    guard !emptied.isEmpty else { return nil }
    let groups = Dictionary(grouping: emptied) { Self.name($0.entity, $0.property) }
    keys = try RowKeys()
    names = Set(groups.keys)
    let writer = RowKeyWriter(keys)
    for (name, defects) in groups.sorted(by: { $0.key < $1.key }) {
      try writer.add(defects.flatMap(\.keys).sorted(), table: name)
    }
    try writer.finish()
  }

  /// Makes the keys known to a connection.
  func install(in db: Database) { RowKeyReader(keys).install(in: db, as: Self.function) }

  /// SQL that returns whether a row of the store, named `s`, had a reference of this relationship;
  /// nil where none became nil.
  func test(entity: String, relationship: String) -> String? {
    let name = Self.name(entity, relationship)
    guard names.contains(name) else { return nil }
    return "\(Self.function)(\(SQL.literal(text: name)), s.Z_PK)"
  }

  static func name(_ entity: String, _ property: String) -> String {
    "\(entity).\(property)"
  }
}

extension Defect {
  /// Whether a choice made references nil.
  var isEmptied: Bool {
    guard fate == .nullified else { return false }
    return switch kind {
    case .dangling, .removedTarget, .severalObjects, .unknownReference: true
    case .duplicate, .missingReference, .oneSided, .order, .missingValue, .brokenRule, .value,
      .missingFile:
      false
    }
  }
}
