import Mapping
import ObjectMigration
import StoreFormat
import Survey

extension SourceAccess {
  /// Runs a body that reads the store, and throws where what it read is not of one state.
  ///
  /// What fails because the store has changed meanwhile fails for that reason.
  func explaining<Result>(_ body: () throws -> Result) throws -> Result {
    let result: Result
    do {
      result = try body()
    } catch {
      throw explained(error)
    }
    try requireUnchanged()
    return result
  }

  /// The error, or that the store has changed where that may have led to it.
  func explained(_ error: any Error) -> any Error {
    switch error {
    case is CancellationError: return error
    case let error as StoreError where error.isOfOthers: return error
    default: break
    }
    do {
      try Self.isAboutExternalFiles(error) ? requireUntouched() : requireUnchanged()
      return error
    } catch {
      return error
    }
  }

  /// Throws unless the main file is as it was, and, where external files are missing, all else.
  func requireOneState(missing: [String]) throws {
    if missing.isEmpty { try requireUnchanged() } else { try requireUntouched() }
  }

  /// Whether a file may be missing that was there when the store was copied.
  private static func isAboutExternalFiles(_ error: any Error) -> Bool {
    switch error {
    case let error as ObjectMigrationError:
      if case .externalFileUnreadable = error.problem { true } else { false }
    case MigrationError.impossible(_, let refusals, _),
      MigrationError.stepImpossible(_, _, _, let refusals, _):
      refusals.contains(where: \.isMissingFile)
    // A worker has put into words what it failed at.
    case WorkError.workOrderFailed: true
    default: false
    }
  }
}

extension StoreError {
  /// Whether it is caused by another process at work on the store.
  fileprivate var isOfOthers: Bool {
    switch problem {
    case .inUse, .openForWriting, .changedDuringMigration: true
    default: false
    }
  }
}

extension Refusal {
  fileprivate var isMissingFile: Bool {
    if case .externalFiles(_, _, _, _) = reason { true } else { false }
  }
}
