import Foundation
import Logging
import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

/// Puts a finished result in its final place.
struct ResultHandover {
  let request: MigrationRequest
  let survey: StoreSurvey
  let files: ExternalFiles
  let paths: MigrationPaths

  /// Renames the result to the output, or exchanges it with the store.
  ///
  /// Returns the path of the old store if it is kept.
  func run() throws -> FilePath? {
    _ = try Files.copyAttributes(from: request.store, to: paths.result)
    try Files.syncFile(paths.result)
    if let output = request.output {
      try Self.requireFreeLogs(of: output)
      try SwapJournal(paths).begin(paths.result, named: output, isLast: true)
      try Files.renameNoReplace(paths.result, to: output)
      try Files.syncDirectory(Files.parent(of: output))
      FaultPoint.coordinatorOutput.reached()
      return nil
    }
    let kept = try nameOfKept()
    let swapper = StoreSwapper(
      store: request.store, fingerprint: survey.access.fingerprint, kept: kept,
      journal: SwapJournal(paths))
    let old = OldExternalFiles(store: request.store)
    let obsolete = request.discardsOld ? try old.obsolete(survey, files: files) : []
    survey.access.release()
    let links = request.discardsOld ? [] : try old.keep(for: kept)
    do {
      try swapper.swap(paths.result, discardsOld: request.discardsOld)
    } catch {
      old.undo(links)
      throw error
    }
    try old.remove(obsolete)
    return request.discardsOld ? nil : kept
  }

  /// `STORE.before-TIME`, with a number for the second and later ones within one second.
  private func nameOfKept() throws -> FilePath {
    let plain = "\(request.store).before-\(Self.timestamp())"
    var name = FilePath(plain)
    var number = 1
    while try Files.fileStatusIfPresent(name, followLinks: false) != nil {
      number += 1
      name = FilePath("\(plain).\(number)")
    }
    return name
  }

  private static func timestamp() -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "UTC")
    formatter.dateFormat = "yyyyMMdd-HHmmss"
    return formatter.string(from: Date())
  }

  /// Checks that no log lies beside a store's path, which SQLite would replay into the new store.
  ///
  /// - Throws: `MigrationError.outputExists`.
  static func requireFreeLogs(of store: FilePath) throws {
    for suffix in ["-wal", "-journal", "-shm"] {
      let beside = FilePath("\(store)\(suffix)")
      if try Files.fileStatusIfPresent(beside, followLinks: false) != nil {
        throw MigrationError.outputExists(beside)
      }
    }
  }
}
