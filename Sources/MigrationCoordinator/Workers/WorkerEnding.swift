import Foundation
package import ObjectMigration
package import Planning

/// How a worker ended.
package enum WorkerEnding: Sendable {
  /// It made its shard, and this is the manifest.
  case made(ShardManifest)
  /// A mapping or a policy failed, which no other attempt changes.
  case objectsFailed(ObjectMigrationError)
  /// It made no shard.
  case failed(WorkerFault)

  /// Whether the worker made its shard.
  var isDone: Bool {
    if case .made = self { true } else { false }
  }

  /// Reads the exit status of a worker, and the facts that it sent with it.
  package init(exitStatus: Int32, facts: String) {
    let bytes = Data(facts.utf8)
    switch exitStatus {
    case WorkerProtocol.failed:
      if let failure = try? PlanCoding.decoder.decode(WorkerFailure.self, from: bytes) {
        self = .failed(.reported(failure))
        return
      }
    case WorkerProtocol.objectsFailed:
      if let error = try? PlanCoding.decoder.decode(ObjectMigrationError.self, from: bytes) {
        self = .objectsFailed(error)
        return
      }
    default: break
    }
    self = .failed(.exited(exitStatus, message: facts))
  }
}

/// Why a worker made no shard.
package enum WorkerFault: Hashable, Sendable {
  /// It reported this.
  case reported(WorkerFailure)
  /// It ended with this exit status and sent this, which is no failure that a worker reports.
  case exited(Int32, message: String)
  /// A signal ended it.
  case killed(signal: Int32)
  /// What was to start it on another machine ended with this exit status, and nothing is known of
  /// the worker's end; the machine where it had started, nil if it had not.
  case lost(Int32, host: String?)
}

extension WorkerFault: CustomStringConvertible {
  /// The fault in words, for the log.
  package var description: String {
    switch self {
    case .reported(let failure): failure.sentences.joined(separator: " ")
    case .exited(let code, let message): "exit status \(code) \(message)"
    case .killed(let signal): "signal \(signal)"
    case .lost(let status, let host?): "lost on \(host), launcher status \(status)"
    case .lost(let status, nil): "never started, launcher status \(status)"
    }
  }
}
