import CSystemShims
package import SystemPackage

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Calls on this process and on others.
package enum Processes {
  /// Ends this process at once, as a signal would.
  package static func end(status: Int32) -> Never { _exit(status) }

  /// The name of this machine in its network, empty if unknown.
  package static var host: String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Suspends the thread.
  package static func sleep(microseconds: UInt32) { _ = usleep(microseconds) }

  /// Identifies the calling thread among those that are running.
  package static var currentThread: UInt {
    #if os(Linux)
      pthread_self()
    #else
      UInt(bitPattern: pthread_self())
    #endif
  }

  /// Takes permissions away from all files that this process makes from now on.
  package static func setFileModeMask(_ mask: UInt32) { _ = umask(mode_t(mask & 0o777)) }

  /// The name of this machine, without characters that have a meaning in paths.
  package static let node: String = {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "unknown" }
    let text = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    let known = text.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
    return known.isEmpty ? "unknown" : known
  }()

  /// The number of the user by whose rights this process acts.
  package static var user: UInt32 { geteuid() }

  /// The identifier of this process.
  package static var own: Int32 { getpid() }

  /// The start of a process in clock ticks since the system started, nil if there is no such
  /// process.
  ///
  /// Identifiers are used again; together with the start they name one process for good.
  package static func startTime(of process: Int32) -> UInt64? {
    if let ownStart, ownStart.process == process { return ownStart.time }
    return stat(of: process)?.startTime
  }

  /// When this process started, which does not change.
  private static let ownStart = stat(of: own).map { (process: own, time: $0.startTime) }

  /// What this process can see of another one.
  package enum Presence: Hashable, Sendable {
    /// The process exists and is not stopped.
    case running
    /// A signal or a debugger has stopped it.
    case stopped
    /// No process has the identifier and the start time.
    case gone
    /// A process has the identifier, and the system does not show its start time.
    case hidden
  }

  /// What can be seen of the process with this identifier and start time; a zombie is gone.
  package static func presence(_ process: Int32, startTime: UInt64) -> Presence {
    guard process > 0 else { return .gone }
    guard let stat = stat(of: process) else {
      // A system may hide the processes of other users, but not that they are there.
      return kill(process, 0) != 0 && errno == EPERM ? .hidden : .gone
    }
    guard stat.startTime == startTime, !"ZXx".utf8.contains(stat.state) else { return .gone }
    return "Tt".utf8.contains(stat.state) ? .stopped : .running
  }

  /// Whether the process with this identifier and start time exists, stopped or not.
  package static func isAlive(_ process: Int32, startTime: UInt64) -> Bool {
    [.running, .stopped].contains(presence(process, startTime: startTime))
  }

  /// Identifies the start of the system, 16 bytes; nil where it has no `boot_id`.
  package static let bootID: [UInt8]? = {
    let path: FilePath = "/proc/sys/kernel/random/boot_id"
    guard let bytes = try? Files.readFile(path, limit: 64) else { return nil }
    var digits: [UInt8] = []
    for byte in bytes {
      if let digit = Character(UnicodeScalar(byte)).hexDigitValue { digits.append(UInt8(digit)) }
    }
    guard digits.count == 32 else { return nil }
    return stride(from: 0, to: 32, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }()

  /// Has the system send `signal` to this process when its parent ends; to be called first in a
  /// child.
  ///
  /// - Parameter parent: the identifier of the parent, as the parent passed it on.
  /// - Throws: `SystemCallError`, with `.noSuchProcess` if the parent has ended already.
  package static func dieWithParent(
    _ parent: Int32, signal: Int32 = SIGKILL
  ) throws(SystemCallError) {
    try check(csystem_die_with_parent(signal, parent), operation: .dieWithParent, path: nil)
  }

  /// The file of the program that this process runs, without links.
  package static var executable: FilePath? {
    #if os(Linux)
      try? Files.resolved("/proc/self/exe")
    #else
      try? Files.resolved(FilePath(CommandLine.arguments.first ?? ""))
    #endif
  }

  /// Replaces this program with another one, which inherits open files except those closed on exec.
  ///
  /// - Parameter arguments: what the program is given, its own name first.
  /// - Throws: `SystemCallError`, if there is no such program; otherwise it never returns.
  package static func replace(by program: FilePath, arguments: [String]) throws(SystemCallError) {
    var copies: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    defer { for copy in copies { free(copy) } }
    try check(
      program.withPlatformString { csystem_replace_process($0, &copies) }, operation: .execute,
      path: program)
  }

  /// Makes a write to a closed pipe fail instead of killing the process with SIGPIPE.
  package static func ignoreBrokenPipes() throws(SystemCallError) {
    try check(csystem_ignore_signal(SIGPIPE), operation: .ignoreSignal, path: nil)
  }

  /// Raises the limit of open descriptors to the hard limit, and returns it.
  @discardableResult
  package static func raiseDescriptorLimit() throws(SystemCallError) -> UInt64 {
    var limit: UInt64 = 0
    try check(csystem_raise_descriptor_limit(&limit), operation: .descriptorLimit, path: nil)
    return limit
  }

  /// The commit that the build was made of; nil if the build does not know it.
  package static var commit: String? {
    let text = String(cString: csystem_commit())
    return text.isEmpty ? nil : text
  }

  /// Whether somebody can still read what is written to a descriptor; true for files.
  package static func isOpen(_ descriptor: FileDescriptor) -> Bool {
    csystem_is_open(descriptor.rawValue) != 0
  }

  /// The columns and rows of a terminal, 80 and 24 if unknown; nil if the descriptor is not a
  /// terminal.
  package static func terminalSize(
    of descriptor: FileDescriptor
  ) -> (columns: Int, rows: Int)? {
    var (columns, rows): (Int32, Int32) = (0, 0)
    guard csystem_terminal_size(descriptor.rawValue, &columns, &rows) == 0 else { return nil }
    return (columns == 0 ? 80 : Int(columns), rows == 0 ? 24 : Int(rows))
  }

  private struct Stat {
    var state: UInt8
    var startTime: UInt64
  }

  /// Fields 3 and 22 of `/proc/PID/stat`, proc_pid_stat(5).
  private static func stat(of process: Int32) -> Stat? {
    let path = FilePath("/proc/\(process)/stat")
    guard process > 0, let bytes = try? Files.readFile(path, limit: 16_384),
      // The second field is the name in parentheses, and may hold any byte.
      let nameEnd = bytes.lastIndex(of: UInt8(ascii: ")"))
    else { return nil }
    let fields = bytes[(nameEnd + 1)...].split(separator: UInt8(ascii: " "))
    guard fields.count > 19, let state = fields[0].first,
      let startTime = UInt64(String(decoding: fields[19], as: UTF8.self))
    else { return nil }
    return Stat(state: state, startTime: startTime)
  }
}

/// A clock that never goes back, for spans of time.
package enum MonotonicClock {
  /// Nanoseconds since some moment before the process began.
  package static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}

/// The clock of the system, which can be set.
package enum WallClock {
  /// Nanoseconds since 1970.
  package static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}
