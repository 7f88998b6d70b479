import Foundation
import Planning
package import SystemCalls

/// Why a worker could not execute its order, as it passes to the coordinator.
///
/// The worker puts it into words, because it knows the file, the table and the cause, and how full
/// the disk was.
package struct WorkerFailure: Codable, Hashable, Sendable {
  /// The exit status of the tool, should the failure end the migration.
  package var exitStatus: Int32
  /// The kind of the failure, for programs that react to it.
  package var kind: String
  /// What the tool prints then.
  package var sentences: [String]
  /// The file concerned, nil if there is none.
  package var file: String?
  /// The code with which Core Data fails in the same case, nil if it has none.
  package var coreDataCode: Int?
  /// What the failure means for another attempt, and for the work of other workers.
  package var disposition: ErrorDisposition

  /// Creates a failure in the worker.
  package init(
    exitStatus: Int32, kind: String, sentences: [String], file: String? = nil,
    coreDataCode: Int? = nil, disposition: ErrorDisposition
  ) {
    self.exitStatus = exitStatus
    self.kind = kind
    self.sentences = sentences
    self.file = file
    self.coreDataCode = coreDataCode
    self.disposition = disposition
  }

  /// The failure as JSON, for the worker's standard output.
  package func message() throws -> String {
    String(decoding: try PlanCoding.encoder.encode(self), as: UTF8.self)
  }
}
