import Foundation
import Schema
import StoreNames
import SystemCalls
package import SystemPackage

/// The names that files have because they belong to a store: logs, the work folder, the folder of
/// external files, kept stores, records.
///
/// SQLite, Core Data and Godwit find such files by their names alone, and replace or remove them.
package enum CompanionName {
  /// The relation of a name to the store that it belongs to.
  enum Owner: Hashable {
    /// The store has this name.
    case named(String)
    /// The store has this name and some extension.
    case stem(String)
  }

  /// Suffixes behind the name of a store.
  private static let suffixes =
    StoreFile.logSuffixes
    + StoreCompanion.allCases.filter { $0 != .result && $0 != .partial }.map(\.rawValue)
  /// What begins a longer suffix, and the form of the rest.
  private static let openings: [(opening: String, isRest: @Sendable (Substring) -> Bool)] =
    [
      (StoreCompanion.result.rawValue, isIdentifier),
      (StoreCompanion.partial.rawValue, isIdentifier),
    ]
    + [.record, .keptList, .new].map { (companion: StoreCompanion) in
      ("\(companion.rawValue).", { $0.hasSuffix(".tmp") })
    }

  /// Whether a text begins with a UUID.
  private static func isIdentifier(_ text: Substring) -> Bool {
    UUID(uuidString: String(text.prefix(36))) != nil
  }

  /// The stores that a file of this name may belong to, whether or not they exist.
  static func owners(of name: String) -> [Owner] {
    var owners = suffixes.filter { name.hasSuffix($0) }.map {
      Owner.named(String(name.dropLast($0.count)))
    }
    if let kept = KeptName(name) { owners.append(.named(kept.store)) }
    for (opening, isRest) in openings {
      owners += name.ranges(of: opening).filter { isRest(name[$0.upperBound...]) }
        .map { .named(String(name[..<$0.lowerBound])) }
    }
    let partial = name.ranges(of: StoreCompanion.partial.rawValue)
    for folder in [name] + partial.map({ String(name[..<$0.lowerBound]) }) {
      if let stem = SupportFolder.stem(of: folder) { owners.append(.stem(stem)) }
    }
    return owners.filter { $0 != .named("") && $0 != .stem("") }
  }

  /// Checks that no store takes a new file, or a folder around it, for its own because of its name.
  ///
  /// - Parameter stores: stores that are read or made, which need not exist.
  /// - Throws: `StoreError` with `companionName`.
  package static func requireFree(_ path: FilePath, besides stores: [FilePath] = []) throws {
    let own = try absolute(path)
    let stores = try stores.map(absolute)
    var place = own
    while let name = place.lastComponent?.string {
      let folder = place.removingLastComponent()
      for owner in owners(of: name) {
        if let store = try store(owner, in: folder, among: stores) {
          throw StoreError(problem: .companionName(of: store), store: path)
        }
      }
      place = folder
    }
  }

  /// The path without links: of the file itself if there is one, else of its folder.
  private static func absolute(_ path: FilePath) throws -> FilePath {
    do throws(SystemCallError) {
      if try Files.fileStatusIfPresent(path) != nil { return try Files.resolved(path) }
      return try Files.resolvedFolder(of: path)
    } catch {
      // A folder that is missing is reported where the file is made.
      guard error.errno == .noSuchFileOrDirectory || error.errno == .notDirectory else {
        throw error
      }
      return path.lexicallyNormalized()
    }
  }

  private static func store(
    _ owner: Owner, in folder: FilePath, among stores: [FilePath]
  ) throws -> FilePath? {
    if let known = stores.first(where: { owner.fits($0) && $0.removingLastComponent() == folder }) {
      return known
    }
    switch owner {
    case .named(let name):
      guard let component = FilePath.Component(name) else { return nil }
      let path = folder.appending(component)
      return try isDatabase(path) ? path : nil
    case .stem:
      guard try Files.fileStatusIfPresent(folder)?.isDirectory == true else { return nil }
      return try Files.listDirectory(folder).lazy.map { folder.appending($0) }
        .first { try owner.fits($0) && isDatabase($0) }
    }
  }

  private static func isDatabase(_ path: FilePath) throws -> Bool {
    guard try Files.fileStatusIfPresent(path)?.kind == .file else { return false }
    do throws(SystemCallError) {
      return try Files.readHead(path, count: StoreHeader.magic.count) == StoreHeader.magic
    } catch {
      // What this user may not read may be a store.
      if [.permissionDenied, .notPermitted].contains(error.errno) { return true }
      throw error
    }
  }
}

extension CompanionName.Owner {
  /// Whether a store of this path has the name.
  fileprivate func fits(_ store: FilePath) -> Bool {
    switch self {
    case .named(let name): store.lastComponent?.string == name
    case .stem(let stem): store.lastComponent?.stem == stem
    }
  }
}
