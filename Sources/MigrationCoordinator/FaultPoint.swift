package import Planning

#if FAULT_INJECTION
  import Foundation
  import SystemCalls
  import SystemPackage
#endif

extension FaultPoint {
  /// Dies by SIGKILL where the environment names this point.
  func reached() {
    #if FAULT_INJECTION
      if ProcessInfo.processInfo.environment[Self.variable] == rawValue { kill(getpid(), SIGKILL) }
    #endif
  }

  /// Ends the process where its environment asks for a list of all points, or names one that does
  /// not exist: a test of it would see nothing happen.
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
      // The status tells it where nobody reads.
      _ = try? output.writeAll(lines.map { $0 + "\n" }.joined().utf8)
      exit(status)
    }
  #endif
}
