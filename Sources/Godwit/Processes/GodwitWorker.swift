import Foundation
import MigrationCoordinator
import MigrationWorker
import ObjectMigration
import Planning
import StoreFormat
import Synchronization
import SystemCalls
import SystemPackage

/// The entry point of worker processes.
public enum GodwitWorker {
  /// Executes the work order on standard input and ends the process, if it was started as a worker.
  ///
  /// In any other process it returns at once. `policies` are those that mapping models name;
  /// workers create them here. What policies print goes to standard error.
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
  /// Without this call a program would run itself again as each of its workers;
  /// ``StoreMigration/run(for:progress:)`` then refuses to start any.
  public static func runIfRequested(policies: MigrationPolicies = MigrationPolicies()) {
    FaultPoint.answerEnvironment()
    if let coordinator = WorkerDispatch.fleetCoordinator {
      WorkerDispatch.wasAsked.store(true, ordering: .relaxed)
      exit(FleetWorker.executeOrders(of: coordinator, policies: policies))
    }
    guard let coordinator = WorkerDispatch.coordinator else {
      WorkerDispatch.wasAsked.store(true, ordering: .relaxed)
      return
    }
    exit(executeOrder(of: coordinator, policies: policies))
  }

  /// Executes the work order, and returns the exit status: 0 once the coordinator has the manifest.
  ///
  /// - Parameter coordinator: the parent that started the worker, 0 for a launcher.
  private static func executeOrder(of coordinator: Int32, policies: MigrationPolicies) -> Int32 {
    var link: ProcessLink?
    do {
      let answers = try WorkerDispatch.takeStandardOutput()
      let parent = coordinator == 0 ? nil : coordinator
      if let parent { try Processes.dieWithParent(parent) }
      let open = ProcessLink(input: .standardInput, output: answers, parent: parent)
      link = open
      guard let order = try open.readOrder() else { return silence("work order") }
      guard try open.begin(.own("/proc/self/exe")) else { return silence("answer") }
      // What the store keeps to itself, the files made of it do too.
      let work = try Files.fileStatus(Files.parent(of: FilePath(order.manifest)))
      Processes.setFileModeMask(~work.mode & 0o077)
      let worker = Worker(document: order, link: open, policies: policies.factories)
      try open.send(.made(try worker.makeShard()))
      return 0
    } catch {
      let (status, facts) = answer(to: error)
      // If the pipe is closed, the coordinator is gone.
      try? link?.send(
        .failed(status: status, facts: facts, text: MigrationFailure(error).description))
      return status
    }
  }

  /// Reports what is missing from the coordinator, and returns the exit status.
  private static func silence(_ missing: String) -> Int32 {
    let words =
      "godwit: worker: no \(missing) comes on standard input: the launcher must forward standard "
      + "input and standard output while the worker runs.\n"
    _ = try? FileDescriptor.standardError.writeAll(Array(words.utf8))
    return ExitStatus.inUse.rawValue
  }

  /// The exit status of a worker whose order failed, and the facts from which the coordinator
  /// restores the error.
  static func answer(to error: any Error) -> (status: Int32, message: String) {
    do {
      guard let error = error as? ObjectMigrationError else {
        return (WorkerProtocol.failed, try failure(error: error).message())
      }
      let facts = try PlanCoding.encoder.encode(error)
      return (WorkerProtocol.objectsFailed, String(decoding: facts, as: UTF8.self))
    } catch let unsaid {
      return (ExitStatus.bug.rawValue, "\(error): \(unsaid)")
    }
  }

  /// Describes a failure for the coordinator.
  private static func failure(error: any Error) -> WorkerFailure {
    let failure = MigrationFailure(error)
    return WorkerFailure(
      exitStatus: failure.exitStatus.rawValue, kind: failure.kind.rawValue,
      sentences: failure.sentences, file: failure.file?.string, coreDataCode: failure.coreDataCode,
      disposition: StoreError.disposition(of: error))
  }
}
