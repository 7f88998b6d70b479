import Mapping
import ObjectModel
import Schema
import StoreFormat

/// Compares persistent history with what Core Data's own migrations leave of it, or with nothing
/// where it was to be dropped.
///
/// Masks are compared by the names of the properties that they stand for, not by the bits that a
/// migration would write.
extension VerificationRun {
  func compareHistory(_ tables: HistoryTables, from source: StoreSchema, to new: StoreSchema) throws
  {
    guard tables.tables.allSatisfy({ catalog.hasTable($0.name) }) else { return }
    let before = try counts(in: old)
    let after = try counts(in: self.new)
    let added = try addedTransactions()
    let isEmptied =
      before.changes + before.transactions > 0 && after.changes == 0
      && after.transactions == added
    // The consent means that all of it may be missing, and not a part.
    let drops = order.dropsHistory || isEmptied && order.mayLoseRows("history")
    if drops {
      try compareRows(HistoryTables.changes, columns: ["Z_PK"], drops: true, added: 0)
      if before.changes + before.transactions > 0 {
        report.removed += [
          .init(what: .history, name: HistoryTables.changes, count: before.changes),
          .init(what: .history, name: HistoryTables.transactions, count: before.transactions),
        ]
      }
    } else {
      report.lacksHistory = isEmptied
      report.wideMasks = try compareChanges(
        HistoryRoute(order.steps, source: source, destination: new))
    }
    try compareRows(
      HistoryTables.transactions, columns: tables.tables[1].columns.map(\.name), drops: drops,
      added: added)
    try compareRows(
      HistoryTables.strings, columns: tables.tables[2].columns.map(\.name), drops: drops,
      added: added * 2)
  }

  private func counts(in store: RawStore) throws -> (changes: Int64, transactions: Int64) {
    (
      try store.number(sql: "SELECT count(*) FROM \(HistoryTables.changes) NOT INDEXED"),
      try store.number(sql: "SELECT count(*) FROM \(HistoryTables.transactions) NOT INDEXED")
    )
  }

  /// Transactions of ours, which are higher than any of the old store and have no changes; 0 or 1.
  private func addedTransactions() throws -> Int64 {
    let highest = try old.number(sql: "SELECT max(Z_PK) FROM \(HistoryTables.transactions)")
    let digest = "migration to model with digest { \(order.hashes.digest) }"
    let found = try new.rows(
      sql: """
        SELECT count(*) FROM \(HistoryTables.transactions) AS t
        JOIN \(HistoryTables.strings) AS s ON s.Z_PK = t.ZAUTHORTS
        WHERE t.Z_PK > ? AND s.ZNAME GLOB 'Godwit *' AND instr(s.ZNAME, ?) > 0
          AND NOT EXISTS (SELECT 1 FROM \(HistoryTables.changes) WHERE ZTRANSACTIONID = t.Z_PK)
        """, bindings: [.integer(highest), .text(digest)])
    return min(1, found.first?.first?.integer ?? 0)
  }

  // MARK: Transactions and strings

  /// Compares rows that a migration drops or leaves as they are; so many new ones may follow them.
  private func compareRows(
    _ table: String, columns: [String], drops: Bool, added: Int64
  ) throws {
    let list = columns.map(SQL.identifier).joined(separator: ", ")
    func select(where test: String) -> String {
      "SELECT \(list) FROM \(table) WHERE \(test) ORDER BY Z_PK"
    }
    let (before, after) = (
      try old.prepare(select(where: drops ? "0" : "1")),
      try new.prepare(select(where: "1"))
    )
    var rows = PairedRows(before, after)
    var free = added
    while let side = try rows.next() {
      count(table: table)
      switch side {
      case .first:
        note(.init(.rowMissing, table: table, key: "\(before.value(column: 0))"))
      case .second:
        if rows.hasFirst || free == 0 {
          note(.init(.rowExtra, table: table, key: "\(after.value(column: 0))"))
        } else {
          free -= 1
        }
      case .both:
        for (place, column) in columns.enumerated()
        where !before.isSame(place, as: after, otherColumn: place) {
          note(
            .init(
              .value, table: table, key: "\(before.value(column: 0))", column: column,
              expected: "\(before.value(column: place))", actual: "\(after.value(column: place))"))
        }
      }
    }
  }

  // MARK: Changes

