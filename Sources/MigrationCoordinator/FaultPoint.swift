#if FAULT_INJECTION
  import Foundation
  import SystemCalls
#endif

/// The places at which a test may kill the coordinator; in a release build none exists.
enum FaultPoint {
  static func afterFirstWorkOrder() {
    #if FAULT_INJECTION
      if ProcessInfo.processInfo.environment["GODWIT_FAULT"] == "coordinator:migrating" {
        kill(getpid(), SIGKILL)
      }
    #endif
  }
}
