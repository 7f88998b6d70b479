package import Planning

#if FAULT_INJECTION
  import Foundation
  import SystemCalls
  import SystemPackage
#endif

extension FaultPoint {
  /// Kills the process with SIGKILL if the environment names this point; nothing in release builds.
  func reached() {
    #if FAULT_INJECTION
      if ProcessInfo.processInfo.environment[Self.variable] == rawValue { kill(getpid(), SIGKILL) }
    #endif
  }

  /// Whether the environment requests a fault in worker processes; never in release builds.
  static var befallsWorkers: Bool {
    #if FAULT_INJECTION
      let environment = ProcessInfo.processInfo.environment
      return environment["GODWIT_SLOW"] != nil
        || environment[variable]?.hasPrefix("worker:") ?? false
    #else
      return false
    #endif
  }

  /// Whether the environment requests a fault in the middle of a migration that keeps its work;
  /// never in release builds.
  static var isAwaited: Bool {
    #if FAULT_INJECTION
      let point = ProcessInfo.processInfo.environment[variable].flatMap { Self(rawValue: $0) }
      return befallsWorkers || point?.isOfInstantSwap == false
    #else
      return false
    #endif
  }

  /// Ends the process if its environment requests a list of all points, or names an unknown one,
  /// with which a test would test nothing.
  package static func answerEnvironment() {
    #if FAULT_INJECTION
      let environment = ProcessInfo.processInfo.environment
      if environment[listVariable] == "list" {
        end(allCases.map(\.rawValue), on: .standardOutput, status: 0)
      }
      if let name = environment[variable], Self(rawValue: name) == nil {
        end(["no fault point \(name)"], on: .standardError, status: 64)
      }
    #endif
  }

  #if FAULT_INJECTION
    private static func end(
      _ lines: [String], on output: FileDescriptor, status: Int32
    ) -> Never {
      // The exit status is enough where the output is closed.
      _ = try? output.writeAll(lines.map { $0 + "\n" }.joined().utf8)
      exit(status)
    }
  #endif
}
