import GRDB
import Mapping
import ObjectModel
import Planning
import RowPrograms
import Schema
import StoreFormat
import StoreNames
import Survey
import Synchronization
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

  /// Why the stage cannot be made: missing files whose bytes it needs, and files that must not be
  /// opened; and the size of the bytes read in leaves of the result.
  ///
  /// - Parameter scansAll: reads all values that the stage takes, else only those whose bytes it
  ///   needs, and the rest if the folder has an unexpected entry.
  func obstacles(scansAll: Bool) throws -> (refusals: [Refusal], bytesRead: Int64) {
    let all = try scansAll || (uses.contain(.carried) && mayBeForeign())
    let found = try findings { $0 == .read || (all && $0 == .carried) }
    let obstacles = try found.all.filter(\.isObstacle) + shared()
    return (obstacles.map(\.refusal), found.bytesRead)
  }

  /// Values whose files two values of the result would name, by any filters.
  private func shared() throws -> [Finding] {
    try columns { uses.isShared($0, in: $1) }.flatMap { table, wanted in
      try wanted.compactMap { try shared($0, in: table) }
    }
  }

  /// Values whose files two values of the result would name, since two filters take their object.
  ///
  /// - Parameter known: the sets of rows that the connection finds.
  func overlaps(known: some Collection<String>) throws -> [Refusal] {
    let found = columns { column, number in
      let filters = uses.filters(of: column, in: number)
      return !filters.isEmpty && filters.allSatisfy { known.contains($0.name) }
    }
    return try found.flatMap { table, wanted in
      try wanted.flatMap { column in
        try column.numbers.sorted { $0.rawValue < $1.rawValue }.compactMap { number in
          var place = column
          place.numbers = [number]
          let taken = uses.filters(of: column.column, in: number).map {
            "(\($0.exclusion(key: "Z_PK")))"
          }
          let test = "\(taken.joined(separator: " + ")) > 1"
          return try shared(place, in: table, where: test)?.refusal
        }
      }
    }
  }

  private func shared(
    _ column: Wanted, in table: String, where test: String = "1"
  ) throws -> Finding? {
    var finding = Finding(
      entity: column.entity, property: column.property, column: column.column, fault: .shared,
      use: .carried, keys: [], names: [])
    let rows = ExternalReferences.Rows(
      table: table, columns: [column.column.name], numbers: column.numbers, test: test)
    try survey.reader.connection.perform { db in
      try rows.forEach(in: db) { key, _, files in
        finding.keys.append(key)
        if finding.names.count < Self.nameLimit { finding.names += files.compactMap(\.self) }
      }
    }
    return finding.keys.isEmpty ? nil : finding
  }

  /// Missing files whose names are carried over.
  func carried() throws -> [Defect] {
    try findings { $0 == .carried }.all.filter { !$0.isObstacle }.map { $0.defect(.kept) }
  }

  /// Missing files whose bytes the stage needs.
  func needed() throws -> [Finding] {
    try findings { $0 == .read }.all.filter { $0.fault == .missing }
  }

  // MARK: Values

  private func findings(
    _ isWanted: (ExternalUses.Use) -> Bool
  ) throws -> (all: [Finding], bytesRead: Int64) {
    var result: [Finding] = []
    var bytesRead: Int64 = 0
    for (table, wanted) in columns(where: { isWanted(uses.use(of: $0, in: $1)) }) {
      let faults = try faults(in: table, of: wanted, bytesRead: &bytesRead)
      for (column, faults) in zip(wanted, faults) {
        for (kind, values) in faults.sorted(by: { $0.key < $1.key }) {
          result.append(
            Finding(
              entity: column.entity, property: column.property, column: column.column,
              fault: kind.fault, use: kind.use, keys: values.keys, names: values.names))
        }
      }
    }
    return (result, bytesRead)
  }

  /// The external columns of each table that has some, in rows of wanted entities.
  private func columns(
    where isWanted: (ExternalUses.Column, EntityNumber) -> Bool
  ) -> [(table: String, wanted: [Wanted])] {
    survey.schema.externalColumns.sorted(by: { $0.key < $1.key }).compactMap { table, columns in
      guard let found = survey.schema.tables.first(where: { $0.name == table }) else { return nil }
      let wanted = columns.compactMap { column -> Wanted? in
        guard case .attribute(let entity, let property)? = found.role(ofColumn: column.name)
        else { return nil }
        let place = ExternalUses.Column(table: table, name: column.name)
        let numbers = found.entityNames.compactMap { survey.schema.numbers[$0] }
          .filter { isWanted(place, $0) }
        return numbers.isEmpty
          ? nil : Wanted(column: place, entity: entity, property: property, numbers: Set(numbers))
      }
      return wanted.isEmpty ? nil : (table, wanted)
    }
  }

  /// A column whose files are checked, in rows of some entities.
  private struct Wanted {
    var column: ExternalUses.Column
    var entity: String
    var property: String
    var numbers: Set<EntityNumber>
  }

  private typealias Faults = [Kind: (keys: [Int64], names: [String])]

  private struct Kind: Hashable, Comparable {
    var fault: ExternalFileFault
    var use: ExternalUses.Use

    static func < (one: Self, other: Self) -> Bool {
      (one.fault.rawValue, one.use.rawValue) < (other.fault.rawValue, other.use.rawValue)
    }
  }

  /// What is wrong with the files of each column; adds what those that are read take.
  private func faults(
    in table: String, of wanted: [Wanted], bytesRead: inout Int64
  ) throws -> [Faults] {
    let support = SupportFolder.path(of: survey.store)
    let folder = ExternalDataFolder.opened(support: support)
    var result = wanted.map { _ in Faults() }
    var leaves = LeafRoom(rowBytes: try rowBytes(of: table))
    func add(_ places: [Place]) throws {
      let looks = Self.looks(at: places.map(\.name), in: folder, support: support)
      var bytes: (key: Int64, sum: Int64)?
      for (place, look) in zip(places, looks) {
        switch try look.get() {
        case .readable(let size):
          guard place.use == .read else { continue }
          if let row = bytes, row.key != place.key { leaves.add(row.sum) }
          bytes = (place.key, size + (bytes.flatMap { $0.key == place.key ? $0.sum : nil } ?? 0))
        case .faulty(let fault):
          let kind = Kind(fault: fault, use: place.use)
          result[place.column][kind, default: ([], [])].keys.append(place.key)
          if let count = result[place.column][kind]?.names.count, count < Self.nameLimit {
            result[place.column][kind]?.names.append(place.name)
          }
        }
      }
      if let row = bytes { leaves.add(row.sum) }
    }
    try survey.reader.connection.perform { db in
      let references = ExternalReferences.Rows(
        table: table, columns: wanted.map(\.column.name),
        numbers: wanted.reduce(into: []) { $0.formUnion($1.numbers) })
      var places: [Place] = []
      try references.forEach(in: db) { key, number, files in
        if places.count >= Self.mostAtOnce {
          try add(places)
          places.removeAll(keepingCapacity: true)
        }
        for (column, file) in files.enumerated() {
          guard let file, wanted[column].numbers.contains(number) else { continue }
          let use = uses.use(of: wanted[column].column, in: number)
          places.append(Place(key: key, column: column, name: file, use: use))
        }
      }
      try add(places)
    }
    bytesRead += leaves.bytesAdded
    return result
  }

  /// A value that names a file.
  private struct Place {
    var key: Int64
    /// The place of its column among those that are wanted.
    var column: Int
    var name: String
    var use: ExternalUses.Use
  }

  /// The number of files checked before the next rows are read.
  private static let mostAtOnce = 4096
  /// The number of files that one processor checks at a time.
  private static let share = 256

  /// The results for files, in this order, checked on all processors, since reading a file's status
  /// is the system's work.
  private static func looks(
    at names: [String], in folder: ForeignFolder?, support: FilePath
  ) -> [Result<Look, any Error>] {
    let shares = (names.count + share - 1) / share
    let found = Mutex([[Result<Look, any Error>]](repeating: [], count: shares))
    ThreadPool.share(shares) { number in
      let first = number * share
      let looks = names[first..<min(first + share, names.count)].map { name in
        Result { try look(at: name, in: folder, support: support) }
      }
      found.withLock { $0[number] = looks }
    }
    return found.withLock { $0.flatMap(\.self) }
  }

  /// The mean bytes of a row as it is, from a sample.
  private func rowBytes(of table: String) throws -> Int64 {
    let outline = TableOutline(
      file: try SourceFile(survey.access.readable), pageSize: survey.header.pageSize,
      root: try survey.reader.roots()[table] ?? 0)
    let sampled = outline.runs.reduce((rows: Int64(0), bytes: Int64(0))) {
      ($0.rows + $1.sampleRows, $0.bytes + $1.sampleBytes)
    }
    return sampled.bytes / max(1, sampled.rows)
  }

  /// The result of checking a file.
  private enum Look: Sendable {
    /// It has so many bytes.
    case readable(Int64)
    /// Something keeps it from being read.
    case faulty(ExternalFileFault)
  }

  private static func look(
    at name: String, in folder: ForeignFolder?, support: FilePath
  ) throws -> Look {
    guard let component = FilePath.Component(name), component.kind == .regular else {
      return .faulty(.missing)
    }
    if let size = folder?.size(of: component) { return .readable(size) }
    do {
      guard let file = try ExternalDataFolder.open(component, support: support) else {
        return .faulty(.missing)
      }
      return try file.closeAfter { .readable(try Files.fileStatus(of: file).size) }
    } catch let error as StoreError where error.problem == .externalFileForeign {
      return .faulty(.foreign)
    } catch let error as SystemCallError
      where [.permissionDenied, .notPermitted].contains(error.errno)
    {
      return .faulty(.unreadable)
    }
  }

  // MARK: Folders

  /// Whether the folder has entries that must not be read, or is none itself: checks each file's
  /// status, which takes less time than reading the values.
  private func mayBeForeign() throws -> Bool {
    let support = SupportFolder.path(of: survey.store)
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
      // Without permission for the folder its files cannot be opened.
      return true
    }
  }
}

