import Metrics
import MigrationCoordinator
import MigrationStatus
import Synchronization
import Tracing

/// Reports a migration to the metrics and the traces that the process has set up.
///
/// A run is a span, its phases are spans in it, and attempts at work orders are spans in their
/// phase. Metrics name no store: a server may migrate any number of them.
final class RunTelemetry: RunObserver {
  private struct State {
    var phase: (name: String, span: any Span, start: ContinuousClock.Instant)?
    var orders: [Int: any Span] = [:]
  }

  private let tracer: any Tracer
  private let factory: any MetricsFactory
  private let run: any Span
  private let start = ContinuousClock.now
  private let state = Mutex(State())

  /// Begins the span of a run, in that of the calling task.
  init(
    of store: String, tracer: any Tracer = InstrumentationSystem.tracerOfProcess,
    factory: any MetricsFactory = MetricsSystem.factory
  ) {
    self.tracer = tracer
    self.factory = factory
    run = tracer.startAnySpan("godwit.migrate")
    run.attributes["godwit.store"] = store
    Meter(label: "godwit_migrations_running", factory: factory).increment()
  }

  // MARK: What is heard

  func began(_ phase: Phase, stage: Int) {
    endPhase()
    guard phase.isWorking else { return }
    let span = tracer.startAnySpan("godwit.\(phase)", context: run.context)
    span.attributes["godwit.stage"] = stage
    state.withLock { $0.phase = ("\(phase)", span, ContinuousClock.now) }
  }

  func began(_ order: RunRecording.OrderSpan, number: Int) {
    let context = state.withLock { $0.phase?.span.context } ?? run.context
    let span = tracer.startAnySpan("godwit.work_order", context: context)
    span.attributes["godwit.work_order"] = order.workOrder
    span.attributes["godwit.stage"] = order.stage
    span.attributes["godwit.partition"] = order.partition
    span.attributes["godwit.attempt"] = order.attempt
    span.attributes["godwit.rows"] = order.rows
    state.withLock { $0.orders[number] = span }
    if order.attempt > 1 { counter("godwit_worker_retries_total").increment() }
  }

  func ended(number: Int, isDone: Bool) {
    guard let span = state.withLock({ $0.orders.removeValue(forKey: number) }) else { return }
    if !isDone { span.setStatus(SpanStatus(code: .error, message: "the worker did not end")) }
    span.end()
  }

  // MARK: How it ends

  func end(_ result: StoreMigration.Result) {
    run.attributes["godwit.outcome"] = result.outcome.rawValue
    run.attributes["godwit.rows"] = result.rows
    counter("godwit_rows_total").increment(by: result.rows)
    Recorder(label: "godwit_peak_memory_bytes", factory: factory).record(result.peakMemory)
    end(outcome: result.outcome.rawValue)
  }

  func end(_ failure: MigrationFailure) {
    let isCancelled = failure.kind == .interrupted
    if !isCancelled {
      run.recordError(failure)
      run.setStatus(SpanStatus(code: .error))
    }
    end(outcome: isCancelled ? "interrupted" : "failed")
  }

  private func end(outcome: String) {
    endPhase()
    for span in state.withLock({ $0.orders.values }) { span.end() }
    run.end()
    counter("godwit_migrations_total", [("outcome", outcome)]).increment()
    time("godwit_migration_duration", since: start, [("outcome", outcome)])
    Meter(label: "godwit_migrations_running", factory: factory).decrement()
  }

  private func endPhase() {
    let phase = state.withLock { state in
      defer { state.phase = nil }
      return state.phase
    }
    guard let phase else { return }
    phase.span.end()
    time("godwit_phase_duration", since: phase.start, [("phase", phase.name)])
  }

  private func counter(_ label: String, _ dimensions: [(String, String)] = []) -> Counter {
    Counter(label: label, dimensions: dimensions, factory: factory)
  }

  private func time(
    _ label: String, since start: ContinuousClock.Instant, _ dimensions: [(String, String)]
  ) {
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    Timer(label: label, dimensions: dimensions, factory: factory).recordSeconds(seconds)
  }
}

extension InstrumentationSystem {
  /// The tracer that the process has set up; where it has set up nothing, none is looked for among
  /// the protocols of all types, which takes a hundredth of the time of a small migration.
  fileprivate static var tracerOfProcess: any Tracer {
    instrument is NoOpInstrument ? NoOpTracer() : tracer
  }
}
