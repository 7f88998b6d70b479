import Fleets
import Foundation
import SystemPackage
import Testing

@testable import Godwit

@Suite struct FleetOptionsTests {
  /// A value other than the default for every option, by its place in `StoreMigration`.
  private static let changes: [String: @Sendable (inout StoreMigration) -> Void] = [
    "target": { $0.target = ["/Shop.momd"] },
    "configuration": { $0.configuration = "Main" },
    "output": { $0.output = "/New.sqlite" },
    "models": { $0.models = ["/Old.momd"] },
    "routing.mappings": { $0.routing.mappings = ["/Map.json"] },
    "routing.mappingFolders": { $0.routing.mappingFolders = ["/Maps"] },
    "routing.settings": { $0.routing.settings = ["Book.id=uuid()"] },
    "routing.isProgressive": { $0.routing.isProgressive = true },
    "routing.infersOnly": { $0.routing.infersOnly = true },
    "routing.infers": { $0.routing.infers = false },
    "routing.versionOrder": { $0.routing.versionOrder = ["One", "Two"] },
    "routing.joinTables": { $0.routing.joinTables = ["Book.similar"] },
    "routing.isStepwise": { $0.routing.isStepwise = true },
    "choices.allowedLoss": { $0.choices.allowedLoss = ["Book.gone"] },
    "choices.failsOnLoss": { $0.choices.failsOnLoss = true },
    "choices.duplicates": { $0.choices.duplicates = .merge },
    "choices.danglingReferences": { $0.choices.danglingReferences = .nullify },
    "choices.unfitValues": { $0.choices.unfitValues = .convert },
    "choices.missingReferences": { $0.choices.missingReferences = .drop },
    "choices.severalObjects": { $0.choices.severalObjects = .first },
    "choices.extraTables": { $0.choices.extraTables = .drop },
    "choices.history": { $0.choices.history = .drop },
    "choices.cloudKit": { $0.choices.cloudKit = .carry },
    "choices.salvagesDamaged": { $0.choices.salvagesDamaged = true },
    "checks.source": { $0.checks.source = .full },
    "checks.validation": { $0.checks.validation = .report },
    "checks.result": { $0.checks.result = .full },
    "resources.workers": { $0.resources.workers = 7 },
    "resources.memory": { $0.resources.memory = 1 << 30 },
    "resources.bytesPerSecond": { $0.resources.bytesPerSecond = 1000 },
    "resources.rowsPerRange": { $0.resources.rowsPerRange = 500 },
    "resources.workFolder": { $0.resources.workFolder = "/fast" },
    "resources.launcher": { $0.resources.launcher = ["srun"] },
    "handover.journalMode": { $0.handover.journalMode = .delete },
    "handover.givesNewUUID": { $0.handover.givesNewUUID = true },
    "handover.copiesIfCurrent": { $0.handover.copiesIfCurrent = true },
    "handover.discardsOld": { $0.handover.discardsOld = true },
    "handover.keepsRecord": { $0.handover.keepsRecord = true },
    "handover.swapFile": { $0.handover.swapFile = "/hold" },
    "engine": { $0.engine = .pages },
    "pauseFile": { $0.pauseFile = "/pause" },
    "restarts": { $0.restarts = true },
    "logsSQL": { $0.logsSQL = true },
  ]

  /// What belongs to one store, or to the process that runs the fleet.
  private static let others: Set = [
    "store", "policies", "resources.executable", "logger", "namesVersions", "executesSmallOrders",
    "isTrial", "skipsStatusOfShortRuns", "shared", "lastRun",
  ]

  /// The options of a migration by their places, as text.
  private func options(_ migration: StoreMigration) -> [String: String] {
    let groups: Set = ["routing", "choices", "checks", "resources", "handover"]
    var options: [String: String] = [:]
    for (label, value) in Mirror(reflecting: migration).children {
      guard let label else { continue }
      if groups.contains(label) {
        for (inner, value) in Mirror(reflecting: value).children {
          options["\(label).\(inner ?? "")"] = "\(value)"
        }
      } else {
        options[label] = "\(value)"
      }
    }
    return options
  }

  private let usual = StoreMigration(store: "", toMerged: [])

  @Test func `every option of a migration is known here`() {
    let known = Set(Self.changes.keys).union(Self.others)
    #expect(Set(options(usual).keys) == known)
  }

  @Test(arguments: changes.keys.sorted())
  func `a fleet carries an option, or refuses it by name`(_ name: String) throws {
    let change = try #require(Self.changes[name])
    var changed = usual
    change(&changed)
    let wanted = options(changed)[name]
    #expect(wanted != options(usual)[name])
    let carried = try StoreMigration(store: "", by: changed.fleetSettings)
    let isCarried = options(carried)[name] == wanted
    #expect(isCarried != (changed.optionsOutsideFleets == [name]))
    #expect(usual.optionsOutsideFleets.isEmpty)
  }

  @Test func `paths in the options of a line start where the fleet is created`() throws {
    let members = try StoreFleet.Members()
    let line = #"""
      {"store": "a.sqlite", "options": {"to": ["T.mom", "/U.mom"], "models": ["M"],
      "mapping": ["m.json"], "mappings": ["../maps"], "work": "w", "order": ["One"]}}
      """#
    try members.add(StoreFleet.Member(line: line.utf8, number: 1))
    var migration = usual
    migration.target = ["T.mom", "/U.mom"]
    migration.models = ["M"]
    (migration.routing.mappings, migration.routing.mappingFolders) = (["m.json"], ["../maps"])
    migration.resources.workFolder = "w"
    let main = migration.fleetSettings
    var expected = FleetSettings()
    (expected.to, expected.models, expected.mapping) = (main.to, main.models, main.mapping)
    (expected.mappings, expected.work, expected.order) = (main.mappings, main.work, ["One"])
    #expect(members.options == [expected])
    #expect(main.to == [FilePath("T.mom").absolute.string, "/U.mom"])
    let place = "\(FileManager.default.temporaryDirectory.path)/godwit-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: place) }
    let given = try GivenStore(Model.note, Model.longNote)
    try members.add(.init(store: FilePath(given.store.path)))
    var other = given.migration()
    other.output = nil
    let fleet = try StoreFleet.create(at: FilePath(place), of: members, by: other)
    let list = try String(contentsOfFile: "\(fleet.path)/stores.ndjson", encoding: .utf8)
    for path in main.to ?? [] {
      #expect(list.replacing("\\/", with: "/").contains("\"\(path)\""))
    }
  }

  @Test func `a fleet is not created with an option that none has`() throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let members = try StoreFleet.Members()
    try members.add(.init(store: FilePath(given.store.path)))
    var migration = given.migration()
    migration.output = nil
    migration.resources.launcher = ["srun"]
    let fleet = FilePath(given.folder.appending(path: "Fleet").path)
    let failure = #expect(throws: MigrationFailure.self) {
      _ = try StoreFleet.create(at: fleet, of: members, by: migration)
    }
    #expect(failure?.description.contains("resources.launcher") == true)
    #expect(try !given.names.contains("Fleet"))
    migration.resources.launcher = []
    _ = try StoreFleet.create(at: fleet, of: members, by: migration)
  }
}
