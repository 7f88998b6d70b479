import Foundation

/// Why a worker could not carry out its order, as it crosses to the coordinator.
///
/// The worker puts it into words: it knows the file, the table and the cause, and how full the disk
/// was then.
package struct WorkerFailure: Codable, Hashable, Sendable {
  package var exitStatus: Int32
  package var sentences: [String]
  /// Core Data's number for it, where it has one.
  package var coreDataCode: Int?
  /// Whether another attempt may end otherwise.
  package var isPassing: Bool

  package init(
    exitStatus: Int32, sentences: [String], coreDataCode: Int? = nil, isPassing: Bool
  ) {
    self.exitStatus = exitStatus
    self.sentences = sentences
    self.coreDataCode = coreDataCode
    self.isPassing = isPassing
  }

  /// Reads what a worker wrote; nil where it is something else.
  init?(told: String) {
    guard let failure = try? JSONDecoder().decode(Self.self, from: Data(told.utf8)) else {
      return nil
    }
    self = failure
  }

  /// What a worker writes.
  package func told() throws -> String {
    String(decoding: try JSONEncoder().encode(self), as: UTF8.self)
  }
}
