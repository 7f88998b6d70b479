import Planning

#if FAULT_INJECTION
  import Foundation
  import SystemCalls
#endif

extension FaultPoint {
  /// Slows a worker down or kills it with SIGKILL after a number of flushes, if the environment
  /// requires it, in the first attempt at work order 1 only; nothing in release builds.
  static func afterFlush(
    _ number: Int, isLast: Bool, order: Int, attempt: Int, inCoordinator: Bool
  ) {
    #if FAULT_INJECTION
      let environment = ProcessInfo.processInfo.environment
      if let text = environment["GODWIT_SLOW"], let milliseconds = UInt32(text) {
        usleep(milliseconds * 1000)
      }
      guard attempt == 1, order == 1, let name = environment[variable],
        let point = Self(rawValue: name)
      else { return }
      let isHere =
        switch point {
        case .coordinatorExecuting: inCoordinator && isLast
        case .workerFirstFlush: number == 1
        case .workerSecondFlush: number == 2
        case .workerLastFlush: isLast
        case .coordinatorMigrating, .coordinatorAssembled, .coordinatorStageNamed,
          .coordinatorStageDone, .coordinatorOutput, .coordinatorJournaled, .coordinatorKept,
          .coordinatorSwapped, .instantWritten, .instantListed, .instantKept, .instantSwapped:
          false
        }
      if isHere { kill(getpid(), SIGKILL) }
    #endif
  }
}
