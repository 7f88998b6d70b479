import Mapping
import ModelFiles
import StoreFormat
import Survey
import SystemPackage

@testable import Godwit
@testable import MigrationCoordinator
@testable import Planning

/// An example of each error that a user can meet.
enum ErrorSamples {
  private static let store: FilePath = "Shop.sqlite"

  /// Reasons why a store cannot be migrated, which the models or the objects give.
  static let reasons: [MigrationFailure.Reason] =
    (properties.map { Refusal(reason: $0, entity: "Book", property: "pages") }
    + entities.map { Refusal(reason: $0, entity: "Book") })
    .map { MigrationFailure.Reason($0) } + [MigrationFailure.Reason(refused: loss)]

  private static let loss = Loss(
    kind: .attribute, cause: .conversion, entity: "Book", property: "pages", count: 3,
    keys: [1, 2, 3])

  private static let properties: [Refusal.Reason] =
    [
      .incompatibleTypes(source: "String", destination: "Date"),
      .attributeBecameRelationship, .relationshipBecameAttribute,
      .destinationEntityChanged(source: "Author", destination: "Person"),
      .derivationCannotBeComputed, .derivedValueNotKept(changed: nil),
      .derivedValueNotKept(changed: "Book.title"), .triggerCannotBeKept("Z_Book_pages"),
      .storedFormUnknown("a transient attribute"),
      .renamingAmbiguous(
        identifier: "pages", sources: ["pages", "leaves"], destinations: ["pages"]),
      .relationshipForm, .externalFiles(.missing, count: 2, keys: [1, 7], names: ["5D2A"]),
      .externalFiles(.foreign, count: 1, keys: [7], names: ["5D2A"]),
      .externalFiles(.unreadable, count: 1, keys: [7], names: ["5D2A"]),
      .externalFiles(.shared, count: 1, keys: [7], names: ["5D2A"]),
      .mirroring(.changed(.propertyRemoved)),
    ]
    + [
      .noObjects(missing: "pages"), .noObjectsLeftNil(attribute: "pages"),
      .noObjectsForDefault("nan"), .noMissingValues(attribute: "pages"),
      .noMissingReferences(before: nil), .valuesFit(attribute: "pages", type: "Integer 16"),
      .singleOwner(relationship: "cover"), .singleObject(relationship: "authors"),
    ].map { .condition($0, count: 2, keys: [1, 7]) }

  private static let entities: [Refusal.Reason] =
    [
      .hierarchiesMerged(roots: ["Book", "Film"]), .tableTooWide(columns: 2_100),
      .tableNameTaken("ZBOOK", by: ["Book", "BOOK"]),
    ]
    + [
      Condition.Demand.noObjectsOfAbstract, .unique(properties: ["isbn"]),
      .defaultsDiffer(properties: ["isbn"]),
    ].map { .condition($0, count: 2, keys: [1, 7]) }

  /// What is wrong with a store.
  static let stores: [StoreError] =
    [
      .notFound, .isFolder, .empty, .xmlStore, .text, .unrecognized, .encrypted,
      .truncated(expected: 1 << 20, actual: 1 << 19), .damaged, .notSalvageable(["ZBOOK"]),
      .notCoreData, .metadataUnreadable, .hashVersionUnknown(4), .modelCacheUnreadable, .inUse,
      .openForWriting(by: [4711]), .cannotRead, .cannotWrite, .deviceFailed, .notPermitted,
      .outOfMemory,
      .rowTooLong(LongRow(table: "ZBOOK", key: 7, bytes: 100 << 20, memory: 64 << 20)),
      .tablesMissing(["ZBOOK"]), .columnsMissing(["ZBOOK.ZPAGES"]),
      .derivedColumnsMissing(["Book.key"]),
      .numbersContradict([.init(entity: "Book", recorded: 2, expected: 1)]),
      .keysMissing(["ZBOOK"]), .numbersAsTexts(["ZBOOK"]), .rowNumbersMissing(["Z_1AUTHORS"]),
      .changedDuringMigration, .companionName(of: "Shop.sqlite"), .editOutdated(of: "Shop.sqlite"),
      .externalFileForeign,
    ].map { StoreError(problem: $0, store: store) }

