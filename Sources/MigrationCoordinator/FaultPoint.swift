#if FAULT_INJECTION
  import Foundation
  import SystemCalls
#endif

/// The places at which a test may kill the coordinator; in a release build none exists.
enum FaultPoint {
  /// Dies by SIGKILL where the environment names this point.
  static func reached(_ point: String) {
    #if FAULT_INJECTION
      if ProcessInfo.processInfo.environment["GODWIT_FAULT"] == point { kill(getpid(), SIGKILL) }
    #endif
  }
}
