import Foundation
import SystemCalls
import SystemPackage
import Testing

@testable import MigrationStatus

private let second: Int64 = 1_000_000_000

/// The state of a migration, decided from facts that are planted.
@Suite struct MigrationStateTests {
  private let boot = Identifier.random()

  private func run(_ change: (inout RunRecord) -> Void = { _ in }) -> RunRecord {
    var run = RunRecord(run: .random(), boot: boot, coordinator: 9, coordinatorStart: 9, at: 0)
    run.heartbeatAt = 100 * second
    change(&run)
    return run
  }

  private func record(
    _ run: Identifier, started: Double = 0, _ change: (inout OutcomeRecord) -> Void = { _ in }
  ) -> OutcomeRecord {
    var record = OutcomeRecord(
      run: run, source: "/data/Shop.sqlite", destination: "/data/Shop.sqlite",
      work: "/data/Shop.sqlite.godwit")
    record.boot = boot
    record.started = started
    change(&record)
    return record
  }

  private func decision(
    _ status: RunRecord?, _ record: OutcomeRecord? = nil, _ presence: Processes.Presence = .running,
    at time: Int64 = 100 * second, boot: Identifier? = nil
  ) -> StateDecision? {
    StateDecision(
      status: status, record: record,
      surroundings: .fixed(at: time, presence, boot: boot ?? self.boot))
  }

  @Test func `nothing known is no state`() { #expect(decision(nil) == nil) }

  @Test func `one that beats runs, whoever sees its process`() {
    for presence in [Processes.Presence.running, .hidden] {
      #expect(
        decision(run(), nil, presence) == StateDecision(state: .running, exitStatus: 0))
    }
  }

