import Mapping
import MigrationCoordinator
import StoreFormat
import Survey
import SystemPackage

extension MigrationFailure {
  init(_ error: StoreError) {
    let file = "\(error.store)"
    switch error.problem {
    case .notFound: self.init(.notFound, ForeignFile.absence(of: error.store))
    case .isFolder:
      self.init(.damaged, ForeignFile.sentence(onFolder: error.store))
    case .empty:
      self.init(
        .damaged,
        "\(file) is empty: if a -wal file belongs to it, put the main file back next to it.")
    case .xmlStore:
      self.init(
        .damaged,
        "\(file) is an XML store: open it with Core Data once and save it as an SQLite store.")
    case .text, .unrecognized:
      let isText = error.problem == .text
      self.init(.damaged, ForeignFile.sentence(on: error.store, isText: isText))
    case .damaged:
      self.init(
        .damaged,
        "\(file) is damaged\(Self.cause(error)): restore it from a backup, or \(Self.wayOut)")
    case .notCoreData:
      self.init(
        .damaged,
        "\(file) is an SQLite file without Core Data's tables: only Core Data stores can be migrated."
      )
    case .metadataUnreadable:
      self.init(
        .damaged,
        "\(file) has metadata that cannot be read: restore the store from a backup.")
    case .hashVersionUnknown(let version):
      self.init(
        .impossible,
        "\(file) has version hashes of kind \(version), and only kind 3 is known: update Godwit.")
    case .modelCacheUnreadable:
      self.init(
        .damaged,
        "\(file) has an embedded model that cannot be read: name its own model with "
          + "\(option: .models).")
    case .companionName(let store):
      self.init(
        .cannotCreate, kind: .fileExists,
        "\(file) has a name that is reserved for the store \(store), where SQLite, Core Data or "
          + "Godwit replace files: name another file.")
    case .editOutdated(let store):
      self.init(
        .cannotCreate, kind: .fileExists,
        "\(store) was written to after the migration, and \(file) would undo that: nothing was "
          + "done.")
    case .externalFileForeign:
      self.init(
        .damaged,
        "\(file) is a link or not a regular file, and a value of the store names it: links are not "
          + "followed; put the file itself there.")
    case .encrypted:
      self.init(
        .damaged,
        "\(file) is encrypted behind the header of an SQLite file: decrypt it before migrating it.")
    case .tablesMissing, .columnsMissing, .derivedColumnsMissing, .keysMissing, .numbersAsTexts,
      .rowNumbersMissing, .numbersContradict:
      self.init(schema: error)
    case .cannotRead, .outOfMemory: self.init(unreadable: error)
    case .truncated, .notSalvageable, .inUse, .openForWriting, .cannotWrite, .deviceFailed,
      .notPermitted, .diskFull, .rowTooLong, .changedDuringMigration:
      self.init(access: error)
    }
    self.file = error.store
  }

  /// Describes a store that the system does not let this process read.
  private init(unreadable error: StoreError) {
    // These have a sentence of their own wherever they arise.
    let known: [Errno] = [.tooManySymbolicLinkLevels, .tooManyOpenFiles]
    if let errno = error.cause as? Errno, known.contains(errno) {
      self.init(errno: errno, operation: "reading", path: error.store)
    } else {
      self.init(access: error)
    }
  }

  /// Describes tables that are not what Core Data makes of the store's model.
  private init(schema error: StoreError) {
    let file = "\(error.store)"
    switch error.problem {
    case .tablesMissing(let tables):
      self.init(
        .damaged,
        "\(file) lacks tables that its model requires (\(tables.joined(separator: ", "))): restore "
          + "it from a backup, or try to recover it.")
    case .keysMissing(let tables):
      let names = tables.joined(separator: ", ")
      self.init(
        .damaged,
        "\(file) has tables whose row number is not Z_PK (\(names)): restore it "
          + "from a backup.")
    case .numbersAsTexts(let tables):
      let names = tables.joined(separator: ", ")
      self.init(
        .damaged,
        "\(file) stores the numbers in Z_ENT as texts (\(names)): restore it from a backup.")
    case .numbersContradict(let found):
      let places = found.map {
        "\($0.entity) is \($0.recorded) there and \($0.expected) in the model"
      }
      self.init(
        .damaged,
        "\(file) has other entity numbers in Z_PRIMARYKEY than its model (\(ListText(places))): "
          + "restore it from a backup, or trust the model with \(choice: .checkSource(.off)).")
    case .rowNumbersMissing(let tables):
      let names = tables.joined(separator: ", ")
      self.init(
        .damaged,
        "\(file) has join tables declared WITHOUT ROWID, which Core Data never makes (\(names)): "
          + "restore it from a backup, or create them again with row numbers.")
    case .columnsMissing(let columns):
      self.init(
        .damaged,
        "\(file) does not fit the version hashes in its own metadata: it lacks columns that its "
          + "model requires (\(columns.joined(separator: ", "))); restore it from a backup.")
    case .derivedColumnsMissing(let names):
      self.init(
        .impossible,
        "\(file) lacks derived attributes of the model (\(names.joined(separator: ", "))), although it "
          + "has the version hashes of the model, which do not cover their names. Core Data would "
          + "not migrate it, and then fail. Give the entity a hash modifier in the new version, so "
          + "that its hash differs, and migrate to that.")
    default: self.init(access: error)
    }
  }

