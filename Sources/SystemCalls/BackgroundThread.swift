import CSystemShims

/// A thread that runs one function; its starter waits for its end.
package final class BackgroundThread: Sendable {
  private let number: UInt
  private let work: Unmanaged<Work>

  /// Starts a thread; nil where the system has no more of them.
  package init?(_ body: @escaping @Sendable () -> Void) {
    work = Unmanaged.passRetained(Work(body))
    var number: UInt = 0
    guard csystem_thread_start(Self.run, work.toOpaque(), &number) == 0 else {
      work.release()
      return nil
    }
    self.number = number
  }

  private static let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = {
    work in
    if let work { Unmanaged<Work>.fromOpaque(work).takeUnretainedValue().body() }
    return nil
  }

  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Waits until the function has returned; to be called once.
  package func join() {
    csystem_thread_join(number)
    work.release()
  }
}
