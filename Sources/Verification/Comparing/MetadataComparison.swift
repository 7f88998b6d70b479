import Foundation
import KeyedArchives
import ModelFiles
import ObjectModel
import Schema
import StoreFormat

/// Compares Core Data's own tables.
extension VerificationRun {
  // MARK: Z_PRIMARYKEY

  func comparePrimaryKeys(_ schema: StoreSchema, maxima: [String: Int64]) throws {
    guard catalog.hasTable("Z_PRIMARYKEY") else { return }
    var rows: [Int64: [RawValue]] = [:]
    for row in try new.rows(
      sql: "SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY ORDER BY 1")
    {
      if let number = row[0].integer { rows[number] = row }
    }
    for name in schema.numbers.names {
      guard let entity = schema.model.entity(name: name),
        let number = schema.numbers[name]?.rawValue
      else { continue }
      let parent = entity.superentityName.flatMap { schema.numbers[$0]?.rawValue } ?? 0
      let maximum = entity.superentityName == nil ? maxima[name] ?? 0 : 0
      guard let row = rows.removeValue(forKey: number) else {
        note(
          .init(.entityRow, table: "Z_PRIMARYKEY", key: "\(number)", expected: "a row for \(name)"))
        continue
      }
      let wanted: [(Difference.Kind, String, RawValue)] = [
        (.entityRow, "Z_NAME", .text(name)), (.entityRow, "Z_SUPER", .integer(parent)),
        (.highestKey, "Z_MAX", .integer(maximum)),
      ]
      for ((kind, column, value), actual) in zip(wanted, row.dropFirst()) where value != actual {
        note(
          .init(
            kind, table: "Z_PRIMARYKEY", key: "\(number)", column: column, expected: "\(value)",
            actual: "\(actual)"))
      }
    }
    try compareHistoryKeys(schema, rows: &rows)
    try compareMirroringKeys(rows: &rows)
    for (number, row) in rows.sorted(by: { $0.key < $1.key }) {
      note(
        .init(
          .entityRow, table: "Z_PRIMARYKEY", key: "\(number)", expected: "no such row",
          actual: "\(row[1])"))
    }
  }

  /// Compares the rows of history, which are there once there was a transaction.
  private func compareHistoryKeys(_ schema: StoreSchema, rows: inout [Int64: [RawValue]]) throws {
    for table in schema.history?.tables ?? [] {
      guard let (number, name) = HistoryTables.entity(ofTable: table.name) else { continue }
      let stated = try old.rows(
        sql: "SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?", bindings: [.integer(number.rawValue)]
      ).first?.first?.integer
      let used = try new.number(sql: "SELECT max(Z_PK) FROM \(table.name)")
      let row = rows.removeValue(forKey: number.rawValue)
      guard stated != nil || used > 0 || row != nil else { continue }
      let highest = max(stated ?? 0, used)
      let wanted: [RawValue] = [.text(name), .integer(0), .integer(highest)]
      if let row, Array(row.dropFirst()) == wanted { continue }
      note(
        .init(
          row == nil ? .entityRow : .highestKey, table: "Z_PRIMARYKEY", key: "\(number.rawValue)",
          column: "Z_MAX", expected: "\(highest)", actual: row.map { "\($0[3])" }))
    }
  }

  /// Compares the rows of CloudKit mirroring, which stay as they are.
  private func compareMirroringKeys(rows: inout [Int64: [RawValue]]) throws {
    let range = MirroringTables.numbers
    for row in try old.rows(
      sql: """
        SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY
        WHERE Z_ENT BETWEEN \(range.lowerBound) AND \(range.upperBound)
        """)
    {
      guard let number = row[0].integer else { continue }
      let found = rows.removeValue(forKey: number)
      if found == row { continue }
      note(
        .init(
          .entityRow, table: "Z_PRIMARYKEY", key: "\(number)", expected: "\(row[1]), \(row[3])",
          actual: found.map { "\($0[1]), \($0[3])" }))
    }
  }

