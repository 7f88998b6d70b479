#if FAULT_INJECTION
  import Foundation
  import SystemCalls
#endif

/// The places at which a test may kill or slow a worker; in a release build none exists.
enum FaultPoint {
  /// Dies by SIGKILL after that many flushes, in the first attempt at work order 1 only.
  static func afterFlush(_ number: Int, isLast: Bool, order: Int, attempt: Int) {
    #if FAULT_INJECTION
      let environment = ProcessInfo.processInfo.environment
      if let text = environment["GODWIT_SLOW"], let milliseconds = UInt32(text) {
        usleep(milliseconds * 1000)
      }
      guard attempt == 1, order == 1, let fault = environment["GODWIT_FAULT"] else { return }
      let isHere =
        (fault == "worker:first-flush" && number == 1)
        || (fault == "worker:second-flush" && number == 2)
        || (fault == "worker:last-flush" && isLast)
      if isHere { kill(getpid(), SIGKILL) }
    #endif
  }
}