  @Test func `one whose process is gone is dead, at once where it was silent for a second`() {
    let gone = StateDecision(state: .dead, exitStatus: 75, reason: .gone)
    #expect(decision(run(), nil, .gone, at: 101 * second + 1) == gone)
    #expect(decision(run(), nil, .gone, at: 1_000 * second) == gone)
    // It may beat in another container, so this is for looking again.
    #expect(
      decision(run(), nil, .gone)
        == StateDecision(state: .running, exitStatus: 0, isUncertain: true))
    // A clock that was set does not revive it.
    #expect(decision(run(), nil, .gone, at: 0) == gone)
  }

  @Test func `one that a signal has stopped is paused at once`() {
    #expect(
      decision(run(), nil, .stopped)
        == StateDecision(state: .paused, exitStatus: 69, reason: .stopped))
  }

  @Test func `one that is held is paused once it stands still, and about to be before`() {
    let held = run { ($0.hold, $0.holdReason) = (.asked, "who (process 7)") }
    let asked = StateDecision.Reason.asked("who (process 7)")
    #expect(
      decision(held) == StateDecision(state: .running, exitStatus: 0, reason: asked))
    let still = run { ($0.hold, $0.holdReason, $0.isStanding) = (.asked, "who (process 7)", true) }
    #expect(decision(still) == StateDecision(state: .paused, exitStatus: 69, reason: asked))
    // Whose process is gone is dead, whatever it was asked for; a stopped one cannot go on.
    #expect(decision(still, nil, .gone, at: 1_000 * second)?.state == .dead)
    #expect(decision(still, nil, .stopped)?.reason == .stopped)
  }

  @Test func `files hold a run, or its swap`() {
    let file = StateDecision.Reason.file("/hold")
    let paused = run { ($0.hold, $0.holdReason, $0.isStanding) = (.pauseFile, "/hold", true) }
    #expect(decision(paused) == StateDecision(state: .paused, exitStatus: 69, reason: file))
    let ready = run { ($0.hold, $0.holdReason, $0.isStanding) = (.swap, "/hold", true) }
    #expect(decision(ready) == StateDecision(state: .ready, exitStatus: 0, reason: file))
  }

  @Test func `one that lives and is silent is paused after 3 s`() {
    #expect(decision(run(), at: 103 * second)?.state == .running)
    #expect(
      decision(run(), at: 107 * second)
        == StateDecision(state: .paused, exitStatus: 69, reason: .silent(seconds: 7)))
  }

  @Test func `one of an earlier start of the machine is dead, whatever runs under its number`() {
    #expect(
      decision(run(), boot: .random())
        == StateDecision(state: .dead, exitStatus: 75, reason: .machineRestarted))
    let record = record(.random())
    #expect(decision(nil, record, boot: .random())?.reason == .machineRestarted)
  }

  @Test(
    arguments: [
      (75, MigrationState.interrupted, 75), (78, .refused, 78), (74, .failed, 74),
      (65, .failed, 65), (0, .failed, 70), (-3, .failed, 70), (4_711, .failed, 70),
    ] as [(Int32, MigrationState, Int32)])
  func `one that failed has the state of its exit status`(
    status: Int32, state: MigrationState, shown: Int32
  ) {
    let failed = run { $0.fail("disk full", exitStatus: status, at: 0) }
    for presence in [Processes.Presence.running, .gone, .stopped] {
      #expect(
        decision(failed, nil, presence, at: 1_000 * second)
          == StateDecision(state: state, exitStatus: shown))
    }
  }

  @Test func `one that is done is done, though its process is gone`() {
    let done = run { $0.enter(.done, at: 0) }
    #expect(
      decision(done, nil, .gone, at: 1_000 * second) == StateDecision(state: .done, exitStatus: 0))
  }

  @Test func `a record tells the end of a run whose status file is gone`() {
    for (status, state) in [
      (0, .done), (74, .failed), (75, .interrupted), (78, .refused),
    ] as [(Int32, MigrationState)] {
      let ended = record(.random()) { $0.end(exitStatus: status, sentences: ["said"]) }
      #expect(
        decision(nil, ended, .gone) == StateDecision(state: state, exitStatus: status))
    }
    #expect(decision(nil, record(.random()), .gone)?.state == .dead)
    #expect(decision(nil, record(.random()), .running)?.state == .running)
    #expect(decision(nil, record(.random()), .stopped)?.state == .paused)
  }

  @Test func `of one run the record has the last word`() {
    let run = run()
    let ended = record(run.run) { $0.end(exitStatus: 78, sentences: []) }
    #expect(decision(run, ended)?.state == .refused)
    #expect(decision(run, record(run.run), .gone, at: 200 * second)?.state == .dead)
    let done = self.run { $0.enter(.done, at: 0) }
    #expect(decision(done, record(done.run), .gone)?.state == .done)
  }

  @Test func `of two runs the later one counts`() {
    let run = run { $0.startedAt = 50 * second }
    let earlier = record(.random(), started: 40) { $0.end(exitStatus: 0, sentences: []) }
    let later = record(.random(), started: 60) { $0.end(exitStatus: 65, sentences: []) }
    #expect(decision(run, earlier)?.state == .running)
    #expect(decision(run, later)?.state == .failed)
  }

  @Test func `one that is gone or stopped shows no time left`() throws {
    var run = run()
    run.bytesTotal = 1000
    run.enter(.migrating, at: 90 * second)
    run.bytesDone = 500
    run.heartbeatAt = 100 * second
    let presences = [(Processes.Presence.running, true), (.stopped, false), (.gone, false)]
    for (presence, hasRest) in presences {
      let world = Surroundings.fixed(at: 102 * second, presence, boot: boot)
      let snapshot = StatusSnapshot(
        contents: StatusContents(run: run, parts: []), surroundings: world)
      let report = try #require(
        StatusReport(live: (run, snapshot), record: nil, surroundings: world))
      #expect((report.snapshot?.secondsRemaining != nil) == hasRest, "\(presence)")
    }
  }

  @Test func `a report in JSON has the fields of the status file and those of the record`() throws {
    let run = run()
    let record = record(run.run) {
      $0.end(exitStatus: 74, sentences: ["the disk is full"])
    }
    let world = Surroundings.fixed(at: 100 * second, .gone, boot: boot)
    let snapshot = StatusSnapshot(
      contents: StatusContents(run: run, parts: []), surroundings: world)
    let report = try #require(
      StatusReport(live: (run, snapshot), record: record, surroundings: world))
    let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(report))
    let fields = try #require(json as? [String: Any])
    #expect(fields["state"] as? String == "failed")
    #expect(fields["exitStatus"] as? Int == 74)
    #expect(fields["sentences"] as? [String] == ["the disk is full"])
    #expect(fields["phase"] as? String == "surveying")
    #expect(fields["source"] as? String == "/data/Shop.sqlite")
    #expect(fields["parts"] as? [String] == [])
  }
}