  // MARK: Z_METADATA

  struct Metadata {
    var version: RawValue
    var uuid: RawValue
    var plist: [ExactText: PropertyList]
  }

  /// The contents of `Z_METADATA`, nil if they cannot be decoded.
  func metadata(of store: RawStore) throws -> Metadata? {
    let rows = try store.rows(sql: "SELECT Z_VERSION, Z_UUID, Z_PLIST FROM Z_METADATA")
    guard rows.count == 1, case .blob(let bytes) = rows[0][2],
      let plist = (try? PropertyList(decoding: bytes))?.dictionaryValue
    else { return nil }
    return Metadata(version: rows[0][0], uuid: rows[0][1], plist: plist)
  }

  private func compareUUIDs(before: RawValue, after: RawValue) {
    guard order.expectsNewUUID else {
      compare(.uuid, column: "Z_UUID", expected: before, actual: after)
      return
    }
    if case .text(let bytes) = after, after != before,
      let text = String(validating: bytes, as: UTF8.self), UUID(uuidString: text) != nil
    {
      return
    }
    note(
      .init(
        .uuid, table: "Z_METADATA", column: "Z_UUID", expected: "a UUID other than \(before)",
        actual: "\(after)"))
  }

  func compareMetadata() throws {
    guard let before = try metadata(of: old) else {
      throw StoreError(problem: .metadataUnreadable, store: order.old.path)
    }
    guard catalog.hasTable("Z_METADATA") else { return }
    guard let after = try metadata(of: new) else {
      note(
        .init(
          .metadata, table: "Z_METADATA", expected: "one row with a property list",
          actual: "none that can be read"))
      return
    }
    var wanted = before
    if !order.steps.isEmpty { wanted.plist = restated(before.plist) }
    compare(.metadata, column: "Z_VERSION", expected: wanted.version, actual: after.version)
    compareUUIDs(before: wanted.uuid, after: after.uuid)
    compareHashes(wanted.plist, found: after.plist)
    let keys = Set(wanted.plist.keys).union(after.plist.keys)
    for key in keys.sorted() where key != StoreMetadata.Key.hashes {
      let (expected, actual) = (wanted.plist[key], after.plist[key])
      if Self.bytes(value: expected) == Self.bytes(value: actual) { continue }
      note(
        .init(
          Self.modelKeys.contains(key) ? .metadata : .metadataKey, table: "Z_METADATA",
          column: RawValue.escaped(key.text.utf8), expected: Self.text(value: expected),
          actual: Self.text(value: actual)))
    }
  }

  private func compare(
    _ kind: Difference.Kind, column: String, expected: RawValue, actual: RawValue
  ) {
    if expected == actual { return }
    note(
      .init(
        kind, table: "Z_METADATA", column: column, expected: "\(expected)", actual: "\(actual)"))
  }

  /// The keys that describe the model, whose values a migration changes.
  private static let modelKeys: Set<ExactText> = [
    StoreMetadata.Key.hashesVersion, StoreMetadata.Key.hashesDigest, StoreMetadata.Key.checksum,
    StoreMetadata.Key.identifiers, StoreMetadata.Key.type, StoreMetadata.Key.autoVacuum,
    StoreMetadata.Key.deferredMigration,
  ]

  /// The property list that the old store should have under the new version.
  private func restated(_ plist: [ExactText: PropertyList]) -> [ExactText:
    PropertyList]
  {
    var result = plist
    result[StoreMetadata.Key.hashes] = .hashes(order.hashes)
    result[StoreMetadata.Key.hashesVersion] = .integer(3)
    result[StoreMetadata.Key.hashesDigest] = .string(ExactText(order.hashes.digest))
    result[StoreMetadata.Key.checksum] = .string(ExactText(order.hashes.checksum))
    result[StoreMetadata.Key.identifiers] = .array(
      order.versionIdentifiers.map { .string(ExactText($0)) })
    result[StoreMetadata.Key.type] = .string("SQLite")
    result[StoreMetadata.Key.autoVacuum] = .string("2")
    result[StoreMetadata.Key.deferredMigration] = nil
    return result
  }

