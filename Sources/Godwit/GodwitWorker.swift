import Planning
import MigrationCoordinator
import MigrationStatus
import MigrationWorker
import StoreFormat
import SystemCalls
import SystemPackage

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The worker side of a process that is started for one work order.
public enum GodwitWorker {
  /// Carries out the work order on standard input and ends the process, if it was started for that.
  ///
  /// Otherwise it returns at once.
  public static func runIfRequested() {
    let arguments = CommandLine.arguments
    guard arguments.count == 3, arguments[1] == WorkerProtocol.argument,
      let coordinator = Int32(arguments[2])
    else { return }
    exit(run(coordinator: coordinator))
  }

  /// The exit status: 0 once the manifest is in place.
  private static func run(coordinator: Int32) -> Int32 {
    do {
      try Processes.ignoreBrokenPipes()
      try Processes.dieWithParent(coordinator)
      let order = try Worker.decode(Files.readToEnd(.standardInput, limit: 1 << 30))
      // The status file is a courtesy: without it the work goes on untold.
      let status = order.status.flatMap { try? StatusFile.openForWriting(FilePath($0)) }
      try Worker(order, status: status).run()
      return 0
    } catch {
      tell(MigrationFailure.sentence(ofWorker: error))
      return isFinal(error) ? WorkerProtocol.refused : 74
    }
  }

  /// Whether another attempt would end alike.
  private static func isFinal(_ error: any Error) -> Bool {
    switch error {
    case let error as WorkerError: error.problem != .coordinatorGone
    case let error as StoreError: error.problem == .damaged
    default: false
    }
  }

  private static func tell(_ sentence: String) {
    // Nobody is left to hear of a closed pipe.
    _ = try? FileDescriptor.standardOutput.writeAll(Array(sentence.utf8))
  }
}
