package import Planning
import Subprocess
import SystemCalls
package import SystemPackage

/// Starts workers; replaced in tests.
package protocol WorkerLauncher: Sendable {
  /// Starts a worker on a work order and waits until it has ended.
  ///
  /// - Parameter link: receives what the worker reports.
  /// - Throws: `WorkError.workerNotStarted`, if no process can be started.
  func execute(_ document: WorkOrderDocument, link: OrderLink) async throws -> WorkerEnding
}

/// Starts workers as processes of this executable, or of another one that implements them.
///
/// A command may start them on other machines: it is followed by the executable and its arguments,
/// and passes standard input and standard output through.
package struct ProcessLauncher: WorkerLauncher {
  private let executable: FilePath
  private let command: [String]

  /// Takes the executable of the workers, nil for that of this process, and the words of the
  /// command that starts them, none to start them as child processes.
  package init(executable: FilePath? = nil, command: [String] = []) {
    // Other machines have no process of this one.
    let own = command.isEmpty ? "/proc/self/exe" : Processes.executable ?? "/proc/self/exe"
    self.executable = executable ?? own
    self.command = command
  }

  /// Starts a process, passes it the work order, and waits until it has ended.
  package func execute(
    _ document: WorkOrderDocument, link: OrderLink
  ) async throws -> WorkerEnding {
    var options = PlatformOptions()
    options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .seconds(2))]
    let input = try MessagePipe()
    defer { input.close() }
    let conversation = WorkerConversation(
      document, link: link, input: input, program: command.isEmpty ? nil : try .own(executable))
    let parent = command.isEmpty ? "\(Processes.own)" : "0"
    let words = command.dropFirst() + (command.isEmpty ? [] : [executable.string])
    let result = try await WorkerProtocol.starting {
      try await Subprocess.run(
        command.first.map(Self.program) ?? .path(executable),
        arguments: Arguments(words + [WorkerProtocol.argument, parent]),
        environment: WorkerProtocol.environment, platformOptions: options,
        input: .fileDescriptor(input.reader, closeAfterSpawningProcess: false), output: .sequence,
        error: .currentStandardError
      ) { execution in
        try await conversation.hold(
          execution.standardOutput, process: execution.processIdentifier.value)
      }
    }
    return ending(of: result.terminationStatus, answer: result.closureResult)
  }

  private static func program(_ word: String) -> Executable {
    word.contains("/") ? .path(FilePath(word)) : .name(word)
  }

  private func ending(
    of status: TerminationStatus, answer: WorkerConversation.Answer
  ) -> WorkerEnding {
    // A worker that has reported the end of its order does nothing any more.
    switch answer.last {
    case .made(let manifest): return .made(manifest)
    case .failed(let code, let facts, _): return WorkerEnding(exitStatus: code, facts: facts)
    default: break
    }
    let isChild = command.isEmpty
    return switch status {
    case .exited(let code):
      .failed(isChild ? .exited(code, message: "") : .lost(code, host: answer.host))
    case .signaled(let signal):
      .failed(isChild ? .killed(signal: signal) : .lost(128 + signal, host: answer.host))
    }
  }
}
