import Foundation
import GRDB
import Mapping
import ObjectModel
import Planning
import Schema
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

/// Searches for values of a store whose external files are not there, or cannot be read.
struct ExternalFileSearch {
  let survey: StoreSurvey
  let uses: ExternalUses

  /// Values of one column with the same fault.
  struct Finding {
    var entity: String
    var property: String
    var column: ExternalUses.Column
    var fault: ExternalFileFault
    var use: ExternalUses.Use
    /// The primary keys of the rows, in their order.
    var keys: [Int64]
    /// The names of the first files.
    var names: [String]

    /// Whether the stage cannot be made with it.
    var isObstacle: Bool { use == .read || fault != .missing }

    /// The reason why the store cannot be migrated.
    var refusal: Refusal {
      Refusal(
        reason: .externalFiles(
          fault, count: Int64(keys.count), keys: Array(keys.prefix(Loss.keyLimit)), names: names),
        entity: entity, property: property)
    }

    /// The same as something that is wrong with rows.
    func defect(_ fate: Defect.Fate) -> Defect {
      let told = fate == .kept ? Array(keys.prefix(Loss.keyLimit)) : keys
      return Defect(
        kind: .missingFile, entity: entity, property: property, count: Int64(keys.count),
        keys: told, fate: fate)
    }
  }

  private static let nameLimit = 5

  init(survey: StoreSurvey, stage: Stage) {
    self.survey = survey
    uses = ExternalUses(stage: stage, survey: survey)
  }

  /// Why the stage cannot be made: files whose bytes it needs, and those that nobody may open.
  ///
  /// - Parameter scansAll: looks at all values that the stage takes, else only at those whose bytes
  ///   it needs, and at the rest where something odd lies among the files.
  func obstacles(scansAll: Bool) throws -> [Refusal] {
    let all = try scansAll || (uses.contain(.carried) && mayBeForeign())
    return try findings { $0 == .read || (all && $0 == .carried) }
      .filter(\.isObstacle).map(\.refusal)
  }

  /// Missing files whose names are carried over.
  func carried() throws -> [Defect] {
    try findings { $0 == .carried }.filter { !$0.isObstacle }.map { $0.defect(.kept) }
  }

  /// Missing files whose bytes the stage needs.
  func needed() throws -> [Finding] {
    try findings { $0 == .read }.filter { $0.fault == .missing }
  }

  // MARK: Values

  private func findings(_ isWanted: (ExternalUses.Use) -> Bool) throws -> [Finding] {
    var result: [Finding] = []
    for (table, columns) in survey.schema.externalColumns.sorted(by: { $0.key < $1.key }) {
      guard let found = survey.schema.tables.first(where: { $0.name == table }) else { continue }
      for column in columns {
        guard case .attribute(let entity, let property)? = found.role(ofColumn: column.name)
        else { continue }
        let place = ExternalUses.Column(table: table, name: column.name)
        let numbers = found.entityNames.compactMap { survey.schema.numbers[$0] }
          .filter { isWanted(uses.use(of: place, in: $0)) }
        if numbers.isEmpty { continue }
        let faults = try faults(in: place, of: numbers)
        for (kind, values) in faults.sorted(by: { $0.key < $1.key }) {
          result.append(
            Finding(
              entity: entity, property: property, column: place, fault: kind.fault,
              use: kind.use, keys: values.keys, names: values.names))
        }
      }
    }
    return result
  }

  private struct Kind: Hashable, Comparable {
    var fault: ExternalFileFault
    var use: ExternalUses.Use

    static func < (one: Self, other: Self) -> Bool {
      (one.fault.rawValue, one.use.rawValue) < (other.fault.rawValue, other.use.rawValue)
    }
  }

  private func faults(
    in column: ExternalUses.Column, of numbers: [EntityNumber]
  ) throws -> [Kind: (keys: [Int64], names: [String])] {
    let support = MigrationPaths.support(of: survey.store)
    let folder = ExternalDataFolder.opened(support: support)
    var result: [Kind: (keys: [Int64], names: [String])] = [:]
    try survey.reader.connection.perform { db in
      let references = ExternalReferences(table: column.table, column: column.name)
      try references.forEach(of: numbers, in: db) { key, number, file in
        guard let fault = try Self.fault(of: file, in: folder, support: support) else { return }
        let kind = Kind(fault: fault, use: uses.use(of: column, in: number))
        result[kind, default: ([], [])].keys.append(key)
        if let count = result[kind]?.names.count, count < Self.nameLimit {
          result[kind]?.names.append(file)
        }
      }
    }
    return result
  }

  /// What keeps the file from being read; nil where nothing does.
  private static func fault(
    of name: String, in folder: ForeignFolder?, support: FilePath
  ) throws -> ExternalFileFault? {
    guard let component = FilePath.Component(name), component.kind == .regular else {
      return .missing
    }
    if folder?.hasFile(component) == true { return nil }
    do {
      guard let file = try ExternalDataFolder.open(component, support: support) else {
        return .missing
      }
      try file.close()
      return nil
    } catch let error as StoreError where error.problem == .externalFileForeign {
      return .foreign
    } catch let error as SystemCallError
      where [.permissionDenied, .notPermitted, .ioError].contains(error.errno)
    {
      return .unreadable
    }
  }

  // MARK: Folders

  /// Whether something lies among the files, or stands in the place of their folder, that may not
  /// be read: a look at each file's status, which takes less than one at the values.
  private func mayBeForeign() throws -> Bool {
    let support = MigrationPaths.support(of: survey.store)
    let data = ExternalDataFolder.files(support: support)
    do {
      for folder in [support, data] {
        guard let status = try Files.fileStatusIfPresent(folder, followLinks: false) else {
          return false
        }
        if status.kind != .directory { return true }
      }
      let user = Processes.user
      return try Files.listDirectory(data).contains { name in
        let status = try Files.fileStatusIfPresent(data.appending(name), followLinks: false)
        return status.map { $0.kind != .file || $0.owner != user || $0.mode & 0o400 == 0 } ?? false
      }
    } catch is SystemCallError {
      // Whoever may not look into the folder may not open what is in it.
      return true
    }
  }
}

extension ExternalReferences {
  /// Calls `body` with key, entity and file name of the values in rows of some entities.
  func forEach(
    of numbers: [EntityNumber], in db: Database,
    body: (Int64, EntityNumber, String) throws -> Void
  ) throws {
    let name = SQL.identifier(name: column)
    let list = numbers.map { "\($0.rawValue)" }.joined(separator: ", ")
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT Z_PK, Z_ENT, substr(\(name), 2, 36) FROM \(SQL.identifier(name: table)) NOT INDEXED
        WHERE Z_ENT IN (\(list)) AND length(\(name)) < 64 AND substr(\(name), 1, 1) = X'02'
        ORDER BY Z_PK
        """)
    while let row = try rows.next() {
      guard let key = Int64.fromDatabaseValue(row[0]), let entity = Int64.fromDatabaseValue(row[1]),
        let file = Data.fromDatabaseValue(row[2])
      else { continue }
      try body(key, EntityNumber(rawValue: entity), String(decoding: file, as: UTF8.self))
    }
  }
}