  /// Compares all changes; those whose masks may name too many properties are counted by entity.
  private func compareChanges(_ route: HistoryRoute) throws -> [String: Int64] {
    var wide: [String: Int64] = [:]
    let table = HistoryTables.changes
    let same =
      ["Z_PK", "ZENTITY", "ZCOLUMNS", "Z_ENT", "Z_OPT", "ZCHANGETYPE", "ZENTITYPK"]
      + ["ZTRANSACTIONID"]
    let tombstones = (route.before.tombstones, route.after.tombstones)
    func select(_ count: Int) -> String {
      let all = same + (0..<count).map { "ZTOMBSTONE\($0)" }
      return "SELECT \(all.joined(separator: ", ")) FROM \(table) ORDER BY Z_PK"
    }
    let (before, after) = (
      try old.prepare(select(tombstones.0)), try new.prepare(select(tombstones.1))
    )
    var rows = PairedRows(before, after)
    while let side = try rows.next() {
      count(table: table)
      switch side {
      case .first: try noteMissing(before, route: route)
      case .second: note(.init(.rowExtra, table: table, key: "\(after.value(column: 0))"))
      case .both:
        compareChange(before, after: after, columns: same, tombstones: tombstones, route: route)
        if let pair = before.integer(column: 1).flatMap(route.pair),
          pair.mayWiden(before.value(column: 2))
        {
          wide[pair.name, default: 0] += 1
        }
      }
    }
    return wide
  }

  /// A change is gone with its entity, or lost.
  private func noteMissing(_ row: RawStatement, route: HistoryRoute) throws {
    let number = row.integer(column: 1)
    if let number, let name = route.name(ofSource: number), route.entities[name] == nil { return }
    let kind: Difference.Kind =
      number.flatMap { route.name(ofSource: $0) } == nil ? .rowLost : .rowMissing
    note(.init(kind, table: HistoryTables.changes, key: "\(row.value(column: 0))"))
  }

  private func compareChange(
    _ before: RawStatement, after: RawStatement, columns: [String], tombstones: (Int, Int),
    route: HistoryRoute
  ) {
    func differs(_ column: String, expected: String, actual: RawValue) {
      note(
        .init(
          .value, table: HistoryTables.changes, key: "\(before.value(column: 0))", column: column,
          expected: expected, actual: "\(actual)"))
    }
    for place in 3..<columns.count where !before.isSame(place, as: after, otherColumn: place) {
      differs(
        columns[place], expected: "\(before.value(column: place))",
        actual: after.value(column: place))
    }
    guard let number = before.integer(column: 1), let pair = route.pair(ofSource: number) else {
      return note(
        .init(.rowExtra, table: HistoryTables.changes, key: "\(before.value(column: 0))"))
    }
    if after.integer(column: 1) != pair.number {
      differs("ZENTITY", expected: "\(pair.number)", actual: after.value(column: 1))
    }
    if let wanted = pair.misread(before.value(column: 2), as: after.value(column: 2)) {
      differs("ZCOLUMNS", expected: wanted, actual: after.value(column: 2))
    }
    for place in 0..<tombstones.1 {
      let origin = pair.tombstone(place)
      let expected: RawValue =
        origin.map { $0 < tombstones.0 ? before.value(column: columns.count + $0) : .null } ?? .null
      let actual = after.value(column: columns.count + place)
      if expected != actual {
        differs("ZTOMBSTONE\(place)", expected: "\(expected)", actual: actual)
      }
    }
  }
}

/// What the steps of a route make of the entities that changes name.
private struct HistoryRoute {
  let entities: [String: String]
  let before: HistoryTables
  let after: HistoryTables
  private let source: StoreSchema
  private let pairs: [Int64: HistoryPair]

  init(_ steps: [VerificationOrder.Step], source: StoreSchema, destination: StoreSchema) throws {
    self.source = source
    before = source.history ?? HistoryTables(tombstones: 0)
    after = destination.history ?? HistoryTables(tombstones: 0)
    let matches = steps.map { step -> (String) -> String? in
      guard step.mappings.isEmpty else {
        return { name in
          step.mappings.lazy.compactMap { $0.destinationName(ofSource: name) }.first
        }
      }
      let match = StepMatch(MappingInference(from: step.source, to: step.destination))
      return { match.destination(of: $0) }
    }
    let origins = steps.map { Origins($0) }
    var entities: [String: String] = [:]
    var pairs: [Int64: HistoryPair] = [:]
    for entity in source.model.entities {
      var names: [String] = [entity.name]
      for next in matches { if let name = names.last.flatMap(next) { names.append(name) } }
      guard names.count == matches.count + 1, let name = names.last,
        let other = destination.model.entity(name: name),
        let number = source.numbers[entity.name],
        let pair = HistoryPair(
          entity, in: source, to: other, in: destination,
          origin: { attribute in
            zip(origins, zip(names, names.dropFirst())).reversed()
              .reduce(attribute as String?) { attribute, step in
                let (origins, (old, new)) = step
                return attribute.flatMap { origins.attribute($0, of: new, from: old) }
              }
          })
      else { continue }
      entities[entity.name] = name
      pairs[number.rawValue] = pair
    }
    (self.entities, self.pairs) = (entities, pairs)
  }

