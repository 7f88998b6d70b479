import GRDB
import RowPrograms
import Schema
package import StoreFormat
package import Survey
package import SystemCalls
package import SystemPackage

/// Takes what can be read of a damaged store, before anything else is made of it: every engine then
/// reads the same rows.
package struct SourceSalvage {
  /// The access to what was salvaged, or to the store itself where it is not damaged.
  package let access: SourceAccess
  /// What was taken and what was lost; nil where the store is not damaged.
  package let found: SalvagedStore?

  /// Salvages a store if requested and the store is damaged.
  ///
  /// - Parameter path: where the copy goes, and the folder that goes with it.
  /// - Throws: `StoreError` with `notSalvageable`.
  package init(
    request: MigrationRequest, access: SourceAccess,
    path: () throws -> (path: FilePath, folder: TemporaryFolder?)
  ) throws {
    do {
      guard request.salvages, try Self.isDamaged(access.readable, memory: request.memory) else {
        (self.access, found) = (access, nil)
        return
      }
      let (copy, folder) = try path()
      found = try StoreSalvage(of: access.readable, memory: request.memory).copy(to: copy)
      self.access = try access.reading(copy, folder: folder)
    } catch var error as StoreError where error.store == access.readable {
      // A store with a log is read as an internal copy.
      error.store = request.store
      throw error
    }
  }

  /// The survey of what was salvaged, in which derived attributes have the values that follow from
  /// the rows that are left.
  package func completed(_ survey: StoreSurvey) throws -> StoreSurvey {
    guard losesRows, !survey.schema.derived.isEmpty else { return survey }
    try derive(survey.schema)
    return try survey.reading(access)
  }

  /// Checks that all derived attributes that may depend on lost rows can be computed again.
  ///
  /// - Throws: `MigrationError.impossible`, for those in forms that Godwit does not know.
  func requireDerivable(_ survey: StoreSurvey) throws {
    let lost = Set((found?.tables ?? []).map(\.table))
    let compiler = DerivedCompiler(source: survey.schema, destination: survey.schema)
    let open = survey.schema.keptTriggers.filter {
      !lost.isDisjoint(with: compiler.tables(namedBy: $0))
    }
    guard open.isEmpty else {
      throw MigrationError.impossible(store: survey.store, survey.schema.refusals(of: open))
    }
  }

  /// Whether tables lost rows, or may have.
  package var losesRows: Bool { found?.tables.isEmpty == false }

  /// Computes derived attributes of what was salvaged.
  private func derive(_ schema: StoreSchema) throws {
    let connection = try StoreConnection.writable(access.readable)
    try connection.perform { db in
      try db.inTransaction {
        // They call functions that only Core Data has.
        try StoreWriter.withoutTriggers(in: db) {
          for attribute in schema.derived { try StoreWriter.write(attribute, in: db) }
        }
        return .commit
      }
    }
    try connection.close()
  }

  /// Whether anything that is read for rows is not as it should be.
  static func isDamaged(_ store: FilePath, memory: Int64) throws -> Bool {
    do {
      _ = try StoreHeader(ofSource: store)
      let connection = try StoreConnection.immutable(store)
      if try !StoreDiagnosis(connection).findings().isEmpty { return true }
    } catch {
      switch error.problem {
      // The first bytes are those of a store, and SQLite takes it for none: the header is damaged.
      // Of a disk with unreadable parts, the others are salvaged.
      case .damaged, .truncated, .unrecognized, .deviceFailed: return true
      default: throw error
      }
    }
    return try !StoreSalvage(of: store, memory: memory).examine().isWhole
  }
}

/// Damage of a source, with what could be taken of it all the same.
package struct SalvageableDamage: Error {
  /// What is wrong with the source.
  package var damage: any Error
  /// What a salvage would do.
  package var outlook: Outlook

  /// What a salvage would do.
  package enum Outlook: Sendable {
    /// It would take this and lose that.
    case takes(SalvagedStore)
    /// It would be refused, since these tables cannot be read.
    case lacks([String])
  }
}

extension MigrationRequest {
  /// An error for damage with the outlook of a salvage; any other error unchanged.
  func offeringSalvage(behind damage: any Error, readable: FilePath) -> any Error {
    guard !rules.salvages, damage.isDamageOfSource else { return damage }
    do {
      return SalvageableDamage(
        damage: damage, outlook: .takes(try StoreSalvage(of: readable, memory: memory).examine()))
    } catch let salvage as StoreError {
      guard case .notSalvageable(let parts) = salvage.problem else { return damage }
      return SalvageableDamage(damage: damage, outlook: .lacks(parts))
    } catch {
      // The outlook does not matter; the damage is reported.
      return damage
    }
  }
}

extension Error {
  /// Whether it only reports that the source is damaged.
  fileprivate var isDamageOfSource: Bool {
    switch self {
    case is SourceDamage: true
    case let error as StoreError:
      switch error.problem {
      case .damaged, .truncated, .unrecognized: true
      default: false
      }
    default: false
    }
  }
}
