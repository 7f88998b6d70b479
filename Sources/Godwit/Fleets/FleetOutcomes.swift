import Fleets
import Synchronization

/// Runs something, and calls its argument with each result.
typealias FleetWork =
  @Sendable (_ body: @escaping @Sendable (StoreResult) -> Void) async throws -> Void

extension StoreFleet {
  /// The outcomes of a run, each once it is durable.
  ///
  /// The run begins with the sequence. Cancelling the task that iterates it stops the run at a safe
  /// point, and the sequence throws once all workers have ended; leaving the loop stops it too.
  /// Only one consumer may iterate it at a time.
  public struct Outcomes: AsyncSequence, Sendable {
    private let run: FleetOutcomes

    init(_ work: @escaping FleetWork) {
      run = FleetOutcomes(work)
    }

    /// Iterates the outcomes.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(run: run) }

    /// Iterates the outcomes of a run.
    public struct AsyncIterator: AsyncIteratorProtocol {
      fileprivate let run: FleetOutcomes

      /// The next outcome; nil at the end of the run.
      ///
      /// - Throws: `MigrationFailure`.
      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws(MigrationFailure) -> Outcome? {
        try await run.next()
      }
    }
  }
}

/// A run in a task of its own, and its outcomes that were not taken yet.
///
/// Not an `AsyncThrowingStream`, which ends at once when its consumer is cancelled, while workers
/// continue.
private final class FleetOutcomes: Sendable {
  private let buffer = Buffer()
  private let task: Task<Void, Never>

  private final class Buffer: Sendable {
    private let state = Mutex(State())

    private struct State {
      var results: [StoreResult] = []
      var end: Result<Void, MigrationFailure>?
      var waiting: CheckedContinuation<Void, Never>?
    }

    private func change(_ body: (inout State) -> Void) {
      state.withLock { state in
        body(&state)
        state.waiting?.resume()
        state.waiting = nil
      }
    }

    func add(_ result: StoreResult) { change { $0.results.append(result) } }

    func end(_ result: Result<Void, MigrationFailure>) { change { $0.end = result } }

    /// The results so far, and how the run ended; waits until there is one of them.
    func take() async -> (results: [StoreResult], end: Result<Void, MigrationFailure>?) {
      await withCheckedContinuation { continuation in
        state.withLock { state in
          if state.results.isEmpty && state.end == nil {
            state.waiting = continuation
          } else {
            continuation.resume()
          }
        }
      }
      return state.withLock { state in
        defer { state.results = [] }
        return (state.results, state.end)
      }
    }
  }

  /// Results that were taken from the buffer together, in reverse.
  private let taken = Mutex<[StoreResult]>([])

  init(_ work: @escaping FleetWork) {
    task = Task { [buffer] in
      do {
        try await work { buffer.add($0) }
        buffer.end(.success(()))
      } catch {
        buffer.end(.failure(MigrationFailure(error)))
      }
    }
  }

  deinit { task.cancel() }

  func next() async throws(MigrationFailure) -> StoreFleet.Outcome? {
    if let result = taken.withLock({ $0.popLast() }) { return StoreFleet.Outcome(core: result) }
    let (results, end) = await withTaskCancellationHandler {
      await buffer.take()
    } onCancel: {
      task.cancel()
    }
    let first = taken.withLock { taken in
      taken = results.reversed()
      return taken.popLast()
    }
    if let first { return StoreFleet.Outcome(core: first) }
    try end?.get()
    return nil
  }
}
