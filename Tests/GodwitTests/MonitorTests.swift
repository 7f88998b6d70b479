import Foundation
import Godwit
import SystemPackage
import Testing

@Suite struct MonitorTests {
  @Test func `nothing is known of a store that nobody migrated`() async throws {
    let given = try GivenStore(Model.note)
    let monitor = MigrationMonitor(given.store)
    #expect(try await monitor.status() == nil)
    let none = monitor.updates(waitingToBegin: .milliseconds(50))
    for try await status in none { Issue.record("\(status.state) of nothing") }
  }

  @Test func `what became of a migration is told by its record`() async throws {
    let given = try GivenStore(Model.note + Model.tag, Model.note)
    var migration = given.migration()
    migration.handover.keepsRecord = true
    try await migration.run()
    for path in [given.store, given.output] {
      let status = try #require(try await MigrationMonitor(path).status())
      #expect(status.state == .done && !status.state.isOpen && status.exitStatus == 0)
      #expect(status.rows == 30 && status.losses.count == 1)
      #expect(status.destination?.lastComponent == "New.sqlite")
      #expect(try #require(status.ended) < Date.now.addingTimeInterval(60))
    }
  }

  @Test func `another migration is waited for where the last one is over`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    var migration = given.migration()
    migration.handover.keepsRecord = true
    try await migration.run()
    func states(_ wait: Duration) async throws -> ([MigrationMonitor.State], Duration) {
      let start = ContinuousClock.now
      var states: [MigrationMonitor.State] = []
      let updates = MigrationMonitor(given.store).updates(waitingToBegin: wait, forNext: true)
      for try await status in updates { states.append(status.state) }
      return (states, ContinuousClock.now - start)
    }
    // One that began just now might be the one that was meant.
    try await Task.sleep(for: .milliseconds(2_100))
    let (told, taken) = try await states(.seconds(1))
    #expect(told == [.done] && taken >= .seconds(1))
    // Another one begins while somebody waits.
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = [
      "-c", "sleep 0.5; exec \"$0\" \"$@\"", GivenStore.tool.path, "migrate", given.store.path,
      "--to", given.model.path, "--output", given.output.path + "2",
    ]
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    let (next, time) = try await states(.seconds(60))
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(next.last == .done && time >= .milliseconds(500) && time < .seconds(30), "\(next)")
  }

  @Test func `nothing is known of a migration that was refused`() async throws {
    let given = try GivenStore(Model.note + Model.tag, Model.note)
    var migration = given.migration()
    (migration.handover.keepsRecord, migration.choices.failsOnLoss) = (true, true)
    _ = try await given.failure(of: migration)
    #expect(try await MigrationMonitor(given.store).status() == nil)
  }

  @Test func `another process is watched to its end`() async throws {
    let given = try GivenStore(Model.note, Model.longNote, objects: 100_000)
    let process = Process()
    process.executableURL = GivenStore.tool
    process.arguments = [
      "migrate", given.store.path, "--to", given.model.path, "--workers", "1", "--range-rows",
      "500",
    ]
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    // Without an await, so that no other test comes between.
    while try !given.names.contains("Store.sqlite.godwit-status.json") { usleep(1_000) }
    usleep(100_000)
    try #require(process.suspend())
    var states: [MigrationMonitor.State] = []
    var fractions: [Double] = []
    var (rows, ended): (Int64?, Date?)
    for try await status in MigrationMonitor(given.store) {
      // The system takes its time to stop all threads.
      if status.state == .paused, !states.contains(.paused) {
        #expect(status.reason == .stopped && status.exitStatus == 69)
        #expect(status.process == process.processIdentifier)
        try #require(process.resume())
      }
      states.append(status.state)
      (rows, ended) = (status.rows, status.ended)
      if let progress = status.progress { fractions.append(progress.fraction) }
    }
    process.waitUntilExit()
    #expect(states.contains(.paused) && states.last == .done, "\(states)")
    // The end is told with all that the record has of it.
    #expect(rows == 100_000 && ended != nil)
    #expect(!states.dropLast().contains { !$0.isOpen })
    #expect(!fractions.isEmpty && fractions == fractions.sorted())
  }
}
