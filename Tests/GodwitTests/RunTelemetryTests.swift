import InMemoryTracing
import Metrics
import MetricsTestKit
import SystemPackage
import Testing
import Tracing

@testable import Godwit

@Suite struct RunTelemetryTests {
  private let tracer = InMemoryTracer()
  private let metrics = TestMetrics()

  private func run(_ migration: StoreMigration) async throws -> StoreMigration.Result {
    try await migration.migrate(
      for: nil,
      telemetry: RunTelemetry(of: migration.store.string, tracer: tracer, factory: metrics))
  }

  private func spans(_ name: String) -> [FinishedInMemorySpan] {
    tracer.finishedSpans.filter { $0.operationName == name }
  }

  @Test func `a run is a span, with its phases in it and its work orders in theirs`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let result = try await run(given.migration())
    #expect(tracer.activeSpans.isEmpty)
    let run = try #require(spans("godwit.migrate").first)
    #expect(run.attributes["godwit.rows"]?.toSpanAttribute() == .int64(result.rows))
    #expect(run.attributes["godwit.outcome"]?.toSpanAttribute() == .string("migrated"))
    let migrating = try #require(spans("godwit.migrating").first)
    let order = try #require(spans("godwit.work_order").first)
    #expect(spans("godwit.work_order").count == 1)
    #expect(migrating.parentSpanID == run.spanID)
    #expect(order.parentSpanID == migrating.spanID)
    for phase in ["surveying", "planning", "verifying", "swapping"] {
      #expect(spans("godwit.\(phase)").map(\.parentSpanID) == [run.spanID], "\(phase)")
    }
    #expect(tracer.finishedSpans.allSatisfy { $0.errors.isEmpty && $0.status == nil })
  }

  @Test func `rows, outcomes and durations are counted, and nothing is left running`() async throws
  {
    let given = try GivenStore(Model.note, Model.longNote)
    let result = try await run(given.migration())
    #expect(metrics.counterTotal(label: "godwit_rows_total") == result.rows)
    #expect(
      metrics.counterTotal(
        label: "godwit_migrations_total", dimensions: [("outcome", "migrated")]) == 1)
    let duration = try metrics.expectTimer(
      "godwit_migration_duration", [("outcome", "migrated")])
    let migrating = try metrics.expectTimer("godwit_phase_duration", [("phase", "migrating")])
    let (whole, part) = (duration.lastValue ?? 0, migrating.lastValue ?? 0)
    #expect(part > 0 && whole > part)
    #expect(metrics.counterTotal(label: "godwit_worker_retries_total") == 0)
  }

  @Test func `a worker that cannot be started is a failure in the trace, with its cause`()
    async throws
  {
    let given = try GivenStore(Model.note, Model.longNote)
    var migration = given.migration()
    migration.resources.executable = "/nonexistent/worker"
    await #expect(throws: MigrationFailure.self) { try await run(migration) }
    #expect(tracer.activeSpans.isEmpty)
    let span = try #require(spans("godwit.migrate").first)
    #expect(span.status?.code == .error)
    #expect(span.errors.first?.error is MigrationFailure)
    #expect(
      metrics.counterTotal(
        label: "godwit_migrations_total", dimensions: [("outcome", "failed")]) == 1)
    #expect(metrics.counterTotal(label: "godwit_rows_total") == 0)
  }

  @Test func `an interrupted run is no error`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let migration = given.migration()
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await run(migration)
    }
    task.cancel()
    let failure = await #expect(throws: MigrationFailure.self) { try await task.value }
    #expect(failure?.kind == .interrupted)
    #expect(tracer.activeSpans.isEmpty)
    #expect(spans("godwit.migrate").map(\.errors.isEmpty) == [true])
    #expect(
      metrics.counterTotal(
        label: "godwit_migrations_total", dimensions: [("outcome", "interrupted")]) == 1)
  }
}