extension ExternalReferences {
  /// The rows of a table in some of whose columns there are references.
  struct Rows {
    let table: String
    let columns: [String]
    /// The entities whose rows are read.
    let numbers: Set<EntityNumber>
    /// Which of these rows, as SQL.
    var test = "1"

    /// Calls `body` with key, entity and the file name in each column, nil where there is none.
    func forEach(
      in db: Database, body: (Int64, EntityNumber, [String?]) throws -> Void
    ) throws {
      let names = columns.map { SQL.identifier(name: $0) }
      let tests = names.map { "(length(\($0)) < 64 AND substr(\($0), 1, 1) = X'02')" }
      let values = zip(names, tests).map { "CASE WHEN \($1) THEN substr(\($0), 2, 36) END" }
      let list = numbers.map { "\($0.rawValue)" }.sorted().joined(separator: ", ")
      let rows = try Row.fetchCursor(
        db,
        sql: """
          SELECT Z_PK, Z_ENT, \(values.joined(separator: ", "))
          FROM \(SQL.identifier(name: table)) NOT INDEXED
          WHERE Z_ENT IN (\(list)) AND (\(tests.joined(separator: " OR "))) AND \(test)
          ORDER BY Z_PK
          """)
      while let row = try rows.next() {
        // Without values of GRDB's in between, which take as long as the row.
        guard let key: Int64 = row[0], let entity: Int64 = row[1] else { continue }
        let files = try columns.indices.map { place in
          try row.withUnsafeData(atIndex: 2 + place) { bytes in
            bytes.map { String(decoding: $0, as: UTF8.self) }
          }
        }
        try body(key, EntityNumber(rawValue: entity), files)
      }
    }
  }
}