  private func compareHashes(
    _ wanted: [ExactText: PropertyList], found: [ExactText: PropertyList]
  ) {
    let expected = wanted[StoreMetadata.Key.hashes]?.dictionaryValue ?? [:]
    let actual = found[StoreMetadata.Key.hashes]?.dictionaryValue ?? [:]
    for name in Set(expected.keys).union(actual.keys).sorted() {
      if Self.bytes(value: expected[name]) == Self.bytes(value: actual[name]) { continue }
      note(
        .init(
          .versionHash, table: "Z_METADATA", column: name.text,
          expected: Self.text(value: expected[name]),
          actual: Self.text(value: actual[name])))
    }
  }

  /// The bytes of a value, in which texts that only look alike differ.
  private static func bytes(value: PropertyList?) -> [UInt8]? { value?.encoded() }

  private static func text(value: PropertyList?) -> String {
    switch value {
    case nil: "no such key"
    case .string(let text)?: "\(RawValue.text(text.text))"
    case .data(let bytes)?: "\(RawValue.blob(bytes))"
    case .integer(let number)?: "\(number)"
    case .some(let value): RawValue.escaped("\(value)".utf8.prefix(200))
    }
  }

  // MARK: Z_MODELCACHE

  func compareModelCache(_ model: ManagedObjectModel) throws {
    guard catalog.hasTable("Z_MODELCACHE") else { return }
    func differs(_ expected: String, actual: String, column: String? = nil) {
      note(
        .init(
          .modelCache, table: "Z_MODELCACHE", column: column, expected: expected, actual: actual))
    }
    let rows = try new.rows(sql: "SELECT Z_CONTENT FROM Z_MODELCACHE")
    if rows.isEmpty {
      do {
        _ = try ModelArchive.encode(model)
        differs("the model", actual: "nothing")
      } catch {
        report.remark("the store has no embedded model, since its model has no known archive")
      }
      return
    }
    guard rows.count == 1, case .blob(let bytes) = rows[0][0] else {
      return differs("one archive", actual: "\(rows.count) rows")
    }
    let cached: ManagedObjectModel
    do {
      cached = try CompiledModel.model(decoding: Deflate.inflate(bytes, limit: 256 << 20))
    } catch {
      return differs("an archive of the model", actual: "what cannot be read")
    }
    let hashes = try? cached.versionHashes()
    for (name, hash) in order.hashes.sorted(by: { $0.key < $1.key }) where hashes?[name] != hash {
      differs(
        hash.hexadecimal, actual: hashes?[name]?.hexadecimal ?? "no such entity", column: name)
    }
    for name in Set(cached.entities.map(\.name)).subtracting(model.entities.map(\.name)).sorted() {
      differs("no such entity", actual: "an entity", column: name)
    }
    compareDefaults(cached, model: model, differs: differs)
  }

  /// Compares default values, which version hashes do not cover.
  private func compareDefaults(
    _ cached: ManagedObjectModel, model: ManagedObjectModel,
    differs: (String, String, String?) -> Void
  ) {
    for entity in cached.entities {
      guard let wanted = model.entity(name: entity.name) else { continue }
      for attribute in entity.leafAttributes {
        guard
          let other = wanted.leafAttributes.first(where: { $0.name == attribute.name }),
          other.defaultValue != attribute.defaultValue
        else { continue }
        differs(
          RawValue.escaped("\(other.defaultValue)".utf8),
          RawValue.escaped("\(attribute.defaultValue)".utf8), "\(entity.name).\(attribute.name)")
      }
    }
  }
}
