import Foundation
import MigrationStatus
import Planning
import StoreNames
import SystemCalls
import SystemPackage

extension StoreUpkeep {
  /// Files with names that only an unfinished write gives.
  func leftovers() throws -> [FilePath] {
    let own = store.lastComponent?.string ?? ""
    let folder = Files.parent(of: store)
    var found: [FilePath] = []
    for name in try Files.listDirectory(folder) {
      if let rest = name.string.rest(behind: own), LeftoverName(rest) != nil {
        found.append(folder.appending(name))
      }
    }
    let external = OldExternalFiles.folder(of: store)
    guard try Files.fileStatusIfPresent(external)?.isDirectory == true else { return found }
    for name in try Files.listDirectory(external) {
      if SupportFolder.name(ofUnfinished: name).map(OldExternalFiles.isName) == true {
        found.append(external.appending(name))
      }
    }
    return found
  }
}

/// The end of the name of a file that a killed process left, after the name of its store.
private struct LeftoverName {
  init?(_ rest: Substring) {
    let whole = WorkFile.withoutTemporarySuffix(rest).map { String($0) }
    if let whole, [StoreCompanion.keptList, .new].map(\.rawValue).contains(whole) { return }
    if let rest = rest.rest(behind: StoreCompanion.record.rawValue), OutcomeFile.isTemporary(rest) {
      return
    }
    guard let result = rest.rest(behind: StoreCompanion.result.rawValue) else { return nil }
    guard UUID(uuidString: String(result.prefix(36))) != nil,
      Workspace.resultSuffixes.contains(String(result.dropFirst(36)))
    else { return nil }
  }
}
