package import StoreFormat
package import SystemPackage

/// How far a source is checked before anything is made of it.
package enum SourceCheck: String, Codable, Sendable, CaseIterable {
  /// Small stores as a whole, others while their rows are read.
  case quick
  /// Every store as a whole.
  case full
  /// Uses what SQLite reads of the tables, whatever indexes contain.
  case off

  /// Reading every page of a store up to this size takes less time than starting the workers.
  private static let smallBytes: Int64 = 4 << 20

  /// Throws `SourceDamage` where a store that is to be checked beforehand is not sound.
  package func require(_ store: FilePath, reader: StoreReader, bytes: Int64) throws {
    guard self == .full || (self == .quick && bytes <= Self.smallBytes) else { return }
    let findings = try StoreDiagnosis(reader.connection).findings()
    if !findings.isEmpty { throw SourceDamage(store: store, findings: findings) }
  }
}

/// A source that is not sound: everything that is known to be wrong with it.
package struct SourceDamage: Error, Sendable {
  /// The store under the path that the user gave.
  package var store: FilePath
  /// What is wrong, in the order in which it was found.
  package var findings: [StoreDiagnosis.Finding]
  /// What failed first, where the damage was looked for because of that.
  package var cause: (any Error)?

  /// Creates the error for at least one finding.
  package init(
    store: FilePath, findings: [StoreDiagnosis.Finding], cause: (any Error)? = nil
  ) {
    self.store = store
    self.findings = findings
    self.cause = cause
  }
}
