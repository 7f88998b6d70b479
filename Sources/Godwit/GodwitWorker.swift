import Foundation
import MigrationCoordinator
import MigrationStatus
import MigrationWorker
import ObjectMigration
import Planning
import StoreFormat
import Synchronization
import SystemCalls
import SystemPackage

/// The worker side of a process that is started for one work order.
public enum GodwitWorker {
  /// Carries out the work order on standard input and ends the process, if it was started for that.
  ///
  /// Otherwise it returns at once. `policies` are those that migrations of this executable name:
  /// workers make them here. What policies print comes out on standard error.
  ///
  /// ```swift
  /// @main struct App {
  ///   static func main() async throws {
  ///     GodwitWorker.runIfRequested()
  ///     try await StoreMigration(store: "Shop.sqlite", to: "Shop.momd").run()
  ///   }
  /// }
  /// ```
  ///
  /// A program that forgets it would run itself again as each of its workers;
  /// ``StoreMigration/run(progress:)`` refuses to start any then.
  public static func runIfRequested(policies: MigrationPolicies = MigrationPolicies()) {
    FaultPoint.answerEnvironment()
    guard let coordinator = WorkerDispatch.coordinator else {
      WorkerDispatch.wasAsked.store(true, ordering: .relaxed)
      return
    }
    exit(run(coordinator: coordinator, policies: policies))
  }

  /// The exit status: 0 once the manifest is in place.
  private static func run(coordinator: Int32, policies: MigrationPolicies) -> Int32 {
    var answers = FileDescriptor.standardOutput
    do {
      // Standard output is the coordinator's, whatever a policy prints.
      answers = try FileDescriptor.standardOutput.duplicate()
      _ = try FileDescriptor.standardError.duplicate(as: .standardOutput)
      try Processes.ignoreBrokenPipes()
      try Processes.dieWithParent(coordinator)
      let order = try Worker.decode(Files.readToEnd(.standardInput, limit: 1 << 30))
      // The status file is a courtesy: without it the work goes on untold.
      let status = order.status.flatMap { try? StatusFile.openForWriting(FilePath($0)) }
      try Worker(document: order, status: status, policies: policies.factories) {
        MigrationFailure($0).description
      }.run()
      return 0
    } catch let error as ObjectMigrationError {
      return send(error, answers: answers)
    } catch {
      return send(failure(error: error), answers: answers)
    }
  }

  /// A failure in words, and whether another attempt may end otherwise: where the system lacked
  /// something that comes and goes.
  private static func failure(error: any Error) -> WorkerFailure {
    let failure = MigrationFailure(error)
    return WorkerFailure(
      exitStatus: failure.exitStatus.rawValue, sentences: failure.sentences,
      coreDataCode: failure.coreDataCode, isPassing: failure.exitStatus == .system)
  }

  /// Hands over a failure as facts, of which the coordinator makes the same error.
  private static func send(_ error: ObjectMigrationError, answers: FileDescriptor) -> Int32 {
    do {
      send(String(decoding: try JSONEncoder().encode(error), as: UTF8.self), answers: answers)
      return WorkerProtocol.objectsFailed
    } catch {
      return send(failure(error: error), answers: answers)
    }
  }

  private static func send(_ failure: WorkerFailure, answers: FileDescriptor) -> Int32 {
    do {
      send(try failure.message(), answers: answers)
      return WorkerProtocol.failed
    } catch {
      send("\(error)", answers: answers)
      return ExitStatus.bug.rawValue
    }
  }

  private static func send(_ sentence: String, answers: FileDescriptor) {
    // Nobody is left to hear of a closed pipe.
    _ = try? answers.writeAll(Array(sentence.utf8))
  }
}

/// Whether this process may coordinate workers of its own executable.
enum WorkerDispatch {
  /// Whether `main` has asked for the work of a worker, and there was none.
  static let wasAsked = Atomic(false)

  /// The process that started this one as a worker; nil in any other process.
  static var coordinator: Int32? {
    let arguments = CommandLine.arguments
    guard arguments.count == 3, arguments[1] == WorkerProtocol.argument else { return nil }
    return Int32(arguments[2])
  }

  /// Throws in a process that was started as a worker and went on with something else.
  static func requireNoWorker() throws {
    guard let coordinator else { return }
    throw MigrationFailure(workerOf: coordinator)
  }

  /// Throws where processes of this executable would not know that they are workers.
  static func requireCoordinator(workers executable: FilePath?) throws {
    try requireNoWorker()
    guard executable == nil, !wasAsked.load(ordering: .relaxed) else { return }
    throw MigrationFailure.forgottenWorker
  }
}
