import MigrationStatus
import Testing

@testable import MigrationCoordinator

@Suite("The recording of a run")
struct RunRecordingTests {
  private var recording = RunRecording(startedAt: 1e9)

  private func sample(at time: Double, fraction: Double = 0) -> RunRecording.Sample {
    .init(
      at: time, phase: "migrating", inner: fraction, units: 0, fraction: fraction,
      secondsRemaining: nil, isHeld: false, stage: 1, rows: 0,
      bytes: 0, workers: 0, memory: 0)
  }

  @Test mutating func `a phase ends when another begins, and the last one with the run`() {
    recording.enter(.surveying, stage: 1, at: 0)
    recording.enter(.migrating, stage: 1, at: 2)
    recording.enter(.surveying, stage: 2, at: 5)
    recording.enter(.done, stage: 2, at: 6)
    recording.end(at: 7)
    #expect(recording.phases.map(\.phase) == ["surveying", "migrating", "surveying"])
    #expect(recording.phases.map(\.from) == [0, 2, 5])
    #expect(recording.phases.map(\.to) == [2, 5, 7])
    #expect(recording.secondsByPhase == ["surveying": 4, "migrating": 3])
    #expect(recording.seconds == 7)
  }

  @Test mutating func `an attempt that failed is kept beside the one that did it`() {
    func span(attempt: Int, at time: Double) -> RunRecording.OrderSpan {
      .init(
        workOrder: 1, stage: 1, partition: 1, attempt: attempt, rows: 9, from: time, to: time,
        isDone: false)
    }
    let first = recording.begin(span(attempt: 1, at: 1))
    recording.end(first, isDone: false, at: 2)
    let second = recording.begin(span(attempt: 2, at: 2))
    recording.end(second, isDone: true, at: 4)
    recording.end(99, isDone: true, at: 5)
    #expect(recording.workOrders.map(\.isDone) == [false, true])
    #expect(recording.workOrders.map(\.to) == [2, 4])
  }

  @Test mutating func `what is at work when a run ends took until then`() {
    func span(_ number: Int) -> RunRecording.OrderSpan {
      .init(
        workOrder: number, stage: 1, partition: 1, attempt: 1, rows: 9, from: 1, to: 1,
        isDone: false)
    }
    let first = recording.begin(span(1))
    _ = recording.begin(span(2))
    recording.end(first, isDone: true, at: 2)
    recording.end(at: 5)
    #expect(recording.workOrders.map(\.to) == [2, 5])
    #expect(recording.workOrders.map(\.isDone) == [true, false])
  }

  @Test mutating func `a run of any length keeps few samples, all along it`() {
    for beat in 0..<100_000 { recording.note(sample(at: Double(beat) / 10)) }
    let samples = recording.samples
    #expect((RunRecording.mostSamples / 3...RunRecording.mostSamples).contains(samples.count))
    #expect(samples[0].at == 0)
    let gaps = zip(samples, samples.dropFirst()).map { $1.at - $0.at }
    #expect(gaps.allSatisfy { $0 > 0 && $0 < 100 })
    #expect(samples[samples.count - 1].at > 9900)
  }
}
