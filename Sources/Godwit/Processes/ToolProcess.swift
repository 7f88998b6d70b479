import Planning
import SystemCalls
package import SystemPackage

/// What a command line needs from its process.
package enum ToolProcess {
  /// The version of Godwit.
  package static let version = GodwitVersion.current

  /// The version and, of a build for release, the commit that it was made of; `+` behind that
  /// stands for changes.
  package static var build: String {
    version + (Processes.commit.map { " (\($0))" } ?? "")
  }

  /// The path of the executable.
  package static var path: String {
    (Processes.executable ?? FilePath(CommandLine.arguments.first ?? "godwit")).string
  }

  /// Lets writes to closed pipes fail instead of ending the process, and takes as many open files
  /// as the system allows.
  ///
  /// - Throws: `MigrationFailure`, where the process does not know its arguments, or one of them or
  ///   the name of the working folder is not UTF-8.
  package static func prepare() throws {
    guard hasArguments(CommandLine.arguments) else { throw MigrationFailure.argumentsUnknown }
    try requireUTF8()
    try Processes.ignoreBrokenPipes()
    _ = try Processes.raiseDescriptorLimit()
  }

  /// Whether arguments are those of a process: the first one is always there, and without it the
  /// runtime could not find any of the others.
  package static func hasArguments(_ arguments: [String]) -> Bool { !arguments.isEmpty }

  /// Requires names that a `String` holds: with replaced characters they are those of other files.
  private static func requireUTF8() throws(MigrationFailure) {
    for place in 0..<Int(CommandLine.argc) {
      guard let bytes = CommandLine.unsafeArgv[place] else { continue }
      guard String(validatingCString: bytes) != nil else {
        throw MigrationFailure(
          .usage, "\(String(cString: bytes)) is not UTF-8: if it is the name of a file, rename it.")
      }
    }
    guard let folder = try? Files.resolved("."), FilePath(folder.string) != folder else { return }
    throw MigrationFailure(
      .usage,
      "the working folder \(folder) has a name that is not UTF-8: rename it, or work in another "
        + "folder.")
  }

  /// The absolute forms of a path that was typed: by the working folder, and without links.
  package static func absolutePaths(of path: FilePath) -> [FilePath] {
    let resolved = (try? Files.resolved(path)) ?? (try? Files.resolvedFolder(of: path))
    let folder = try? Files.resolved(".")
    return [resolved, folder?.pushing(path).lexicallyNormalized()].compactMap(\.self)
  }

  /// Whether a path is that of a symbolic link.
  package static func isLink(_ path: FilePath) -> Bool {
    (try? Files.fileStatusIfPresent(path, followLinks: false))??.kind == .symbolicLink
  }

  /// Calls a block, on a thread of its own, when a signal requests the process to stop.
  ///
  /// These are SIGINT, SIGTERM, SIGQUIT, and SIGHUP, which comes when its terminal is closed.
  /// They have no other effect from now on. What the process was started to ignore stays ignored.
  ///
  /// - Returns: a function after which they have no effect at all.
  public static func whenAskedToStop(
    _ body: @escaping @Sendable () -> Void
  ) -> @Sendable () -> Void {
    let signals = Processes.whenAskedToStop(body)
    return { signals.forget() }
  }

  /// Runs an operation that is cancelled when a signal requests the process to stop.
  package static func cancellable<Answer: Sendable>(
    _ body: @escaping @Sendable () async throws -> Answer
  ) async throws -> Answer {
    let task = Task { try await body() }
    let forget = whenAskedToStop { task.cancel() }
    defer { forget() }
    return try await task.value
  }

  /// Calls a block before a signal ends or stops the process, as it would have without, and another
  /// one when the process continues after a stop (Ctrl-Z); both on threads of their own.
  ///
  /// - Returns: a function after which these signals have no effect at all.
  package static func aroundSignals(
    leaving: @escaping @Sendable () -> Void, returning: @escaping @Sendable () -> Void
  ) -> @Sendable () -> Void {
    let signals = Processes.aroundSignals(leaving: leaving, returning: returning)
    return { signals.forget() }
  }

  /// Whether what is written to a descriptor can still be read by somebody.
  package static func isOpen(_ descriptor: FileDescriptor) -> Bool {
    Processes.isOpen(descriptor)
  }

  /// The columns and rows of a terminal, nil if the descriptor is not one.
  package static func terminalSize(
    of descriptor: FileDescriptor
  ) -> (columns: Int, rows: Int)? {
    Processes.terminalSize(of: descriptor)
  }

  /// Replaces this program with one next to it, with the same arguments.
  ///
  /// - Throws: `MigrationFailure`, if it is not there; otherwise it never returns.
  package static func become(
    _ name: FilePath.Component, arguments: [String]
  ) throws {
    let own = Processes.executable ?? FilePath(CommandLine.arguments.first ?? "godwit")
    let program = Files.parent(of: own).appending(name)
    try MigrationFailure.catching {
      guard try Files.fileStatusIfPresent(program)?.kind == .file else {
        throw MigrationFailure(
          .notFound,
          "\(name) is not installed: there is no \(program). `scripts/install --serve`, in a "
            + "checkout of Godwit, installs both.")
      }
      try Processes.replace(by: program, arguments: [name.string] + arguments)
    }
  }
}