  /// Describes what prevents a store from being read or written.
  private init(access error: StoreError) {
    let file = "\(error.store)"
    switch error.problem {
    case .inUse:
      self.init(
        .inUse,
        "\(file) is in use by another process: close whatever has it open and try again.")
    case .openForWriting(let processes):
      let numbers = processes.prefix(8).map { "\($0)" }.joined(separator: ", ")
      self.init(
        .inUse,
        "\(file) is open for writing in another process (\(numbers)): close it there and try again."
      )
    case .cannotRead:
      let isForbidden = (error.cause as? Errno).map(MigrationFailure.isPermission) ?? false
      self.init(
        isForbidden ? .cannotCreate : .notFound,
        "\(file) cannot be read\(Self.cause(error)): check its permissions.")
    case .cannotWrite:
      self.init(
        .cannotWrite,
        "\(file) cannot be written\(Self.cause(error)): its disk is full or reports a fault; make room "
          + "or check it.")
    case .deviceFailed:
      self.init(
        .cannotWrite,
        "\(file) cannot be read: its disk reports a fault"
          + ((error.cause as? Errno).map { " (\($0))" } ?? "")
          + "; check the disk, and start the same command again.")
    case .notPermitted:
      self.init(
        .cannotCreate,
        "\(file) cannot be opened\(Self.cause(error)): check its permissions and its folder's, and "
          + "the room on its disk.")
    case .diskFull: self.init(diskOf: error.store)
    case .truncated(let expected, let actual):
      // Without a header there is nothing to go by.
      let wayOut = actual < 512 ? "." : ", or \(Self.wayOut)"
      self.init(
        .damaged,
        "\(file) is truncated to \(GroupedText(actual)) of \(GroupedText(expected)) bytes: copy it "
          + "again from a backup"
          + wayOut)
    case .notSalvageable(let parts):
      self.init(
        .damaged,
        "\(file) is damaged in parts that cannot be recovered (\(parts.joined(separator: ", ")) "
          + "cannot be read): restore it from a backup.")
    case .outOfMemory:
      self.init(
        .system,
        "\(file) needs more memory than is free: free memory, or use fewer \(option: .workers).")
    case .rowTooLong(let row):
      let what =
        row.map {
          "\(file): row \($0.key) of table \($0.table) has \(ByteText($0.bytes)), and a process needs "
            + "\(ByteText($0.memoryNeeded)) of memory to copy it; each has \(ByteText($0.memory))"
        } ?? "\(file) has a row that does not fit in the memory of a process"
      self.init(
        .system,
        "\(what): raise \(option: .memory), use fewer \(option: .workers), or "
          + "\(choice: .engine(.pages)).")
    case .changedDuringMigration:
      self.init(
        .inUse,
        "\(file) was changed during the migration, and was not replaced: close whatever has it "
          + "open and try again.")
    default: self.init(.bug, "unexpected error, please report it: \(error)")
    }
  }

  /// What else can be done about damage, as the end of a sentence.
  static var wayOut: String { "migrate the readable part with \(command: .salvage)." }

  private static func cause(_ error: StoreError) -> String {
    error.cause.map { " (\($0))" } ?? ""
  }
}

extension MigrationFailure {
  /// A source that is not sound: what failed first, and then everything that is wrong, a line each.
  init(_ error: SourceDamage) {
    let first = error.cause.map { MigrationFailure($0) }
    let opening =
      first.flatMap { $0.exitStatus == .damaged ? $0.sentences : nil }
      ?? ["\(error.store) is damaged: restore it from a backup, or \(Self.wayOut)"]
    let shown = error.findings.prefix(Self.findingsShown).map { finding in
      finding.table.map { "\($0): \(finding.text)." } ?? "\(finding.text)."
    }
    let left = error.findings.count - shown.count
    self.init(
      .damaged, at: error.store,
      opening + shown + (left > 0 ? ["and \(left) more, by SQLite's integrity_check."] : []))
  }

  private static let findingsShown = 20

  /// Damage, with what a salvage would make of it.
  init(_ error: SalvageableDamage) {
    let damage = MigrationFailure(error.damage)
    let outlook =
      switch error.outlook {
      case .takes(let found):
        "`\(option: .salvage)` would migrate "
          + "\(StoreMigration.Salvage(found))."
      case .lacks(let parts):
        "`\(option: .salvage)` would migrate nothing: \(parts.joined(separator: ", ")) cannot be "
          + "read."
      }
    self.init(
      damage.exitStatus, kind: damage.kind, at: damage.file, damage.sentences + [outlook],
      reasons: damage.reasons, code: damage.coreDataCode)
  }
}
