import SystemCalls
package import SystemPackage

/// What failed once a result was in its place: nothing is lost by it, and the run has succeeded.
package struct HandoverNote: Codable, Hashable, Sendable {
  /// What could not be done, or was found.
  package enum Kind: String, Codable, Hashable, Sendable {
    /// A power cut may bring the state before back.
    case notSynced
    /// Something is left that should be gone.
    case notRemoved
    /// Something of Godwit's has a name that Godwit does not know.
    case foreign
    /// The store has other names, which still lead to what it was before.
    case otherNames
    /// The record of the last migration does not have it.
    case notRecorded
  }

  /// What could not be done, or was found.
  package var kind: Kind
  /// The file or the folder that it is about.
  package var path: String
  /// The error of the system.
  package var cause: String

  /// Makes a note about a file or a folder.
  package init(kind: Kind, path: FilePath, cause: String = "") {
    self.kind = kind
    self.path = path.string
    self.cause = cause
  }

  /// Runs something whose failure is no more than a note.
  static func collect(
    _ kind: Kind, at path: FilePath, in notes: inout [HandoverNote], body: () throws -> Void
  ) {
    do {
      try body()
    } catch let error as SystemCallError {
      notes.append(.init(kind: kind, path: error.path ?? path, cause: "\(error.errno)"))
    } catch {
      notes.append(.init(kind: kind, path: path, cause: "its contents are not as expected"))
    }
  }
}
