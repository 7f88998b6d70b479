import Fleets
import Foundation
import MigrationCoordinator
import Schema
import StoreFormat
import StoreNames
import SystemCalls
public import SystemPackage

extension StoreFleet {
  /// A store of a fleet that is created.
  public struct Member: Sendable {
    /// The path of the store.
    public var store: FilePath
    /// The path of the new store, nil to replace the old one.
    public var output: FilePath?
    var options: FleetSettings?

    /// Names a store.
    public init(store: FilePath, output: FilePath? = nil) {
      self.store = store
      self.output = output
    }

    private struct Line: Decodable {
      var store: String
      var output: String?
      var options: FleetSettings?
    }

    /// Reads a line of JSON such as `{"store":"7.sqlite","options":{"allowLoss":["Book.isbn"]}}`.
    ///
    /// - Throws: `MigrationFailure` with the number of the line.
    public init(line: some Collection<UInt8>, number: Int) throws(MigrationFailure) {
      do {
        let read = try JSONDecoder().decode(Line.self, from: Data(line))
        let fields = try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any] ?? [:]
        let options = (fields["options"] as? [String: Any])?.keys.sorted() ?? []
        let unknown =
          fields.keys.sorted().filter { !["store", "output", "options"].contains($0) }
          + options.filter { !FleetSettings.names.contains($0) }
        if let name = unknown.first {
          throw MigrationFailure(
            .usage, "line \(number) has \(name), which is not an option of a fleet.")
        }
        if read.store.isEmpty { throw CocoaError(.coderInvalidValue) }
        self.init(store: FilePath(read.store), output: read.output.map { FilePath($0) })
        self.options = read.options
      } catch let failure as MigrationFailure {
        throw failure
      } catch {
        throw MigrationFailure(
          .usage,
          "line \(number) is not a store: write lines such as {\"store\":\"7.sqlite\"}, with "
            + "\"output\" and \"options\" if needed.")
      }
    }
  }

  /// The stores of a fleet that is created, in a temporary file, and the places without a store.
  ///
  /// Memory does not grow with the number of stores, but with the names of the largest folder.
  public final class Members {
    /// The places without a store, with the reason of each.
    public private(set) var failures: [MigrationFailure] = []
    /// The number of old stores that Godwit keeps in folders and matches, which are passed over.
    public var keptStores: Int { kept.count }
    /// The first of these.
    public var keptStore: FilePath? { kept.first }
    private var kept = StoreSearch.KeptTally()
    let spool: StoreSpool
    /// The options of stores that have options of their own, each once.
    private(set) var options: Set<FleetSettings> = []
    private let outputFolder: FilePath?

    /// Starts without stores.
    ///
    /// - Parameter outputFolder: gets the new stores, nil to replace the old ones.
    /// - Throws: `MigrationFailure`, if there is no room for a temporary file.
    public init(outputFolder: FilePath? = nil) throws(MigrationFailure) {
      self.outputFolder = outputFolder?.absolute
      spool = try MigrationFailure.catching { try StoreSpool() }
    }

    /// The number of stores, none of them counted twice.
    ///
    /// - Throws: `MigrationFailure`, if there is no room for the temporary file.
    public func count() throws(MigrationFailure) -> Int { try flushed().count }

    /// The number of paths that name a store that is there already.
    ///
    /// - Throws: `MigrationFailure`, if there is no room for the temporary file.
    public func repeated() throws(MigrationFailure) -> Int { try flushed().repeated }

    private func flushed() throws(MigrationFailure) -> StoreSpool {
      try MigrationFailure.catching { try spool.flush() }
      return spool
    }

    /// Adds stores: a file, all stores below a folder, or all matches of a pattern.
    ///
    /// - Throws: `MigrationFailure`, if a place cannot be read, or the temporary file written.
    public func add(_ place: FilePath) throws(MigrationFailure) {
      if try isFolder(place) { return try add(folder: place) }
      let isThere = try MigrationFailure.catching { try Files.fileStatusIfPresent(place) } != nil
      if isThere { return try add(Member(store: place), below: nil) }
      let matches = Files.matching(place)
      if matches.isEmpty {
        failures.append(
          MigrationFailure(
            .notFound, "\(place) does not exist and matches no file: it is left out."))
      }
      for match in matches where !FolderMember.isOfMigration(match.lastComponent?.string ?? "") {
        if try isFolder(match) {
          try add(folder: match)
        } else if try MigrationFailure.catching({ try KeptName.owner(of: match) }) != nil {
          kept.add(.init(match))
        } else {
          try add(Member(store: match), below: nil)
        }
      }
    }

    /// Adds the stores that standard input has, one in JSON on each line.
    ///
    /// - Throws: `MigrationFailure` with the number of a line that is no store.
    public func addLinesOfStandardInput() throws(MigrationFailure) {
      let lines = LineReader(open: .standardInput)
      var number = 0
      while let line = try MigrationFailure.catching({ try lines.next()?.bytes }) {
        number += 1
        guard line.contains(where: { $0 > UInt8(ascii: " ") }) else { continue }
        try add(try Member(line: line, number: number))
      }
    }

    private func isFolder(_ place: FilePath) throws(MigrationFailure) -> Bool {
      try MigrationFailure.catching { try Files.fileStatusIfPresent(place)?.isDirectory == true }
    }

    private func add(folder: FilePath) throws(MigrationFailure) {
      try MigrationFailure.catching {
        let others = try StoreSearch.forEach(below: folder) { entry in
          if let failure = entry.failure {
            failures.append(failure)
          } else {
            try add(Member(store: entry.path), below: folder)
          }
        }
        kept.add(others)
      }
    }

    /// Adds a store.
    ///
    /// - Throws: `MigrationFailure`, if there is no room for the temporary file.
    public func add(_ member: Member) throws(MigrationFailure) { try add(member, below: nil) }

    private func add(_ member: Member, below folder: FilePath?) throws(MigrationFailure) {
      guard FilePath(member.store.string) == member.store else {
        failures.append(
          MigrationFailure(
            .usage, "\(member.store) has a name that is not UTF-8, and is left out: rename it."))
        return
      }
      let path = member.store.absolute
      let target = member.output?.absolute ?? output(for: path, below: folder)
      if target == nil {
        let owner = try MigrationFailure.catching { try KeptName.owner(of: path) }
        if let owner {
          failures.append(MigrationFailure(PlaceError.keptInPlace(path, of: owner)))
          return
        }
      }
      let status = try? Files.fileStatusIfPresent(path)
      let own = member.options?.withAbsolutePaths
      if let own { options.insert(own) }
      let log = try? Files.fileStatusIfPresent(FilePath("\(path)-wal"))
      let store = FleetStore(
        store: path.string,
        output: target?.string,
        // Of a store that is not there, its migration reports that.
        bytes: (status?.size ?? 0) + (log?.size ?? 0), options: own)
      try MigrationFailure.catching { try spool.add(store, identity: status?.identity) }
    }

    private func output(for store: FilePath, below folder: FilePath?) -> FilePath? {
      guard let outputFolder else { return nil }
      var inner = store
      if let folder = folder?.absolute, inner.removePrefix(folder), !inner.isEmpty {
        return outputFolder.pushing(inner)
      }
      return outputFolder.appending(store.lastComponent?.string ?? "")
    }

    /// Checks that no two stores have one output.
    func requireOutputsApart() throws(MigrationFailure) {
      guard let clash = try flushed().clash else { return }
      throw MigrationFailure(
        .usage,
        "\(clash.store) and \(clash.other) would both become \(clash.output): name their outputs "
          + "on standard input.")
    }
  }

  /// Creates a fleet: a folder with the list of stores and the options of a migration.
  ///
  /// - Parameters:
  ///   - path: the folder, which is made.
  ///   - members: the stores.
  ///   - migration: the options of all migrations, of whatever store; policies, the executable of
  ///     workers and the logger are those of the process that runs the fleet.
  /// - Throws: `MigrationFailure`, if there is a fleet already, the model cannot be read, there are
  ///   no stores, or the migration has an option that no fleet has.
  public static func create(
    at path: FilePath, of members: Members, by migration: StoreMigration
  ) throws(MigrationFailure) -> StoreFleet {
    guard try members.count() > 0 else {
      throw MigrationFailure(
        .notFound,
        members.failures.flatMap(\.sentences) + ["\(path): there is no store to migrate."])
    }
    let foreign = migration.optionsOutsideFleets
    guard foreign.isEmpty else {
      throw MigrationFailure(
        .usage,
        "No fleet has the options \(foreign.joined(separator: ", ")): leave them out. Members have "
          + "the outputs, and the fleet has the limits of its run.")
    }
    try members.requireOutputsApart()
    _ = try MigrationTarget(migration.target, configuration: migration.configuration)
    let settings = migration.fleetSettings
    try MigrationFailure.catching {
      for options in members.options {
        try StoreMigration(store: "", by: settings.overridden(by: options))
          .requirePossibleResources()
      }
      _ = try FleetFolder(path.absolute).create(
        members.spool, settings: settings, at: Double(WallClock.now()) / 1e9)
    }
    return try StoreFleet(path)
  }
}
