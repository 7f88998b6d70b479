import MigrationCoordinator
import Synchronization
import SystemCalls
import SystemPackage

/// Whether this process may start workers of its own executable.
enum WorkerDispatch {
  /// Whether `runIfRequested` was called in a process that is not a worker.
  static let wasAsked = Atomic(false)

  /// The process that started this one as a worker, nil in any other process.
  static var coordinator: Int32? { coordinator(by: WorkerProtocol.argument) }

  /// The process that started this one as a worker of a fleet, nil in any other process.
  static var fleetCoordinator: Int32? { coordinator(by: WorkerProtocol.fleetArgument) }

  /// Keeps standard output for messages to the coordinator.
  ///
  /// Policies then print to standard error, and only the parent stops this process.
  ///
  /// - Returns: the descriptor for messages.
  static func takeStandardOutput() throws -> FileDescriptor {
    let messages = try FileDescriptor.standardOutput.duplicate()
    _ = try FileDescriptor.standardError.duplicate(as: .standardOutput)
    try Processes.ignoreBrokenPipes()
    try Processes.leaveStoppingToParent()
    return messages
  }

  private static func coordinator(by argument: String) -> Int32? {
    let arguments = CommandLine.arguments
    guard arguments.count == 3, arguments[1] == argument else { return nil }
    return Int32(arguments[2])
  }

  /// Checks that this process was not started as a worker.
  ///
  /// - Throws: `MigrationFailure`.
  static func requireNoWorker() throws(MigrationFailure) {
    guard let coordinator else { return }
    throw MigrationFailure(workerOf: coordinator)
  }

  /// Checks that workers of this executable would behave as workers.
  ///
  /// - Throws: `MigrationFailure`.
  static func requireCoordinator(workers executable: FilePath?) throws(MigrationFailure) {
    guard ToolProcess.hasArguments(CommandLine.arguments) else {
      throw MigrationFailure.argumentsUnknown
    }
    try requireNoWorker()
    guard executable == nil, !wasAsked.load(ordering: .relaxed) else { return }
    throw MigrationFailure.forgottenWorker
  }
}
