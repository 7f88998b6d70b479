import StoreFormat
import Survey
import SystemCalls
import SystemPackage

extension StoreSurvey {
  /// Runs an operation that reads the source, and searches for damage if it fails.
  func diagnosing<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch {
      throw diagnosing(behind: error)
    }
  }

  /// The error with everything that is wrong with the source, where a damaged source could be its
  /// reason and is damaged; else the error as it is.
  func diagnosing(behind error: any Error) -> any Error {
    diagnosed(behind: error, of: store, readable: access.readable)
  }
}

/// The error with everything that is wrong with the store that it was met in, where damage could
/// be its reason and some is found; else the error as it is.
func diagnosed(
  behind error: any Error, of store: FilePath, readable: FilePath
) -> any Error {
  guard StoreError.disposition(of: error).contains(.sourceSuspect) else { return error }
  return SourceDamage(behind: error, of: store, readable: readable) ?? error
}

extension SourceDamage {
  /// What is wrong with a store that an error was met in; nil where nothing is.
  fileprivate init?(behind error: any Error, of store: FilePath, readable: FilePath) {
    guard let connection = try? StoreConnection.immutable(readable),
      let findings = try? StoreDiagnosis(connection).findings(), !findings.isEmpty
    else { return nil }
    self.init(store: store, findings: findings, cause: error)
  }
}