  func name(ofSource number: Int64) -> String? { source.numbers[EntityNumber(rawValue: number)] }
  func pair(ofSource number: Int64) -> HistoryPair? { pairs[number] }
}

/// One entity before and after, as changes see it.
private struct HistoryPair {
  let number: Int64
  let name: String
  private let old: HistoryLayout
  private let new: HistoryLayout
  /// The places of the old tombstones that the new ones continue; nil for new ones.
  private let origins: [Int?]
  /// Properties of the new entity whose bits cannot be distinguished.
  private let unclear: Set<String>

  init?(
    _ entity: Entity, in source: StoreSchema, to other: Entity, in destination: StoreSchema,
    origin: (String) -> String?
  ) {
    guard let number = destination.numbers[other.name]?.rawValue,
      let before = source.table(of: entity), let after = destination.table(of: other)
    else { return nil }
    (self.number, name) = (number, other.name)
    old = HistoryLayout(of: entity, table: before, in: source.model)
    let layout = HistoryLayout(of: other, table: after, in: destination.model)
    new = layout
    unclear = Set(layout.clusters.flatMap { $0.map { layout.slots[$0].name } })
    let preserved = HistoryTables.preserved(of: entity, in: source.model)
    origins = HistoryTables.preserved(of: other, in: destination.model).map { name in
      origin(name).flatMap { preserved.firstIndex(of: $0) }
    }
  }

  /// The tombstone of the old store that one of the new store continues; nil for none.
  func tombstone(_ place: Int) -> Int? { place < origins.count ? origins[place] : place }

  /// Whether the new mask has to name properties that may not have been updated.
  func mayWiden(_ mask: RawValue) -> Bool {
    let isAny = old.hasComposites || new.hasComposites
    guard old != new, isAny || !old.clusters.isEmpty || !unclear.isEmpty,
      case .blob(let bytes) = mask
    else { return false }
    let told = old.read(bytes)
    if isAny { return !told.all.isEmpty && !new.slots.isEmpty }
    return !told.certain.isDisjoint(with: unclear) || told.possible.contains(where: new.has)
  }

  /// The expected content of a wrong mask; nil if it is right.
  func misread(_ mask: RawValue, as found: RawValue) -> String? {
    if old == new { return mask == found ? nil : "\(mask)" }
    guard case .blob(let bytes) = mask else { return mask == found ? nil : "\(mask)" }
    guard case .blob(let others) = found, others.count == new.bytes else {
      return "a mask of \(new.bytes) \(new.bytes == 1 ? "byte" : "bytes")"
    }
    // The bits of composites are unknown: none may be missing, and all may be set.
    if old.hasComposites || new.hasComposites { return nil }
    let told = old.read(bytes)
    let wanted = told.certain.union(told.possible)
    let read = new.read(others)
    for name in told.certain where new.has(name) && !read.all.contains(name) {
      return "the bit of \(name)"
    }
    for names in old.clusters(in: bytes) {
      let kept = names.filter(new.has)
      if !kept.isEmpty, read.all.isDisjoint(with: kept) {
        return "the bit of \(kept.sorted().joined(separator: " or "))"
      }
    }
    for name in read.certain where !wanted.contains(name) {
      return "no bit of \(name)"
    }
    return nil
  }
}

extension HistoryLayout {
  /// The properties that a mask names: those that it names for certain, and those that it may.
  fileprivate func read(
    _ mask: [UInt8]
  ) -> (certain: Set<String>, possible: Set<String>, all: Set<String>) {
    var certain: Set<String> = []
    var possible: Set<String> = []
    for (place, slot) in slots.enumerated() where mask.hasBit(place) {
      if let cluster = clusters.first(where: { $0.contains(place) }) {
        for other in cluster { possible.insert(slots[other].name) }
      } else {
        certain.insert(slot.name)
      }
    }
    return (certain, possible, certain.union(possible))
  }

  /// The names of each set of indistinguishable bits that the mask has a bit of.
  fileprivate func clusters(in mask: [UInt8]) -> [[String]] {
    clusters.filter { cluster in
      cluster.contains(where: mask.hasBit)
    }.map { $0.map { slots[$0].name } }
  }

  fileprivate func has(_ name: String) -> Bool { slots.contains { $0.name == name } }
}

extension [UInt8] {
  /// Whether a mask has the bit for the property of this place.
  fileprivate func hasBit(_ place: Int) -> Bool {
    place / 8 < count && self[place / 8] & (0x80 >> UInt8(place % 8)) != 0
  }
}

extension HistoryLayout.Slot {
  /// A name for the property, in which a reference and its place are one.
  fileprivate var name: String {
    switch self {
    case .property(let name), .order(let name): name
    case .owner(let entity, let name): "the owner by \(entity).\(name)"
    case .entityNumber(let name): "the entity of \(name)"
    }
  }
}