  /// What is wrong with a model, or with where it lies.
  static let models: [ModelFileError] =
    [
      .notFound, .tooLarge(limit: 64 << 20), .damagedXML(line: 12), .entityDeclaration,
      .notAModelDocument, .modelBeforeXcode4, .unknownElement("entities"),
      .unknownAttributeType("Colour"), .damagedPropertyList, .notAModelArchive, .noModel,
      .noCurrentVersion, .currentVersionMissing("Shop 3"),
      .versionMissing("Shop 9", available: ["Shop 1", "Shop 2"]), .conflictingEntity,
      .configurationMissing("Cloud"),
    ].map { ModelFileError($0, file: "Shop.xcdatamodeld", entity: "Book") }

  /// What stands in the way of a migration as a whole.
  static let migrations: [MigrationError] = [
    .sourceModelMissing(store: store, searched: ["Shop.xcdatamodeld"], unreadable: []),
    .routeMissing(
      store: store,
      [
        .init(
          source: ["1"], destination: ["2"],
          refusals: [Refusal(reason: .relationshipForm, entity: "Book", property: "authors")])
      ], unknown: [], infers: true),
    .mappingElsewhere("2to3.json", from: ["2"], to: ["3"]),
    .mappingsUnreadable([
      .init(path: "2to3.json", wasNamed: true, error: Errno.permissionDenied)
    ]),
    .versionOrderUnknown([["a"], ["b"]]), .versionNameUnknown("9", available: ["1", "2"]),
    .joinTableUnknown("Book.similar"), .settingUnreadable("pages", .form),
    .settingUnreadable("Book.pages=2", .repeated),
    .consentUnknown(["Bok"], known: ["Book"]),
    .unsupported(store: store, [.historyOfOtherModel]),
    .unsupported(store: store, [.deferredMigration]),
    .unsupported(store: store, [.cloudKitMirroring]),
    .interrupted(work: "Shop.sqlite.godwit"),
  ]

  /// What is wrong with places that a command writes to.
  static let places: [PlaceError] = [
    .alreadyRunning(store: store, lock: "Shop.sqlite.godwit/lock"), .outputExists("New.sqlite"),
    .nameTooLong("Long.sqlite", most: 220), .keptListUnreadable("Shop.sqlite.before.json"),
    .nothingKept(store: store, as: nil),
    .oldStoreDiscarded(store, earlier: "Shop.sqlite.before-1"),
    .keptChanged("Shop.sqlite.before-1"),
    .keptMissing("Shop.sqlite.before-1", found: nil),
    .keptMissing("Shop.sqlite.before-1", found: "Old.sqlite"),
    .keptUnlisted("Shop.sqlite.before-1", list: "Shop.sqlite.godwit-kept.json"),
    .keptInPlace("Shop.sqlite.before-1", of: store),
    .keptRenamed(
      list: "New.sqlite.godwit-kept.json", from: "Shop.sqlite", missing: "New.sqlite.before-1"),
    .otherRun(work: "Shop.sqlite.godwit", [.targetModel]),
    .folderNotWritable("/data", cause: CancellationError()),
    .storeReserved(store),
    .workFolderForeign("Shop.sqlite.godwit", .unmarked(holds: "notes.txt")),
    .diskFull([
      .init(
        path: "/data", needed: 3 << 30, available: 1 << 30, purposes: ["the new store"],
        neededByEdit: 12 << 10)
    ]),
  ]

  /// What goes wrong in workers.
  static let work: [WorkError] = [
    .workerNotStarted(cause: Errno.noMemory),
    .workerForeign(host: "node7", version: "0.1.0"), .workersDoubled, .outputEndless,
    .shardUnseen("shard-1.sqlite"),
  ]
}
